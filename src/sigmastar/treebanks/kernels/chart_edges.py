"""From plain charts to what is run with states: which symbols may stand where, and the edges between items.

An edge joins two items into a third by a rule. Cells come by width, so edges stand in the order in which they
are needed, and the outside pass reads them backwards. Passes with states, in `latent_chart`, run on these
items and edges.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sigmastar.core.arrays import Floats, Int32s, Int64s
from sigmastar.core.jit import fast_kernel, part
from sigmastar.core.scaling import cell_by_width, power_of_two
from sigmastar.treebanks.kernels.plain_chart import ChartRules, PlainItems

Bytes = NDArray[np.uint8]


class EdgeChart(NamedTuple):
    """Symbols over cells, cell c at starts[c] .. starts[c + 1], and edges [parent, left, right, rule]."""

    starts: Int64s
    items: Int32s
    edges: Int32s


@fast_kernel
def allowed_parts(n: int, table: Bytes, direction: int) -> Bytes:
    """`table` [cell, label] of phrases, with columns for the symbols between them.

    Of a phrase that was made binary to the right (0), the symbols between end where it ends; to the left (1),
    they begin where it begins; from the head (2), they lie anywhere in it, and those that lack children on
    the left alone, in the last columns, end where it ends.
    """
    n_labels = table.shape[1]
    result = np.zeros((table.shape[0], 3 * n_labels), np.uint8)
    for cell in range(table.shape[0]):
        for label in range(n_labels):
            result[cell, label] = table[cell, label]
    for width in range(n - 1, 1, -1):
        for i in range(n - width + 1):
            j, cell = i + width, cell_by_width(i, i + width, n)
            if i > 0:
                above = cell_by_width(i - 1, j, n)
                for label in range(n_labels):
                    ends = table[above, label] | result[above, 2 * n_labels + label]
                    result[cell, 2 * n_labels + label] = ends
                    if direction == 0:
                        result[cell, n_labels + label] = ends
                    elif direction == 2:
                        result[cell, n_labels + label] |= (
                            table[above, label] | result[above, n_labels + label]
                        )
            if j < n and direction > 0:
                above = cell_by_width(i, j + 1, n)
                for label in range(n_labels):
                    result[cell, n_labels + label] |= table[above, label] | result[above, n_labels + label]
    return result


@part
def _probable(starts: Int64s, posteriors: Floats, least: float) -> tuple[Int64s, Int64s]:
    """Where the items of each cell with a posterior of `least` begin, and which they are."""
    new_starts, which, count = np.zeros_like(starts), np.zeros(len(posteriors), np.int64), 0
    for c in range(len(starts) - 1):
        for at in range(starts[c], starts[c + 1]):
            if posteriors[at] >= least:
                which[count] = at
                count += 1
        new_starts[c + 1] = count
    return new_starts, which[:count]


@part
def _with_room(edges: Int32s, size: int) -> Int32s:
    """Edges with room for `size` of them."""
    if size <= len(edges):
        return edges
    wider = np.zeros((2 * size, 4), np.int32)
    for edge in range(len(edges)):
        for place in range(4):
            wider[edge, place] = edges[edge, place]
    return wider


class _Kept(NamedTuple):
    """Items that are left: their symbols, inside values, and outside values."""

    symbols: Int32s
    inner: Floats
    outer: Floats


@part
def _edges_between(
    west: tuple[int, int],
    east: tuple[int, int],
    kept: _Kept,
    number: Int32s,
    rules: ChartRules,
    factors: tuple[float, float],
    edges: Int32s,
    n_edges: int,
) -> int:
    """Append the edges from items `west` and `east` to the first `number` ones; how many there are now.

    `factors` are what inside values are multiplied by, and the least posterior of an edge.
    """
    stride, one = np.uintp(len(number)), np.uintp(1)
    for left in range(west[0], west[1]):
        row, value_left = np.uintp(kept.symbols[left]) * stride, kept.inner[left] * factors[0]
        for right in range(east[0], east[1]):
            pair = row + np.uintp(kept.symbols[right])
            low, high = rules.pair_starts[pair], rules.pair_starts[pair + one]
            if low < high:
                both = value_left * kept.inner[right]
                for at in range(low, high):
                    p = number[rules.parent[at]]
                    if p >= 0 and kept.outer[p] * rules.value[at] * both >= factors[1]:
                        edges[n_edges, 0], edges[n_edges, 1] = p, left
                        edges[n_edges, 2], edges[n_edges, 3] = right, at
                        n_edges += 1
    return n_edges


@fast_kernel
def probable_edges(
    n: int,
    chart: PlainItems,
    posteriors: Floats,
    rules: ChartRules,
    n_symbols: int,
    bounds: tuple[float, float],
) -> EdgeChart:
    """Items and edges of a plain chart; `bounds` are their least posteriors."""
    new_starts, which = _probable(chart.starts, posteriors, bounds[0])
    values, exponents = chart.values[which], chart.exponents
    kept = _Kept(chart.symbols[which], values, posteriors[which] / values)
    edges, n_edges = np.zeros((1024, 4), np.int32), 0
    number = np.full(n_symbols, -1, np.int32)
    for width in range(2, n + 1):
        for i in range(n - width + 1):
            j, cell = i + width, cell_by_width(i, i + width, n)
            n_items = new_starts[cell + 1] - new_starts[cell]
            if n_items == 0:
                continue
            for at in range(new_starts[cell], new_starts[cell + 1]):
                number[kept.symbols[at]] = at
            for k in range(i + 1, j):
                left, right = cell_by_width(i, k, n), cell_by_width(k, j, n)
                west, east = (
                    (new_starts[left], new_starts[left + 1]),
                    (new_starts[right], new_starts[right + 1]),
                )
                if west[0] == west[1] or east[0] == east[1]:
                    continue
                edges = _with_room(edges, n_edges + (west[1] - west[0]) * (east[1] - east[0]) * n_items)
                weight = power_of_two(exponents[left] + exponents[right] - exponents[cell])
                n_edges = _edges_between(west, east, kept, number, rules, (weight, bounds[1]), edges, n_edges)
            for at in range(new_starts[cell], new_starts[cell + 1]):
                number[kept.symbols[at]] = -1
    return EdgeChart(new_starts, kept.symbols, edges[:n_edges])


@fast_kernel
def pruned(chart: EdgeChart, posteriors: Floats, least: float) -> EdgeChart:
    """Items with a posterior of `least` or more, and the edges between them."""
    starts, items, edges = chart
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
    return EdgeChart(new_starts, kept_item[:count], new_edges[:kept])
