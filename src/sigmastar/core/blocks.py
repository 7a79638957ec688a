"""Blocks: the statistics from which operators are recovered.

    H_s[o, i]          = f(o . i)                     one matrix per sort
    H_sigma[o, i1..ik] = f(o . sigma(i1, .., ik))     one tensor per symbol of an operation
    h_s[i]             = f(i)                         the bare hole as outside, for root sorts

Slices are arrays with axes (symbol, outside, inside 1, .., inside k), dense or sparse.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sigmastar.core.jit import kernel
from sigmastar.core.signature import Operation, Signature, Sort

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64] | sparse.csr_array
Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SparseTensor:
    """A tensor by its non-zero entries; `coordinates` has one row per axis, sorted lexicographically."""

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


@dataclass(frozen=True, eq=False)
class FlatTensor:
    """A sparse tensor by sorted flat positions, unravelled and weighted only a piece at a time.

    `values` may be counts as they are; entry by entry the weights of its place along each axis multiply.
    """

    shape: tuple[int, ...]
    keys: NDArray[np.signedinteger[Any]]
    values: NDArray[Any]
    weights: tuple[Vector | None, ...]

    def scaled(self, weights: Sequence[Vector | None]) -> FlatTensor:
        both = zip(self.weights, weights, strict=True)
        product = tuple(a if b is None else b if a is None else a * b for a, b in both)
        return FlatTensor(self.shape, self.keys, self.values, product)

    def pieces(self, n_entries: int) -> Iterator[SparseTensor]:
        """Tensors of at most so many entries each, which add up to this one."""
        for begin in range(0, len(self.keys), n_entries):
            yield self._piece(slice(begin, begin + n_entries))

    def toarray(self) -> Array:
        return self._piece(slice(None)).toarray()

    def _piece(self, entries: slice) -> SparseTensor:
        axes, rest = [], self.keys[entries].astype(np.int64)
        for size in self.shape[:0:-1]:
            rest, last = np.divmod(rest, size)
            axes.append(last)
        coordinates = np.array([rest, *reversed(axes)])
        piece = SparseTensor(self.shape, coordinates, self.values[entries].astype(np.float64))
        return piece.scaled(self.weights)


Slices = Array | SparseTensor | FlatTensor


@dataclass(frozen=True, eq=False)
class Blocks:
    """The statistics of one model: one matrix per sort, slices per operation, one root row per root sort."""

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
    if isinstance(array, (SparseTensor, FlatTensor)):
        return array.scaled(weights)
    if isinstance(array, sparse.csr_array):
        return _scaled_rows_and_columns(array, *weights)
    for axis, weight in enumerate(weights):
        if weight is not None:
            array = array * weight.reshape([-1 if a == axis else 1 for a in range(array.ndim)])
    return array


def _scaled_rows_and_columns(
    matrix: sparse.csr_array, outside: Vector | None, inside: Vector | None
) -> sparse.csr_array:
    rows, columns = matrix.shape
    data = np.empty(len(matrix.data))
    _scale_entries(
        matrix.indptr,
        matrix.indices,
        matrix.data,
        np.ones(rows) if outside is None else outside,
        np.ones(columns) if inside is None else inside,
        data,
    )
    return sparse.csr_array((data, matrix.indices, matrix.indptr), shape=matrix.shape)


@kernel
def _scale_entries(
    row_starts: NDArray[Any],
    columns: NDArray[Any],
    entries: Vector,
    outside: Vector,
    inside: Vector,
    scaled: Vector,
) -> None:
    for row in range(len(row_starts) - 1):
        for at in range(row_starts[row], row_starts[row + 1]):
            scaled[at] = entries[at] * outside[row] * inside[columns[at]]
