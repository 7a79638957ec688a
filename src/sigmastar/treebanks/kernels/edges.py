"""From plain charts to what is run with states: which symbols may stand where, and the edges between items.

An edge joins two items into a third by a rule. Cells come by width, so edges stand in the order in which they
are needed, and the outside pass reads them backwards. Passes with states, in `tree_fine`, run on these items
and edges with the exponents of the plain chart.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sigmastar.core.jit import fast_kernel, part

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Array = NDArray[np.float64]
Bytes = NDArray[np.uint8]


@part
def _cell(i: int, j: int, n: int) -> int:
    w = j - i
    return (w - 1) * n - (w - 1) * (w - 2) // 2 + i


@part
def _power(exponent: int) -> float:
    """2^exponent, put together from its bits."""
    bits = (min(max(exponent, -1000), 1000) + 1023) << 52
    return np.int64(bits).view(np.float64)


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
            j, cell = i + width, _cell(i, i + width, n)
            if i > 0:
                above = _cell(i - 1, j, n)
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
                above = _cell(i, j + 1, n)
                for label in range(n_labels):
                    result[cell, n_labels + label] |= table[above, label] | result[above, n_labels + label]
    return result


@part
def _probable(starts: Longs, posteriors: Array, least: float) -> tuple[Longs, Longs]:
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
def _with_room(edges: Ints, size: int) -> Ints:
    """Edges with room for `size` of them."""
    if size <= len(edges):
        return edges
    wider = np.zeros((2 * size, 4), np.int32)
    for edge in range(len(edges)):
        for place in range(4):
            wider[edge, place] = edges[edge, place]
    return wider


@part
def _edges_between(
    west: tuple[int, int],
    east: tuple[int, int],
    kept: Ints,
    inner: Array,
    weight: float,
    flows: Array,
    number: Ints,
    pair_starts: Ints,
    parent: Ints,
    value: Array,
    least: float,
    edges: Ints,
    n_edges: int,
) -> int:
    """Append the edges from items `west` and `east` to those that `number` says; how many there are now."""
    stride, one = np.uintp(len(number)), np.uintp(1)
    for left in range(west[0], west[1]):
        row, mine = np.uintp(kept[left]) * stride, inner[left] * weight
        for right in range(east[0], east[1]):
            pair = row + np.uintp(kept[right])
            low, high = pair_starts[pair], pair_starts[pair + one]
            if low < high:
                both = mine * inner[right]
                for at in range(low, high):
                    p = number[parent[at]]
                    if p >= 0 and flows[p] * value[at] * both >= least:
                        edges[n_edges, 0], edges[n_edges, 1] = p, left
                        edges[n_edges, 2], edges[n_edges, 3] = right, at
                        n_edges += 1
    return n_edges


@fast_kernel
def coarse_edges(
    n: int,
    starts: Longs,
    items: Ints,
    values: Array,
    exponents: Longs,
    posteriors: Array,
    pair_starts: Ints,
    parent: Ints,
    value: Array,
    n_symbols: int,
    least: float,
    least_edge: float,
) -> tuple[Longs, Ints, Ints]:
    """Items with a posterior of `least`, and edges [parent, left, right, rule] of `least_edge`, or more."""
    new_starts, which = _probable(starts, posteriors, least)
    kept, inner, flows = items[which], values[which], posteriors[which] / values[which]
    edges, n_edges = np.zeros((1024, 4), np.int32), 0
    number = np.full(n_symbols, -1, np.int32)
    for width in range(2, n + 1):
        for i in range(n - width + 1):
            j, cell = i + width, _cell(i, i + width, n)
            n_items = new_starts[cell + 1] - new_starts[cell]
            if n_items == 0:
                continue
            for at in range(new_starts[cell], new_starts[cell + 1]):
                number[kept[at]] = at
            for k in range(i + 1, j):
                west, east = _cell(i, k, n), _cell(k, j, n)
                low, high = new_starts[west], new_starts[west + 1]
                mid, end = new_starts[east], new_starts[east + 1]
                if low == high or mid == end:
                    continue
                edges = _with_room(edges, n_edges + (high - low) * (end - mid) * n_items)
                n_edges = _edges_between(
                    (low, high),
                    (mid, end),
                    kept,
                    inner,
                    _power(exponents[west] + exponents[east] - exponents[cell]),
                    flows,
                    number,
                    pair_starts,
                    parent,
                    value,
                    least_edge,
                    edges,
                    n_edges,
                )
            for at in range(new_starts[cell], new_starts[cell + 1]):
                number[kept[at]] = -1
    return new_starts, kept, edges[:n_edges]
