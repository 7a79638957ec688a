"""The laws, each on every family: its own sampler, counts, learner and inference."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sigmastar.core.family import families, load
from sigmastar.core.model_reading import load_model, model_bytes, save_model

NAMES = [name for name, family in families().items() if family.laws is not None]


@pytest.fixture(params=NAMES)
def laws(request: pytest.FixtureRequest) -> Any:
    return load(str(families()[request.param].laws))()


def test_every_family_that_learns_has_laws() -> None:
    assert {name for name, family in families().items() if family.estimators} <= set(NAMES)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_exact_statistics_give_the_model_back(laws: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth = laws.truth(rng)
    structures = laws.structures(truth, rng)
    expected, found = laws.values(truth, structures), laws.values(laws.exact(truth), structures)
    assert len(expected) >= 5
    assert len(np.unique(expected)) > 1
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


def test_the_error_falls_with_the_data(laws: Any) -> None:
    truth = laws.truth(np.random.default_rng(0))
    few, many = laws.sizes
    distances = {
        n: np.mean([laws.distance(laws.learned(truth, n, s), truth) for s in (0, 1)]) for n in (few, many)
    }
    assert 0 <= distances[many] < distances[few] / 2


def test_a_model_survives_its_file(laws: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    truth = laws.truth(rng)
    structures = laws.structures(truth, rng)
    save_model(truth, tmp_path / "model")
    again = load_model(tmp_path / "model")
    np.testing.assert_array_equal(laws.values(again, structures), laws.values(truth, structures))
    assert model_bytes(again) == model_bytes(truth)


def test_the_same_seed_gives_the_same_model_on_any_number_of_threads(laws: Any) -> None:
    truth = laws.truth(np.random.default_rng(0))
    first, second, threaded = (laws.learned(truth, laws.sizes[0], 3, n_jobs) for n_jobs in (1, 1, 2))
    assert model_bytes(first) == model_bytes(second) == model_bytes(threaded)


def test_long_structures_have_finite_values(laws: Any) -> None:
    assert np.isfinite(laws.long(laws.truth(np.random.default_rng(0))))
