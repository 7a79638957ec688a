"""Charts with states under a grammar that is made of counts: the cost of an edge is that of its counts.

With f and g the inside vectors of the children and q the outside vector of the parent, tensors of the form

    T[y, z, x] = norm[x] (l C[y, z, x] + p (C[y, z] P[x] + C[y, x] P[z] + C[z, x] P[y]) + t P[y] P[z] P[x])

need one pass over the counts c at (y, z, x) that are not zero, and one over each vector:

    inside   h[x] += c (l f[y] g[z] + p (G f[y] + F g[z])),    s += c f[y] g[z],     F = P . f,  G = P . g
             norm[x] (h[x] + (p s + t F G) P[x])
    outside  f'[y] += c (q[x] (l g[z] + p G) + p Q g[z]),  and P[y] (p sum c q[x] g[z] + t G Q);  g' alike

where q is multiplied by norm and Q = P . q. A rule of m states per symbol has m^3 numbers, and counts for one
in two hundred. The chart is that of `latent_chart`, in double precision.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sigmastar.core.arrays import Floats, Int32s, Int64s, Reals, Singles
from sigmastar.core.jit import fast_kernel, part
from sigmastar.core.scaling import power_of_two
from sigmastar.treebanks.kernels.chart_edges import EdgeChart
from sigmastar.treebanks.kernels.latent_chart import (
    LatentChart,
    LeafVectors,
    leaf_insides,
    rescaled,
    root_outsides,
    state_chart,
    summed,
)


class CountedRules(NamedTuple):
    """Counts of rules by their states, margins of each rule, and vectors of roots, flat."""

    n_states: Int64s  # of each symbol
    starts: Int64s  # where the counts of each rule begin, and the end
    states: Int32s  # [count, 3]: of the left child, of the right child, of the parent
    counts: Singles
    margin_at: Int64s  # [rule, 3]: where P of the left child, of the right child, of the parent begin
    margins: Floats
    shares: Floats  # [rule, 3]: l, p and t
    norms: Floats  # of the states of each symbol
    roots: Floats
    root_at: Int64s


@part
def _weights(rules: CountedRules, rule: int, side: int, vector: Reals) -> float:
    """P . v for the states of one symbol of a rule."""
    total, low = 0.0, rules.margin_at[rule, side]
    for k in range(len(vector)):
        total += rules.margins[low + k] * vector[k]
    return total


@part
def _join(
    rules: CountedRules, rule: int, left: Reals, right: Reals, scale: float, room: Reals, above: Reals
) -> None:
    """Add scale * T(left, right), without `norm`, to a parent."""
    share, pair, triple = rules.shares[rule]
    of_left, of_right = _weights(rules, rule, 0, left), _weights(rules, rule, 1, right)
    total = 0.0
    for k in range(rules.starts[rule], rules.starts[rule + 1]):
        f, g, c = left[rules.states[k, 0]], right[rules.states[k, 1]], rules.counts[k]
        both = f * g
        room[rules.states[k, 2]] += scale * c * (share * both + pair * (of_right * f + of_left * g))
        total += c * both
    weight, low = scale * (pair * total + triple * of_left * of_right), rules.margin_at[rule, 2]
    for x in range(len(above)):
        above[x] += room[x] + weight * rules.margins[low + x]
        room[x] = 0.0


@part
def _insides(graph: EdgeChart, rules: CountedRules, chart: LatentChart) -> None:
    """Inside vectors and exponents of all cells above words."""
    starts, items, edges = graph
    cell, at, inner, exponents = chart.cell, chart.at, chart.inner, chart.exponents
    e = 0
    while e < len(edges):
        c, end, scale = cell[edges[e, 0]], e, np.int64(-(1 << 60))
        while end < len(edges) and cell[edges[end, 0]] == c:
            scale = max(scale, exponents[cell[edges[end, 1]]] + exponents[cell[edges[end, 2]]])
            end += 1
        while e < end:
            p, west, east = edges[e, 0], edges[e, 1], edges[e, 2]
            power = power_of_two(exponents[cell[west]] + exponents[cell[east]] - scale)
            left, right = inner[at[west] : at[west + 1]], inner[at[east] : at[east + 1]]
            _join(rules, edges[e, 3], left, right, power, chart.table, inner[at[p] : at[p + 1]])
            e += 1
        for item in range(starts[c], starts[c + 1]):
            low = rules.root_at[items[item]]
            for x in range(at[item + 1] - at[item]):
                inner[at[item] + x] *= rules.norms[low + x]
        exponents[c] = scale + rescaled(inner[at[starts[c]] : at[starts[c + 1]]])


@part
def _spread(
    rules: CountedRules,
    rule: int,
    outer: Reals,
    left: Reals,
    right: Reals,
    to_left: Reals,
    to_right: Reals,
) -> float:
    """Add what flows down to both children, `outer` being that of the parent times `norm`; how much it is."""
    share, pair, triple = rules.shares[rule]
    of_left, of_right = _weights(rules, rule, 0, left), _weights(rules, rule, 1, right)
    above = _weights(rules, rule, 2, outer)
    by_left, by_right, total = 0.0, 0.0, 0.0
    for k in range(rules.starts[rule], rules.starts[rule + 1]):
        y, z, c = rules.states[k, 0], rules.states[k, 1], rules.counts[k]
        f, g, weight = left[y], right[z], c * outer[rules.states[k, 2]]
        to_left[y] += weight * (share * g + pair * of_right) + pair * above * c * g
        to_right[z] += weight * (share * f + pair * of_left) + pair * above * c * f
        total += (weight * share + pair * above * c) * f * g
        by_left += weight * f
        by_right += weight * g
    low, more = rules.margin_at[rule, 0], pair * by_right + triple * of_right * above
    for y in range(len(left)):
        to_left[y] += rules.margins[low + y] * more
    low, other = rules.margin_at[rule, 1], pair * by_left + triple * of_left * above
    for z in range(len(right)):
        to_right[z] += rules.margins[low + z] * other
    total += pair * (by_left * of_right + by_right * of_left) + triple * of_left * of_right * above
    return total  # type: ignore[no-any-return]


@part
def _outsides(graph: EdgeChart, rules: CountedRules, chart: LatentChart) -> Floats:
    """Fill the outside vectors; the posterior of every edge."""
    items, edges = graph.items, graph.edges
    cell, at, inner, outer, exponents = chart.cell, chart.at, chart.inner, chart.outer, chart.exponents
    uses, scaled = np.zeros(len(edges)), chart.table
    for e in range(len(edges) - 1, -1, -1):
        p, west, east = edges[e, 0], edges[e, 1], edges[e, 2]
        power = power_of_two(exponents[cell[west]] + exponents[cell[east]] - exponents[cell[p]])
        low, size = rules.root_at[items[p]], at[p + 1] - at[p]
        for x in range(size):
            scaled[x] = outer[at[p] + x] * rules.norms[low + x] * power
        left, right = inner[at[west] : at[west + 1]], inner[at[east] : at[east + 1]]
        below = outer[at[west] : at[west + 1]], outer[at[east] : at[east + 1]]
        uses[e] = _spread(rules, edges[e, 3], scaled[:size], left, right, below[0], below[1])
    return uses


@fast_kernel
def counted_posteriors(
    graph: EdgeChart, leaves: LeafVectors, rules: CountedRules
) -> tuple[Floats, Floats, float]:
    """What `latent_posteriors` gives, for tensors that are made of counts."""
    chart = state_chart(graph, rules.n_states, np.zeros(1))
    leaf_insides(graph, leaves, chart)
    _insides(graph, rules, chart)
    total = root_outsides(graph, rules.roots, rules.root_at, chart)
    if not total > 0.0:
        return np.zeros(len(graph.items)), np.zeros(len(graph.edges)), np.nan
    uses = _outsides(graph, rules, chart)
    last = len(graph.starts) - 2
    return summed(graph, chart), uses, np.log2(total) + chart.exponents[last]
