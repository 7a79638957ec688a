"""A singular value decomposition that is kept up while a matrix grows (Brand 2002).

    [H, C]          new columns      C = U (U^T C) + Q R,    a small matrix [[S, U^T C], [0, R]] is decomposed
    [H; C]          new rows         the same of the transpose
    H + C at some   a block          both sides widened by what the block adds to them

Where no more than `most_states` singular values are ever above rounding the result is that of a batch;
beyond it the smallest are dropped as they come, and what was dropped is lost.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from sigmastar.core.factors import Array, Factors


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
    def of(cls, matrix: Array, most_states: int) -> StreamingFactors:
        """Of a first matrix, which may have no rows or no columns yet."""
        if most_states < 1:
            raise ValueError(f"most_states={most_states} must be 1 or more")
        left, values, right = linalg.svd(np.asarray(matrix, np.float64), full_matrices=False)
        return cls(_leading(left, values, right.T, most_states), most_states)

    @property
    def shape(self) -> tuple[int, int]:
        """That of the matrix."""
        return len(self.factors.left), len(self.factors.right)

    def with_columns(self, columns: Array) -> StreamingFactors:
        """The matrix with further columns at its right."""
        return self._turned().with_rows(np.asarray(columns).T)._turned()

    def with_rows(self, rows: Array) -> StreamingFactors:
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

    def plus(self, rows: Array, columns: Array) -> StreamingFactors:
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

    def _of_core(self, left: Array, core: Array, right: Array) -> StreamingFactors:
        u, values, v = linalg.svd(core, full_matrices=False)
        return StreamingFactors(_leading(left @ u, values, right @ v.T, self.most_states), self.most_states)

    def _turned(self) -> StreamingFactors:
        old = self.factors
        return StreamingFactors(Factors(old.right, old.singular_values, old.left), self.most_states)


def _apart(vectors: Array, basis: Array) -> tuple[Array, Array, Array]:
    """What of vectors lies in the span of a basis, an orthonormal basis of the rest, and the rest in it."""
    shares = basis.T @ vectors
    rest = vectors - basis @ shares
    again = basis.T @ rest  # twice is enough
    new, triangle = linalg.qr(rest - basis @ again, mode="economic")
    return shares + again, np.asarray(new, np.float64), np.asarray(triangle, np.float64)


def _leading(left: Array, values: Array, right: Array, most: int) -> Factors:
    size = max(len(left), len(right)) * np.finfo(float).eps
    n = min(int((values > values.max(initial=0.0) * size).sum()), most)
    return Factors(left[:, :n], values[:n], right[:, :n])
