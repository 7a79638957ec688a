"""Leading singular triples by iteration, with vectors that are orthonormal and values that are checked.

Three solvers find right vectors: blocks of vectors (`core.lanczos`) on large sparse matrices, else PROPACK,
and ARPACK where these fail. What they give is polished by one Rayleigh-Ritz step:

    V^T V = R^T R,    M V = N D,    N^T N = L L^T,    L^T D R^-1 = A diag(s) B^T
    left = N L^-T A,    right = V R^-1 B

with columns of N of length one, so that L is well conditioned wherever V is near the singular vectors.
"""

from __future__ import annotations

from contextlib import suppress

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.linalg import svds

from sigmastar.core.arrays import Floats

Matrix = Floats | sparse.csr_array
Triples = tuple[Floats, Floats, Floats]

_NEARLY = 0.5  # of the largest length: columns that were orthogonal but for a few digits
_TINY = 1e-300
_MIXES = 4
_LARGE, _MANY = 4096, 50  # rows and columns, and triples, from which on blocks of vectors are the faster


def iterative_svd(matrix: Matrix, n_states: int) -> Triples:
    """Blocks of vectors on large sparse matrices, PROPACK on others, ARPACK where these fail.

    PROPACK was faster than ARPACK on all count blocks tried (1,500 to 30,000 rows, 30 and 100 states: 1.1
    to 1.9 times), but it may not converge, and on an identity it returns wrong values and no error.
    """
    is_large = sparse.issparse(matrix) and min(matrix.shape) >= _LARGE and n_states >= _MANY
    for solve in (lanczos_svd, propack_svd) if is_large else (propack_svd,):
        with suppress(np.linalg.LinAlgError):
            return solve(matrix, n_states)
    return arpack_svd(matrix, n_states)


def lanczos_svd(matrix: Matrix, n_states: int) -> Triples:
    """By blocks of vectors, which a sparse matrix is read once for."""
    from sigmastar.core.lanczos import block_lanczos  # which needs compiled kernels

    return _polished(matrix, *block_lanczos(sparse.csr_array(matrix), n_states))


def propack_svd(matrix: Matrix, n_states: int) -> Triples:
    """With little room at first, since all of it is taken from the start; flat spectra need more."""
    try:
        return _propack_svd(matrix, n_states, 4 * n_states + 60)
    except np.linalg.LinAlgError:
        return _propack_svd(matrix, n_states, max(10 * n_states, 600))


def _propack_svd(matrix: Matrix, n_states: int, n_iterations: int) -> Triples:
    _, values, right = svds(matrix, n_states, solver="propack", rng=0, maxiter=n_iterations)
    return _polished(matrix, np.sort(values)[::-1].astype(np.float64), right.T)


def arpack_svd(matrix: Matrix, n_states: int) -> Triples:
    start = np.random.default_rng(0).standard_normal(min(matrix.shape))  # fixed: same block, same model
    _, values, right = svds(matrix, n_states, solver="arpack", v0=start)
    return _polished(matrix, np.sort(values)[::-1].astype(np.float64), right.T)


def _polished(matrix: Matrix, values: Floats, right: Floats, images: Floats | None = None) -> Triples:
    """Vectors orthonormal to rounding (PROPACK's are to 1e-10), and values and vectors that were checked."""
    try:
        left, polished, right = _turned(right, np.asarray(matrix @ right) if images is None else images)
    except np.linalg.LinAlgError:  # fewer directions than vectors
        left, polished, right = _turned_slowly(matrix, right)
    mixes = np.random.default_rng(0).standard_normal((len(polished), _MIXES))  # for an error of any vector
    error = np.abs(matrix.T @ (left @ mixes) - right @ (polished[:, None] * mixes)).max()
    if max(np.abs(values - polished).max(), error) > 1e-7 * polished[0]:
        raise np.linalg.LinAlgError("the singular value solver returned values that do not fit the block")
    return left, polished, right


def _turned(right: Floats, images: Floats) -> Triples:
    """The Rayleigh-Ritz step by Cholesky factors: four products of tall matrices; `images` are changed."""
    inverse = np.linalg.inv(_triangle(right).T)
    lengths = np.maximum(np.sqrt(np.einsum("ij,ij->j", images, images)), _TINY)
    images /= lengths
    lower = _triangle(images)
    turn_left, polished, turn = linalg.svd((lower.T * lengths) @ inverse)
    return images @ np.linalg.solve(lower.T, turn_left), polished, right @ (inverse @ turn.T)


def _triangle(block: Floats) -> Floats:
    """The Cholesky factor of the square of nearly orthonormal columns."""
    factor = np.asarray(np.linalg.cholesky(block.T @ block), dtype=np.float64)
    if factor.diagonal().min() <= _NEARLY * factor.diagonal().max():
        raise np.linalg.LinAlgError("the columns depend on each other")
    return factor


def _turned_slowly(matrix: Matrix, right: Floats) -> Triples:
    basis = orthonormal(right, _NEARLY)
    images: Floats = np.asarray(matrix @ basis)
    frame = orthonormal(images / np.maximum(linalg.norm(images, axis=0), _TINY), _NEARLY)
    turn_left, polished, turn = linalg.svd(frame.T @ images)
    return frame @ turn_left, polished, basis @ turn.T


def orthonormal(block: Floats, least: float = 1e-6) -> Floats:
    """By the Cholesky factor of the block's square, which is quick, where columns are far from dependent.

    What is left over each column by those before it is at least a share `least`, or the way is the slow one.
    """
    square = block.T @ block
    with suppress(np.linalg.LinAlgError):
        factor = np.linalg.cholesky(square)
        if (sizes := factor.diagonal()).min() > least * sizes.max():
            return block @ np.linalg.inv(factor).T
    vectors = linalg.qr(block, mode="economic", check_finite=False)[0]
    return np.ascontiguousarray(vectors, dtype=np.float64)
