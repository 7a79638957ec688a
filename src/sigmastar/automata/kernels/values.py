"""Values of strings under an automaton, with a carried scale.

    forward(empty) = initial,   forward(w a) = forward(w) A_a,   f(w) = forward(w) . final

Signed operators rule out logarithms inside the recursion, so vectors are kept as mantissas with a
power of two beside them: `value = mantissa * 2 ** exponent`, exact at any length. The recursion runs
over the prefix trie, one matrix product for all nodes of a level that read the same symbol.

Of one string all vectors may be asked for:

    forward:   v(0) = initial,  v(t) = v(t - 1) A_xt          backward:  u(T) = final,  u(t - 1) = A_xt u(t)
"""

from __future__ import annotations

import numpy as np

from sigmastar.core.arrays import Floats, Int32s, Int64s
from sigmastar.core.jit import fast_kernel, kernel, part
from sigmastar.core.scaling import normalize, rescale

_TILE = 256  # nodes at a time: what is gathered for a product stays in the cache
_ROWS, _OUTCOMES = 128, 256  # of a product that is summed where it was made, in the cache


@kernel
def trie_values(
    parent: Int32s, symbol: Int32s, level_starts: Int64s, initial: Floats, transitions: Floats, finals: Floats
) -> tuple[Floats, Int64s]:
    """Mantissas (nodes x final vectors) and exponents (nodes) of `forward(node) . final`."""
    n_nodes, n_states, widest = len(parent), len(initial), 0
    for level in range(len(level_starts) - 1):
        widest = max(widest, level_starts[level + 1] - level_starts[level])
    mantissas, exponents = np.zeros((n_nodes, finals.shape[1])), np.zeros(n_nodes, np.int64)
    previous, current = np.empty((widest, n_states)), np.empty((widest, n_states))
    gathered = np.empty((_TILE, n_states))
    for state in range(n_states):
        previous[0, state] = initial[state]
    exponents[0] = rescale(previous[0])
    np.dot(previous[:1], finals, mantissas[:1])
    for level in range(1, len(level_starts) - 1):
        before, first, end = level_starts[level - 1], level_starts[level], level_starts[level + 1]
        run = first
        while run < end:
            stop = run + 1
            while stop < min(end, run + _TILE) and symbol[stop] == symbol[run]:
                stop += 1
            rows = current[run - first : stop - first]
            if symbol[run] >= 0:
                _gather(previous, parent[run:stop], before, gathered)
                np.dot(gathered[: stop - run], transitions[symbol[run]], rows)
            else:
                rows[:] = 0.0
            for row in range(len(rows)):
                exponents[run + row] = exponents[parent[run + row]] + rescale(rows[row])
            np.dot(rows, finals, mantissas[run:stop])
            run = stop
        previous, current = current, previous
    return mantissas, exponents


@part
def _gather(vectors: Floats, parents: Int32s, first: int, gathered: Floats) -> None:
    """The vectors of some parents, which are numbered from `first` on."""
    n_states = vectors.shape[1]
    for row in range(len(parents)):
        at = parents[row] - first
        for state in range(n_states):
            gathered[row, state] = vectors[at, state]


@kernel
def forward_vectors(codes: Int32s, initial: Floats, transitions: Floats) -> tuple[Floats, Int64s]:
    """The vectors before, between and after the symbols: (length + 1) rows; unknown symbols give zeros."""
    length, n_states = len(codes), len(initial)
    rows, exponents = np.zeros((length + 1, n_states)), np.zeros(length + 1, np.int64)
    rows[0] = initial
    exponents[0] = normalize(rows[0])
    for t in range(length):
        if codes[t] >= 0:
            matrix = transitions[codes[t]]
            for state in range(n_states):
                weight = rows[t, state]
                for target in range(n_states):
                    rows[t + 1, target] += weight * matrix[state, target]
        exponents[t + 1] = exponents[t] + normalize(rows[t + 1])
    return rows, exponents


@kernel
def backward_vectors(codes: Int32s, transitions: Floats, final: Floats) -> tuple[Floats, Int64s]:
    """The same from the end: row t is `A_x(t+1) .. A_xT final`."""
    length, n_states = len(codes), len(final)
    rows, exponents = np.zeros((length + 1, n_states)), np.zeros(length + 1, np.int64)
    rows[length] = final
    exponents[length] = normalize(rows[length])
    for t in range(length - 1, -1, -1):
        if codes[t] >= 0:
            matrix = transitions[codes[t]]
            for state in range(n_states):
                total = 0.0
                for target in range(n_states):
                    total += matrix[state, target] * rows[t + 1, target]
                rows[t, state] = total
        exponents[t] = exponents[t + 1] + normalize(rows[t])
    return rows, exponents


@kernel
def gap_nodes(parent: Int32s, string_node: Int32s, offsets: Int64s) -> Int32s:
    """The trie node at every gap of every string, in corpus order."""
    n_strings = len(string_node)
    nodes = np.empty(offsets[-1] + n_strings, np.int32)
    for i in range(n_strings):
        node = string_node[i]
        for gap in range(offsets[i + 1] + i, offsets[i] + i - 1, -1):
            nodes[gap] = node
            node = parent[node]
    return nodes


@fast_kernel
def add_clipped_sums(vectors: Floats, outcomes: Floats, sums: Floats) -> None:
    """sums[r] += sum over o of max(vectors[r] . outcomes[o], 0)."""
    room = np.empty(_ROWS * _OUTCOMES)
    for begin in range(0, len(outcomes), _OUTCOMES):
        some = outcomes[begin : begin + _OUTCOMES]
        for first in range(0, len(vectors), _ROWS):
            rows = vectors[first : first + _ROWS]
            products = room[: len(rows) * len(some)].reshape((len(rows), len(some)))
            np.dot(rows, some.T, products)
            for row in range(len(rows)):
                total = 0.0
                for outcome in range(len(some)):
                    total += max(products[row, outcome], 0.0)
                sums[first + row] += total
