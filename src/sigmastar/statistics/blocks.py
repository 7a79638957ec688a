"""Blocks: the statistics from which operators are recovered.

    H_s[o, i]          = f(o . i)                     one matrix a sort
    H_sigma[o, i1..ik] = f(o . sigma(i1, .., ik))     one tensor a symbol of an operation
    h_s[i]             = f(i)                         the bare hole as outside, for root sorts

Slices are arrays with axes (symbol, outside, inside 1, .., inside k), dense or sparse.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sigmastar.structures.signature import Operation, Signature, Sort

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64] | sparse.csr_array
Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SparseTensor:
    """A tensor by its non-zero entries; `coordinates` has one row an axis, sorted lexicographically."""

    shape: tuple[int, ...]
    coordinates: NDArray[np.int64]
    values: Array

    @classmethod
    def of_keys(cls, shape: tuple[int, ...], keys: NDArray[np.int64], values: Array) -> SparseTensor:
        """From flat row-major positions, which must be sorted and distinct."""
        return cls(shape, np.array(np.unravel_index(keys, shape), dtype=np.int64), values)

    def scaled(self, weights: Sequence[Vector | None]) -> SparseTensor:
        """Multiply along each axis by a vector (`None`: leave the axis alone)."""
        values = self.values.copy()
        for axis, weight in enumerate(weights):
            if weight is not None:
                values *= weight[self.coordinates[axis]]
        return SparseTensor(self.shape, self.coordinates, values)

    def toarray(self) -> Array:
        dense = np.zeros(self.shape)
        dense[tuple(self.coordinates)] = self.values
        return dense


Slices = Array | SparseTensor


@dataclass(frozen=True, eq=False)
class Blocks:
    """The statistics of one model: a matrix a sort, slices an operation, a root row a root sort."""

    signature: Signature
    matrices: Mapping[Sort, Matrix]
    slices: Mapping[Operation, Slices]
    roots: Mapping[Sort, Vector]

    def weighted(self, outside: Mapping[Sort, Vector], inside: Mapping[Sort, Vector]) -> Blocks:
        """Scale rows and columns. The function that is recovered stays the same, the truncation changes."""
        matrices = {s: _scaled(m, [outside.get(s), inside.get(s)]) for s, m in self.matrices.items()}
        slices = {
            op: _scaled(h, [None, outside.get(op.result), *map(inside.get, op.arguments)])
            for op, h in self.slices.items()
        }
        roots = {s: _scaled(row, [inside.get(s)]) for s, row in self.roots.items()}
        return Blocks(self.signature, matrices, slices, roots)


def _scaled(array: Any, weights: Sequence[Vector | None]) -> Any:
    if isinstance(array, SparseTensor):
        return array.scaled(weights)
    for axis, weight in enumerate(weights):
        if weight is None:
            continue
        if isinstance(array, sparse.csr_array):
            scale = np.repeat(weight, np.diff(array.indptr)) if axis == 0 else weight[array.indices]
            array = sparse.csr_array((array.data * scale, array.indices, array.indptr), shape=array.shape)
        else:
            array = array * weight.reshape([-1 if a == axis else 1 for a in range(array.ndim)])
    return array
