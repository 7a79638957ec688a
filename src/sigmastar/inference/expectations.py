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
                gathered = np.empty((stop - run, n_states), initial.dtype)
                for node in range(run, stop):
                    gathered[node - run] = vectors[parent[node]]
                np.dot(gathered, transitions[symbol[run]], vectors[run:stop])
            for node in range(run, stop):
                total = vectors[node].sum()
                scales[node] = total
                if total > 0:
                    vectors[node] /= total
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
) -> tuple[float, Array, Array, Array]:
    """Log-likelihood and expected counts of (start in i), (i, symbol, j) and (stop in i)."""
    vectors, scales = forward_pass(parent, symbol, level_starts, initial, transitions)
    n_nodes, n_states = vectors.shape
    log_likelihood = 0.0
    backward = np.zeros((n_nodes, n_states), initial.dtype)
    final_counts = np.zeros(n_states, initial.dtype)
    through = np.zeros(n_nodes)
    for node in range(n_nodes):
        if ends[node] > 0:
            stopping = vectors[node] * final
            total = stopping.sum()
            log_likelihood += ends[node] * np.log(total)
            if total > 0:  # a string without probability counts for nothing
                stopping *= ends[node] / total
                final_counts += stopping
                backward[node] = final * (ends[node] / total)
        through[node] = ends[node]
    counts = np.zeros_like(transitions)
    transposed = np.ascontiguousarray(transitions.transpose(0, 2, 1))
    for level in range(len(level_starts) - 2, 0, -1):
        run, end = level_starts[level], level_starts[level + 1]
        while run < end:
            stop = run + 1
            while stop < end and symbol[stop] == symbol[run]:
                stop += 1
            gathered = np.empty((n_states, stop - run), initial.dtype)
            for node in range(run, stop):
                if scales[node] > 0:
                    backward[node] /= scales[node]
                log_likelihood += through[node] * np.log(scales[node])
                through[parent[node]] += through[node]
                for state in range(n_states):
                    gathered[state, node - run] = vectors[parent[node], state]
            counts[symbol[run]] += np.dot(gathered, backward[run:stop])
            lifted = np.dot(backward[run:stop], transposed[symbol[run]])
            for node in range(run, stop):
                backward[parent[node]] += lifted[node - run]
            run = stop
    return log_likelihood, initial * backward[0], counts * transitions, final_counts
