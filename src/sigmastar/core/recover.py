"""The first idea: operators from blocks, the statistics of structures, by one formula.

    H_s[o, i]          = f(o . i)                     one matrix per sort
    H_sigma[o, i1..ik] = f(o . sigma(i1, .., ik))     one tensor per symbol of an operation
    h_s[i]             = f(i)                         the bare hole as outside, for root sorts

Slices are arrays with axes (symbol, outside, inside 1, .., inside k), dense or sparse. Operators follow from
a factorization (`core.factors`):

    H_s ~ F_s B_s                                            for every sort s
    A_sigma = F_s^+ . H_sigma . (B_s1^+ (x) ... (x) B_sk^+)  for sigma: s1 .. sk -> s
    root_s  = h_s . B_s^+                                    for every root sort s

Lemma 1 of Bailly et al. (2013); equations 11-13 of Luque et al. (2012) are its string case.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sigmastar.core.alphabet import Operation, OperatorModel, Signature, Sort
from sigmastar.core.arrays import Array, Floats, Int64s
from sigmastar.core.factors import Factors, factorize
from sigmastar.core.jit import kernel

Matrix = Floats | sparse.csr_array


@dataclass(frozen=True, eq=False)
class SparseTensor:
    """A tensor by its non-zero entries; `coordinates` has one row per axis, sorted lexicographically."""

    shape: tuple[int, ...]
    coordinates: Int64s
    values: Floats

    @classmethod
    def of_keys(cls, shape: tuple[int, ...], keys: Int64s, values: Floats) -> SparseTensor:
        """From flat row-major positions, which must be sorted and distinct."""
        return cls(shape, np.array(np.unravel_index(keys, shape), dtype=np.int64), values)

    def scaled(self, weights: Sequence[Floats | None]) -> SparseTensor:
        """Multiply along each axis by a vector (`None`: leave the axis alone)."""
        values = self.values.copy()
        for axis, weight in enumerate(weights):
            if weight is not None:
                values *= weight[self.coordinates[axis]]
        return SparseTensor(self.shape, self.coordinates, values)

    def toarray(self) -> Floats:
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
    values: Array
    weights: tuple[Floats | None, ...]

    def scaled(self, weights: Sequence[Floats | None]) -> FlatTensor:
        both = zip(self.weights, weights, strict=True)
        product = tuple(a if b is None else b if a is None else a * b for a, b in both)
        return FlatTensor(self.shape, self.keys, self.values, product)

    def pieces(self, n_entries: int) -> Iterator[SparseTensor]:
        """Tensors of at most so many entries each, which add up to this one."""
        for begin in range(0, len(self.keys), n_entries):
            yield self._piece(slice(begin, begin + n_entries))

    def toarray(self) -> Floats:
        return self._piece(slice(None)).toarray()

    def _piece(self, entries: slice) -> SparseTensor:
        axes, rest = [], self.keys[entries].astype(np.int64)
        for size in self.shape[:0:-1]:
            rest, last = np.divmod(rest, size)
            axes.append(last)
        coordinates = np.array([rest, *reversed(axes)])
        piece = SparseTensor(self.shape, coordinates, self.values[entries].astype(np.float64))
        return piece.scaled(self.weights)


Slices = Floats | SparseTensor | FlatTensor


@dataclass(frozen=True, eq=False)
class Blocks:
    """The statistics of one model: one matrix per sort, slices per operation, one root row per root sort."""

    signature: Signature
    matrices: Mapping[Sort, Matrix]
    slices: Mapping[Operation, Slices]
    roots: Mapping[Sort, Floats]

    def weighted(self, outside: Mapping[Sort, Floats], inside: Mapping[Sort, Floats]) -> Blocks:
        """Scale rows and columns. The function that is recovered stays the same, the truncation changes."""
        matrices = {s: _scaled(m, [outside.get(s), inside.get(s)]) for s, m in self.matrices.items()}
        slices = {
            op: _scaled(h, [None, outside.get(op.result), *map(inside.get, op.arguments)])
            for op, h in self.slices.items()
        }
        roots = {s: _scaled(row, [inside.get(s)]) for s, row in self.roots.items()}
        return Blocks(self.signature, matrices, slices, roots)


def _scaled(array: Any, weights: Sequence[Floats | None]) -> Any:
    if isinstance(array, (SparseTensor, FlatTensor)):
        return array.scaled(weights)
    if isinstance(array, sparse.csr_array):
        return _scaled_rows_and_columns(array, *weights)
    for axis, weight in enumerate(weights):
        if weight is not None:
            array = array * weight.reshape([-1 if a == axis else 1 for a in range(array.ndim)])
    return array


def _scaled_rows_and_columns(
    matrix: sparse.csr_array, outside: Floats | None, inside: Floats | None
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
    row_starts: Array,
    columns: Array,
    entries: Floats,
    outside: Floats,
    inside: Floats,
    scaled: Floats,
) -> None:
    for row in range(len(row_starts) - 1):
        for at in range(row_starts[row], row_starts[row + 1]):
            scaled[at] = entries[at] * outside[row] * inside[columns[at]]


_ENTRIES_AT_ONCE = 1 << 13  # of flat tensors: half-contracted they take more room than whole
MOST_WEIGHTS = 1 << 26
"""Of the operators of one model, where the number of states is not given."""
WIDE = 8  # from here on a product of matrices is worth its call


def factorize_blocks(blocks: Blocks, n_states: int | Mapping[Sort, int]) -> dict[Sort, Factors]:
    """Factorize the matrix of every sort, with one number of states for all, or one for each."""
    return {
        sort: factorize(matrix, n_states if isinstance(n_states, int) else n_states[sort])
        for sort, matrix in blocks.matrices.items()
    }


def affordable_states(n_symbols: int, most_states: int, most_weights: int | None = None) -> int:
    """At most so many states, and fewer where the operators of so many symbols would have too many weights.

    >>> affordable_states(20, 100), affordable_states(100_000, 100)
    (100, 25)
    """
    return max(1, min(most_states, int(np.sqrt((most_weights or MOST_WEIGHTS) / max(n_symbols, 1)))))


def recover(blocks: Blocks, factors: Mapping[Sort, Factors]) -> OperatorModel:
    """Solve for the operators that reproduce `blocks` under a factorization of them."""
    operators = {
        op: project(
            blocks.slices[op],
            [factors[op.result].outside_inverse.T, *(factors[sort].inside_inverse for sort in op.arguments)],
        )
        for op in blocks.signature.operations
    }
    roots = {sort: row @ factors[sort].inside_inverse for sort, row in blocks.roots.items()}
    return OperatorModel(blocks.signature, roots, operators)


def project(slices: Slices, inverses: list[Floats]) -> Floats:
    """Contract every axis of `slices` but the first (the symbols) with its matrix, basis x states."""
    if isinstance(slices, (SparseTensor, FlatTensor)):
        return _project_sparse(slices, inverses)
    result = slices
    for axis, inverse in enumerate(inverses, 1):
        result = np.moveaxis(np.tensordot(result, inverse, axes=(axis, 0)), -1, axis)
    return result


def _project_sparse(slices: SparseTensor | FlatTensor, inverses: list[Floats]) -> Floats:
    pieces = slices.pieces(_ENTRIES_AT_ONCE) if isinstance(slices, FlatTensor) else [slices]
    result = np.zeros((slices.shape[0], *(inverse.shape[1] for inverse in inverses)))
    for piece in pieces:
        symbols, operators = _contracted(piece, inverses)
        result[symbols] += operators.reshape(-1, *result.shape[1:])
    return result


def _contracted(slices: SparseTensor, inverses: list[Floats]) -> tuple[Int64s, Floats]:
    """The symbols that have entries, and the same for them, from the last axis to the first.

    So only fibres with entries are ever held.
    """
    coordinates, tails = slices.coordinates, slices.values[:, None]
    for inverse in reversed(inverses):
        keys, starts = _runs(coordinates[:-1])
        last, matrix = np.ascontiguousarray(coordinates[-1]), np.ascontiguousarray(inverse)
        tails = contract_groups(starts, last, matrix, np.ascontiguousarray(tails))
        coordinates = keys
    return coordinates[0], tails


def _runs(coordinates: Int64s) -> tuple[Int64s, Int64s]:
    """Distinct columns of sorted coordinates, and where the run of each begins (with the end added)."""
    n = coordinates.shape[1]
    new = np.ones(n, dtype=bool)
    new[1:] = (coordinates[:, 1:] != coordinates[:, :-1]).any(axis=0)
    starts = np.flatnonzero(new)
    return coordinates[:, starts], np.append(starts, n)


def contract_groups(starts: Int64s, index: Int64s, matrix: Floats, tails: Floats) -> Floats:
    """out[g, (a, d)] = sum over rows r of group g of matrix[index[r], a] * tails[r, d]."""
    out = np.zeros((len(starts) - 1, matrix.shape[1] * tails.shape[1]))
    least = WIDE if tails.shape[1] >= WIDE else len(index) + 1
    for group in np.flatnonzero(np.diff(starts) >= least):
        rows = slice(starts[group], starts[group + 1])
        out[group] = (matrix[index[rows]].T @ tails[rows]).ravel()
    _contract_groups(starts, index, matrix, tails, least, out)
    return out


@kernel
def _contract_groups(
    starts: Int64s,
    index: Int64s,
    matrix: Floats,
    tails: Floats,
    most: int,
    out: Floats,
) -> None:
    """Groups of fewer than `most` rows."""
    n_states, width = matrix.shape[1], tails.shape[1]
    for group in range(len(out)):
        if starts[group + 1] - starts[group] >= most:
            continue
        for row in range(starts[group], starts[group + 1]):
            at = index[row]
            if width == 1:
                for state in range(n_states):
                    out[group, state] += tails[row, 0] * matrix[at, state]
                continue
            for state in range(n_states):
                for column in range(width):
                    out[group, state * width + column] += matrix[at, state] * tails[row, column]
