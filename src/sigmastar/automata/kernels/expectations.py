"""Expected counts of a probabilistic automaton's moves on a corpus: the E-step, on the prefix trie.

    forward    a_v  = a_u A_y / z_v,           z_v makes it sum to one, v the child of u by y
    backward   b_v  = ends_v final / (a_v . final) + sum over children c by y of A_y b_c / z_c
    counts     E_y  = A_y o sum over edges u -> v by y of a_u^T b_v / z_v,     E_final, E_initial alike

b_v gathers all strings that pass through v at once, so the pass is exact and its cost grows with the
number of distinct prefixes; a_v . b_v is the number of strings through v. Works in float32 and float64.
Nodes are taken in tiles of one symbol, so that what is gathered for a product stays in the cache.
"""

from __future__ import annotations

import numpy as np

from sigmastar.core.arrays import Array, Int32s, Int64s
from sigmastar.core.jit import fast_kernel, kernel, part

_FEW = 6  # so few rows are quicker by hand than by a library call
_TILE = 256


@kernel
def _tile_end(symbol: Int32s, first: int, level_end: int) -> int:
    """Where the nodes that share the symbol of `first` end, a tile at most."""
    end = first + 1
    limit = min(level_end, first + _TILE)
    while end < limit and symbol[end] == symbol[first]:
        end += 1
    return end


@part
def _gather(vectors: Array, inverses: Array, parent: Int32s, first: int, end: int, gathered: Array) -> None:
    """The vectors of the parents of nodes first .. end - 1, made to sum to one."""
    n_states = vectors.shape[1]
    for row in range(end - first):
        above = parent[first + row]
        factor = inverses[above]
        for state in range(n_states):
            gathered[row, state] = factor * vectors[above, state]


@part
def _gather_over(
    vectors: Array, inverses: Array, parent: Int32s, first: int, end: int, gathered: Array
) -> None:
    """The same over the normalizers of nodes first .. end - 1."""
    n_states = vectors.shape[1]
    for row in range(end - first):
        above = parent[first + row]
        factor = inverses[above] * inverses[first + row]
        for state in range(n_states):
            gathered[row, state] = factor * vectors[above, state]


@part
def _scatter(lifted: Array, inverses: Array, parents: Int32s, first: int, vectors: Array) -> None:
    """Add each vector, over its normalizer, to that of its parent; these are numbered from `first` on."""
    n_states = vectors.shape[1]
    for row in range(len(parents)):
        above, factor = parents[row] - first, inverses[row]
        for state in range(n_states):
            vectors[above, state] += factor * lifted[row, state]


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


@part
def _add_products(left: Array, right: Array, product: Array, sums: Array) -> None:
    """sums += left.T @ right."""
    n = left.shape[1]
    if len(left) > _FEW:
        np.dot(left.T, right, product)
        for state in range(n):
            for column in range(n):
                sums[state, column] += product[state, column]
        return
    for row in range(len(left)):
        for state in range(n):
            weight = left[row, state]
            for column in range(n):
                sums[state, column] += weight * right[row, column]


@fast_kernel
def _sum(vectors: Array, scales: Array, inverses: Array, first: int, end: int) -> None:
    """What the vectors of nodes first .. end - 1 sum to, and the inverses; of nothing the inverse is 0."""
    n_states = vectors.shape[1]
    for node in range(first, end):
        total = vectors[node, 0] * 0
        for state in range(n_states):
            total += vectors[node, state]
        scales[node] = total
        inverses[node] = 1 / total if total > 0 else total


@part
def _forward(
    parent: Int32s,
    symbol: Int32s,
    level_starts: Int64s,
    initial: Array,
    transitions: Array,
    vectors: Array,
    gathered: Array,
) -> tuple[Array, Array]:
    """Fill in the forward vectors, each times its normalizer; the normalizers and their inverses."""
    scales, inverses = np.ones(len(parent), initial.dtype), np.ones(len(parent), initial.dtype)
    for state in range(len(initial)):
        vectors[0, state] = initial[state]
    for level in range(1, len(level_starts) - 1):
        first = level_starts[level]
        while first < level_starts[level + 1]:
            end = _tile_end(symbol, first, level_starts[level + 1])
            rows = gathered[: end - first]
            _gather(vectors, inverses, parent, first, end, rows)
            if symbol[first] >= 0:
                _multiply(rows, transitions[symbol[first]], vectors[first:end])
            else:
                vectors[first:end] = 0
            _sum(vectors, scales, inverses, first, end)
            first = end
    return scales, inverses


@kernel
def forward_pass(
    parent: Int32s, symbol: Int32s, level_starts: Int64s, initial: Array, transitions: Array
) -> tuple[Array, Array]:
    """Normalized forward vectors of all nodes, and their normalizers."""
    vectors = np.empty((len(parent), len(initial)), initial.dtype)
    gathered = np.empty((_TILE, len(initial)), initial.dtype)
    scales, inverses = _forward(parent, symbol, level_starts, initial, transitions, vectors, gathered)
    for node in range(len(parent)):
        for state in range(len(initial)):
            vectors[node, state] *= inverses[node]
    return vectors, scales


@fast_kernel
def _stop(
    ends: Array,
    final: Array,
    vectors: Array,
    inverses: Array,
    backward: Array,
    endings: Array,
    final_counts: Array,
) -> None:
    """Begin the backward vectors of a level where strings end, and count the stops.

    `endings` receives the probabilities of ending, where strings do.
    """
    n_states = len(final)
    for node in range(len(ends)):
        for state in range(n_states):
            backward[node, state] = 0
        if ends[node] > 0:
            total = final[0] * 0
            for state in range(n_states):
                total += vectors[node, state] * final[state]
            endings[node] = total = total * inverses[node]
            share = ends[node] / total if total > 0 else total  # without probability it counts for nothing
            for state in range(n_states):
                backward[node, state] = share * final[state]
                final_counts[state] += inverses[node] * vectors[node, state] * backward[node, state]


@kernel
def expected_counts(
    parent: Int32s,
    symbol: Int32s,
    level_starts: Int64s,
    ends: Array,
    initial: Array,
    transitions: Array,
    final: Array,
    room: Array,
) -> tuple[Array, Array, Array, Array, Array]:
    """Expected counts of (start in i), (i, symbol, j) and (stop in i), after two rows of probabilities:

    that a string which reached a node's parent reaches the node, and that it ends in the node. The
    log-likelihood is the sum of their logarithms, as often as strings pass and end there. `room`, of
    shape (nodes or more, states), is overwritten: fresh memory would cost as much as the work in it.
    Backward vectors are held for two levels at a time, which the cache can hold.
    """
    n_states, widest, kind = len(initial), 0, initial.dtype
    for level in range(len(level_starts) - 1):
        widest = max(widest, level_starts[level + 1] - level_starts[level])
    vectors = room[: len(parent)]
    gathered, lifted = np.empty((_TILE, n_states), kind), np.empty((_TILE, n_states), kind)
    scales, inverses = _forward(parent, symbol, level_starts, initial, transitions, vectors, gathered)
    endings, final_counts = np.ones(len(ends), kind), np.zeros_like(final)
    counts, product = np.zeros_like(transitions), np.empty((n_states, n_states), kind)
    transposed = np.empty_like(transitions)
    for code in range(len(transitions)):
        for state in range(n_states):
            for after in range(n_states):
                transposed[code, after, state] = transitions[code, state, after]
    backward, above = np.empty((widest, n_states), kind), np.empty((widest, n_states), kind)
    last = slice(level_starts[-2], level_starts[-1])
    _stop(ends[last], final, vectors[last], inverses[last], backward, endings[last], final_counts)
    for level in range(len(level_starts) - 2, 0, -1):
        before, begin, close = level_starts[level - 1], level_starts[level], level_starts[level + 1]
        here = slice(before, begin)
        _stop(ends[here], final, vectors[here], inverses[here], above, endings[here], final_counts)
        first = begin
        while first < close:
            end = _tile_end(symbol, first, close)
            n_rows, below = end - first, backward[first - begin : end - begin]
            _gather_over(vectors, inverses, parent, first, end, gathered)
            _add_products(gathered[:n_rows], below, product, counts[symbol[first]])
            _multiply(below, transposed[symbol[first]], lifted[:n_rows])
            _scatter(lifted, inverses[first:end], parent[first:end], before, above)
            first = end
        backward, above = above, backward
    starts = np.empty(n_states, kind)
    for state in range(n_states):
        starts[state] = initial[state] * backward[0, state]
        for code in range(len(counts)):
            for after in range(n_states):
                counts[code, state, after] *= transitions[code, state, after]
    return scales, endings, starts, counts, final_counts
