"""Proximal operators against their definition; all solvers against each other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sigmastar.optimise.factored import factored, triples_of_product
from sigmastar.optimise.proximal import L1, L2, NuclearNorm, keep_largest, singular_value_threshold
from sigmastar.optimise.solvers import SolverStep, fista, fobos


@dataclass(frozen=True)
class Squares:
    """|W - target|^2 / 2 with some entries unseen."""

    target: np.ndarray
    seen: np.ndarray

    @property
    def shape(self) -> tuple[int, int]:
        return self.target.shape

    def value(self, matrix: np.ndarray) -> float:
        return self.value_and_gradient(matrix)[0]

    def value_and_gradient(self, matrix: np.ndarray) -> tuple[float, np.ndarray]:
        difference = (matrix - self.target) * self.seen
        return 0.5 * float((difference**2).sum()), difference

    def factored(self, left: np.ndarray, right: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        value, gradient = self.value_and_gradient(left @ right.T)
        return value, gradient @ right, gradient.T @ left


@pytest.fixture
def squares(rng: np.random.Generator) -> Squares:
    target = rng.standard_normal((9, 3)) @ rng.standard_normal((3, 7))
    return Squares(target, rng.random((9, 7)) < 0.7)


@pytest.mark.parametrize("penalty", [NuclearNorm(0.7), L1(0.7), L2(0.7)])
@given(seed=st.integers(0, 1000), step=st.floats(0.1, 2.0))
def test_a_proximal_point_is_a_minimum(penalty: NuclearNorm | L1 | L2, seed: int, step: float) -> None:
    rng = np.random.default_rng(seed)
    matrix = rng.standard_normal((4, 3))
    found, value = penalty.prox(matrix, step)
    assert value == pytest.approx(penalty.value(found))

    def objective(point: np.ndarray) -> float:
        return 0.5 * float(((point - matrix) ** 2).sum()) + step * penalty.value(point)

    for _ in range(10):
        assert objective(found) <= objective(found + 0.05 * rng.standard_normal((4, 3))) + 1e-12


def test_threshold_lowers_the_rank(rng: np.random.Generator) -> None:
    matrix = rng.standard_normal((5, 4))
    values = np.linalg.svd(matrix)[1]
    assert singular_value_threshold(matrix, float(values[1])).rank == 1


@pytest.mark.parametrize("penalty", [NuclearNorm(0.5), L1(0.2), L2(0.3)])
def test_fobos_and_fista_meet(squares: Squares, penalty: NuclearNorm | L1 | L2) -> None:
    slow = fobos(squares, penalty, n_iterations=3000, step=1.0)
    fast = fista(squares, penalty, n_iterations=500, tolerance=1e-13)
    assert fast.objective <= slow.objective + 1e-6
    assert fast.objective == pytest.approx(slow.objective, rel=1e-4)


def test_the_factored_solver_finds_the_convex_minimum(squares: Squares, rng: np.random.Generator) -> None:
    convex = fista(squares, NuclearNorm(0.5), n_iterations=2000, tolerance=1e-14)
    thin = factored(squares, 0.5, 7, rng, n_iterations=1000, tolerance=1e-14)
    assert thin.objective == pytest.approx(convex.objective, rel=1e-5)
    assert np.allclose(thin.matrix, convex.matrix, atol=1e-2)


def test_a_watch_stops_every_solver(squares: Squares, rng: np.random.Generator) -> None:
    def stop(step: SolverStep) -> bool:
        return step.iteration >= 3

    for found in (
        fobos(squares, L2(0.1), watch=stop),
        fista(squares, L2(0.1), watch=stop),
        factored(squares, 0.1, 2, rng, watch=stop),
    ):
        assert len(found.objectives) == 3


def test_triples_of_a_product_are_its_singular_triples(rng: np.random.Generator) -> None:
    left, right = rng.standard_normal((6, 3)), rng.standard_normal((5, 3))
    found = triples_of_product(left, right)
    assert np.allclose(found.matrix, left @ right.T)
    assert np.allclose(found.singular_values, np.linalg.svd(left @ right.T)[1][:3])


def test_the_largest_weights_are_kept() -> None:
    assert keep_largest(np.array([[1.0, -3.0], [2.0, 0.5]]), 2).tolist() == [[0.0, -3.0], [2.0, 0.0]]
