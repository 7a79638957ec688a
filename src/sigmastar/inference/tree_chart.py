"""Charts of a binarised grammar as lists of items and edges, for one state first and many afterwards.

An item is a symbol over a cell (i, j); an edge joins two items into a third by a rule. Cells come by width,
so edges stand in the order in which they are needed, and the outside pass reads them backwards. Each cell has
an exponent e: what is kept is value * 2^-e with the best value of the cell near one, so that sentences of any
length fit, and an edge multiplies by 2^(e_left + e_right - e_parent). Passes with states, in `tree_fine`,
run on the same items, edges and exponents.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sigmastar.jit import fast_kernel

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Array = NDArray[np.float64]
Bytes = NDArray[np.uint8]


@fast_kernel
def cell_number(i: int, j: int, n: int) -> int:
    """Cells by width, then by where they begin."""
    w = j - i
    return (w - 1) * n - (w - 1) * (w - 2) // 2 + i


@fast_kernel
def _power(exponent: int) -> float:
    return 2.0 ** min(max(exponent, -1000), 1000)


@fast_kernel
def _grown(items: Ints, values: Array, size: int) -> tuple[Ints, Array]:
    """Room for at least `size` items."""
    if size > len(items):
        wider, larger = np.zeros(2 * size, np.int32), np.zeros(2 * size)
        wider[: len(items)], larger[: len(values)] = items, values
        return wider, larger
    return items, values


@fast_kernel
def _is_allowed(allowed: Bytes, cell: int, key: int) -> bool:
    return allowed.shape[0] == 0 or key < 0 or allowed[cell, key] != 0


@fast_kernel
def coarse_inside(
    begin: Longs,
    leaf_symbols: Ints,
    leaf_scores: Array,
    pair_starts: Ints,
    parent: Ints,
    value: Array,
    prior: Array,
    beam: float,
    keys: Ints,
    allowed: Bytes,
) -> tuple[Longs, Ints, Array, Longs]:
    """Items by cell, their values, and the exponents of cells, for a grammar of one state.

    `allowed` [cell, key] says which symbols a cell may have, by their keys; those with key -1 are free. Items
    below `beam` of the best of their cell, by value times prior, are dropped.
    """
    n, n_symbols, stride = len(begin) - 1, len(prior), np.uintp(len(prior))
    n_cells = n * (n + 1) // 2
    starts, exponents = np.zeros(n_cells + 1, np.int64), np.zeros(n_cells, np.int64)
    items, values = np.zeros(1024, np.int32), np.zeros(1024)
    total, touched = np.zeros(n_symbols), np.zeros(n_symbols, np.int32)
    for i in range(n):  # leaves
        count, best = starts[i], 0.0
        for at in range(begin[i], begin[i + 1]):
            best = max(best, leaf_scores[at])
        exponents[i] = 0 if best <= 0.0 else int(np.ceil(np.log2(best)))
        items, values = _grown(items, values, count + begin[i + 1] - begin[i])
        for at in range(begin[i], begin[i + 1]):
            a = leaf_symbols[at]
            if _is_allowed(allowed, i, keys[a]):
                items[count], values[count] = a, leaf_scores[at] / _power(exponents[i])
                count += 1
        starts[i + 1] = count
    for width in range(2, n + 1):
        for i in range(n - width + 1):
            j, cell = i + width, cell_number(i, i + width, n)
            scale, found = np.int64(-(1 << 60)), cell == n_cells - 1 or allowed.shape[0] == 0
            if not found:
                for key in range(allowed.shape[1]):
                    found = found or allowed[cell, key] != 0
            starts[cell + 1] = starts[cell]
            if not found:
                continue
            for k in range(i + 1, j):
                west, east = cell_number(i, k, n), cell_number(k, j, n)
                if starts[west + 1] > starts[west] and starts[east + 1] > starts[east]:
                    scale = max(scale, exponents[west] + exponents[east])
            n_touched = 0
            for k in range(i + 1, j):
                west, east = cell_number(i, k, n), cell_number(k, j, n)
                if starts[west + 1] == starts[west] or starts[east + 1] == starts[east]:
                    continue
                if exponents[west] + exponents[east] < scale - 60:
                    continue
                weight = _power(exponents[west] + exponents[east] - scale)
                for left in range(starts[west], starts[west + 1]):
                    row, left_value = np.uintp(items[left]) * stride, values[left] * weight
                    for right in range(starts[east], starts[east + 1]):
                        pair = row + np.uintp(items[right])
                        low, high = pair_starts[pair], pair_starts[pair + np.uintp(1)]
                        if low < high:
                            both = left_value * values[right]
                            for at in range(low, high):
                                a = parent[at]
                                if total[a] == 0.0:
                                    touched[n_touched] = a
                                    n_touched += 1
                                total[a] += both * value[at]
            top, best = 0.0, 0.0
            for t in range(n_touched):
                a = touched[t]
                if not _is_allowed(allowed, cell, keys[a]):
                    total[a] = 0.0
                top, best = max(top, total[a]), max(best, total[a] * prior[a])
            step = 0 if top <= 0.0 else int(np.ceil(np.log2(top)))
            exponents[cell] = scale + step
            count, factor = starts[cell], 1.0 / _power(step)
            items, values = _grown(items, values, count + n_touched)
            for t in range(n_touched):
                a = touched[t]
                if total[a] > 0.0 and total[a] * prior[a] >= beam * best:
                    items[count], values[count] = a, total[a] * factor
                    count += 1
                total[a] = 0.0
            starts[cell + 1] = count
    size = starts[n_cells]
    return starts, items[:size], values[:size], exponents


@fast_kernel
def coarse_posteriors(
    n: int,
    starts: Longs,
    items: Ints,
    values: Array,
    exponents: Longs,
    pair_starts: Ints,
    parent: Ints,
    value: Array,
    roots: Array,
    least: float,
) -> tuple[Array, float]:
    """The posterior of every item, and log2 of the total (-inf where there is no parse).

    What lies below cells without a posterior above `least` gets nothing from there.
    """
    n_symbols, n_cells, stride = len(roots), len(exponents), np.uintp(len(roots))
    outer, above = np.zeros(len(items)), np.zeros(n_symbols)
    total, last = 0.0, n_cells - 1
    for at in range(starts[last], starts[last + 1]):
        total += roots[items[at]] * values[at]
    if not total > 0.0:
        return outer, -np.inf
    for at in range(starts[last], starts[last + 1]):
        outer[at] = roots[items[at]] / total
    for width in range(n, 1, -1):
        for i in range(n - width + 1):
            j, cell = i + width, cell_number(i, i + width, n)
            most = 0.0
            for at in range(starts[cell], starts[cell + 1]):
                above[items[at]] = outer[at]
                most = max(most, outer[at] * values[at])
            if most > least:
                for k in range(i + 1, j):
                    west, east = cell_number(i, k, n), cell_number(k, j, n)
                    if starts[west + 1] == starts[west] or starts[east + 1] == starts[east]:
                        continue
                    weight = _power(exponents[west] + exponents[east] - exponents[cell])
                    for left in range(starts[west], starts[west + 1]):
                        row, back = np.uintp(items[left]) * stride, 0.0
                        mine = values[left] * weight
                        for right in range(starts[east], starts[east + 1]):
                            pair = row + np.uintp(items[right])
                            low, high = pair_starts[pair], pair_starts[pair + np.uintp(1)]
                            if low < high:
                                flow = 0.0
                                for at in range(low, high):
                                    flow += above[parent[at]] * value[at]
                                outer[right] += flow * mine
                                back += flow * values[right]
                        outer[left] += back * weight
            for at in range(starts[cell], starts[cell + 1]):
                above[items[at]] = 0.0
    return outer * values, np.log2(total) + exponents[last]


@fast_kernel
def allowed_keys(
    starts: Longs, items: Ints, posteriors: Array, least: float, keys: Ints, n_keys: int
) -> Bytes:
    """[cell, key]: 1 where an item with that key has a posterior of `least` or more."""
    table = np.zeros((len(starts) - 1, n_keys), np.uint8)
    for c in range(len(starts) - 1):
        for at in range(starts[c], starts[c + 1]):
            if posteriors[at] >= least and keys[items[at]] >= 0:
                table[c, keys[items[at]]] = 1
    return table


@fast_kernel
def allowed_parts(n: int, table: Bytes, direction: int) -> Bytes:
    """`table` [cell, label] of phrases, with columns for the symbols between them.

    Of a phrase that was made binary to the right (0), the symbols between end where it ends; to the left (1),
    they begin where it begins; from the head (2), they lie anywhere in it, and those that lack children on
    the left alone, in the last columns, end where it ends.
    """
    n_labels = table.shape[1]
    result = np.zeros((table.shape[0], 3 * n_labels), np.uint8)
    result[:, :n_labels] = table
    for width in range(n - 1, 1, -1):
        for i in range(n - width + 1):
            j, cell = i + width, cell_number(i, i + width, n)
            if i > 0:
                above = cell_number(i - 1, j, n)
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
                above = cell_number(i, j + 1, n)
                for label in range(n_labels):
                    result[cell, n_labels + label] |= table[above, label] | result[above, n_labels + label]
    return result


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
    new_starts, kept, before, count = np.zeros_like(starts), np.zeros_like(items), np.zeros_like(items), 0
    for c in range(len(starts) - 1):
        for at in range(starts[c], starts[c + 1]):
            if posteriors[at] >= least:
                kept[count], before[count] = items[at], at
                count += 1
        new_starts[c + 1] = count
    edges, n_edges = np.zeros((1024, 4), np.int32), 0
    number = np.full(n_symbols, -1, np.int32)
    for width in range(2, n + 1):
        for i in range(n - width + 1):
            j, cell = i + width, cell_number(i, i + width, n)
            if new_starts[cell] == new_starts[cell + 1]:
                continue
            for at in range(new_starts[cell], new_starts[cell + 1]):
                number[kept[at]] = at
            for k in range(i + 1, j):
                west, east = cell_number(i, k, n), cell_number(k, j, n)
                weight = _power(exponents[west] + exponents[east] - exponents[cell])
                for left in range(new_starts[west], new_starts[west + 1]):
                    row = np.int64(kept[left]) * n_symbols
                    for right in range(new_starts[east], new_starts[east + 1]):
                        pair = row + kept[right]
                        for at in range(pair_starts[pair], pair_starts[pair + 1]):
                            p = number[parent[at]]
                            if p < 0:
                                continue
                            old = before[p]
                            flow = posteriors[old] / values[old] * value[at] * weight
                            if flow * values[before[left]] * values[before[right]] >= least_edge:
                                if n_edges == len(edges):
                                    wider = np.zeros((2 * n_edges, 4), np.int32)
                                    wider[:n_edges] = edges
                                    edges = wider
                                edges[n_edges, 0] = p
                                edges[n_edges, 1] = left
                                edges[n_edges, 2] = right
                                edges[n_edges, 3] = at
                                n_edges += 1
            for at in range(new_starts[cell], new_starts[cell + 1]):
                number[kept[at]] = -1
    return new_starts, kept[:count], edges[:n_edges]
