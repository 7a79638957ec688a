"""Functions of few entries of a matrix, and matrices that are sparse plus low-rank.

Completion sees a matrix at some entries only. The gradient of such a function is sparse, so an iterate
`low rank - step x gradient` is never made: its products with thin blocks are all that a decomposition
needs (Mazumder, Hastie and Tibshirani 2010).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from sigmastar.optimise.low_rank_entries import product_entries
from sigmastar.optimise.proximal import Thresholded

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

SPARE = 8
"""Columns of a block beyond the rank that is looked for."""


class EntryLoss(Protocol):
    """A smooth convex function of the entries (rows[e], columns[e]) of a matrix."""

    @property
    def shape(self) -> tuple[int, int]: ...

    @property
    def rows(self) -> Indices: ...

    @property
    def columns(self) -> Indices: ...

    @property
    def curvature(self) -> float:
        """How fast the gradient changes at most."""
        ...

    def value_and_gradient(self, values: Array) -> tuple[float, Array]:
        """The function of the values at the entries, and its derivative in each."""
        ...


@dataclass(frozen=True, eq=False)
class LowRank:
    """left @ right.T"""

    left: Array
    right: Array

    @classmethod
    def zero(cls, shape: tuple[int, int]) -> LowRank:
        return cls(np.zeros((shape[0], 0)), np.zeros((shape[1], 0)))

    @classmethod
    def of(cls, found: Thresholded) -> LowRank:
        return cls(
            np.ascontiguousarray(found.left * found.singular_values), np.ascontiguousarray(found.right)
        )

    def entries(self, rows: Indices, columns: Indices) -> Array:
        return product_entries(self.left, self.right, rows, columns)

    def beyond(self, other: LowRank, momentum: float) -> LowRank:
        """self + momentum (self - other)."""
        left = np.hstack([(1.0 + momentum) * self.left, -momentum * other.left])
        return LowRank(np.ascontiguousarray(left), np.ascontiguousarray(np.hstack([self.right, other.right])))


@dataclass(frozen=True, eq=False)
class SparsePlusLowRank:
    """A matrix by its products with thin blocks."""

    sparse: sparse.csr_array
    thin: LowRank

    @property
    def shape(self) -> tuple[int, int]:
        return self.sparse.shape

    def times(self, block: Array) -> Array:
        product: Array = self.sparse @ block + self.thin.left @ (self.thin.right.T @ block)
        return product

    def transposed_times(self, block: Array) -> Array:
        product: Array = self.sparse.T @ block + self.thin.right @ (self.thin.left.T @ block)
        return product


class SparsePattern:
    """Entries in a fixed order as a CSR matrix of changing values; entries must be distinct."""

    def __init__(self, shape: tuple[int, int], rows: Indices, columns: Indices) -> None:
        self.order = np.lexsort((columns, rows))
        self.indices = columns[self.order].astype(np.int32)
        self.starts = np.searchsorted(rows[self.order], np.arange(shape[0] + 1)).astype(np.int32)
        self.shape = shape

    def matrix(self, values: Array) -> sparse.csr_array:
        return sparse.csr_array((values[self.order], self.indices, self.starts), shape=self.shape)


def leading_triples(matrix: SparsePlusLowRank, block: Array, n_passes: int = 2) -> Thresholded:
    """Approximate leading singular triples by subspace iteration from a block of right vectors."""
    for _ in range(n_passes - 1):
        block = orthonormal(matrix.transposed_times(orthonormal(matrix.times(block))))
    left = orthonormal(matrix.times(block))
    u, values, v = linalg.svd(matrix.transposed_times(left).T, full_matrices=False)
    return Thresholded(left @ u, values, v.T)


def orthonormal(block: Array) -> Array:
    return linalg.qr(block, mode="economic", check_finite=False)[0].astype(np.float64, copy=False)


def shrunk_triples(
    matrix: SparsePlusLowRank, threshold: float, warm: Array, rng: np.random.Generator, most: int
) -> tuple[Thresholded, Array]:
    """Singular value thresholding from the right vectors of the last step; the block to go on from.

    Where all triples found stay above the threshold the block grows, for there may be more.
    """
    most = min(most, *matrix.shape)
    block = _widened(warm, min(warm.shape[1] + SPARE, most), rng)
    while True:
        found = leading_triples(matrix, block)
        rank = int((found.singular_values > threshold).sum())
        if rank < block.shape[1] or block.shape[1] >= most:
            break
        block = _widened(found.right, min(2 * block.shape[1], most), rng)
    values = found.singular_values[:rank] - threshold
    kept = Thresholded(found.left[:, :rank], values, found.right[:, :rank])
    return kept, found.right[:, : rank + SPARE // 2]


def _widened(block: Array, width: int, rng: np.random.Generator) -> Array:
    missing = max(width - block.shape[1], 0)
    return orthonormal(np.hstack([block, rng.standard_normal((block.shape[0], missing))]))
