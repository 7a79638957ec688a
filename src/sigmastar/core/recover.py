"""Operators from blocks: the one formula of spectral learning.

    H_s ~ F_s B_s                                            for every sort s
    A_sigma = F_s^+ . H_sigma . (B_s1^+ (x) ... (x) B_sk^+)  for sigma: s1 .. sk -> s
    root_s  = h_s . B_s^+                                    for every root sort s

Lemma 1 of Bailly et al. (2013); equations 11-13 of Luque et al. (2012) are its string case.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from sigmastar.core.blocks import Array, Blocks, FlatTensor, Slices, SparseTensor
from sigmastar.core.factors import Factors, factorize
from sigmastar.core.jit import kernel
from sigmastar.core.signature import OperatorModel, Sort

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


def project(slices: Slices, inverses: list[Array]) -> Array:
    """Contract every axis of `slices` but the first (the symbols) with its matrix, basis x states."""
    if isinstance(slices, (SparseTensor, FlatTensor)):
        return _project_sparse(slices, inverses)
    result = slices
    for axis, inverse in enumerate(inverses, 1):
        result = np.moveaxis(np.tensordot(result, inverse, axes=(axis, 0)), -1, axis)
    return result


def _project_sparse(slices: SparseTensor | FlatTensor, inverses: list[Array]) -> Array:
    pieces = slices.pieces(_ENTRIES_AT_ONCE) if isinstance(slices, FlatTensor) else [slices]
    result = np.zeros((slices.shape[0], *(inverse.shape[1] for inverse in inverses)))
    for piece in pieces:
        symbols, operators = _contracted(piece, inverses)
        result[symbols] += operators.reshape(-1, *result.shape[1:])
    return result


def _contracted(slices: SparseTensor, inverses: list[Array]) -> tuple[NDArray[np.int64], Array]:
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


def _runs(coordinates: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Distinct columns of sorted coordinates, and where the run of each begins (with the end added)."""
    n = coordinates.shape[1]
    new = np.ones(n, dtype=bool)
    new[1:] = (coordinates[:, 1:] != coordinates[:, :-1]).any(axis=0)
    starts = np.flatnonzero(new)
    return coordinates[:, starts], np.append(starts, n)


def contract_groups(
    starts: NDArray[np.int64], index: NDArray[np.int64], matrix: Array, tails: Array
) -> Array:
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
    starts: NDArray[np.int64],
    index: NDArray[np.int64],
    matrix: Array,
    tails: Array,
    most: int,
    out: Array,
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
