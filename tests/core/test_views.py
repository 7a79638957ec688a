"""Correlations of two views: against dense algebra, with and without the matrix of counts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from sigmastar.core.factors import constant_first
from sigmastar.core.views import (
    Indicators,
    as_given,
    correlate,
    correlate_views,
    counts_together,
    damped,
    directions,
    gathered,
    grouped_indicators,
    indicator_matrix,
    numbered,
    scaled,
    scattered,
    shortened,
    unit_columns,
    unit_size,
)


@dataclass(frozen=True, eq=False)
class MatrixView:
    """A view whose features are a dense or a sparse matrix."""

    matrix: np.ndarray | sparse.csr_array

    @property
    def n_features(self) -> int:
        return int(self.matrix.shape[1])

    def times(self, matrix: np.ndarray) -> np.ndarray:
        return np.asarray(self.matrix @ matrix)

    def transposed_times(self, matrix: np.ndarray) -> np.ndarray:
        return np.asarray(self.matrix.T @ matrix)


seeds = st.integers(0, 10**6)


def counted(rng: np.random.Generator, n: int = 200) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Codes of both views, drawn with something in common, and weights."""
    hidden = rng.integers(0, 3, n)
    x, y = (hidden * 2 + rng.integers(0, 3, n)) % 7, (hidden + rng.integers(0, 2, n)) % 5
    return x, y, rng.integers(1, 4, n).astype(float)


def dense_table(x: np.ndarray, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
    table = np.zeros((7, 5))
    np.add.at(table, (x, y), weights)
    return table


@given(seeds, st.floats(0.0, 5.0))
def test_correlations_are_the_svd_of_scaled_counts(seed: int, damping: float) -> None:
    table = dense_table(*counted(np.random.default_rng(seed))) + 0.01
    found = correlate(table, 5, damped(damping))
    matrix = table / np.sqrt(np.outer(table.sum(axis=1) + damping, table.sum(axis=0) + damping))
    np.testing.assert_allclose(found.values, np.linalg.svd(matrix)[1], atol=1e-12)
    back = found.left(1.0) / np.sqrt(found.total) @ found.factors.right.T
    np.testing.assert_allclose(back, matrix / np.sqrt(table.sum(axis=1) + damping)[:, None], atol=1e-10)


@given(seeds)
def test_the_first_pair_of_undamped_counts_is_constant(seed: int) -> None:
    table = dense_table(*counted(np.random.default_rng(seed))) + 0.01
    found = correlate(table, 3)
    assert found.values[0] == pytest.approx(1.0)
    np.testing.assert_allclose(found.left()[:, 0], found.left()[0, 0], rtol=1e-6)
    assert len(found.without_constant().values) == len(found.values) - 1
    np.testing.assert_allclose(found.relative().values, found.values / found.values[0])


@given(seeds)
def test_sparse_and_dense_counts_give_the_same(seed: int) -> None:
    table = dense_table(*counted(np.random.default_rng(seed)))
    dense, thin = (correlate(matrix, 3, damped(1.0)) for matrix in (table, sparse.csr_array(table)))
    np.testing.assert_allclose(dense.values, thin.values, atol=1e-12)


@given(seeds)
def test_counts_that_are_never_made(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, y, weights = counted(rng)
    views = [indicator_matrix([codes], weights, damped(2.0)) for codes in (x, y)]
    shared = counts_together(*views, weights)
    explicit = correlate(shared, 3, as_given, total=1.0)
    implicit = correlate_views(MatrixView(views[0]), MatrixView(views[1]), 3, rng, weights=weights)
    np.testing.assert_allclose(implicit.values, explicit.values, rtol=1e-3)
    np.testing.assert_allclose(implicit.factors.left, explicit.factors.left, atol=0.05)


def test_the_same_from_the_same_seed() -> None:
    x, y, weights = counted(np.random.default_rng(1))
    views = [MatrixView(indicator_matrix([codes], weights)) for codes in (x, y)]
    once, again = (correlate_views(*views, 2, np.random.default_rng(3)).left() for _ in range(2))
    np.testing.assert_array_equal(once, again)


@given(seeds)
def test_products_with_indicators(seed: int) -> None:
    rng = np.random.default_rng(seed)
    number = rng.integers(0, 6, (20, 3)).astype(np.int32)
    weight = rng.integers(0, 3, (20, 3)).astype(np.float32)
    matrix = np.zeros((20, 6))
    for row in range(20):
        for t in range(3):
            matrix[row, number[row, t]] += weight[row, t]
    block, images = rng.standard_normal((6, 2)), rng.standard_normal((20, 2))
    np.testing.assert_allclose(gathered(number, weight, block), matrix @ block, atol=1e-12)
    np.testing.assert_allclose(scattered(number, weight, images, 6), matrix.T @ images, atol=1e-12)
    view = Indicators(number, weight, 6)
    np.testing.assert_allclose(view.transposed_times(view.times(block)), matrix.T @ matrix @ block, atol=1e-9)


@given(seeds)
def test_numbers_within_groups(seed: int) -> None:
    rng = np.random.default_rng(seed)
    groups, codes = rng.integers(0, 3, 30), rng.integers(-1, 4, (30, 2))
    number, often, sizes = numbered(groups, codes, 3)
    known: list[dict[tuple[int, int], int]] = [{} for _ in range(3)]
    for row, group in enumerate(groups.tolist()):
        for t, code in enumerate(codes[row].tolist()):
            assert number[row, t] == known[group].setdefault((t, code), len(known[group]))
            assert often[row, t] == ((codes[:, t] == code) & (groups == group)).sum()
    assert sizes.tolist() == [len(table) for table in known]


def test_rare_features_have_no_weight() -> None:
    groups = np.zeros(60, dtype=np.int64)
    codes = np.where(np.arange(60) == 7, 5, 0)[:, None]
    found = grouped_indicators(groups, codes, 1)
    assert found.weight[7, 0] == 0.0
    assert found.of(0, np.arange(3)).weight[0, 0] == pytest.approx(np.sqrt(60 / 64))
    with pytest.raises(ValueError, match="from -1 up"):
        grouped_indicators(groups, codes - 3, 1)


def test_the_known_pair_comes_first_among_several_of_one() -> None:
    blocks = np.kron(np.eye(2), np.full((2, 2), 3.0)) * np.array([1.0, 1.0, 2.0, 2.0])
    found = correlate(blocks, 2)
    constant = np.sqrt(blocks.sum(axis=0) / blocks.sum())
    turned = constant_first(found.factors, scaled(blocks, found.left_scale, found.right_scale), constant)
    np.testing.assert_allclose(turned.right[:, 0], constant, atol=1e-9)
    np.testing.assert_allclose(turned.right.T @ turned.right, np.eye(2), atol=1e-9)


@given(seeds)
def test_points_of_given_sizes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    points, weights = 3.0 * rng.standard_normal((10, 4)), rng.random(10) + 0.1
    np.testing.assert_allclose((unit_columns(points) ** 2).mean(axis=0), 1.0)
    assert np.average((unit_size(points, weights) ** 2).mean(axis=1), weights=weights) == pytest.approx(1.0)
    np.testing.assert_allclose(np.linalg.norm(directions(points), axis=1), 1.0)
    assert np.linalg.norm(shortened(points), axis=1).max() <= 1.0 + 1e-12
    np.testing.assert_array_equal(shortened(0.01 * points), 0.01 * points)
