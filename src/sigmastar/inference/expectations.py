"""Expected counts of a probabilistic automaton's moves on a corpus: the E-step, on the prefix trie.

    forward    a_v  = a_u A_y / z_v,           z_v makes it sum to one, v the child of u by y
    backward   b_v  = ends_v final / (a_v . final) + sum over children c by y of A_y b_c / z_c
    counts     E_y  = A_y o sum over edges u -> v by y of a_u^T b_v / z_v,     E_final, E_initial alike

b_v gathers all strings that pass through v at once, so the pass is exact and its cost grows with the
number of distinct prefixes; a_v . b_v is the number of strings through v. Works in float32 and float64.
Nodes are taken in tiles of one symbol, so that what is gathered for a product stays in the cache.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sigmastar.jit import kernel

Array = NDArray[Any]
Integers = NDArray[np.int32]
Longs = NDArray[np.int64]

_FEW = 6  # so few rows are quicker by hand than by a library call
_TILE = 256


@kernel
def _tile_end(symbol: Integers, first: int, level_end: int) -> int:
    """Where the nodes that share the symbol of `first` end, a tile at most."""
    end = first + 1
    limit = min(level_end, first + _TILE)
    while end < limit and symbol[end] == symbol[first]:
        end += 1
    return end


@kernel
def _gather(vectors: Array, parent: Integers, first: int, end: int, gathered: Array) -> None:
    """The vectors of the parents of nodes first .. end - 1."""
    n_states = vectors.shape[1]
    for row in range(end - first):
        above = parent[first + row]
        for state in range(n_states):
            gathered[row, state] = vectors[above, state]


@kernel
def _scatter(lifted: Array, parent: Integers, first: int, end: int, vectors: Array) -> None:
    """Add a vector for each of nodes first .. end - 1 to that of its parent."""
    n_states = vectors.shape[1]
    for row in range(end - first):
        above = parent[first + row]
        for state in range(n_states):
            vectors[above, state] += lifted[row, state]


@kernel
def _multiply(rows: Array, matrix: Array, result: Array) -> None:
    """result = rows @ matrix."""
    if len(rows) > _FEW:
        np.dot(rows, matrix, result)
        return
    n = matrix.shape[0]
    for row in range(len(rows)):
        for column in range(n):
            result[row, column] = 0
        for state in range(n):
            weight = rows[row, state]
            for column in range(n):
                result[row, column] += weight * matrix[state, column]


@kernel
def _add_products(left: Array, right: Array, product: Array, sums: Array) -> None:
    """sums += left.T @ right."""
    if len(left) > _FEW:
        np.dot(left.T, right, product)
        sums += product
        return
    n = left.shape[1]
    for row in range(len(left)):
        for state in range(n):
            weight = left[row, state]
            for column in range(n):
                sums[state, column] += weight * right[row, column]


@kernel
def _divide(vectors: Array, scales: Array, first: int, end: int) -> None:
    """Divide the vectors of nodes first .. end - 1 by their scales; those without scale stay."""
    for node in range(first, end):
        if scales[node] > 0:
            factor = 1 / scales[node]
            for state in range(vectors.shape[1]):
                vectors[node, state] *= factor


@kernel
def _normalise(vectors: Array, scales: Array, first: int, end: int) -> None:
    """Make vectors sum to one and keep their sums; a vector of nothing stays."""
    for node in range(first, end):
        total = vectors[node, 0] * 0
        for state in range(vectors.shape[1]):
            total += vectors[node, state]
        scales[node] = total
    _divide(vectors, scales, first, end)


@kernel
def _forward(
    parent: Integers,
    symbol: Integers,
    level_starts: Longs,
    initial: Array,
    transitions: Array,
    vectors: Array,
    gathered: Array,
) -> Array:
    """Fill in the forward vectors; their normalisers."""
    scales = np.ones(len(parent), initial.dtype)
    vectors[0] = initial
    for level in range(1, len(level_starts) - 1):
        first = level_starts[level]
        while first < level_starts[level + 1]:
            end = _tile_end(symbol, first, level_starts[level + 1])
            rows = gathered[: end - first]
            _gather(vectors, parent, first, end, rows)
            if symbol[first] >= 0:
                _multiply(rows, transitions[symbol[first]], vectors[first:end])
            else:
                vectors[first:end] = 0
            _normalise(vectors, scales, first, end)
            first = end
    return scales


@kernel
def forward_pass(
    parent: Integers, symbol: Integers, level_starts: Longs, initial: Array, transitions: Array
) -> tuple[Array, Array]:
    """Normalised forward vectors of all nodes, and their normalisers."""
    vectors = np.empty((len(parent), len(initial)), initial.dtype)
    gathered = np.empty((_TILE, len(initial)), initial.dtype)
    return vectors, _forward(parent, symbol, level_starts, initial, transitions, vectors, gathered)


@kernel
def _stop(ends: Array, final: Array, vectors: Array, backward: Array) -> tuple[Array, Array]:
    """Begin the backward vectors where strings end; the probabilities of ending, the expected stops."""
    final_counts = np.zeros_like(final)
    endings = np.ones(len(ends), final.dtype)
    for node in range(len(ends)):
        for state in range(len(final)):
            backward[node, state] = 0
        if ends[node] > 0:
            total = final[0] * 0
            for state in range(len(final)):
                total += vectors[node, state] * final[state]
            endings[node] = total
            share = ends[node] / total if total > 0 else total  # without probability it counts for nothing
            for state in range(len(final)):
                backward[node, state] = share * final[state]
                final_counts[state] += vectors[node, state] * backward[node, state]
    return endings, final_counts


@kernel
def expected_counts(
    parent: Integers,
    symbol: Integers,
    level_starts: Longs,
    ends: Array,
    initial: Array,
    transitions: Array,
    final: Array,
    room: Array,
) -> tuple[Array, Array, Array, Array, Array]:
    """Expected counts of (start in i), (i, symbol, j) and (stop in i), after two rows of probabilities:

    that a string which reached a node's parent reaches the node, and that it ends in the node. The
    log-likelihood is the sum of their logarithms, as often as strings pass and end there. `room`, of
    shape (2, nodes or more, states), is overwritten: fresh memory would cost as much as the work in it.
    """
    n_states = len(initial)
    vectors, backward = room[0, : len(parent)], room[1, : len(parent)]
    gathered, lifted = np.empty((_TILE, n_states), initial.dtype), np.empty((_TILE, n_states), initial.dtype)
    scales = _forward(parent, symbol, level_starts, initial, transitions, vectors, gathered)
    endings, final_counts = _stop(ends, final, vectors, backward)
    counts, product = np.zeros_like(transitions), np.empty((n_states, n_states), initial.dtype)
    transposed = np.ascontiguousarray(transitions.transpose(0, 2, 1))
    for level in range(len(level_starts) - 2, 0, -1):
        first = level_starts[level]
        while first < level_starts[level + 1]:
            end = _tile_end(symbol, first, level_starts[level + 1])
            _divide(backward, scales, first, end)
            rows, above = gathered[: end - first], lifted[: end - first]
            _gather(vectors, parent, first, end, rows)
            _add_products(rows, backward[first:end], product, counts[symbol[first]])
            _multiply(backward[first:end], transposed[symbol[first]], above)
            _scatter(above, parent, first, end, backward)
            first = end
    return scales, endings, initial * backward[0], counts * transitions, final_counts
