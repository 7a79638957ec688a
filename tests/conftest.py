"""What all tests share: the folder of real data, a generator of random numbers, hypothesis profiles."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from cli.calls import succeed
from sigmastar.automata.data.formats import write_lines
from sigmastar.automata.data.pautomac import write_pautomac
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.automata.model.generators import make_automaton
from sigmastar.automata.model.pautomac_machine import write_pautomac_model
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.resources import one_blas_thread

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


@pytest.fixture(scope="session", autouse=True)
def _one_blas_thread() -> Iterator[None]:
    """Small products gain nothing from more BLAS threads, and lose much on busy cores."""
    with one_blas_thread():
        yield


@pytest.fixture(scope="session")
def machine() -> WeightedAutomaton:
    drawn = make_automaton(3, 3, np.random.default_rng(5), stop=0.2)
    return WeightedAutomaton(Alphabet("abc"), drawn.initial, drawn.transitions, drawn.final)


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory, machine: WeightedAutomaton) -> Path:
    """A corpus as lines and in PAutomaC's format with its machine and solution, and four models."""
    place = tmp_path_factory.mktemp("cli")
    strings = machine.sample(300, np.random.default_rng(1))
    with open(place / "lines.txt", "w") as stream:
        write_lines(strings, stream)
    with open(place / "train.pautomac", "w") as stream:
        write_pautomac(strings, stream)
    with open(place / "machine.txt", "w") as stream:
        write_pautomac_model(machine, stream)
    probabilities = np.exp(machine.log_probability(strings))
    lines = [str(len(strings)), *map(repr, (probabilities / probabilities.sum()).tolist())]
    (place / "solution.txt").write_text("\n".join(lines) + "\n")
    for method in ("fast", "auto", "ngram"):
        succeed(
            "learn", "automaton", place / "lines.txt", "--method", method, "-o", place / f"{method}.model"
        )
    succeed("learn", "automaton", place / "train.pautomac", "--format", "pautomac", "-o", place / "p.model")
    return place
