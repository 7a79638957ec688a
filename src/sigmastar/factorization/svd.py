"""Truncated singular value decomposition: the factorisation behind every spectral model.

    H ~ U S V^T,   outside factor F = U S,   inside factor B = V^T

One decomposition serves every smaller number of states: `Factors.leading(n)` is exact, because the
first n singular triples do not depend on how many were asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from scipy.sparse.linalg import ArpackError, svds

Array = NDArray[np.float64]
Matrix = Array | sparse.csr_array
Solver = Callable[[Matrix, int], tuple[Array, Array, Array]]


@dataclass(frozen=True, eq=False)
class Factors:
    """H ~ outside @ inside, with the pseudo-inverses of both."""

    left: Array  # U, outsides x n, orthonormal columns
    singular_values: Array
    right: Array  # V, insides x n, orthonormal columns

    @property
    def n_states(self) -> int:
        return len(self.singular_values)

    @property
    def outside(self) -> Array:
        return self.left * self.singular_values

    @property
    def inside(self) -> Array:
        return self.right.T

    @property
    def outside_inverse(self) -> Array:
        return (self.left / self.singular_values).T

    @property
    def inside_inverse(self) -> Array:
        return self.right

    def leading(self, n_states: int) -> Factors:
        return Factors(self.left[:, :n_states], self.singular_values[:n_states], self.right[:, :n_states])


def factorize(matrix: Matrix, n_states: int, solver: Solver | None = None) -> Factors:
    """The leading singular triples of `matrix`, largest first, signs fixed.

    Without `solver`, small or nearly full-rank problems are solved densely, others by PROPACK, and
    by ARPACK where PROPACK fails.
    """
    limit = min(matrix.shape)
    if not 1 <= n_states <= limit:
        raise ValueError(f"n_states={n_states} does not fit a block of {matrix.shape[0]} outsides x {matrix.shape[1]} "
                         f"insides; use 1 <= n_states <= {limit} or a larger basis")
    left, values, right = (solver or choose_solver(matrix, n_states))(matrix, n_states)
    if not np.isfinite(values).all():
        raise ValueError("the block holds NaN or infinite entries")
    rank = int((values > values[0] * max(matrix.shape) * np.finfo(float).eps).sum()) if len(values) else 0
    if rank < n_states:
        raise ValueError(f"n_states={n_states} exceeds block rank {rank}; use n_states<={rank} or a larger basis")
    return Factors(*_fix_signs(left, values, right))


def numerical_rank(matrix: Matrix) -> int:
    """The rank of a block up to rounding."""
    values = linalg.svdvals(_dense(matrix))
    return int((values > values[0] * max(matrix.shape) * np.finfo(float).eps).sum()) if len(values) else 0


def choose_solver(matrix: Matrix, n_states: int) -> Solver:
    rows, columns = matrix.shape
    small = min(rows, columns) <= 200 and max(rows, columns) <= 20_000
    if small or 3 * n_states > min(rows, columns):
        return dense_svd
    return iterative_svd


def dense_svd(matrix: Matrix, n_states: int) -> tuple[Array, Array, Array]:
    left, values, right = linalg.svd(_dense(matrix), full_matrices=False)
    return left[:, :n_states], values[:n_states], right[:n_states].T


def propack_svd(matrix: Matrix, n_states: int) -> tuple[Array, Array, Array]:
    return _svds(matrix, n_states, "propack")


def arpack_svd(matrix: Matrix, n_states: int) -> tuple[Array, Array, Array]:
    return _svds(matrix, n_states, "arpack")


def iterative_svd(matrix: Matrix, n_states: int) -> tuple[Array, Array, Array]:
    """PROPACK, exact and fast on large blocks; ARPACK where it does not converge."""
    try:
        return propack_svd(matrix, n_states)
    except (np.linalg.LinAlgError, ArpackError):
        return arpack_svd(matrix, n_states)


def _svds(matrix: Matrix, n_states: int, name: str) -> tuple[Array, Array, Array]:
    start = np.random.default_rng(0).standard_normal(min(matrix.shape))  # a fixed start: same block, same model
    left, values, right = svds(matrix, k=n_states, solver=name, v0=start if name == "arpack" else None, rng=0)
    order = np.argsort(-values)
    return left[:, order], values[order], right[order].T


def _dense(matrix: Matrix) -> Array:
    return matrix.toarray() if sparse.issparse(matrix) else np.asarray(matrix)


def _fix_signs(left: Array, values: Array, right: Array) -> tuple[Array, Array, Array]:
    """Make the entry of largest size in each right vector positive: solvers leave the sign open."""
    peaks = right[np.argmax(np.abs(right), axis=0), np.arange(right.shape[1])]
    signs = np.where(peaks < 0, -1.0, 1.0)
    return np.ascontiguousarray(left * signs), values, np.ascontiguousarray(right * signs)
