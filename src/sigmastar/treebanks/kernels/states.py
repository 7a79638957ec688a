"""States of given binary trees: figure 2 of Cohen et al. (2012), and the expectations of EM.

    inside   f_p[x] = sum over y, z of T_r[y, z, x] f_l[y] f_r[z]          at a node with rule r: p -> l r
    outside  g_l[y] = sum over x, z of T_r[y, z, x] g_p[x] f_r[z]
    counts   C_r[y, z, x] += T_r[y, z, x] g_p[x] f_l[y] f_r[z] / P(tree)

Vectors are kept at sum one with the logarithm of the scale beside them, so that trees of any size fit. Nodes
come children before parents; `at[node]` says where the vector of a node begins. Tensors are flat, that of
rule r beginning at `offsets[r]`, axes (left, right, parent).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sigmastar.core.jit import fast_kernel, part

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Array = NDArray[np.float64]
Reals = NDArray[np.float64] | NDArray[np.float32]


@part
def _inside_node(tensors: Reals, low: int, left: Reals, right: Reals, result: Reals, sums: Reals) -> None:
    n = len(result)
    size = n * len(right)
    sums[:size] = 0.0
    for y in range(len(left)):
        weight, row = left[y], tensors[low : low + size]
        for k in range(size):
            sums[k] += weight * row[k]
        low += size
    result[:] = 0.0
    for z in range(len(right)):
        weight, row = right[z], sums[z * n : (z + 1) * n]
        for x in range(n):
            result[x] += weight * row[x]


@fast_kernel
def _normalised(vector: Reals) -> float:
    """Divide by the sum of sizes, and give it; signed vectors too."""
    total = 0.0
    for x in range(len(vector)):
        total += abs(vector[x])
    if total > 0.0:
        for x in range(len(vector)):
            vector[x] /= total
    return total


@fast_kernel
def tree_insides(
    low: int,
    high: int,
    symbol: Ints,
    left: Ints,
    right: Ints,
    rule: Ints,
    at: Longs,
    tensors: Reals,
    offsets: Longs,
    vectors: Reals,
    scales: Array,
    sums: Reals,
) -> float:
    """Fill the inside vectors of one tree, leaves are given; the sum of the logarithms of the scales.

    `sums` has room for a table of the states of two symbols.
    """
    logs = 0.0
    for node in range(low, high):
        _fill(node, left, right, rule, at, tensors, offsets, vectors, scales, sums)
        if scales[node] == 0.0:
            return -np.inf
        logs += np.log(scales[node])
    return logs


@part
def _fill(
    node: int,
    left: Ints,
    right: Ints,
    rule: Ints,
    at: Longs,
    tensors: Reals,
    offsets: Longs,
    vectors: Reals,
    scales: Array,
    sums: Reals,
) -> None:
    """The inside vector of one node, those of its children being there, and its scale."""
    mine = vectors[at[node] : at[node + 1]]
    if rule[node] >= 0:
        west, east = left[node], right[node]
        _inside_node(
            tensors,
            offsets[rule[node]],
            vectors[at[west] : at[west + 1]],
            vectors[at[east] : at[east + 1]],
            mine,
            sums,
        )
    scales[node] = _normalised(mine)


@fast_kernel
def expectations(
    starts: Longs,
    symbol: Ints,
    left: Ints,
    right: Ints,
    rule: Ints,
    at: Longs,
    tensors: Reals,
    offsets: Longs,
    roots: Array,
    root_at: Longs,
    vectors: Reals,
) -> tuple[Reals, Array, Array, float]:
    """Expected counts of rules and roots, posteriors of all nodes, and the log-likelihood.

    `vectors` holds the scores of leaves. Trees of probability zero count for nothing. Tensors, vectors and
    counts may be of single precision, which halves what has to come from memory.
    """
    counts, root_counts = np.zeros(len(tensors), tensors.dtype), np.zeros(len(roots))
    outer, scales = np.zeros(len(vectors), tensors.dtype), np.zeros(len(symbol))
    posteriors, total = np.zeros(len(vectors)), 0.0
    most = 1
    for node in range(len(symbol)):
        most = max(most, at[node + 1] - at[node])
    room = np.zeros((3, most * most), tensors.dtype)
    for tree in range(len(starts) - 1):
        low, top = starts[tree], starts[tree + 1] - 1
        logs = tree_insides(
            low, top + 1, symbol, left, right, rule, at, tensors, offsets, vectors, scales, room[0]
        )
        mine, base, value = vectors[at[top] : at[top + 1]], root_at[symbol[top]], 0.0
        for x in range(len(mine)):
            outer[at[top] + x] = roots[base + x]
            value += roots[base + x] * mine[x]
        if not value > 0.0 or logs == -np.inf:
            continue
        total += logs + np.log(value)
        for x in range(len(mine)):
            root_counts[base + x] += roots[base + x] * mine[x] / value
        for node in range(top, low - 1, -1):
            _outside_node(node, left, right, rule, at, tensors, offsets, vectors, outer, scales, counts, room)
            _posterior(
                vectors[at[node] : at[node + 1]], outer[at[node] : at[node + 1]], posteriors[at[node] :]
            )
    return counts, root_counts, posteriors, total


@part
def _posterior(inner: Reals, outer: Reals, result: Array) -> None:
    norm = 0.0
    for x in range(len(inner)):
        norm += inner[x] * outer[x]
    if norm > 0.0:  # single precision has no smaller numbers: then nobody knows
        for x in range(len(inner)):
            result[x] = inner[x] * outer[x] / norm


@part
def _outside_node(
    node: int,
    left: Ints,
    right: Ints,
    rule: Ints,
    at: Longs,
    tensors: Reals,
    offsets: Longs,
    vectors: Reals,
    outer: Reals,
    scales: Array,
    counts: Reals,
    room: Reals,
) -> None:
    """Outside vectors of both children, and the counts of the rule."""
    out = outer[at[node] : at[node + 1]]
    _normalised(out)
    if rule[node] < 0:
        return
    west, east, n = left[node], right[node], len(out)
    f, g = vectors[at[west] : at[west + 1]], vectors[at[east] : at[east + 1]]
    f_out, g_out = outer[at[west] : at[west + 1]], outer[at[east] : at[east + 1]]
    mine, value = vectors[at[node] : at[node + 1]], 0.0
    for x in range(n):
        value += mine[x] * out[x]
    if not value > 0.0:
        return
    size, low = n * len(g), offsets[rule[node]]
    sums, weights, shares = room[0, :size], room[1, :size], room[2, : len(f)]
    for y in range(len(f)):
        shares[y] = f[y] / (value * scales[node])
    for z in range(len(g)):
        weight, row = g[z], weights[z * n : (z + 1) * n]
        for x in range(n):
            row[x] = weight * out[x]
    sums[:] = 0.0
    for y in range(len(f)):
        f_out[y] = _flows(tensors[low : low + size], weights, f[y], shares[y], counts[low : low + size], sums)
        low += size
    for z in range(len(g)):
        total = 0.0
        for x in range(n):
            total += sums[z * n + x] * out[x]
        g_out[z] = total


@part
def _flows(row: Reals, weights: Reals, inner: float, share: float, count: Reals, sums: Reals) -> float:
    """Over (z, x): add to the counts of one y and to T contracted with f; how much flows through that y."""
    total = inner - inner  # zero, in the precision of the vectors
    for k in range(len(row)):
        flow = row[k] * weights[k]
        total += flow
        count[k] += share * flow
        sums[k] += inner * row[k]
    return total


@fast_kernel
def hard_counts(
    left: Ints,
    right: Ints,
    rule: Ints,
    state: Longs,
    symbol: Ints,
    n_states: Longs,
    offsets: Longs,
    size: int,
) -> Array:
    """Counts of rules where every node is in one known state."""
    counts = np.zeros(size)
    for node in range(len(rule)):
        if rule[node] >= 0:
            west, east = left[node], right[node]
            low = (state[west] * n_states[symbol[east]] + state[east]) * n_states[symbol[node]] + state[node]
            counts[offsets[rule[node]] + low] += 1.0
    return counts
