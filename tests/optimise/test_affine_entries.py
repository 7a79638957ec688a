"""Completion under linear equations: against dense steps, and against a general convex solver."""

from __future__ import annotations

import cvxpy
import numpy as np
import pytest

from oracles_grammar import random_pcfg
from sigmastar.automata.data.strings import Strings
from sigmastar.core.arrays import Floats
from sigmastar.grammars.counts.closed_hankel import ClosedHankel, closed_hankel
from sigmastar.grammars.model.mass import grammar_values_up_to
from sigmastar.optimise.completion import (
    AffineEntries,
    Completion,
    CompletionSettings,
    largest_penalty,
    proximal,
)
from sigmastar.optimise.proximal import singular_value_threshold
from sigmastar.optimise.solvers import accelerated


def complete(entries: AffineEntries, penalty: float, n_iterations: int, tolerance: float = 0.0) -> Completion:
    settings = CompletionSettings(penalty, 60, n_iterations, tolerance)
    return proximal(entries, settings, np.random.default_rng(0))


def complete_dense(entries: AffineEntries, penalty: float, n_iterations: int) -> tuple[Floats, float]:
    """The same steps with whole matrices and full decompositions: the matrix and its objective."""
    places, objectives = (entries.rows, entries.columns), list[float]()

    def descend(ahead: Floats) -> tuple[Floats, float]:
        point = ahead.copy()
        point[places] -= entries.residual(point[places])
        found = singular_value_threshold(point, penalty)
        value = entries.value_and_gradient(found.matrix[places])[0]
        return found.matrix, value + penalty * float(found.singular_values.sum())

    def note(objective: float, matrix: Floats) -> bool:
        objectives.append(objective)
        return False

    zero = np.zeros(entries.shape)
    matrix = accelerated(descend, zero, lambda new, old, ahead: new + ahead * (new - old), n_iterations, note)
    return matrix, objectives[-1]


def entries_of(hankel: ClosedHankel) -> AffineEntries:
    return AffineEntries(hankel.shape, hankel.rows, hankel.columns, hankel.residual)


@pytest.fixture(scope="module")
def small() -> AffineEntries:
    strings = Strings.of(["ab", "a", "aab", "bab"])
    return entries_of(closed_hankel(strings, np.array([0.4, 0.3, 0.2, 0.1])))


@pytest.mark.parametrize("share", [0.3, 0.03])
def test_a_convex_solver_finds_the_same_minimum(small: AffineEntries, share: float) -> None:
    penalty = share * largest_penalty(small)
    found = complete(small, penalty, n_iterations=1000, tolerance=0.0)
    zero = small.residual(np.zeros(len(small.rows)))
    columns = [small.residual(unit) - zero for unit in np.eye(len(small.rows))]
    linear = np.stack(columns, axis=1)
    matrix = cvxpy.Variable(small.shape)
    values = cvxpy.hstack([matrix[int(r), int(c)] for r, c in zip(small.rows, small.columns, strict=True)])
    cost = penalty * cvxpy.normNuc(matrix) + 0.5 * cvxpy.sum_squares(linear @ values + zero)
    problem = cvxpy.Problem(cvxpy.Minimize(cost))
    problem.solve(solver="SCS", eps=1e-9, max_iters=200_000)
    assert found.objective == pytest.approx(problem.value, rel=1e-5)
    np.testing.assert_allclose(found.triples.matrix, matrix.value, atol=1e-4)


def test_thin_steps_do_as_whole_ones(rng: np.random.Generator) -> None:
    grammar = random_pcfg(2, 2, rng)
    entries = entries_of(closed_hankel(*grammar_values_up_to(grammar, 4)))
    penalty = 0.02 * largest_penalty(entries)
    thin = complete(entries, penalty, n_iterations=60)
    matrix, objective = complete_dense(entries, penalty, n_iterations=60)
    assert thin.objective == pytest.approx(objective, rel=1e-4)
    assert thin.rank == np.linalg.matrix_rank(matrix, tol=1e-10)
    whole = singular_value_threshold(matrix, 0.0)
    assert entries.violation(thin.triples) == pytest.approx(entries.violation(whole), rel=0.05)


def test_the_objective_falls_and_the_largest_penalty_leaves_nothing(small: AffineEntries) -> None:
    largest = largest_penalty(small)
    objectives = complete(small, 0.01 * largest, n_iterations=200).objectives
    assert (np.diff(objectives[5:]) <= 1e-12).mean() > 0.9
    assert complete(small, 1.001 * largest, n_iterations=5).rank == 0
    assert complete(small, 0.9 * largest, n_iterations=50).rank > 0
