"""Row and column weights: which errors the factorisation should mind.

    H' = D_o H D_i,   H'_sigma[o, i1 .. ik] = d_o H_sigma[o, i1 .. ik] d_i1 .. d_ik

At full rank the function recovered is the same for any positive weights; a truncated factorisation
minimises the error of H', so weights decide what it may forget. With d = 1 / sqrt(row or column sum)
the singular values of a table of counts are canonical correlations (Cohen et al., 2013). That suits
disjoint classes of contexts. On overlapping bases, such as strings with their prefixes, sums count an
occurrence many times over, and plain blocks may do better.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sigmastar.core.blocks import Blocks, Matrix
from sigmastar.core.signature import Sort

Vector = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Weights:
    """Positive weights of the outsides and insides of every sort. Calling them weights blocks."""

    outside: Mapping[Sort, Vector]
    inside: Mapping[Sort, Vector]

    def __call__(self, blocks: Blocks) -> Blocks:
        return blocks.weighted(self.outside, self.inside)

    def then(self, other: Weights) -> Weights:
        """Both in one step; the order makes no difference."""
        return Weights(
            {sort: weight * other.outside[sort] for sort, weight in self.outside.items()},
            {sort: weight * other.inside[sort] for sort, weight in self.inside.items()},
        )


def count_weights(blocks: Blocks, pseudo_count: float = 0.0, power: float = 0.5) -> Weights:
    """1 / (sum + pseudo_count)^power for each row and column, in the units of the blocks.

    A row whose sum is zero weighs as much as the lightest that is not.
    """
    outside, inside = (
        {sort: _inverse(_sums(matrix, axis), pseudo_count, power) for sort, matrix in blocks.matrices.items()}
        for axis in (1, 0)
    )
    return Weights(outside, inside)


def scale_by_counts(blocks: Blocks, pseudo_count: float = 0.0) -> Blocks:
    """Canonical correlation scaling: rows and columns divided by the roots of their sums."""
    return count_weights(blocks, pseudo_count)(blocks)


def _sums(matrix: Matrix, axis: int) -> Vector:
    sizes = np.abs(matrix) if isinstance(matrix, np.ndarray) else sparse.csr_array(matrix, copy=True)
    if isinstance(sizes, sparse.csr_array):
        sizes.data = np.abs(sizes.data)
    return np.asarray(sizes.sum(axis=axis), dtype=np.float64).ravel()


def _inverse(sums: Vector, pseudo_count: float, power: float) -> Vector:
    shifted = sums + pseudo_count
    positive = shifted[shifted > 0]
    weights: Vector = np.maximum(shifted, positive.min() if len(positive) else 1.0) ** -power
    return weights
