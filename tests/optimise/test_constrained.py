"""Rank-constrained and bounded completion against cvxpy and against what is known in closed form."""

from __future__ import annotations

import cvxpy
import numpy as np
import pytest

from optimise.test_completion import Squares
from sigmastar.optimise.completers import bounded, hard_thresholding
from sigmastar.optimise.completion import CompletionSettings, proximal


def settings(weight: float, rank: int, bound: float | None = None) -> CompletionSettings:
    return CompletionSettings(weight, rank, 3_000, 1e-12, bound=bound)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("size", [0.3, 0.8])
def test_bounded_completion_is_that_of_a_general_solver(seed: int, size: float) -> None:
    loss, weight = Squares(np.random.default_rng(seed), (6, 5)), 0.5
    bound = size * float(np.abs(loss.targets).max())
    matrix = cvxpy.Variable(loss.shape)
    rest = matrix[loss.rows, loss.columns] - loss.targets
    objective = cvxpy.sum_squares(rest) / 2 + weight * cvxpy.normNuc(matrix)
    problem = cvxpy.Problem(cvxpy.Minimize(objective), [cvxpy.abs(matrix) <= bound])
    expected = problem.solve(solver="SCS", eps=1e-7, max_iters=50_000)
    found = bounded(loss, settings(weight, 5, bound), np.random.default_rng(0))
    assert found.objective == pytest.approx(expected, rel=1e-4)
    assert np.abs(found.triples.matrix).max() <= bound * (1 + 1e-4)
    np.testing.assert_allclose(found.triples.matrix, matrix.value, atol=2e-3)


def test_a_bound_that_nothing_reaches_changes_nothing() -> None:
    loss = Squares(np.random.default_rng(0))
    free = proximal(loss, settings(0.3, 20), np.random.default_rng(0))
    held = bounded(loss, settings(0.3, 20, 1e3), np.random.default_rng(0))
    np.testing.assert_allclose(held.triples.matrix, free.triples.matrix, atol=1e-4)


@pytest.mark.parametrize("bound", [None, 0.0, -1.0])
def test_a_bound_is_above_zero(bound: float | None) -> None:
    with pytest.raises(ValueError, match="must be a number above 0"):
        bounded(Squares(np.random.default_rng(0)), settings(1.0, 5, bound), np.random.default_rng(0))


@pytest.mark.parametrize("rank", [1, 2, 4])
def test_all_entries_seen_are_projected_on_the_leading_triples(rank: int) -> None:
    loss = Squares(np.random.default_rng(1), share=1.1)
    loss.targets = loss.targets + np.random.default_rng(2).standard_normal(len(loss.targets))
    u, values, v = np.linalg.svd(loss.targets.reshape(loss.shape))
    found = hard_thresholding(loss, settings(7.0, rank), np.random.default_rng(0))
    assert found.rank == rank
    expected = (u[:, :rank] * values[:rank]) @ v[:rank]
    np.testing.assert_allclose(found.triples.matrix, expected, atol=1e-5)


def test_a_matrix_of_the_rank_is_found_from_some_of_its_entries() -> None:
    loss = Squares(np.random.default_rng(3))
    found = hard_thresholding(loss, settings(0.0, 2), np.random.default_rng(0))
    np.testing.assert_allclose(found.triples.matrix, loss.truth, atol=1e-4)
