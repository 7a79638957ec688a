"""Charts with states: the tensor form of inside and outside on the items and edges of a plain chart.

    inside   f_p += 2^e sum over y, z of T[y, z, x] f_l[y] f_r[z]        e = e_left + e_right - e_parent
    outside  g_l += 2^e sum over x, z of T[y, z, x] g_p[x] f_r[z],  and g_r alike

Figure 3 of Cohen et al. (2012). Cells have exponents as in `tree_chart`, but their own: over a long sentence
a grammar with states may be 2^128 times as sure as the plain one. Tensors are read along (z, x), one row for
every y, in single or double precision. They may be signed. Edges into one cell come together, cells by width.
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
def _power(exponent: int) -> float:
    """2^exponent, put together from its bits."""
    bits = (min(max(exponent, -1000), 1000) + 1023) << 52
    return np.int64(bits).view(np.float64)


@part
def _cells(starts: Longs) -> Ints:
    cell = np.zeros(starts[-1], np.int32)
    for c in range(len(starts) - 1):
        cell[starts[c] : starts[c + 1]] = c
    return cell


@fast_kernel
def pruned(
    starts: Longs, items: Ints, edges: Ints, posteriors: Array, least: float
) -> tuple[Longs, Ints, Ints]:
    """Items with a posterior of `least` or more, and the edges between them."""
    number = np.full(len(items), -1, np.int32)
    new_starts, kept_item = np.zeros_like(starts), np.zeros_like(items)
    count = 0
    for c in range(len(starts) - 1):
        for at in range(starts[c], starts[c + 1]):
            if posteriors[at] >= least:
                number[at], kept_item[count] = count, items[at]
                count += 1
        new_starts[c + 1] = count
    kept = 0
    new_edges = np.zeros((len(edges), 4), np.int32)
    for e in range(len(edges)):
        p, west, east = number[edges[e, 0]], number[edges[e, 1]], number[edges[e, 2]]
        if p >= 0 and west >= 0 and east >= 0:
            new_edges[kept, 0], new_edges[kept, 1], new_edges[kept, 2] = p, west, east
            new_edges[kept, 3] = edges[e, 3]
            kept += 1
    return new_starts, kept_item[:count], new_edges[:kept]


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
def _rescaled(vectors: Reals) -> int:
    """Bring the largest entry of a cell near one; the power of two that was taken out."""
    top = 0.0
    for x in range(len(vectors)):
        top = max(top, abs(vectors[x]))
    if not top > 0.0:
        return 0
    step = int(np.ceil(np.log2(top)))
    factor = _power(-step)
    for x in range(len(vectors)):
        vectors[x] *= factor
    return step


@part
def _leaf_insides(
    starts: Longs,
    items: Ints,
    at: Longs,
    begin: Longs,
    leaf_symbols: Ints,
    leaf_at: Longs,
    leaf_vectors: Array,
    inner: Reals,
    exponents: Longs,
) -> None:
    for i in range(len(begin) - 1):
        candidate = begin[i]
        for item in range(starts[i], starts[i + 1]):
            while leaf_symbols[candidate] != items[item]:
                candidate += 1
            for x in range(at[item + 1] - at[item]):
                inner[at[item] + x] = leaf_vectors[leaf_at[candidate] + x]
        exponents[i] = _rescaled(inner[at[starts[i]] : at[starts[i + 1]]])


@part
def _insides(
    starts: Longs,
    cell: Ints,
    edges: Ints,
    at: Longs,
    tensors: Reals,
    offsets: Longs,
    inner: Reals,
    exponents: Longs,
    table: Reals,
    cast: Reals,
) -> None:
    """Inside vectors and exponents of all cells above words."""
    e = 0
    while e < len(edges):
        c, end, scale = cell[edges[e, 0]], e, np.int64(-(1 << 60))
        while end < len(edges) and cell[edges[end, 0]] == c:
            scale = max(scale, exponents[cell[edges[end, 1]]] + exponents[cell[edges[end, 2]]])
            end += 1
        while e < end:
            p, west, east = edges[e, 0], edges[e, 1], edges[e, 2]
            cast[0] = _power(exponents[cell[west]] + exponents[cell[east]] - scale)
            mine, right = inner[at[p] : at[p + 1]], inner[at[east] : at[east + 1]]
            low = offsets[edges[e, 3]]
            _contract_left(tensors, low, inner[at[west] : at[west + 1]], cast[0], table, mine, right)
            place = 0
            for z in range(len(right)):
                weight, row = right[z], table[place : place + len(mine)]
                for x in range(len(mine)):
                    mine[x] += weight * row[x]
                place += len(mine)
            e += 1
        exponents[c] = scale + _rescaled(inner[at[starts[c]] : at[starts[c + 1]]])


@part
def _outsides(
    cell: Ints,
    edges: Ints,
    at: Longs,
    tensors: Reals,
    offsets: Longs,
    inner: Reals,
    outer: Reals,
    exponents: Longs,
    table: Reals,
    cast: Reals,
) -> Array:
    """Fill the outside vectors; the posterior of every edge."""
    uses = np.zeros(len(edges))
    for e in range(len(edges) - 1, -1, -1):
        p, west, east = edges[e, 0], edges[e, 1], edges[e, 2]
        cast[0] = _power(exponents[cell[west]] + exponents[cell[east]] - exponents[cell[p]])
        out, right, low = outer[at[p] : at[p + 1]], inner[at[east] : at[east + 1]], offsets[edges[e, 3]]
        _contract_left(tensors, low, inner[at[west] : at[west + 1]], cast[0], table, out, right)
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
            flow, row = cast[1], tensors[low : low + place]
            for k in range(place):
                flow += row[k] * table[k]
            outer[y] += flow
            low += place
    return uses


@fast_kernel
def fine_posteriors(
    starts: Longs,
    items: Ints,
    edges: Ints,
    begin: Longs,
    leaf_symbols: Ints,
    leaf_at: Longs,
    leaf_vectors: Array,
    n_states: Longs,
    tensors: Reals,
    offsets: Longs,
    roots: Array,
    root_at: Longs,
) -> tuple[Array, Array, float]:
    """Figure 3 of Cohen et al. (2012) on edges: posteriors of items and of edges, all states together.

    And log2 of the total, nan where it is not positive.
    """
    cell, exponents = _cells(starts), np.zeros(len(starts) - 1, np.int64)
    at = np.zeros(len(items) + 1, np.int64)
    for item in range(len(items)):
        at[item + 1] = at[item] + n_states[items[item]]
    inner, outer = np.zeros(at[-1], tensors.dtype), np.zeros(at[-1], tensors.dtype)
    cast = np.zeros(2, tensors.dtype)  # numbers of the type of the tensors, so that products stay in it
    table = np.zeros(n_states.max() ** 2, tensors.dtype)
    _leaf_insides(starts, items, at, begin, leaf_symbols, leaf_at, leaf_vectors, inner, exponents)
    _insides(starts, cell, edges, at, tensors, offsets, inner, exponents, table, cast)
    last, total, posteriors = len(exponents) - 1, 0.0, np.zeros(len(items))
    for item in range(starts[last], starts[last + 1]):
        for x in range(at[item + 1] - at[item]):
            total += roots[root_at[items[item]] + x] * inner[at[item] + x]
    if not total > 0.0:
        return posteriors, np.zeros(len(edges)), np.nan
    for item in range(starts[last], starts[last + 1]):
        for x in range(at[item + 1] - at[item]):
            outer[at[item] + x] = roots[root_at[items[item]] + x] / total
    uses = _outsides(cell, edges, at, tensors, offsets, inner, outer, exponents, table, cast)
    for item in range(len(items)):
        value = 0.0
        for x in range(at[item], at[item + 1]):
            value += inner[x] * outer[x]
        posteriors[item] = value
    return posteriors, uses, np.log2(total) + exponents[last]
