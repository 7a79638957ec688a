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

from sigmastar.jit import fast_kernel

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Array = NDArray[np.float64]


@fast_kernel
def _inside_node(tensors: Array, low: int, left: Array, right: Array, result: Array) -> None:
    n = len(result)
    size = n * len(right)
    sums = np.zeros(size)
    for y in range(len(left)):
        weight, row = left[y], tensors[low : low + size]
        for k in range(size):
            sums[k] += weight * row[k]
        low += size
    result[:] = 0.0
    for z in range(len(right)):
        for x in range(n):
            result[x] += right[z] * sums[z * n + x]


@fast_kernel
def _normalised(vector: Array) -> float:
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
    tensors: Array,
    offsets: Longs,
    vectors: Array,
    scales: Array,
) -> float:
    """Fill the inside vectors of one tree, leaves are given; the sum of the logarithms of the scales."""
    logs = 0.0
    for node in range(low, high):
        mine = vectors[at[node] : at[node + 1]]
        if rule[node] >= 0:
            west, east = left[node], right[node]
            _inside_node(
                tensors,
                offsets[rule[node]],
                vectors[at[west] : at[west + 1]],
                vectors[at[east] : at[east + 1]],
                mine,
            )
        scales[node] = _normalised(mine)
        if scales[node] == 0.0:
            return -np.inf
        logs += np.log(scales[node])
    return logs


@fast_kernel
def expectations(
    starts: Longs,
    symbol: Ints,
    left: Ints,
    right: Ints,
    rule: Ints,
    at: Longs,
    tensors: Array,
    offsets: Longs,
    roots: Array,
    root_at: Longs,
    vectors: Array,
) -> tuple[Array, Array, Array, float]:
    """Expected counts of rules and roots, posteriors of all nodes, and the log-likelihood.

    `vectors` holds the scores of leaves. Trees of probability zero count for nothing.
    """
    counts, root_counts = np.zeros(len(tensors)), np.zeros(len(roots))
    outer, scales = np.zeros(len(vectors)), np.zeros(len(symbol))
    posteriors, total = np.zeros(len(vectors)), 0.0
    for tree in range(len(starts) - 1):
        low, high = starts[tree], starts[tree + 1]
        logs = tree_insides(low, high, symbol, left, right, rule, at, tensors, offsets, vectors, scales)
        top = high - 1
        begin, size = root_at[symbol[top]], at[top + 1] - at[top]
        value = 0.0
        for x in range(size):
            outer[at[top] + x] = roots[begin + x]
            value += roots[begin + x] * vectors[at[top] + x]
        if not value > 0.0 or logs == -np.inf:
            continue
        total += logs + np.log(value)
        for x in range(size):
            root_counts[begin + x] += roots[begin + x] * vectors[at[top] + x] / value
        for node in range(high - 1, low - 1, -1):
            _outside_node(node, left, right, rule, at, tensors, offsets, vectors, outer, scales, counts)
            mine, out, norm = vectors[at[node] : at[node + 1]], outer[at[node] : at[node + 1]], 0.0
            for x in range(len(mine)):
                norm += mine[x] * out[x]
            for x in range(len(mine)):
                posteriors[at[node] + x] = mine[x] * out[x] / norm
    return counts, root_counts, posteriors, total


@fast_kernel
def _outside_node(
    node: int,
    left: Ints,
    right: Ints,
    rule: Ints,
    at: Longs,
    tensors: Array,
    offsets: Longs,
    vectors: Array,
    outer: Array,
    scales: Array,
    counts: Array,
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
    norm = 1.0 / (value * scales[node])
    size, low = n * len(g), offsets[rule[node]]
    weights, sums = np.zeros(size), np.zeros(size)  # over (z, x): g out, and T contracted with f
    for z in range(len(g)):
        for x in range(n):
            weights[z * n + x] = g[z] * out[x]
    for y in range(len(f)):
        row, count, share, total = tensors[low : low + size], counts[low : low + size], f[y] * norm, 0.0
        for k in range(size):
            flow = row[k] * weights[k]
            total += flow
            count[k] += share * flow
            sums[k] += f[y] * row[k]
        f_out[y] = total
        low += size
    for z in range(len(g)):
        total = 0.0
        for x in range(n):
            total += sums[z * n + x] * out[x]
        g_out[z] = total


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


@fast_kernel
def smoothed(
    rules: Ints,
    n_states: Longs,
    offsets: Longs,
    counts: Array,
    shares: Array,
    share_at: Longs,
    strength: float,
    backing: float,
) -> Array:
    """Counts mixed with products of their margins, keeping the total of every rule.

        l C + (1 - l) [l mean of pair x single products + (1 - l) triple product]
        l = sqrt(n) / (strength + sqrt(n))

    Margins are shrunk towards `shares`, the distribution of states of each symbol, by `backing` counts.
    """  # fmt: skip
    result = np.zeros(len(counts))
    most = n_states.max()
    px, py, pz = np.zeros(most), np.zeros(most), np.zeros(most)
    yz, yx, zx = np.zeros((most, most)), np.zeros((most, most)), np.zeros((most, most))
    for r in range(len(rules)):
        a, b, c = rules[r]
        nx, ny, nz = n_states[a], n_states[b], n_states[c]
        px[:nx], py[:ny], pz[:nz] = 0.0, 0.0, 0.0
        yz[:ny, :nz], yx[:ny, :nx], zx[:nz, :nx] = 0.0, 0.0, 0.0
        low, total = offsets[r], 0.0
        for y in range(ny):
            for z in range(nz):
                for x in range(nx):
                    count = counts[low]
                    low += 1
                    total += count
                    px[x] += count
                    py[y] += count
                    pz[z] += count
                    yz[y, z] += count
                    yx[y, x] += count
                    zx[z, x] += count
        if total <= 0.0:
            continue
        norm = 1.0 / (total + backing)
        for x in range(nx):
            px[x] = (px[x] + backing * shares[share_at[a] + x]) * norm
        for y in range(ny):
            py[y] = (py[y] + backing * shares[share_at[b] + y]) * norm
        for z in range(nz):
            pz[z] = (pz[z] + backing * shares[share_at[c] + z]) * norm
        mix = np.sqrt(total) / (strength + np.sqrt(total))
        single, pairs, triple = mix, (1 - mix) * mix / 3.0, (1 - mix) * (1 - mix) * total
        low = offsets[r]
        for y in range(ny):
            for z in range(nz):
                for x in range(nx):
                    result[low] = (
                        single * counts[low]
                        + pairs * (yz[y, z] * px[x] + yx[y, x] * pz[z] + zx[z, x] * py[y])
                        + triple * px[x] * py[y] * pz[z]
                    )
                    low += 1
    return result


@fast_kernel
def conditional(
    rules: Ints, n_states: Longs, offsets: Longs, counts: Array, share_at: Longs
) -> tuple[Array, Array]:
    """T_r[y, z, x] = P(rule r with y and z | parent in x), and how often each state is a parent."""
    totals = np.zeros(share_at[-1])
    tensors = np.zeros(len(counts))
    for r in range(len(rules)):
        n, base = n_states[rules[r, 0]], share_at[rules[r, 0]]
        for low in range(offsets[r], offsets[r + 1], n):
            for x in range(n):
                totals[base + x] += counts[low + x]
    for r in range(len(rules)):
        n, base = n_states[rules[r, 0]], share_at[rules[r, 0]]
        for low in range(offsets[r], offsets[r + 1], n):
            for x in range(n):
                if totals[base + x] > 0.0:
                    tensors[low + x] = counts[low + x] / totals[base + x]
    return tensors, totals
