"""The quick decomposition against the dense one."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from sigmastar.core import factors as module
from sigmastar.core.factors import Factors, factorize_up_to, quick_svd


def noisy_block(rng: np.random.Generator, rows: int, columns: int, rank: int) -> sparse.csr_array:
    """A block of low rank with a flat spectrum of noise below it."""
    left, right = (np.linalg.qr(rng.standard_normal((n, rank)))[0] for n in (rows, columns))
    values = np.linspace(1.0, 0.3, rank)
    return sparse.csr_array((left * values) @ right.T + 1e-3 * rng.standard_normal((rows, columns)))


@pytest.mark.parametrize("shape", [(60, 80), (500, 450), (450, 900)])
def test_values_above_the_noise_are_exact(rng, shape):
    block = noisy_block(rng, *shape, 12)
    left, values, right = np.linalg.svd(block.toarray())
    quick_left, quick, quick_right = quick_svd(block, 30)
    np.testing.assert_allclose(quick[:12], values[:12], rtol=1e-9)
    for exact, found in ((left, quick_left), (right.T, quick_right)):
        np.testing.assert_allclose(np.abs((exact[:, :12] * found[:, :12]).sum(axis=0)), 1.0, atol=1e-9)


@pytest.mark.parametrize("shape", [(60, 80), (500, 450)])
def test_what_has_not_converged_is_a_projection_all_the_same(rng, shape):
    block = sparse.random_array(shape, density=0.2, rng=rng, format="csr")
    left, values, right = quick_svd(block, 40, n_rounds=2)
    for vectors in (left, right):
        np.testing.assert_allclose(vectors.T @ vectors, np.eye(40), atol=1e-9)
    np.testing.assert_allclose(block @ right, left * values, atol=1e-12)
    assert (np.diff(values) <= 0).all()


def test_a_known_start_saves_rounds(rng):
    block = noisy_block(rng, 600, 700, 20)
    exact = np.linalg.svd(block.toarray())
    start = exact[2][:20].T + 1e-2 * rng.standard_normal((700, 20))
    np.testing.assert_allclose(quick_svd(block, 20, start, n_rounds=2)[1], exact[1][:20], rtol=1e-9)
    left = exact[0][:, :20] + 1e-2 * rng.standard_normal((600, 20))
    np.testing.assert_allclose(quick_svd(block, 20, left=left, n_rounds=2)[1], exact[1][:20], rtol=1e-9)


@pytest.mark.parametrize("dense_size", [0, 400])
def test_ranks_that_are_not_there_are_not_returned(rng, monkeypatch, dense_size):
    monkeypatch.setattr(module, "_DENSE", dense_size)
    block = sparse.csr_array(rng.standard_normal((90, 5)) @ rng.standard_normal((5, 70)))
    factors = factorize_up_to(block, 20, quick_svd)
    assert isinstance(factors, Factors)
    assert factors.n_states == 5
    np.testing.assert_allclose(factors.outside @ factors.inside, block.toarray(), atol=1e-9)


def test_a_single_row_or_column_is_a_block(rng):
    for shape in ((1, 7), (7, 1), (1, 1)):
        block = sparse.csr_array(rng.random(shape) + 0.5)
        assert factorize_up_to(block, 3, quick_svd).singular_values == pytest.approx(
            np.linalg.norm(block.toarray())
        )
