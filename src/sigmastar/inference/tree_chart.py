"""Charts of a binarised grammar as lists of items and edges, for one state first and many afterwards.

An item is a symbol over a cell (i, j); an edge joins two items into a third by a rule. Cells come by width,
so edges stand in the order in which they are needed, and the outside pass reads them backwards. Each cell has
an exponent e: what is kept is value * 2^-e with the best value of the cell near one, so that sentences of any
length fit, and an edge multiplies by 2^(e_left + e_right - e_parent). Later passes with more states run on
the same items, edges and exponents.
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
def coarse_chart(
    begin: Longs,
    leaf_symbols: Ints,
    leaf_scores: Array,
    pair_starts: Ints,
    rule_parent: Ints,
    rule_value: Array,
    prior: Array,
    beam: float,
    base: Ints,
    allowed: Bytes,
) -> tuple[Longs, Ints, Array, Longs, Ints]:
    """Items (by cell), their values, exponents of cells, and edges [parent, left, right, rule].

    `allowed` [cell, label] says which labels a cell may have; symbols without a label are free. Items below
    `beam` of the best of their cell, by value times prior, are dropped.
    """
    n, n_symbols = len(begin) - 1, len(prior)
    n_cells = n * (n + 1) // 2
    starts, exponents = np.zeros(n_cells + 1, np.int64), np.zeros(n_cells, np.int64)
    items, values = np.zeros(1024, np.int32), np.zeros(1024)
    edges, n_edges = np.zeros((4096, 4), np.int32), 0
    total, touched, number = np.zeros(n_symbols), np.zeros(n_symbols, np.int32), np.full(n_symbols, -1, np.int32)
    for i in range(n):  # leaves
        low, high = begin[i], begin[i + 1]
        count, best = starts[i], 0.0
        for at in range(low, high):
            best = max(best, leaf_scores[at])
        exponents[i] = 0 if best <= 0.0 else int(np.ceil(np.log2(best)))
        if count + high - low > len(items):
            items, values = np.append(items, np.zeros_like(items)), np.append(values, np.zeros_like(values))
        for at in range(low, high):
            a = leaf_symbols[at]
            if allowed.shape[0] == 0 or allowed[i, base[a]]:
                items[count], values[count] = a, leaf_scores[at] / _power(exponents[i])
                count += 1
        starts[i + 1] = count
    for width in range(2, n + 1):
        for i in range(n - width + 1):
            j, cell = i + width, cell_number(i, i + width, n)
            scale, found = np.int64(-(1 << 60)), False
            for k in range(i + 1, j):
                l, r = cell_number(i, k, n), cell_number(k, j, n)
                if starts[l + 1] > starts[l] and starts[r + 1] > starts[r]:
                    scale, found = max(scale, exponents[l] + exponents[r]), True
            starts[cell + 1] = starts[cell]
            if not found:
                continue
            n_touched, first_edge = 0, n_edges
            for k in range(i + 1, j):
                l, r = cell_number(i, k, n), cell_number(k, j, n)
                if exponents[l] + exponents[r] < scale - 60:
                    continue
                weight = _power(exponents[l] + exponents[r] - scale)
                for left in range(starts[l], starts[l + 1]):
                    row, left_value = np.int64(items[left]) * n_symbols, values[left] * weight
                    for right in range(starts[r], starts[r + 1]):
                        pair = row + items[right]
                        low, high = pair_starts[pair], pair_starts[pair + 1]
                        if low == high:
                            continue
                        value = left_value * values[right]
                        if n_edges + high - low > len(edges):
                            edges = np.append(edges, np.zeros_like(edges)).reshape(-1, 4)
                        for at in range(low, high):
                            a = rule_parent[at]
                            if allowed.shape[0] and base[a] >= 0 and not allowed[cell, base[a]]:
                                continue
                            if total[a] == 0.0:
                                touched[n_touched] = a
                                n_touched += 1
                            total[a] += value * rule_value[at]
                            edges[n_edges, 0] = a
                            edges[n_edges, 1] = left
                            edges[n_edges, 2] = right
                            edges[n_edges, 3] = at
                            n_edges += 1
            top, best = 0.0, 0.0
            for t in range(n_touched):
                a = touched[t]
                top, best = max(top, total[a]), max(best, total[a] * prior[a])
            step = 0 if top <= 0.0 else int(np.ceil(np.log2(top)))
            exponents[cell] = scale + step
            count, factor = starts[cell], 1.0 / _power(step)
            if count + n_touched > len(items):
                items, values = np.append(items, np.zeros_like(items)), np.append(values, np.zeros_like(values))
            for t in range(n_touched):
                a = touched[t]
                if total[a] > 0.0 and total[a] * prior[a] >= beam * best:
                    number[a] = count
                    items[count], values[count] = a, total[a] * factor
                    count += 1
            starts[cell + 1] = count
            kept = first_edge
            for e in range(first_edge, n_edges):
                p = number[edges[e, 0]]
                if p >= 0:
                    edges[kept, 0] = p
                    edges[kept, 1] = edges[e, 1]
                    edges[kept, 2] = edges[e, 2]
                    edges[kept, 3] = edges[e, 3]
                    kept += 1
            n_edges = kept
            for t in range(n_touched):
                total[touched[t]] = 0.0
                number[touched[t]] = -1
    size = starts[n_cells]
    return starts, items[:size], values[:size], exponents, edges[:n_edges]


@fast_kernel
def coarse_posteriors(
    starts: Longs, items: Ints, values: Array, exponents: Longs, edges: Ints, rule_value: Array, roots: Array
) -> tuple[Array, float]:
    """The posterior of every item, and log2 of the total (-inf where there is no parse)."""
    cell = _cells(starts)
    outer, last = np.zeros(len(items)), len(exponents) - 1
    total = 0.0
    for at in range(starts[last], starts[last + 1]):
        total += roots[items[at]] * values[at]
    if not total > 0.0:
        return outer, -np.inf
    for at in range(starts[last], starts[last + 1]):
        outer[at] = roots[items[at]] / total
    for e in range(len(edges) - 1, -1, -1):
        p, l, r = edges[e, 0], edges[e, 1], edges[e, 2]
        if outer[p] > 0.0:
            shift = exponents[cell[l]] + exponents[cell[r]] - exponents[cell[p]]
            flow = outer[p] * rule_value[edges[e, 3]] * _power(shift)
            outer[l] += flow * values[r]
            outer[r] += flow * values[l]
    return outer * values, np.log2(total) + exponents[last]


@fast_kernel
def _cells(starts: Longs) -> Ints:
    cell = np.zeros(starts[-1], np.int32)
    for c in range(len(starts) - 1):
        cell[starts[c] : starts[c + 1]] = c
    return cell


@fast_kernel
def pruned(
    starts: Longs, items: Ints, edges: Ints, posteriors: Array, least: float
) -> tuple[Longs, Ints, Ints, Longs]:
    """Items with a posterior of `least` or more, edges between them, and where each item was before."""
    number = np.full(len(items), -1, np.int32)
    new_starts, before = np.zeros_like(starts), np.zeros(len(items), np.int64)
    count = 0
    for c in range(len(starts) - 1):
        for at in range(starts[c], starts[c + 1]):
            if posteriors[at] >= least:
                number[at], before[count] = count, at
                count += 1
        new_starts[c + 1] = count
    kept = 0
    new_edges = np.zeros((len(edges), 4), np.int32)
    for e in range(len(edges)):
        p, l, r = number[edges[e, 0]], number[edges[e, 1]], number[edges[e, 2]]
        if p >= 0 and l >= 0 and r >= 0:
            new_edges[kept, 0], new_edges[kept, 1], new_edges[kept, 2] = p, l, r
            new_edges[kept, 3] = edges[e, 3]
            kept += 1
    return new_starts, items[before[:count]], new_edges[:kept], before[:count]


@fast_kernel
def fine_posteriors(
    starts: Longs,
    items: Ints,
    exponents: Longs,
    edges: Ints,
    begin: Longs,
    leaf_symbols: Ints,
    leaf_at: Longs,
    leaf_vectors: Array,
    n_states: Longs,
    tensors: Array,
    offsets: Longs,
    roots: Array,
    root_at: Longs,
) -> tuple[Array, float]:
    """Figure 3 of Cohen et al. (2012) on the edges of a chart; log2 of the total, nan where it is not positive."""
    n, cell = len(begin) - 1, _cells(starts)
    at = np.zeros(len(items) + 1, np.int64)
    for item in range(len(items)):
        at[item + 1] = at[item] + n_states[items[item]]
    inner, outer = np.zeros(at[-1]), np.zeros(at[-1])
    for i in range(n):
        candidate, factor = begin[i], _power(-exponents[i])
        for item in range(starts[i], starts[i + 1]):
            while leaf_symbols[candidate] != items[item]:
                candidate += 1
            for x in range(at[item + 1] - at[item]):
                inner[at[item] + x] = factor * leaf_vectors[leaf_at[candidate] + x]
    for e in range(len(edges)):
        p, l, r = edges[e, 0], edges[e, 1], edges[e, 2]
        shift = _power(exponents[cell[l]] + exponents[cell[r]] - exponents[cell[p]])
        mine, low = inner[at[p] : at[p + 1]], offsets[edges[e, 3]]
        size = len(mine)
        for y in range(at[l], at[l + 1]):
            for z in range(at[r], at[r + 1]):
                weight = inner[y] * inner[z] * shift
                row = tensors[low : low + size]
                for x in range(size):
                    mine[x] += weight * row[x]
                low += size
    last, total = len(exponents) - 1, 0.0
    for item in range(starts[last], starts[last + 1]):
        for x in range(at[item + 1] - at[item]):
            total += roots[root_at[items[item]] + x] * inner[at[item] + x]
    posteriors = np.zeros(len(items))
    if not total > 0.0:
        return posteriors, np.nan
    for item in range(starts[last], starts[last + 1]):
        for x in range(at[item + 1] - at[item]):
            outer[at[item] + x] = roots[root_at[items[item]] + x] / total
    for e in range(len(edges) - 1, -1, -1):
        p, l, r = edges[e, 0], edges[e, 1], edges[e, 2]
        shift = _power(exponents[cell[l]] + exponents[cell[r]] - exponents[cell[p]])
        out, low = outer[at[p] : at[p + 1]], offsets[edges[e, 3]]
        size = len(out)
        for y in range(at[l], at[l + 1]):
            for z in range(at[r], at[r + 1]):
                row, flow = tensors[low : low + size], 0.0
                for x in range(size):
                    flow += row[x] * out[x]
                flow *= shift
                outer[y] += flow * inner[z]
                outer[z] += flow * inner[y]
                low += size
    for item in range(len(items)):
        value = 0.0
        for x in range(at[item], at[item + 1]):
            value += inner[x] * outer[x]
        posteriors[item] = value
    return posteriors, np.log2(total) + exponents[last]
