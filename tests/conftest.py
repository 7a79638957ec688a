"""What all tests share: the folder of real data, a generator of random numbers, hypothesis profiles."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

# A kernel compiles at its first call: neither the deadline nor the slowness check can know that.
settings.register_profile("local", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("automated", settings.get_profile("local"), derandomize=True, database=None)
settings.load_profile("automated" if os.environ.get("CI") else "local")


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder that SIGMASTAR_DATA names; tests that need it are skipped where it is not set."""
    folder = os.environ.get("SIGMASTAR_DATA")
    if not folder:
        pytest.skip("SIGMASTAR_DATA is not set: real data needed")
    if not Path(folder).is_dir():
        pytest.fail(f"SIGMASTAR_DATA={folder} is not a folder")
    return Path(folder)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)
