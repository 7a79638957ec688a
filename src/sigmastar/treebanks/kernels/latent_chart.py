"""Charts with states: the tensor form of inside and outside on the items and edges of a plain chart.

    inside   f_p += 2^e sum over y, z of T[y, z, x] f_l[y] f_r[z]        e = e_left + e_right - e_parent
    outside  g_l += 2^e sum over x, z of T[y, z, x] g_p[x] f_r[z],  and g_r alike

Figure 3 of Cohen et al. (2012). Cells have exponents as in `plain_chart`, but their own: over a long sentence
a grammar with states may be 2^128 times as sure as the plain one. Tensors are read along (z, x), one row for
every y, in single or double precision. They may be signed. Edges into one cell come together, cells by width.

Under a grammar that is made of counts the cost of an edge is that of its counts. With f and g the inside
vectors of the children and q the outside vector of the parent, tensors of the form

    T[y, z, x] = norm[x] (l C[y, z, x] + p (C[y, z] P[x] + C[y, x] P[z] + C[z, x] P[y]) + t P[y] P[z] P[x])

need one pass over the counts c at (y, z, x) that are not zero, and one over each vector:

    inside   h[x] += c (l f[y] g[z] + p (G f[y] + F g[z])),    s += c f[y] g[z],     F = P . f,  G = P . g
             norm[x] (h[x] + (p s + t F G) P[x])
    outside  f'[y] += c (q[x] (l g[z] + p G) + p Q g[z]),  and P[y] (p sum c q[x] g[z] + t G Q);  g' alike

where q is multiplied by norm and Q = P . q. A rule of m states per symbol has m^3 numbers, and counts for one
in two hundred. The chart is the same, in double precision.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sigmastar.core.arrays import Floats, Int32s, Int64s, Reals, Singles
from sigmastar.core.jit import fast_kernel, part
from sigmastar.core.scaling import power_of_two
from sigmastar.treebanks.kernels.plain_chart import EdgeChart


class LeafVectors(NamedTuple):
    """Candidates of words, as in `LeafItems`, with a vector each, flat."""

    begin: Int64s
    symbols: Int32s
    at: Int64s
    vectors: Floats


class Tensors(NamedTuple):
    """A grammar with states: tensors of rules and vectors of roots, flat."""

    n_states: Int64s
    values: Reals
    offsets: Int64s
    roots: Floats
    root_at: Int64s


class LatentChart(NamedTuple):
    """Vectors of all items, flat, and what is needed to fill them."""

    cell: Int32s  # of each item
    at: Int64s  # where the vector of each item begins
    inner: Reals
    outer: Reals
    exponents: Int64s  # of each cell
    table: Reals  # room for the states of two symbols
    cast: Reals  # numbers of the type of the tensors, so that products stay in it


@part
def _cells(starts: Int64s) -> Int32s:
    cell = np.zeros(starts[-1], np.int32)
    for c in range(len(starts) - 1):
        cell[starts[c] : starts[c + 1]] = c
    return cell


@fast_kernel
def _contract_left(
    tensors: Reals, low: int, left: Reals, scale: float, table: Reals, parent: Reals, right: Reals
) -> None:
    """table[z, x] = scale * sum over y of left[y] T[y, z, x]: long rows, which fill the vector registers."""
    size = len(right) * len(parent)
    for k in range(size):
        table[k] = 0.0
    for y in range(len(left)):
        weight, row = left[y] * scale, tensors[low : low + size]
        for k in range(size):
            table[k] += weight * row[k]
        low += size


@fast_kernel
def rescaled(vectors: Reals) -> int:
    """Bring the largest entry of a cell near one; the power of two that was taken out."""
    top = 0.0
    for x in range(len(vectors)):
        top = max(top, abs(vectors[x]))
    if not top > 0.0:
        return 0
    step = int(np.ceil(np.log2(top)))
    factor = power_of_two(-step)
    for x in range(len(vectors)):
        vectors[x] *= factor
    return step


@part
def leaf_insides(graph: EdgeChart, leaves: LeafVectors, chart: LatentChart) -> None:
    starts, at = graph.starts, chart.at
    for i in range(len(leaves.begin) - 1):
        candidate = leaves.begin[i]
        for item in range(starts[i], starts[i + 1]):
            while leaves.symbols[candidate] != graph.items[item]:
                candidate += 1
            for x in range(at[item + 1] - at[item]):
                chart.inner[at[item] + x] = leaves.vectors[leaves.at[candidate] + x]
        chart.exponents[i] = rescaled(chart.inner[at[starts[i]] : at[starts[i + 1]]])


@part
def _insides(graph: EdgeChart, tensors: Tensors, chart: LatentChart) -> None:
    """Inside vectors and exponents of all cells above words."""
    starts, edges = graph.starts, graph.edges
    cell, at, inner, exponents, table, cast = (
        chart.cell, chart.at, chart.inner, chart.exponents, chart.table, chart.cast
    )  # fmt: skip
    e = 0
    while e < len(edges):
        c, end, scale = cell[edges[e, 0]], e, np.int64(-(1 << 60))
        while end < len(edges) and cell[edges[end, 0]] == c:
            scale = max(scale, exponents[cell[edges[end, 1]]] + exponents[cell[edges[end, 2]]])
            end += 1
        while e < end:
            p, west, east = edges[e, 0], edges[e, 1], edges[e, 2]
            cast[0] = power_of_two(exponents[cell[west]] + exponents[cell[east]] - scale)
            above, right = inner[at[p] : at[p + 1]], inner[at[east] : at[east + 1]]
            low = tensors.offsets[edges[e, 3]]
            _contract_left(tensors.values, low, inner[at[west] : at[west + 1]], cast[0], table, above, right)
            place = 0
            for z in range(len(right)):
                weight, row = right[z], table[place : place + len(above)]
                for x in range(len(above)):
                    above[x] += weight * row[x]
                place += len(above)
            e += 1
        exponents[c] = scale + rescaled(inner[at[starts[c]] : at[starts[c + 1]]])


@part
def _outsides(edges: Int32s, tensors: Tensors, chart: LatentChart) -> Floats:
    """Fill the outside vectors; the posterior of every edge."""
    cell, at, inner, outer, exponents, table, cast = chart
    uses = np.zeros(len(edges))
    for e in range(len(edges) - 1, -1, -1):
        p, west, east = edges[e, 0], edges[e, 1], edges[e, 2]
        cast[0] = power_of_two(exponents[cell[west]] + exponents[cell[east]] - exponents[cell[p]])
        out, right = outer[at[p] : at[p + 1]], inner[at[east] : at[east + 1]]
        low = tensors.offsets[edges[e, 3]]
        _contract_left(tensors.values, low, inner[at[west] : at[west + 1]], cast[0], table, out, right)
        place = 0
        for z in range(len(right)):
            flow, weight = cast[1], right[z] * cast[0]
            row = table[place : place + len(out)]
            for x in range(len(out)):
                flow += row[x] * out[x]
                row[x] = weight * out[x]
            outer[at[east] + z] += flow
            uses[e] += flow * right[z]
            place += len(out)
        for y in range(at[west], at[west + 1]):
            flow, row = cast[1], tensors.values[low : low + place]
            for k in range(place):
                flow += row[k] * table[k]
            outer[y] += flow
            low += place
    return uses


@part
def state_chart(graph: EdgeChart, n_states: Int64s, kind: Reals) -> LatentChart:
    """An empty chart, its numbers of the type of `kind`."""
    items = graph.items
    at = np.zeros(len(items) + 1, np.int64)
    for item in range(len(items)):
        at[item + 1] = at[item] + n_states[items[item]]
    inner, outer = np.zeros(at[-1], kind.dtype), np.zeros(at[-1], kind.dtype)
    exponents, table = np.zeros(len(graph.starts) - 1, np.int64), np.zeros(n_states.max() ** 2, kind.dtype)
    return LatentChart(_cells(graph.starts), at, inner, outer, exponents, table, np.zeros(2, kind.dtype))


@part
def root_outsides(graph: EdgeChart, roots: Floats, root_at: Int64s, chart: LatentChart) -> float:
    """The total, in the scale of the last cell; outside vectors of its items where it is positive."""
    starts, items, at, total = graph.starts, graph.items, chart.at, 0.0
    last = len(starts) - 2
    for item in range(starts[last], starts[last + 1]):
        for x in range(at[item + 1] - at[item]):
            total += roots[root_at[items[item]] + x] * chart.inner[at[item] + x]
    if total > 0.0:
        for item in range(starts[last], starts[last + 1]):
            for x in range(at[item + 1] - at[item]):
                chart.outer[at[item] + x] = roots[root_at[items[item]] + x] / total
    return total


@part
def summed(graph: EdgeChart, chart: LatentChart) -> Floats:
    """The posterior of every item, all states together."""
    posteriors = np.zeros(len(graph.items))
    for item in range(len(posteriors)):
        value = 0.0
        for x in range(chart.at[item], chart.at[item + 1]):
            value += chart.inner[x] * chart.outer[x]
        posteriors[item] = value
    return posteriors


@fast_kernel
def latent_posteriors(
    graph: EdgeChart, leaves: LeafVectors, tensors: Tensors
) -> tuple[Floats, Floats, float]:
    """Figure 3 of Cohen et al. (2012) on edges: posteriors of items and of edges, all states together.

    And log2 of the total, nan where it is not positive.
    """
    chart = state_chart(graph, tensors.n_states, tensors.values)
    leaf_insides(graph, leaves, chart)
    _insides(graph, tensors, chart)
    total = root_outsides(graph, tensors.roots, tensors.root_at, chart)
    if not total > 0.0:
        return np.zeros(len(graph.items)), np.zeros(len(graph.edges)), np.nan
    uses = _outsides(graph.edges, tensors, chart)
    return summed(graph, chart), uses, np.log2(total) + chart.exponents[len(graph.starts) - 2]


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
def _counted_insides(graph: EdgeChart, rules: CountedRules, chart: LatentChart) -> None:
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
def _counted_outsides(graph: EdgeChart, rules: CountedRules, chart: LatentChart) -> Floats:
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
    _counted_insides(graph, rules, chart)
    total = root_outsides(graph, rules.roots, rules.root_at, chart)
    if not total > 0.0:
        return np.zeros(len(graph.items)), np.zeros(len(graph.edges)), np.nan
    uses = _counted_outsides(graph, rules, chart)
    last = len(graph.starts) - 2
    return summed(graph, chart), uses, np.log2(total) + chart.exponents[last]
