"""Truncated singular value decomposition: the factorization behind every spectral model.

    H ~ U S V^T,   outside factor F = U S,   inside factor B = V^T

One decomposition serves every smaller number of states: `Factors.leading(n)` is exact, because the
first n singular triples do not depend on how many were asked for.

`quick_svd` gives them to the accuracy that counts deserve, in a fraction of the time of a full one:

    Q = orthonormal basis of [X, (M^T M) X, .., (M^T M)^q X],    Q^T (M^T M) Q = Z diag(s^2) Z^T
    V = Q Z,    U = M V / s

A block Krylov space with one Rayleigh-Ritz step (Musco and Musco, 2015). Values well above the flat
spectrum of noise come out to many digits, those inside it as some directions of it. U and V are
orthonormal and M V = U S holds to rounding, whatever has converged: a projection of M in any case.

`StreamingFactors` is a decomposition that is kept up while a matrix grows (Brand 2002):

    [H, C]          new columns      C = U (U^T C) + Q R,    a small matrix [[S, U^T C], [0, R]] is decomposed
    [H; C]          new rows         the same of the transpose
    H + C at some   a block          both sides widened by what the block adds to them

Where no more than `most_states` singular values are ever above rounding the result is that of a batch;
beyond it the smallest are dropped as they come, and what was dropped is lost.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import linalg, sparse

from sigmastar.core.arrays import Floats, Reals
from sigmastar.core.progress import Spectrum, report
from sigmastar.core.sparse_svd import Matrix, Triples, iterative_svd, orthonormal

_ONE = 1e-9  # singular values this close to 1 are taken for it
Solver = Callable[[Matrix, int], Triples]

BLOCK, ROUNDS = 8, 17
_DENSE = 400  # rows or columns: the square of a small block is decomposed whole
_LEAST = 1e-6  # of the largest value: the square of a block holds no smaller ones


@dataclass(frozen=True, eq=False)
class Factors:
    """H ~ outside @ inside, with the pseudo-inverses of both."""

    left: Floats  # U, outsides x n, orthonormal columns
    singular_values: Floats
    right: Floats  # V, insides x n, orthonormal columns

    @property
    def n_states(self) -> int:
        return len(self.singular_values)

    @property
    def outside(self) -> Floats:
        return self.left * self.singular_values

    @property
    def inside(self) -> Floats:
        return self.right.T

    @property
    def outside_inverse(self) -> Floats:
        return (self.left / self.singular_values).T

    @property
    def inside_inverse(self) -> Floats:
        return self.right

    def leading(self, n_states: int) -> Factors:
        """The factorization with fewer states: no new decomposition is needed."""
        if not 1 <= n_states <= self.n_states:
            raise ValueError(
                f"n_states={n_states} is not among the 1 to {self.n_states} that were factorized"
            )
        return Factors(self.left[:, :n_states], self.singular_values[:n_states], self.right[:, :n_states])


def factorize(matrix: Matrix, n_states: int, solver: Solver | None = None) -> Factors:
    """The leading singular triples of `matrix`, largest first, signs fixed.

    Without `solver`, small or nearly full-rank problems are solved densely, others by `iterative_svd`.
    """
    rows, columns = matrix.shape
    if not 1 <= n_states <= min(rows, columns):
        raise ValueError(
            f"n_states={n_states} does not fit a block of {rows} outsides x {columns} insides; "
            f"use 1 <= n_states <= {min(rows, columns)} or a larger basis"
        )
    factors = factorize_up_to(matrix, n_states, solver)
    if (rank := factors.n_states) < n_states:
        raise ValueError(
            f"n_states={n_states} exceeds block rank {rank}; use n_states<={rank} or a larger basis"
        )
    return factors


def factorize_up_to(matrix: Matrix, most_states: int, solver: Solver | None = None) -> Factors:
    """As many leading singular triples as the block's rank allows, and at most `most_states`."""
    _require_numbers(matrix)
    n_states = min(most_states, *matrix.shape)
    left, values, right = (solver or choose_solver(matrix, n_states))(matrix, n_states)
    found = Factors(*_fix_signs(left, values, right)).leading(_rank(values, matrix.shape))
    report(Spectrum(found.singular_values))
    return found


def choose_solver(matrix: Matrix, n_states: int) -> Solver:
    rows, columns = matrix.shape
    small = min(rows, columns) <= 256 and max(rows, columns) <= 20_000
    if small or 3 * n_states > min(rows, columns):
        return dense_svd
    return iterative_svd


def dense_svd(matrix: Matrix, n_states: int) -> Triples:
    left, values, right = linalg.svd(dense(matrix), full_matrices=False)
    return left[:, :n_states], values[:n_states], right[:n_states].T


def _require_numbers(matrix: Matrix) -> None:
    entries = matrix.data if isinstance(matrix, sparse.csr_array) else matrix
    if not np.isfinite(entries).all():
        raise ValueError("the block holds NaN or infinite entries")
    if not np.any(entries):
        raise ValueError(
            "the block is zero: nothing that its basis asks for occurs; use another basis, or more data"
        )


def _rank(values: Floats, shape: tuple[int, ...]) -> int:
    """How many singular values stand above the rounding error of the largest."""
    return int((values > values.max(initial=0.0) * max(shape) * np.finfo(float).eps).sum())


def dense(matrix: Matrix) -> Floats:
    return matrix.toarray() if sparse.issparse(matrix) else np.asarray(matrix)


def _fix_signs(left: Floats, values: Floats, right: Floats) -> Triples:
    """Make the entry of largest size in each right vector positive: solvers leave the sign open. In place."""
    signs = np.where(-right.min(axis=0) > right.max(axis=0), -1.0, 1.0)
    left, right = np.ascontiguousarray(left), np.ascontiguousarray(right)
    left *= signs
    right *= signs
    return left, values, right


def quick_svd(
    matrix: Matrix,
    n_states: int,
    start: Floats | None = None,
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
    images: Floats = matrix @ right
    images /= values
    return images, values, right


def _first_block(matrix: Matrix, start: Floats | None, left: Reals | None) -> Floats:
    if left is not None:
        start = np.asarray(matrix.T @ left)
    elif start is None:
        start = np.zeros((matrix.shape[1], 0))
    n_missing = max(BLOCK - start.shape[1], 0)
    random = np.random.default_rng(0).standard_normal((matrix.shape[1], n_missing))  # same block, same model
    return orthonormal(np.hstack([start, random]) if n_missing else start)


def _krylov_space(matrix: Matrix, block: Floats, n_rounds: int, n_states: int) -> tuple[Floats, Floats]:
    """Q and Q^T (M^T M) Q, a block of columns a round, and as many rounds as the states need."""
    width = block.shape[1]
    size = width * min(max(n_rounds + 1, -(-n_states // width)), matrix.shape[1] // width)
    basis, square = np.empty((matrix.shape[1], size), order="F"), np.zeros((size, size))
    block = orthonormal(block)
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
        block = orthonormal(block)
        block -= known @ (known.T @ block)  # twice is enough
        block = orthonormal(block)
    return basis, square


def _leading(square: Floats, n_states: int) -> tuple[Floats, Floats]:
    """The leading eigenvectors of a square, and the roots of their values."""
    squares, vectors = np.linalg.eigh(square)
    values = np.sqrt(np.maximum(squares[::-1][:n_states], 0.0))
    values = values[values > _LEAST * values.max(initial=0.0)]
    return np.ascontiguousarray(vectors[:, ::-1][:, : len(values)]), values


def constant_first(factors: Factors, matrix: Matrix, constant: Floats) -> Factors:
    """Turn the leading singular vectors so that the known pair of correlation one comes first.

    Where the counts fall apart into components, several correlations are 1 and a solver returns any basis of
    their space; turning inside that space is free. If it returns only part of the space, for want of more
    dimensions, the known pair joins and the last direction leaves.

    Parameters
    ----------
    factors
        Of `matrix`; its arrays are taken over and changed.
    matrix
        The scaled counts.
    constant
        The right vector of the known pair, sqrt(counts / total).

    Returns
    -------
    Factors
        The same space in another basis.
    """
    n_ones = max(int((factors.singular_values > 1.0 - _ONE).sum()), 1)
    ones = factors.right[:, :n_ones]
    direction = ones.T @ constant
    missing = constant - ones @ direction
    if (length := np.linalg.norm(missing)) > 1e-6:
        ones, direction = np.column_stack([ones, missing / length]), np.append(direction, length)
    turn = np.linalg.qr(np.column_stack([direction, np.eye(len(direction))]))[0][:, :n_ones]
    if turn[:, 0] @ direction < 0:
        turn[:, 0] *= -1
    factors.right[:, :n_ones] = ones @ turn
    factors.left[:, :n_ones] = matrix @ factors.right[:, :n_ones]
    return factors


@dataclass(frozen=True, eq=False)
class StreamingFactors:
    """Factors of all that was added so far; adding gives new ones.

    Parameters
    ----------
    factors : Factors
        H ~ U S V^T, at most `most_states` triples.
    most_states : int
        Number of singular triples that are kept.

    Examples
    --------
    >>> rows = np.random.default_rng(0).standard_normal((6, 2)) @ np.ones((2, 4))
    >>> found = StreamingFactors.of(rows[:3], 2).with_rows(rows[3:]).factors
    >>> bool(np.allclose(found.outside @ found.inside, rows))
    True
    """

    factors: Factors
    most_states: int

    @classmethod
    def of(cls, matrix: Floats, most_states: int) -> StreamingFactors:
        """Of a first matrix, which may have no rows or no columns yet."""
        if most_states < 1:
            raise ValueError(f"most_states={most_states} must be 1 or more")
        left, values, right = linalg.svd(np.asarray(matrix, np.float64), full_matrices=False)
        return cls(_kept(left, values, right.T, most_states), most_states)

    @property
    def shape(self) -> tuple[int, int]:
        """That of the matrix."""
        return len(self.factors.left), len(self.factors.right)

    def with_columns(self, columns: Floats) -> StreamingFactors:
        """The matrix with further columns at its right."""
        return self._turned().with_rows(np.asarray(columns).T)._turned()

    def with_rows(self, rows: Floats) -> StreamingFactors:
        """The matrix with further rows at its end."""
        rows = np.asarray(rows, np.float64)
        if rows.ndim != 2 or rows.shape[1] != self.shape[1]:
            raise ValueError(f"rows of shape {rows.shape} do not fit a matrix of {self.shape[1]} columns")
        old, n, m = self.factors, self.factors.n_states, len(rows)
        shares, basis, rest = _apart(rows.T, old.right)
        core = np.zeros((n + m, n + basis.shape[1]))
        core[:n, :n], core[n:, :n], core[n:, n:] = np.diag(old.singular_values), shares.T, rest.T
        left = np.zeros((self.shape[0] + m, n + m))
        left[: self.shape[0], :n], left[self.shape[0] :, n:] = old.left, np.eye(m)
        return self._of_core(left, core, np.hstack([old.right, basis]))

    def plus(self, rows: Floats, columns: Floats) -> StreamingFactors:
        """The matrix plus `rows @ columns.T`: a change of low rank, as of a block or of some entries."""
        rows, columns = np.asarray(rows, np.float64), np.asarray(columns, np.float64)
        if (len(rows), len(columns)) != self.shape or rows.shape[1] != columns.shape[1]:
            raise ValueError(
                f"factors of shapes {rows.shape}, {columns.shape} do not fit a matrix {self.shape}"
            )
        old, n = self.factors, self.factors.n_states
        own, left, left_rest = _apart(rows, old.left)
        other, right, right_rest = _apart(columns, old.right)
        core = np.vstack([own, left_rest]) @ np.vstack([other, right_rest]).T
        core[:n, :n] += np.diag(old.singular_values)
        return self._of_core(np.hstack([old.left, left]), core, np.hstack([old.right, right]))

    def _of_core(self, left: Floats, core: Floats, right: Floats) -> StreamingFactors:
        u, values, v = linalg.svd(core, full_matrices=False)
        return StreamingFactors(_kept(left @ u, values, right @ v.T, self.most_states), self.most_states)

    def _turned(self) -> StreamingFactors:
        old = self.factors
        return StreamingFactors(Factors(old.right, old.singular_values, old.left), self.most_states)


def _apart(vectors: Floats, basis: Floats) -> tuple[Floats, Floats, Floats]:
    """What of vectors lies in the span of a basis, an orthonormal basis of the rest, and the rest in it."""
    shares = basis.T @ vectors
    rest = vectors - basis @ shares
    again = basis.T @ rest  # twice is enough
    new, triangle = linalg.qr(rest - basis @ again, mode="economic")
    return shares + again, np.asarray(new, np.float64), np.asarray(triangle, np.float64)


def _kept(left: Floats, values: Floats, right: Floats, most: int) -> Factors:
    size = 16 * max(len(left), len(right)) * np.finfo(float).eps  # rounding of many updates adds up
    n = min(int((values > values.max(initial=0.0) * size).sum()), most)
    return Factors(left[:, :n], values[:n], right[:, :n])
