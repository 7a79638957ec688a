"""One small model of every kind, for all tests of this folder."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from forged.small_models import ONE_OF_EACH_KIND, Small, small_models
from forged.trial import warm_up


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Small]:
    folder = tmp_path_factory.mktemp("models")
    made = small_models(folder, ONE_OF_EACH_KIND)
    warm_up(made, folder)
    return made
