"""Singular triples to the accuracy that counts deserve, in a fraction of the time of a full one.

    Q = orthonormal basis of [X, (M^T M) X, .., (M^T M)^q X],    Q^T (M^T M) Q = Z diag(s^2) Z^T
    V = Q Z,    U = M V / s

A block Krylov space with one Rayleigh-Ritz step (Musco and Musco, 2015). Values well above the flat
spectrum of noise come out to many digits, those inside it as some directions of it. U and V are
orthonormal and M V = U S holds to rounding, whatever has converged: a projection of M in any case.
"""

from __future__ import annotations

from contextlib import suppress

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from sigmastar.core.factors import Matrix, Triples, dense

Array = NDArray[np.float64]
Reals = NDArray[np.float64] | NDArray[np.float32]

BLOCK, ROUNDS = 8, 17
_DENSE = 400  # rows or columns: the square of a small block is decomposed whole
_LEAST = 1e-6  # of the largest value: the square of a block knows no smaller ones


def quick_svd(
    matrix: Matrix,
    n_states: int,
    start: Array | None = None,
    left: Reals | None = None,
    n_rounds: int = ROUNDS,
) -> Triples:
    """Leading triples, largest first.

    From a block of `start` vectors (columns), filled up with random ones; or from those that belong to a
    block of `left` vectors.
    """
    given = start if left is None else left
    if min(matrix.shape) <= _DENSE and (given is None or given.shape[1] < BLOCK):
        small = dense(matrix)
        right, values = _leading(small.T @ small, n_states)
        return small @ (right / values), values, right
    basis, square = _krylov_space(matrix, _first_block(matrix, start, left), n_rounds, n_states)
    turn, values = _leading(square, n_states)
    right = basis @ turn
    del basis
    images: Array = matrix @ right
    images /= values
    return images, values, right


def _first_block(matrix: Matrix, start: Array | None, left: Reals | None) -> Array:
    if left is not None:
        start = np.asarray(matrix.T @ left)
    elif start is None:
        start = np.zeros((matrix.shape[1], 0))
    n_missing = max(BLOCK - start.shape[1], 0)
    random = np.random.default_rng(0).standard_normal((matrix.shape[1], n_missing))  # same block, same model
    return _orthonormal(np.hstack([start, random]) if n_missing else start)


def _krylov_space(matrix: Matrix, block: Array, n_rounds: int, n_states: int) -> tuple[Array, Array]:
    """Q and Q^T (M^T M) Q, a block of columns a round, and as many rounds as the states need."""
    width = block.shape[1]
    size = width * min(max(n_rounds + 1, -(-n_states // width)), matrix.shape[1] // width)
    basis, square = np.empty((matrix.shape[1], size), order="F"), np.zeros((size, size))
    block = _orthonormal(block)
    for begin in range(0, size, width):
        end = begin + width
        basis[:, begin:end] = block
        block = np.asarray(matrix @ block)
        block = np.asarray(matrix.T @ block)
        known = basis[:, :end]
        shares = known.T @ block
        square[:end, begin:end], square[begin:end, :end] = shares, shares.T
        whole = np.linalg.norm(block)
        block -= known @ shares
        if np.linalg.norm(block) <= _LEAST**2 * whole:  # the space holds all that the block can reach
            return known, square[:end, :end]
        block = _orthonormal(block)
        block -= known @ (known.T @ block)  # twice is enough
        block = _orthonormal(block)
    return basis, square


def _orthonormal(block: Array) -> Array:
    """By the Cholesky factor of the block's square, which is quick, where columns are far from dependent."""
    square = block.T @ block
    with suppress(np.linalg.LinAlgError):
        factor = np.linalg.cholesky(square)
        if (sizes := factor.diagonal()).min() > 1e-6 * sizes.max():
            return block @ np.linalg.inv(factor).T
    vectors = linalg.qr(block, mode="economic", check_finite=False)[0]
    return np.ascontiguousarray(vectors, dtype=np.float64)


def _leading(square: Array, n_states: int) -> tuple[Array, Array]:
    """The leading eigenvectors of a square, and the roots of their values."""
    squares, vectors = np.linalg.eigh(square)
    values = np.sqrt(np.maximum(squares[::-1][:n_states], 0.0))
    values = values[values > _LEAST * values.max(initial=0.0)]
    return np.ascontiguousarray(vectors[:, ::-1][:, : len(values)]), values
