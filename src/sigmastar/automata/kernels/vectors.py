"""All vectors of one string, and the trie nodes along strings.

    forward:   v(0) = initial,  v(t) = v(t - 1) A_xt          backward:  u(T) = final,  u(t - 1) = A_xt u(t)

A vector is a row of mantissas and a power of two, `vector = mantissas * 2 ** exponent`, so that it
stays finite at any length.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sigmastar.core.jit import kernel

Array = NDArray[np.float64]
Nodes = NDArray[np.int32]
Integers = NDArray[np.int64]


@kernel
def forward_vectors(codes: Nodes, initial: Array, transitions: Array) -> tuple[Array, Integers]:
    """The vectors before, between and after the symbols: (length + 1) rows; unknown symbols give zeros."""
    length, n_states = len(codes), len(initial)
    rows, exponents = np.zeros((length + 1, n_states)), np.zeros(length + 1, np.int64)
    rows[0] = initial
    exponents[0] = _normalise(rows[0])
    for t in range(length):
        if codes[t] >= 0:
            matrix = transitions[codes[t]]
            for state in range(n_states):
                weight = rows[t, state]
                for target in range(n_states):
                    rows[t + 1, target] += weight * matrix[state, target]
        exponents[t + 1] = exponents[t] + _normalise(rows[t + 1])
    return rows, exponents


@kernel
def backward_vectors(codes: Nodes, transitions: Array, final: Array) -> tuple[Array, Integers]:
    """The same from the end: row t is `A_x(t+1) .. A_xT final`."""
    length, n_states = len(codes), len(final)
    rows, exponents = np.zeros((length + 1, n_states)), np.zeros(length + 1, np.int64)
    rows[length] = final
    exponents[length] = _normalise(rows[length])
    for t in range(length - 1, -1, -1):
        if codes[t] >= 0:
            matrix = transitions[codes[t]]
            for state in range(n_states):
                total = 0.0
                for target in range(n_states):
                    total += matrix[state, target] * rows[t + 1, target]
                rows[t, state] = total
        exponents[t] = exponents[t + 1] + _normalise(rows[t])
    return rows, exponents


@kernel
def _normalise(vector: Array) -> int:
    """Bring the largest entry into [1, 2), in place; return the power of two that was taken out."""
    largest = 0.0
    for value in vector:
        largest = max(largest, abs(value))
    if largest == 0.0:
        return 0
    exponent = int(np.floor(np.log2(largest)))
    for k in range(len(vector)):
        vector[k] = np.ldexp(vector[k], -exponent)
    return exponent


@kernel
def gap_nodes(parent: Nodes, string_node: Nodes, offsets: Integers) -> Nodes:
    """The trie node at every gap of every string, in corpus order."""
    n_strings = len(string_node)
    nodes = np.empty(offsets[-1] + n_strings, np.int32)
    for i in range(n_strings):
        node = string_node[i]
        for gap in range(offsets[i + 1] + i, offsets[i] + i - 1, -1):
            nodes[gap] = node
            node = parent[node]
    return nodes
