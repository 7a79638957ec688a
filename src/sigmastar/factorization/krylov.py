"""Singular triples to the accuracy that counts deserve, in a fraction of the time of a full one.

    Q = orthonormal basis of [X, (M^T M) X, .., (M^T M)^q X],    M Q = W,    W^T W = Z diag(s^2) Z^T
    V = Q Z,    U = W Z / s

A block Krylov space with one Rayleigh-Ritz step (Musco and Musco, 2015). Values well above the flat
spectrum of noise come out to many digits, those inside it as some directions of it. U and V are
orthonormal and M V = U S holds to rounding, whatever has converged: a projection of M in any case.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from sigmastar.factorization.svd import Matrix, Triples, dense

Array = NDArray[np.float64]

BLOCK, ROUNDS = 16, 10
_DENSE = 400  # rows or columns: the square of a small block is decomposed whole
_LEAST = 1e-6  # of the largest value: the square of a block knows no smaller ones


def quick_svd(matrix: Matrix, n_states: int, start: Array | None = None, n_rounds: int = ROUNDS) -> Triples:
    """Leading triples, largest first, from a block of `start` vectors (columns) or a random one."""
    if min(matrix.shape) <= _DENSE and (start is None or start.shape[1] < BLOCK):
        return _ritz(np.eye(matrix.shape[1]), dense(matrix), n_states)
    if start is None or start.shape[1] < BLOCK:
        random = np.random.default_rng(0).standard_normal(
            (matrix.shape[1], BLOCK)
        )  # fixed: same block, same model
        start = random if start is None else np.hstack([start, random[:, start.shape[1] :]])
    return _ritz(*_krylov_space(matrix, start, n_rounds), n_states)


def _krylov_space(matrix: Matrix, start: Array, n_rounds: int) -> tuple[Array, Array]:
    """Q and M Q, a block of columns a round."""
    width = start.shape[1]
    n_rounds = min(n_rounds, matrix.shape[1] // width - 1)
    size = width * (n_rounds + 1)
    basis, images = np.empty((matrix.shape[1], size), order="F"), np.empty((matrix.shape[0], size), order="F")
    block = start
    for end in range(width, size + 1, width):
        basis[:, end - width : end] = _orthonormal(block, basis[:, : end - width])
        images[:, end - width : end] = matrix @ np.ascontiguousarray(basis[:, end - width : end])
        if end < size:
            block = matrix.T @ np.ascontiguousarray(images[:, end - width : end])
    return basis, images


def _orthonormal(block: Array, basis: Array) -> Array:
    """The block made orthonormal, and orthogonal to the basis: twice is enough."""
    for _ in range(2):
        block = block - basis @ (basis.T @ block)
        block = np.asarray(linalg.qr(block, mode="economic", check_finite=False)[0], np.float64)
    return block


def _ritz(basis: Array, images: Array, n_states: int) -> Triples:
    squares, turn = np.linalg.eigh(images.T @ images)
    values = np.sqrt(np.maximum(squares[::-1][:n_states], 0.0))
    values = values[values > _LEAST * values.max(initial=0.0)]
    turn = turn[:, ::-1][:, : len(values)]
    return (images @ turn) / values, values, basis @ turn
