"""Matrices that are sparse plus low-rank, seen at some entries, and their leading singular triples.

Completion sees a matrix at some entries only. The gradient of its loss is sparse, so an iterate
`low rank - step x gradient` is never made: its products with thin blocks are all that a decomposition
needs (Mazumder, Hastie and Tibshirani 2010).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg, sparse

from sigmastar.core.arrays import Floats, Int64s
from sigmastar.core.jit import kernel
from sigmastar.optimise.proximal import Thresholded

SPARE = 8
"""Columns of a block beyond the rank that is looked for."""


@kernel
def product_entries(left: Floats, right: Floats, rows: Int64s, columns: Int64s) -> Floats:
    """(left @ right.T)[rows, columns] without the product."""
    values = np.zeros(len(rows))
    for entry in range(len(rows)):
        total = 0.0
        for k in range(left.shape[1]):
            total += left[rows[entry], k] * right[columns[entry], k]
        values[entry] = total
    return values


@dataclass(frozen=True, eq=False)
class LowRank:
    """left @ right.T"""

    left: Floats
    right: Floats

    @classmethod
    def zero(cls, shape: tuple[int, int]) -> LowRank:
        return cls(np.zeros((shape[0], 0)), np.zeros((shape[1], 0)))

    @classmethod
    def of(cls, found: Thresholded) -> LowRank:
        return cls(
            np.ascontiguousarray(found.left * found.singular_values), np.ascontiguousarray(found.right)
        )

    def entries(self, rows: Int64s, columns: Int64s) -> Floats:
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

    def times(self, block: Floats) -> Floats:
        product: Floats = self.sparse @ block + self.thin.left @ (self.thin.right.T @ block)
        return product

    def transposed_times(self, block: Floats) -> Floats:
        product: Floats = self.sparse.T @ block + self.thin.right @ (self.thin.left.T @ block)
        return product


class SparsePattern:
    """Entries in a fixed order as a CSR matrix of changing values; entries must be distinct."""

    def __init__(self, shape: tuple[int, int], rows: Int64s, columns: Int64s) -> None:
        self.order = np.lexsort((columns, rows))
        self.indices = columns[self.order].astype(np.int32)
        self.starts = np.searchsorted(rows[self.order], np.arange(shape[0] + 1)).astype(np.int32)
        self.shape = shape

    def matrix(self, values: Floats) -> sparse.csr_array:
        return sparse.csr_array((values[self.order], self.indices, self.starts), shape=self.shape)


def leading_triples(matrix: SparsePlusLowRank, block: Floats, n_passes: int = 2) -> Thresholded:
    """Approximate leading singular triples by subspace iteration from a block of right vectors."""
    for _ in range(n_passes - 1):
        block = orthonormal(matrix.transposed_times(orthonormal(matrix.times(block))))
    left = orthonormal(matrix.times(block))
    right, triangle = linalg.qr(matrix.transposed_times(left), mode="economic", check_finite=False)
    u, values, v = linalg.svd(triangle.T, full_matrices=False, check_finite=False)
    return Thresholded(left @ u, values, right @ v.T)


def orthonormal(block: Floats) -> Floats:
    """An orthonormal basis of the columns."""
    return linalg.qr(block, mode="economic", check_finite=False)[0].astype(np.float64, copy=False)


def shrunk_triples(
    matrix: SparsePlusLowRank, threshold: float, warm: Floats, rng: np.random.Generator, most: int
) -> tuple[Thresholded, Floats]:
    """Singular value thresholding from the right vectors of the last step; the block to go on from.

    Where all triples found stay above the threshold the block grows, for there may be more.
    """
    most = min(most, *matrix.shape)
    block = widened(warm, min(warm.shape[1] + SPARE, most), rng)
    while True:
        found = leading_triples(matrix, block)
        rank = int((found.singular_values > threshold).sum())
        if rank < block.shape[1] or block.shape[1] >= most:
            break
        block = widened(found.right, min(2 * block.shape[1], most), rng)
    values = found.singular_values[:rank] - threshold
    kept = Thresholded(found.left[:, :rank], values, found.right[:, :rank])
    return kept, found.right[:, : rank + SPARE // 2]


def widened(block: Floats, width: int, rng: np.random.Generator) -> Floats:
    """An orthonormal block of more columns, filled up with random ones."""
    missing = max(width - block.shape[1], 0)
    return orthonormal(np.hstack([block, rng.standard_normal((block.shape[0], missing))]))
