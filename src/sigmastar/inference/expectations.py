"""Expected counts of a probabilistic automaton's moves on a corpus: the E-step, on the prefix trie.

    forward    a_v  = a_u A_y / z_v,           z_v makes it sum to one, v the child of u by y
    backward   b_v  = ends_v final / (a_v . final) + sum over children c by y of A_y b_c / z_c
    counts     E_y  = A_y o sum over edges u -> v by y of a_u^T b_v / z_v,     E_final, E_initial alike

b_v gathers all strings that pass through v at once, so the pass is exact and its cost grows with the
number of distinct prefixes; a_v . b_v is the number of strings through v. Works in float32 and float64.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sigmastar.jit import kernel

Array = NDArray[Any]
Integers = NDArray[np.int32]
Longs = NDArray[np.int64]

_FEW = 6


@kernel
def _gather(vectors: Array, parent: Integers, first: int, end: int) -> Array:
    """The vectors of the parents of nodes first .. end - 1."""
    n_states = vectors.shape[1]
    gathered = np.empty((end - first, n_states), vectors.dtype)
    for node in range(first, end):
        for state in range(n_states):
            gathered[node - first, state] = vectors[parent[node], state]
    return gathered


@kernel
def _multiply(rows: Array, matrix: Array, result: Array) -> None:
    """result = rows @ matrix; a few rows are quicker by hand than by a library call."""
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
def _add_products(left: Array, right: Array, sums: Array) -> None:
    """sums += left.T @ right."""
    if len(left) > _FEW:
        sums += np.dot(left.T, right)
        return
    n = left.shape[1]
    for row in range(len(left)):
        for state in range(n):
            weight = left[row, state]
            for column in range(n):
                sums[state, column] += weight * right[row, column]


@kernel
def forward_pass(
    parent: Integers, symbol: Integers, level_starts: Longs, initial: Array, transitions: Array
) -> tuple[Array, Array]:
    """Normalised forward vectors of all nodes, and their normalisers."""
    n_nodes, n_states = len(parent), len(initial)
    vectors = np.zeros((n_nodes, n_states), initial.dtype)
    scales = np.ones(n_nodes, initial.dtype)
    vectors[0] = initial
    for level in range(1, len(level_starts) - 1):
        run, end = level_starts[level], level_starts[level + 1]
        while run < end:
            stop = run + 1
            while stop < end and symbol[stop] == symbol[run]:
                stop += 1
            if symbol[run] >= 0:
                _multiply(_gather(vectors, parent, run, stop), transitions[symbol[run]], vectors[run:stop])
            for node in range(run, stop):
                total = vectors[node, 0] * 0
                for state in range(n_states):
                    total += vectors[node, state]
                scales[node] = total
                if total > 0:
                    for state in range(n_states):
                        vectors[node, state] /= total
            run = stop
    return vectors, scales


@kernel
def expected_counts(
    parent: Integers,
    symbol: Integers,
    level_starts: Longs,
    ends: Array,
    initial: Array,
    transitions: Array,
    final: Array,
) -> tuple[Array, Array, Array, Array, Array]:
    """Expected counts of (start in i), (i, symbol, j) and (stop in i), after two rows of probabilities:

    that a string which reached a node's parent reaches the node, and that it ends in the node. The
    log-likelihood is the sum of their logarithms, as often as strings pass and end there.
    """
    vectors, scales = forward_pass(parent, symbol, level_starts, initial, transitions)
    n_nodes, n_states = vectors.shape
    backward = np.zeros((n_nodes, n_states), initial.dtype)
    final_counts = np.zeros(n_states, initial.dtype)
    endings = np.ones(n_nodes, initial.dtype)
    for node in range(n_nodes):
        if ends[node] > 0:
            total = 0.0
            for state in range(n_states):
                total += vectors[node, state] * final[state]
            endings[node] = total
            share = ends[node] / total if total > 0 else 0.0  # without probability it counts for nothing
            for state in range(n_states):
                final_counts[state] += share * vectors[node, state] * final[state]
                backward[node, state] = share * final[state]
    counts = np.zeros_like(transitions)
    transposed = np.ascontiguousarray(transitions.transpose(0, 2, 1))
    for level in range(len(level_starts) - 2, 0, -1):
        run, end = level_starts[level], level_starts[level + 1]
        while run < end:
            stop = run + 1
            while stop < end and symbol[stop] == symbol[run]:
                stop += 1
            for node in range(run, stop):
                if scales[node] > 0:
                    for state in range(n_states):
                        backward[node, state] /= scales[node]
            _add_products(_gather(vectors, parent, run, stop), backward[run:stop], counts[symbol[run]])
            lifted = np.empty((stop - run, n_states), initial.dtype)
            _multiply(backward[run:stop], transposed[symbol[run]], lifted)
            for node in range(run, stop):
                for state in range(n_states):
                    backward[parent[node], state] += lifted[node - run, state]
            run = stop
    return scales, endings, initial * backward[0], counts * transitions, final_counts
