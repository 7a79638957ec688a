"""Rows of sparse matrices for models: those of SciPy, or a stand-in where a process has NumPy alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from sigmastar.core.arrays import Array, Floats
from sigmastar.core.plain_kernels import is_installed

if TYPE_CHECKING:
    from scipy import sparse


def csr_rows(data: Floats, indices: Array, indptr: Array, shape: tuple[int, int]) -> sparse.csr_array:
    """A matrix by its rows, as SciPy's `csr_array` or as what behaves like it."""
    if is_installed():
        return cast("sparse.csr_array", PlainRows(data, indices, indptr, shape))
    from scipy import sparse

    return sparse.csr_array((data, indices, indptr), shape=shape)


@dataclass(frozen=True, eq=False)
class PlainRows:
    """What models ask of a matrix of rows."""

    data: Floats
    indices: Array
    indptr: Array
    shape: tuple[int, int]

    def __getitem__(self, rows: Array) -> PlainRows:
        sizes = np.diff(self.indptr)[rows].astype(np.int64)
        starts = np.append(0, np.cumsum(sizes))
        at = np.arange(starts[-1]) + np.repeat(self.indptr[rows] - starts[:-1], sizes)
        return PlainRows(self.data[at], self.indices[at], starts, (len(rows), self.shape[1]))

    @property
    def _row_of(self) -> Array:
        return np.repeat(np.arange(self.shape[0]), np.diff(self.indptr))

    def toarray(self) -> Floats:
        dense = np.zeros(self.shape)
        np.add.at(dense, (self._row_of, self.indices), self.data)
        return dense

    def sum(self, axis: int) -> Floats:
        places = self.indices if axis == 0 else self._row_of
        return np.bincount(places, self.data, self.shape[1 - axis]).astype(np.float64)

    def __matmul__(self, other: Any) -> Floats:
        product = np.zeros((self.shape[0], other.shape[1]))
        np.add.at(product, self._row_of, self.data[:, None] * other[self.indices])
        return product
