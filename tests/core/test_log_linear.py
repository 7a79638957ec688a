"""Log-linear weights against slow sums, and against numerical slopes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sigmastar.core.log_linear import best_on_grid, fit_votes, fit_weights, worth_keeping

seeds = st.integers(0, 10**6)


def objective(w: np.ndarray, scores: np.ndarray, owner: np.ndarray, right: np.ndarray, ridge: float) -> float:
    total = ridge / 2 * float(((w - 1 / len(w)) ** 2).sum())
    for one in set(owner.tolist()):
        mine = owner == one
        if right[mine].any():
            masses = np.exp(scores[mine] @ w)
            total -= np.log(masses[right[mine]].sum() / masses.sum())
    return total


@given(seeds, st.floats(0.1, 5.0))
def test_no_weights_do_better(seed: int, ridge: float) -> None:
    rng = np.random.default_rng(seed)
    scores, owner = rng.standard_normal((18, 2)), np.repeat(np.arange(6), 3)
    right = np.arange(18) % 3 == rng.integers(0, 3)
    right[:3] = False
    found = fit_weights(scores, owner, right, ridge)
    assert (found >= 0).all()
    best = objective(found, scores, owner, right, ridge)
    for step in ((1e-2, 0), (0, 1e-2), (-1e-2, 0), (0, -1e-2)):
        moved = np.maximum(found + step, 0.0)
        assert objective(moved, scores, owner, right, ridge) >= best - 1e-6


def test_nothing_right_leaves_equal_weights() -> None:
    found = fit_weights(np.ones((4, 2)), np.array([0, 0, 1, 1]), np.zeros(4, dtype=bool))
    assert found.tolist() == [0.5, 0.5]


@given(seeds)
def test_no_votes_do_better(seed: int) -> None:
    rng = np.random.default_rng(seed)
    votes, targets = rng.standard_normal((12, 2)), rng.random(12) < 0.5
    signs = np.where(targets, 1.0, -1.0)

    def loss(w: np.ndarray) -> float:
        return float(np.log1p(np.exp(-signs * (votes @ w))).sum() + 0.25 * w @ w)

    found = fit_votes(votes, targets, 0.5)
    for step in ((1e-2, 0), (0, 1e-2), (-1e-2, 0), (0, -1e-2)):
        assert loss(found + step) >= loss(found) - 1e-6


def test_a_peak_alone_is_chance() -> None:
    scores = {0.0: 1.0, 1.0: 3.0, 2.0: 0.0, 3.0: 2.8, 4.0: 2.9, 5.0: 2.7}
    assert best_on_grid(list(scores), scores.__getitem__) == 4.0
    assert best_on_grid(list(scores), scores.__getitem__, smooth=False) == 1.0


def test_little_weight_is_not_kept() -> None:
    assert worth_keeping(np.array([1.0, 0.01])).tolist() == [True, False]
    assert fit_votes(np.array([[800.0]]), np.array([True]), 1e-3)[0] == pytest.approx(0.0, abs=0.1)
