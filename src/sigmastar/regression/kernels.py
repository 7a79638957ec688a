"""The gradient of a function of string values in the weights of an automaton, over a prefix trie.

    forward(root) = initial,        forward(v) = forward(parent) A_symbol(v),       f(v) = forward(v) . final
    behind(v)     = g(v) final + sum over children w of A_symbol(w) behind(w),      g = d loss / d f

    d loss / d final = sum_v g(v) forward(v)      d loss / d initial = behind(root)
    d loss / d A_a   = sum over nodes v that read a of forward(parent(v)) behind(v)^T

Int32s of a level that read the same symbol are neighbours, so each sum is a few matrix products. Shared
prefixes are visited once. Values are plain numbers, without a carried scale: they are compared with
numbers that were observed.
"""

from __future__ import annotations

import numpy as np

from sigmastar.core.arrays import Floats, Int32s, Int64s
from sigmastar.core.jit import kernel


@kernel
def trie_forward(
    parent: Int32s, symbol: Int32s, level_starts: Int64s, initial: Floats, transitions: Floats
) -> Floats:
    """The forward vector of every node."""
    n_states = len(initial)
    vectors = np.empty((len(parent), n_states))
    for k in range(n_states):
        vectors[0, k] = initial[k]
    for level in range(1, len(level_starts) - 1):
        run, end = level_starts[level], level_starts[level + 1]
        while run < end:
            stop = run + 1
            while stop < end and symbol[stop] == symbol[run]:
                stop += 1
            gathered = np.empty((stop - run, n_states))
            for node in range(run, stop):
                for k in range(n_states):
                    gathered[node - run, k] = vectors[parent[node], k]
            np.dot(gathered, transitions[symbol[run]], vectors[run:stop])
            run = stop
    return vectors


@kernel
def trie_backward(
    parent: Int32s,
    symbol: Int32s,
    level_starts: Int64s,
    transitions: Floats,
    final: Floats,
    vectors: Floats,
    slopes: Floats,
) -> tuple[Floats, Floats, Floats]:
    """The gradients in initial, transitions and final, given d loss / d f at every node."""
    n_nodes, n_states = vectors.shape
    by_transitions = np.zeros(transitions.shape)
    behind = np.empty((n_nodes, n_states))
    for node in range(n_nodes):
        for k in range(n_states):
            behind[node, k] = slopes[node] * final[k]
    for level in range(len(level_starts) - 2, 0, -1):
        run, end = level_starts[level], level_starts[level + 1]
        while run < end:
            stop = run + 1
            while stop < end and symbol[stop] == symbol[run]:
                stop += 1
            here = np.ascontiguousarray(behind[run:stop])
            gathered = np.empty((stop - run, n_states))
            for node in range(run, stop):
                for k in range(n_states):
                    gathered[node - run, k] = vectors[parent[node], k]
            products = np.dot(np.ascontiguousarray(gathered.T), here)
            for i in range(n_states):
                for j in range(n_states):
                    by_transitions[symbol[run], i, j] += products[i, j]
            passed = np.dot(here, np.ascontiguousarray(transitions[symbol[run]].T))
            for node in range(run, stop):
                for k in range(n_states):
                    behind[parent[node], k] += passed[node - run, k]
            run = stop
    return behind[0].copy(), by_transitions, np.dot(np.ascontiguousarray(vectors.T), slopes)
