"""Charts of a plain binarized grammar as lists of items: inside and outside with one state per symbol.

An item is a symbol over a cell (i, j); cells come by width. Each cell has an exponent e: what is kept is
value * 2^-e with the best value of the cell near one, so that sentences of any length fit, and joining two
cells multiplies by 2^(e_left + e_right - e_parent). What is left goes on as edges.

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
from sigmastar.core.scaling import power_of_two
from sigmastar.treebanks.kernels.span_features import cell_by_width

Bytes = NDArray[np.uint8]


class ChartRules(NamedTuple):
    """Rules sorted by their children: those of the pair (b, c) begin at pair_starts[b n + c]."""

    pair_starts: Int32s
    parent: Int32s
    value: Floats


class LeafItems(NamedTuple):
    """What the words of a sentence may be: those of word i stand at begin[i] .. begin[i + 1]."""

    begin: Int64s
    symbols: Int32s
    scores: Floats


class Allowed(NamedTuple):
    """Which symbols a cell may have, [cell, key], by the keys of symbols; those with key -1 are free."""

    keys: Int32s
    table: Bytes  # without rows: all are allowed


class PlainItems(NamedTuple):
    """Items by cell, their values, and the exponents of cells."""

    starts: Int64s
    symbols: Int32s
    values: Floats
    exponents: Int64s


@part
def _grown(items: Int32s, values: Floats, size: int) -> tuple[Int32s, Floats]:
    """Room for at least `size` items."""
    if size > len(items):
        wider, larger = np.zeros(2 * size, np.int32), np.zeros(2 * size)
        for at in range(len(items)):
            wider[at], larger[at] = items[at], values[at]
        return wider, larger
    return items, values


@part
def _is_allowed(allowed: Allowed, cell: int, symbol: int) -> bool:
    key = allowed.keys[symbol]
    return bool(allowed.table.shape[0] == 0 or key < 0 or allowed.table[cell, key] != 0)


@part
def _is_open(table: Bytes, cell: int) -> bool:
    """Whether any symbol may stand over a cell; the last one is always open."""
    if table.shape[0] == 0 or cell == table.shape[0] - 1:
        return True
    some = 0
    for label in range(table.shape[1]):
        some |= table[cell, label]
    return some != 0


@part
def _leaf_items(
    leaves: LeafItems, allowed: Allowed, starts: Int64s, exponents: Int64s
) -> tuple[Int32s, Floats]:
    """Items over single words and their values, with room for more."""
    size = 1024 + len(leaves.symbols)
    items, values = np.zeros(size, np.int32), np.zeros(size)
    for i in range(len(leaves.begin) - 1):
        count, best = starts[i], 0.0
        for at in range(leaves.begin[i], leaves.begin[i + 1]):
            best = max(best, leaves.scores[at])
        exponents[i] = 0 if best <= 0.0 else int(np.ceil(np.log2(best)))
        for at in range(leaves.begin[i], leaves.begin[i + 1]):
            if _is_allowed(allowed, i, leaves.symbols[at]):
                items[count] = leaves.symbols[at]
                values[count] = leaves.scores[at] * power_of_two(-exponents[i])
                count += 1
        starts[i + 1] = count
    return items, values


@part
def _best_exponent(i: int, j: int, n: int, starts: Int64s, exponents: Int64s) -> int:
    best = -(1 << 60)
    for k in range(i + 1, j):
        west, east = cell_by_width(i, k, n), cell_by_width(k, j, n)
        if starts[west + 1] > starts[west] and starts[east + 1] > starts[east]:
            best = max(best, exponents[west] + exponents[east])
    return best


class _Sums(NamedTuple):
    """What the symbols of a cell have so far, and which of them have something."""

    total: Floats
    touched: Int32s


@part
def _join(
    left: tuple[Int32s, Floats],
    right: tuple[Int32s, Floats],
    weight: float,
    rules: ChartRules,
    sums: _Sums,
    n_touched: int,
) -> int:
    """Add what items of two cells make; how many symbols have been touched, with those before."""
    total, touched = sums.total, sums.touched
    pair_starts, parent, value = rules.pair_starts, rules.parent, rules.value
    stride, one = np.uintp(len(total)), np.uintp(1)
    for m in range(len(left[0])):
        row, left_value = np.uintp(left[0][m]) * stride, left[1][m] * weight
        for k in range(len(right[0])):
            pair = row + np.uintp(right[0][k])
            low, high = pair_starts[pair], pair_starts[pair + one]
            if low < high:
                both = left_value * right[1][k]
                for at in range(np.uintp(low), np.uintp(high)):
                    a = np.uintp(parent[at])
                    before = total[a]
                    if before == 0.0:
                        touched[n_touched] = a
                        n_touched += 1
                    total[a] = before + both * value[at]
    return n_touched


@part
def _sum_cell(
    span: tuple[int, int, int], items: tuple[Int32s, Floats], cells: tuple[Int64s, Int64s], scale: int,
    rules: ChartRules, sums: _Sums,
) -> int:  # fmt: skip
    """Join all pairs of cells that make up a span (i, j, n); how many symbols were touched."""
    (i, j, n), (starts, exponents), n_touched = span, cells, 0
    for k in range(i + 1, j):
        west, east = cell_by_width(i, k, n), cell_by_width(k, j, n)
        low, mid, high, end = starts[west], starts[east], starts[west + 1], starts[east + 1]
        exponent = exponents[west] + exponents[east] - scale
        if low < high and mid < end and exponent >= -60:
            left, right = (items[0][low:high], items[1][low:high]), (items[0][mid:end], items[1][mid:end])
            n_touched = _join(left, right, power_of_two(exponent), rules, sums, n_touched)
    return n_touched


@fast_kernel
def plain_inside(
    leaves: LeafItems, rules: ChartRules, prior: Floats, beam: float, allowed: Allowed
) -> PlainItems:
    """The chart of a grammar of one state; items below `beam` of the best of their cell are dropped.

    Items are compared by value times prior.
    """
    n = len(leaves.begin) - 1
    n_cells = n * (n + 1) // 2
    starts, exponents = np.zeros(n_cells + 1, np.int64), np.zeros(n_cells, np.int64)
    items, values = _leaf_items(leaves, allowed, starts, exponents)
    total, touched = np.zeros(len(prior)), np.zeros(len(prior), np.int32)
    sums = _Sums(total, touched)
    for width in range(2, n + 1):
        for i in range(n - width + 1):
            j, cell = i + width, cell_by_width(i, i + width, n)
            starts[cell + 1] = starts[cell]
            if not _is_open(allowed.table, cell):
                continue
            scale = _best_exponent(i, j, n, starts, exponents)
            n_touched = _sum_cell((i, j, n), (items, values), (starts, exponents), scale, rules, sums)
            top, best = 0.0, 0.0
            for a in touched[:n_touched]:
                if not _is_allowed(allowed, cell, a):
                    total[a] = 0.0
                top, best = max(top, total[a]), max(best, total[a] * prior[a])
            step = 0 if top <= 0.0 else int(np.ceil(np.log2(top)))
            exponents[cell] = scale + step
            count, factor = starts[cell], power_of_two(-step)
            items, values = _grown(items, values, count + n_touched)
            for a in touched[:n_touched]:
                if total[a] > 0.0 and total[a] * prior[a] >= beam * best:
                    items[count], values[count] = a, total[a] * factor
                    count += 1
                total[a] = 0.0
            starts[cell + 1] = count
    size = starts[n_cells]
    return PlainItems(starts, items[:size], values[:size], exponents)


@part
def _send_down(
    left: tuple[Int32s, Floats, Floats],
    right: tuple[Int32s, Floats, Floats],
    weight: float,
    rules: ChartRules,
    above: Floats,
) -> None:
    """Outside values of the items of two cells, from `above`, those of the cell that they make up.

    Cells are given by their symbols, inside values and outside values.
    """
    pair_starts, parent, value = rules.pair_starts, rules.parent, rules.value
    stride, one = np.uintp(len(above)), np.uintp(1)
    for m in range(len(left[0])):
        row, back = np.uintp(left[0][m]) * stride, 0.0
        inner = left[1][m] * weight
        for k in range(len(right[0])):
            pair = row + np.uintp(right[0][k])
            low, high = pair_starts[pair], pair_starts[pair + one]
            if low < high:
                flow = 0.0
                for at in range(np.uintp(low), np.uintp(high)):
                    flow += above[np.uintp(parent[at])] * value[at]
                right[2][k] += flow * inner
                back += flow * right[1][k]
        left[2][m] += back * weight


@fast_kernel
def plain_posteriors(
    n: int, chart: PlainItems, rules: ChartRules, roots: Floats, least: float
) -> tuple[Floats, float]:
    """The posterior of every item, and log2 of the total (-inf where there is no parse).

    What lies below cells without a posterior above `least` gets nothing from there.
    """
    starts, items, values, exponents = chart
    outer, above = np.zeros(len(items)), np.zeros(len(roots))
    total, last = 0.0, len(exponents) - 1
    for at in range(starts[last], starts[last + 1]):
        total += roots[items[at]] * values[at]
    if not total > 0.0:
        return outer, -np.inf
    for at in range(starts[last], starts[last + 1]):
        outer[at] = roots[items[at]] / total
    for width in range(n, 1, -1):
        for i in range(n - width + 1):
            j, cell, most = i + width, cell_by_width(i, i + width, n), 0.0
            for at in range(starts[cell], starts[cell + 1]):
                most = max(most, outer[at] * values[at])
            if most <= least:
                continue
            for at in range(starts[cell], starts[cell + 1]):
                above[items[at]] = outer[at]
            for k in range(i + 1, j):
                west, east = cell_by_width(i, k, n), cell_by_width(k, j, n)
                low, mid, high, end = starts[west], starts[east], starts[west + 1], starts[east + 1]
                if low < high and mid < end:
                    weight = power_of_two(exponents[west] + exponents[east] - exponents[cell])
                    left = items[low:high], values[low:high], outer[low:high]
                    right = items[mid:end], values[mid:end], outer[mid:end]
                    _send_down(left, right, weight, rules, above)
            for at in range(starts[cell], starts[cell + 1]):
                above[items[at]] = 0.0
    return outer * values, np.log2(total) + exponents[last]


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
