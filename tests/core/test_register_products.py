"""Products in registers against those of NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sigmastar.core import plain_kernels
from sigmastar.core.jit import add_products, kernel, multiply, vector_width

KINDS = st.sampled_from([np.float64, np.float32])
WIDTHS = st.one_of(st.integers(1, 40), st.sampled_from([48, 52, 64, 96, 104, 136]))


@kernel
def both(rows: np.ndarray, matrix: np.ndarray, product: np.ndarray, sums: np.ndarray) -> None:
    """As kernels call them: on slices of what they have made."""
    multiply(rows[1:], matrix, product[1:])
    add_products(rows[1:], product[1:], sums)


@given(st.one_of(st.integers(0, 21), st.integers(30, 35)), WIDTHS, KINDS, st.integers(0, 2**32 - 1))
def test_products_are_those_of_numpy(n_rows, width, kind, seed):
    rng = np.random.default_rng(seed)
    rows, matrix, sums = (rng.normal(size=(n, width)).astype(kind) for n in (n_rows + 1, width, width))
    product, before = np.full_like(rows, 7), sums.copy()
    both(rows, matrix, product, sums)
    tolerance = {"rtol": 1e-4 if kind is np.float32 else 1e-11, "atol": 1e-3 if kind is np.float32 else 1e-10}
    np.testing.assert_array_equal(product[0], 7)  # nothing is written beside the product
    np.testing.assert_allclose(product[1:], rows[1:] @ matrix, **tolerance)
    np.testing.assert_allclose(sums, before + rows[1:].T @ product[1:], **tolerance)


@given(st.integers(0, 9), st.integers(1, 20), st.integers(0, 2**32 - 1))
def test_without_a_compiler_they_are_the_same(n_rows, width, seed):
    rng = np.random.default_rng(seed)
    rows, matrix, sums = (rng.normal(size=(n, width)) for n in (n_rows, width, width))
    found, expected = (np.empty_like(rows), sums.copy()), (np.empty_like(rows), sums.copy())
    for module, (product, total) in ((plain_kernels, expected), (None, found)):
        (module.multiply if module else multiply)(rows, matrix, product)
        (module.add_products if module else add_products)(rows, product, total)
    np.testing.assert_allclose(found[0], expected[0], atol=1e-12)
    np.testing.assert_allclose(found[1], expected[1], atol=1e-10)


@pytest.mark.parametrize(
    ("n_columns", "itemsize", "width"), [(1, 8, 4), (16, 8, 16), (17, 8, 20), (17, 4, 24), (49, 8, 49)]
)
def test_widths_fill_vectors_until_blas_is_level(n_columns, itemsize, width):
    assert vector_width(n_columns, itemsize) == width
    assert plain_kernels.vector_width(n_columns, itemsize) == n_columns


@pytest.mark.parametrize(
    ("n_columns", "itemsize", "width"), [(3, 4, 8), (100, 4, 104), (128, 4, 136), (130, 4, 136), (64, 8, 68)]
)
def test_rows_of_few_never_share_the_places_of_a_cache(n_columns, itemsize, width):
    assert vector_width(n_columns, itemsize, few_rows=True) == width
    assert plain_kernels.vector_width(n_columns, itemsize, few_rows=True) == n_columns
