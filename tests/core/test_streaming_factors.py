"""Factors kept up while a matrix grows, against those of the whole matrix."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sigmastar.core.factors import StreamingFactors, factorize_up_to

SEEDS = st.integers(0, 10_000)


def of_rank(rng: np.random.Generator, n_rows: int, n_columns: int, rank: int) -> np.ndarray:
    return rng.standard_normal((n_rows, rank)) @ rng.standard_normal((rank, n_columns))


def assert_same(found: StreamingFactors, whole: np.ndarray) -> None:
    batch, kept = factorize_up_to(whole, min(whole.shape)), found.factors
    assert found.shape == whole.shape
    np.testing.assert_allclose(kept.singular_values, batch.singular_values[: kept.n_states], rtol=1e-9)
    assert kept.n_states == batch.n_states
    np.testing.assert_allclose(kept.outside @ kept.inside, whole, atol=1e-9)
    for vectors in (kept.left, kept.right):
        np.testing.assert_allclose(vectors.T @ vectors, np.eye(kept.n_states), atol=1e-9)


@given(SEEDS, st.integers(1, 4), st.lists(st.tuples(st.booleans(), st.integers(1, 4)), max_size=6))
def test_rows_and_columns_in_any_order_give_the_batch(seed, rank, pieces):
    rng = np.random.default_rng(seed)
    n_rows, n_columns = 3 + sum(n for r, n in pieces if r), 2 + sum(n for r, n in pieces if not r)
    whole, at = of_rank(rng, n_rows, n_columns, rank), [3, 2]
    found = StreamingFactors.of(whole[:3, :2], 10)
    for is_row, n in pieces:
        if is_row:
            found = found.with_rows(whole[at[0] : at[0] + n, : at[1]])
        else:
            found = found.with_columns(whole[: at[0], at[1] : at[1] + n])
        at[not is_row] += n
    assert_same(found, whole)


@given(SEEDS, st.integers(1, 3), st.integers(1, 3))
def test_changes_of_low_rank_give_the_batch(seed, rank, more):
    rng = np.random.default_rng(seed)
    first, rows, columns = of_rank(rng, 7, 6, rank), *(rng.standard_normal((n, more)) for n in (7, 6))
    assert_same(StreamingFactors.of(first, 10).plus(rows, columns), first + rows @ columns.T)


def test_blocks_of_counts_add_up():
    rng = np.random.default_rng(0)
    blocks = [rng.poisson(1.0, size=(9, 3)) @ rng.poisson(1.0, size=(3, 8)) for _ in range(3)]
    found = StreamingFactors.of(np.zeros((9, 8)), 8)
    for block in blocks:
        found = found.plus(block, np.eye(8))
    assert_same(found, sum(blocks).astype(float))


def test_beyond_the_states_the_largest_are_kept_nearly():
    rng = np.random.default_rng(1)
    whole = of_rank(rng, 200, 30, 5) + 0.01 * rng.standard_normal((200, 30))
    found = StreamingFactors.of(whole[:20], 8)
    for first in range(20, 200, 20):
        found = found.with_rows(whole[first : first + 20])
    batch = np.linalg.svd(whole, compute_uv=False)[:5]
    np.testing.assert_allclose(found.factors.singular_values[:5], batch, rtol=1e-3)
    assert found.factors.n_states == 8


def test_what_does_not_fit_is_refused():
    found = StreamingFactors.of(np.eye(3), 3)
    with pytest.raises(ValueError, match=r"rows of shape \(2, 4\) do not fit a matrix of 3 columns"):
        found.with_rows(np.ones((2, 4)))
    with pytest.raises(ValueError, match="do not fit a matrix"):
        found.plus(np.ones((3, 1)), np.ones((4, 1)))
    with pytest.raises(ValueError, match="most_states=0"):
        StreamingFactors.of(np.eye(3), 0)
