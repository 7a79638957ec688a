"""Inside and outside vectors of trees under a tree automaton, with a carried scale.

    inside(a) = beta_a,  inside(s[t]) = A_s inside(t),  inside(s[t1, t2]) = A_s (inside(t1), inside(t2))
    outside(root) = alpha,  outside(child) = outside(parent) A_s (., inside(sibling))

(Balle, Quattoni and Carreras 2014, "Weighted Finite Tree Automata"). Nodes stand with children before
parents; a vector is `mantissa * 2 ** exponent`, since values of large trees leave the range of floats.
A symbol -1 is unknown: its operator is zero.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sigmastar.core.jit import kernel

Array = NDArray[np.float64]
Ints = NDArray[np.int32]
Longs = NDArray[np.int64]


@kernel
def _rescale(vector: Array) -> int:
    """Divide by a power of two, in place, where entries leave a safe range; return the exponent."""
    largest = 0.0
    for value in vector:
        largest = max(largest, abs(value))
    if largest == 0.0 or 1e-60 < largest < 1e60:
        return 0
    exponent = int(np.floor(np.log2(largest)))
    for k in range(len(vector)):
        vector[k] = np.ldexp(vector[k], -exponent)
    return exponent


@kernel
def inside_vectors(
    rank: Ints, symbol: Ints, left: Ints, right: Ints, leaf: Array, unary: Array, binary: Array
) -> tuple[Array, Longs]:
    """Mantissas (nodes x states) and exponents of all inside vectors."""
    n_states = leaf.shape[1]
    vectors, exponents = np.zeros((len(rank), n_states)), np.zeros(len(rank), np.int64)
    for node in range(len(rank)):
        a, b, code = left[node], right[node], symbol[node]
        if code >= 0 and rank[node] == 0:
            vectors[node] = leaf[code]
        elif code >= 0 and rank[node] == 1:
            for i in range(n_states):
                for j in range(n_states):
                    vectors[node, i] += unary[code, i, j] * vectors[a, j]
            exponents[node] = exponents[a]
        elif code >= 0:
            for i in range(n_states):
                for j in range(n_states):
                    inner = 0.0
                    for k in range(n_states):
                        inner += binary[code, i, j, k] * vectors[b, k]
                    vectors[node, i] += inner * vectors[a, j]
            exponents[node] = exponents[a] + exponents[b]
        exponents[node] += _rescale(vectors[node])
    return vectors, exponents


@kernel
def outside_vectors(
    rank: Ints,
    symbol: Ints,
    left: Ints,
    right: Ints,
    roots: Longs,
    root: Array,
    unary: Array,
    binary: Array,
    vectors: Array,
    exponents: Longs,
) -> tuple[Array, Longs]:
    """Mantissas and exponents of all outside vectors, given the inside ones."""
    n_states = len(root)
    outside, scales = np.zeros(vectors.shape), np.zeros(len(rank), np.int64)
    for node in roots:
        outside[node] = root
        scales[node] = _rescale(outside[node])
    for node in range(len(rank) - 1, -1, -1):
        a, b, code = left[node], right[node], symbol[node]
        if rank[node] == 0 or code < 0:
            continue
        if rank[node] == 1:
            for i in range(n_states):
                for j in range(n_states):
                    outside[a, j] += outside[node, i] * unary[code, i, j]
            scales[a] = scales[node] + _rescale(outside[a])
            continue
        for i in range(n_states):
            for j in range(n_states):
                for k in range(n_states):
                    weight = outside[node, i] * binary[code, i, j, k]
                    outside[a, j] += weight * vectors[b, k]
                    outside[b, k] += weight * vectors[a, j]
        scales[a] = scales[node] + exponents[b] + _rescale(outside[a])
        scales[b] = scales[node] + exponents[a] + _rescale(outside[b])
    return outside, scales


@kernel
def context_vectors(
    outer: Longs,
    symbol: Longs,
    side: Longs,
    sibling: Longs,
    root: Array,
    unary: Array,
    binary: Array,
    insides: Array,
) -> Array:
    """Outside vectors of contexts, each one step inward of an earlier one; the first is the bare hole."""
    n_states = len(root)
    vectors = np.zeros((len(outer), n_states))
    vectors[0] = root
    for row in range(1, len(outer)):
        above, code = vectors[outer[row]], symbol[row]
        for i in range(n_states):
            for j in range(n_states):
                if side[row] == 0:
                    vectors[row, j] += above[i] * unary[code, i, j]
                    continue
                for k in range(n_states):
                    if side[row] == 1:  # the hole is on the left
                        vectors[row, j] += above[i] * binary[code, i, j, k] * insides[sibling[row], k]
                    else:
                        vectors[row, j] += above[i] * binary[code, i, k, j] * insides[sibling[row], k]
    return vectors
