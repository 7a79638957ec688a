"""Every solver of the completion problem against a dense one, and against each other."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from sigmastar.optimise.completers import COMPLETERS
from sigmastar.optimise.completion import CompletionSettings
from sigmastar.optimise.proximal import singular_value_threshold
from sigmastar.optimise.sparse_low_rank import LowRank, SparsePattern, SparsePlusLowRank, shrunk_triples

Array = NDArray[np.float64]


class Squares:
    """1/2 sum (H_e - y_e)^2 over random entries of a matrix of rank two."""

    curvature = 1.0

    def __init__(
        self, rng: np.random.Generator, shape: tuple[int, int] = (25, 20), share: float = 0.6
    ) -> None:
        self.shape = shape
        self.truth = rng.standard_normal((shape[0], 2)) @ rng.standard_normal((2, shape[1]))
        seen = np.flatnonzero(rng.random(shape).ravel() < share)
        self.rows, self.columns = np.divmod(seen, shape[1])
        self.targets = self.truth[self.rows, self.columns]

    def value_and_gradient(self, values: Array) -> tuple[float, Array]:
        error = values - self.targets
        return 0.5 * float(error @ error), error


def dense_minimum(loss: Squares, weight: float) -> tuple[float, Array]:
    """Proximal gradient on the whole matrix, until nothing moves."""
    matrix = np.zeros(loss.shape)
    for _ in range(600):
        step = matrix.copy()
        step[loss.rows, loss.columns] = loss.targets
        matrix = singular_value_threshold(step, weight).matrix
    value = loss.value_and_gradient(matrix[loss.rows, loss.columns])[0]
    return value + weight * float(np.linalg.svd(matrix, compute_uv=False).sum()), matrix


@pytest.fixture
def loss() -> Squares:
    return Squares(np.random.default_rng(3))


@pytest.mark.parametrize("name", ["proximal", "frank-wolfe", "factored", "alternating"])
def test_solvers_of_the_penalised_problem_agree_with_a_dense_one(loss: Squares, name: str) -> None:
    weight = 1.5
    best, _ = dense_minimum(loss, weight)
    found = COMPLETERS[name](
        loss,
        CompletionSettings(weight, rank=20, n_iterations=300, tolerance=1e-9),
        np.random.default_rng(0),
    )
    assert best * (1 - 1e-9) <= found.objectives[-1] <= best * (1 + 1e-5)


def test_a_small_penalty_completes_a_matrix_of_low_rank(loss: Squares) -> None:
    settings = CompletionSettings(1e-2, rank=8, n_iterations=1000, tolerance=1e-12)
    found = COMPLETERS["proximal"](loss, settings, np.random.default_rng(0))
    error = np.linalg.norm(found.triples.matrix - loss.truth) / np.linalg.norm(loss.truth)
    assert error < 1e-2


def test_thresholding_of_multipliers_completes_it_too(loss: Squares) -> None:
    settings = CompletionSettings(0.0, rank=10, n_iterations=1200, tolerance=1e-8)
    found = COMPLETERS["svt"](loss, settings, np.random.default_rng(0))
    error = np.linalg.norm(found.triples.matrix - loss.truth) / np.linalg.norm(loss.truth)
    assert error < 1e-3


def test_sparse_plus_low_rank_is_shrunk_like_the_dense_sum() -> None:
    rng = np.random.default_rng(1)
    rows, columns = np.divmod(np.sort(rng.choice(600, 80, replace=False)), 20)
    values = rng.standard_normal(80)
    thin = LowRank(10 * rng.standard_normal((30, 3)), rng.standard_normal((20, 3)))
    dense = thin.left @ thin.right.T
    dense[rows, columns] += values
    matrix = SparsePlusLowRank(SparsePattern((30, 20), rows, columns).matrix(values), thin)
    found, _ = shrunk_triples(matrix, 1.0, np.zeros((20, 0)), rng, most=20)
    for _step in range(10):  # warm starts converge to the decomposition
        found, _ = shrunk_triples(matrix, 1.0, found.right, rng, most=20)
    expected = singular_value_threshold(dense, 1.0)
    assert found.rank == expected.rank
    np.testing.assert_allclose(found.matrix, expected.matrix, atol=1e-6)


def test_a_watcher_can_stop_a_solver(loss: Squares) -> None:
    settings = CompletionSettings(1.0, watch=lambda step: step.iteration >= 3)
    for completer in COMPLETERS.values():
        assert len(completer(loss, settings, np.random.default_rng(0)).objectives) == 3


@pytest.mark.parametrize("name", COMPLETERS)
def test_where_nothing_is_to_be_fitted_the_matrix_is_zero(loss: Squares, name: str) -> None:
    loss.targets = np.zeros_like(loss.targets)
    found = COMPLETERS[name](loss, CompletionSettings(1.0, rank=4, n_iterations=30), np.random.default_rng(0))
    assert np.abs(found.triples.matrix).max(initial=0.0) < 0.1
