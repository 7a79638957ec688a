"""States of given binary trees: figure 2 of Cohen et al. (2012), and the expectations of EM.

    inside   f_p[x] = sum over y, z of T_r[y, z, x] f_l[y] f_r[z]          at a node with rule r: p -> l r
    outside  g_l[y] = sum over x, z of T_r[y, z, x] g_p[x] f_r[z]
    counts   C_r[y, z, x] += T_r[y, z, x] g_p[x] f_l[y] f_r[z] / P(tree)

Vectors are kept at sum one with the logarithm of the scale beside them, so that trees of any size fit. Nodes
come children before parents; the vector of a node begins at `at[node]`. Tensors are flat, that of
rule r beginning at `offsets[r]`, axes (left, right, parent).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sigmastar.core.arrays import Floats, Int64s, Reals
from sigmastar.core.jit import fast_kernel, part
from sigmastar.treebanks.data.binarized import BinaryNodes


class RuleTensors(NamedTuple):
    """Tensors of rules, flat, and where each begins."""

    values: Reals
    offsets: Int64s


class RootVectors(NamedTuple):
    """Vectors of roots, flat, and where that of each symbol begins."""

    values: Floats
    at: Int64s


class _Passes(NamedTuple):
    """What both passes over trees fill, and room for tables of the states of two symbols."""

    vectors: Reals
    scales: Floats
    outer: Reals
    counts: Reals
    room: Reals


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
def _normalized(vector: Reals) -> float:
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
    low: int, high: int, nodes: BinaryNodes, tensors: RuleTensors, vectors: Reals, scales: Floats, sums: Reals
) -> float:
    """Fill the inside vectors of one tree, leaves are given; the sum of the logarithms of the scales.

    `sums` has room for a table of the states of two symbols.
    """
    logs, at = 0.0, nodes.at
    for node in range(low, high):
        result = vectors[at[node] : at[node + 1]]
        if nodes.rule[node] >= 0:
            west, east = nodes.left[node], nodes.right[node]
            f, g = vectors[at[west] : at[west + 1]], vectors[at[east] : at[east + 1]]
            _inside_node(tensors.values, tensors.offsets[nodes.rule[node]], f, g, result, sums)
        scales[node] = _normalized(result)
        if scales[node] == 0.0:
            return -np.inf
        logs += np.log(scales[node])
    return logs


@part
def _largest(at: Int64s) -> int:
    most = 1
    for node in range(len(at) - 1):
        most = max(most, at[node + 1] - at[node])
    return most


@fast_kernel
def expectations(
    starts: Int64s, nodes: BinaryNodes, tensors: RuleTensors, roots: RootVectors, vectors: Reals
) -> tuple[Reals, Floats, Floats, float]:
    """Expected counts of rules and roots, posteriors of all nodes, and the log-likelihood.

    `vectors` holds the scores of leaves. Trees of probability zero count for nothing. Tensors, vectors and
    counts may be of single precision, which halves what has to come from memory.
    """
    at, kind = nodes.at, tensors.values.dtype
    counts, root_counts = np.zeros(len(tensors.values), kind), np.zeros(len(roots.values))
    outer, scales = np.zeros(len(vectors), kind), np.zeros(len(nodes.symbol))
    posteriors, total = np.zeros(len(vectors)), 0.0
    room = np.zeros((3, _largest(at) ** 2), kind)
    passes = _Passes(vectors, scales, outer, counts, room)
    for tree in range(len(starts) - 1):
        low, top = starts[tree], starts[tree + 1] - 1
        logs = tree_insides(low, top + 1, nodes, tensors, vectors, scales, room[0])
        inner, base, value = vectors[at[top] : at[top + 1]], roots.at[nodes.symbol[top]], 0.0
        for x in range(len(inner)):
            outer[at[top] + x] = roots.values[base + x]
            value += roots.values[base + x] * inner[x]
        if not value > 0.0 or logs == -np.inf:
            continue
        total += logs + np.log(value)
        for x in range(len(inner)):
            root_counts[base + x] += roots.values[base + x] * inner[x] / value
        for node in range(top, low - 1, -1):
            _outside_node(node, nodes, tensors, passes)
            mine = slice(at[node], at[node + 1])
            _posterior(vectors[mine], outer[mine], posteriors[at[node] :])
    return counts, root_counts, posteriors, total


@part
def _posterior(inner: Reals, outer: Reals, result: Floats) -> None:
    norm = 0.0
    for x in range(len(inner)):
        norm += inner[x] * outer[x]
    if norm > 0.0:  # single precision has no smaller numbers: then it is left out
        for x in range(len(inner)):
            result[x] = inner[x] * outer[x] / norm


@part
def _outside_node(node: int, nodes: BinaryNodes, tensors: RuleTensors, passes: _Passes) -> None:
    """Outside vectors of both children, and the counts of the rule."""
    at, (vectors, scales, outer, counts, room) = nodes.at, passes
    out = outer[at[node] : at[node + 1]]
    _normalized(out)
    if nodes.rule[node] < 0:
        return
    west, east, n = nodes.left[node], nodes.right[node], len(out)
    f, g = vectors[at[west] : at[west + 1]], vectors[at[east] : at[east + 1]]
    f_out, g_out = outer[at[west] : at[west + 1]], outer[at[east] : at[east + 1]]
    inner, value = vectors[at[node] : at[node + 1]], 0.0
    for x in range(n):
        value += inner[x] * out[x]
    if not value > 0.0:
        return
    size, low = n * len(g), tensors.offsets[nodes.rule[node]]
    sums, weights, shares = room[0, :size], room[1, :size], room[2, : len(f)]
    for y in range(len(f)):
        shares[y] = f[y] / (value * scales[node])
    for z in range(len(g)):
        weight, row = g[z], weights[z * n : (z + 1) * n]
        for x in range(n):
            row[x] = weight * out[x]
    sums[:] = 0.0
    for y in range(len(f)):
        here = slice(low, low + size)
        f_out[y] = _flows(tensors.values[here], weights, f[y], shares[y], counts[here], sums)
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
def hard_counts(nodes: BinaryNodes, state: Int64s, n_states: Int64s, offsets: Int64s) -> Floats:
    """Counts of rules where every node is in one known state."""
    counts = np.zeros(offsets[-1])
    for node in range(len(nodes.rule)):
        if nodes.rule[node] >= 0:
            west, east = nodes.left[node], nodes.right[node]
            n, m = n_states[nodes.symbol[east]], n_states[nodes.symbol[node]]
            counts[offsets[nodes.rule[node]] + (state[west] * n + state[east]) * m + state[node]] += 1.0
    return counts
