from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from automata.random_automata import SEEDS
from sigmastar.automata.kernels.mixtures import left_sums_only, mixture_sums


@given(SEEDS, st.integers(1, 4), st.integers(1, 5), st.integers(1, 6))
def test_sums_are_those_of_dense_tables(seed, n, n_rows, n_columns):
    rng = np.random.default_rng(seed)
    table = rng.integers(0, 3, size=(n_rows, n_columns)).astype(float)
    left, right = rng.random((n_rows, n)), rng.random((n_columns, n))
    rows, columns = np.nonzero(table)
    values = left @ right.T
    ratios = table / values
    found = mixture_sums(rows, columns, table[rows, columns], left, right)
    expected = (ratios @ right, ratios.T @ left, (table * np.log(values)).sum())
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(
        left_sums_only(rows, columns, table[rows, columns], left, right), expected[0], rtol=1e-9, atol=1e-12
    )


def test_entries_of_value_zero_are_left_out():
    rows, columns, counts = np.array([0, 1]), np.array([0, 0]), np.array([2.0, 3.0])
    left, right = np.array([[1.0], [0.0]]), np.array([[0.5]])
    left_sums, right_sums, log_likelihood = mixture_sums(rows, columns, counts, left, right)
    assert left_sums.tolist() == [[2.0], [0.0]]
    assert right_sums.tolist() == [[4.0]]
    assert log_likelihood == pytest.approx(2 * np.log(0.5))
    assert left_sums_only(rows, columns, counts, left, right).tolist() == [[2.0], [0.0]]


@given(SEEDS)
def test_multiplicative_updates_climb(seed):
    """The step that the sums are for never lowers the likelihood."""
    rng = np.random.default_rng(seed)
    table = rng.integers(0, 4, size=(4, 5)).astype(float) + 0.1
    rows, columns = np.nonzero(table)
    left, right = rng.dirichlet(np.ones(2), size=4), rng.dirichlet(np.ones(5), size=2).T.copy()
    reached = -np.inf
    for _ in range(5):
        _, sums, log_likelihood = mixture_sums(rows, columns, table.ravel(), left, right)
        assert log_likelihood >= reached - 1e-9
        reached = log_likelihood
        right = right * sums
        right /= right.sum(axis=0)
