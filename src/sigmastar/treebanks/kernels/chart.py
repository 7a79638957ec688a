"""Charts of a plain binarised grammar as lists of items: inside and outside with one state a symbol.

An item is a symbol over a cell (i, j); cells come by width. Each cell has an exponent e: what is kept is
value * 2^-e with the best value of the cell near one, so that sentences of any length fit, and joining two
cells multiplies by 2^(e_left + e_right - e_parent). What is left goes on as edges, see `tree_edges`.
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
def cell_number(i: int, j: int, n: int) -> int:
    """Cells by width, then by where they begin."""
    w = j - i
    return (w - 1) * n - (w - 1) * (w - 2) // 2 + i


@part
def _power(exponent: int) -> float:
    """2^exponent, put together from its bits."""
    bits = (min(max(exponent, -1000), 1000) + 1023) << 52
    return np.int64(bits).view(np.float64)


@part
def _grown(items: Ints, values: Array, size: int) -> tuple[Ints, Array]:
    """Room for at least `size` items."""
    if size > len(items):
        wider, larger = np.zeros(2 * size, np.int32), np.zeros(2 * size)
        for at in range(len(items)):
            wider[at], larger[at] = items[at], values[at]
        return wider, larger
    return items, values


@part
def _is_allowed(allowed: Bytes, cell: int, key: int) -> bool:
    return allowed.shape[0] == 0 or key < 0 or allowed[cell, key] != 0


@part
def _leaf_items(
    begin: Longs, symbols: Ints, scores: Array, keys: Ints, allowed: Bytes, starts: Longs, exponents: Longs
) -> tuple[Ints, Array]:
    """Items over single words and their values, with room for more."""
    items, values = np.zeros(1024 + len(symbols), np.int32), np.zeros(1024 + len(symbols))
    for i in range(len(begin) - 1):
        count, best = starts[i], 0.0
        for at in range(begin[i], begin[i + 1]):
            best = max(best, scores[at])
        exponents[i] = 0 if best <= 0.0 else int(np.ceil(np.log2(best)))
        for at in range(begin[i], begin[i + 1]):
            if _is_allowed(allowed, i, keys[symbols[at]]):
                items[count], values[count] = symbols[at], scores[at] * _power(-exponents[i])
                count += 1
        starts[i + 1] = count
    return items, values


@part
def _is_open(allowed: Bytes, cell: int) -> bool:
    """Whether any symbol may stand over a cell; the last one is always open."""
    if allowed.shape[0] == 0 or cell == allowed.shape[0] - 1:
        return True
    some = 0
    for label in range(allowed.shape[1]):
        some |= allowed[cell, label]
    return some != 0


@part
def _best_exponent(i: int, j: int, n: int, starts: Longs, exponents: Longs) -> int:
    best = -(1 << 60)
    for k in range(i + 1, j):
        west, east = cell_number(i, k, n), cell_number(k, j, n)
        if starts[west + 1] > starts[west] and starts[east + 1] > starts[east]:
            best = max(best, exponents[west] + exponents[east])
    return best


@part
def _join(
    left: Ints,
    left_values: Array,
    right: Ints,
    right_values: Array,
    weight: float,
    pair_starts: Ints,
    parent: Ints,
    value: Array,
    total: Array,
    touched: Ints,
    n_touched: int,
) -> int:
    """Add what items of two cells make to `total`; how many symbols have been touched, with those before."""
    stride, one = np.uintp(len(total)), np.uintp(1)
    for m in range(len(left)):
        row, left_value = np.uintp(left[m]) * stride, left_values[m] * weight
        for k in range(len(right)):
            pair = row + np.uintp(right[k])
            low, high = pair_starts[pair], pair_starts[pair + one]
            if low < high:
                both = left_value * right_values[k]
                for at in range(np.uintp(low), np.uintp(high)):
                    a = np.uintp(parent[at])
                    before = total[a]
                    if before == 0.0:
                        touched[n_touched] = a
                        n_touched += 1
                    total[a] = before + both * value[at]
    return n_touched


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
    n = len(begin) - 1
    n_cells = n * (n + 1) // 2
    starts, exponents = np.zeros(n_cells + 1, np.int64), np.zeros(n_cells, np.int64)
    items, values = _leaf_items(begin, leaf_symbols, leaf_scores, keys, allowed, starts, exponents)
    total, touched = np.zeros(len(prior)), np.zeros(len(prior), np.int32)
    for width in range(2, n + 1):
        for i in range(n - width + 1):
            j, cell = i + width, cell_number(i, i + width, n)
            starts[cell + 1] = starts[cell]
            if not _is_open(allowed, cell):
                continue
            scale, n_touched = _best_exponent(i, j, n, starts, exponents), 0
            for k in range(i + 1, j):
                west, east = cell_number(i, k, n), cell_number(k, j, n)
                low, mid = starts[west], starts[east]
                high, end = starts[west + 1], starts[east + 1]
                exponent = exponents[west] + exponents[east] - scale
                if low < high and mid < end and exponent >= -60:
                    n_touched = _join(
                        items[low:high],
                        values[low:high],
                        items[mid:end],
                        values[mid:end],
                        _power(exponent),
                        pair_starts,
                        parent,
                        value,
                        total,
                        touched,
                        n_touched,
                    )
            top, best = 0.0, 0.0
            for a in touched[:n_touched]:
                if not _is_allowed(allowed, cell, keys[a]):
                    total[a] = 0.0
                top, best = max(top, total[a]), max(best, total[a] * prior[a])
            step = 0 if top <= 0.0 else int(np.ceil(np.log2(top)))
            exponents[cell] = scale + step
            count, factor = starts[cell], _power(-step)
            items, values = _grown(items, values, count + n_touched)
            for a in touched[:n_touched]:
                if total[a] > 0.0 and total[a] * prior[a] >= beam * best:
                    items[count], values[count] = a, total[a] * factor
                    count += 1
                total[a] = 0.0
            starts[cell + 1] = count
    size = starts[n_cells]
    return starts, items[:size], values[:size], exponents


@part
def _send_down(
    left: Ints,
    left_values: Array,
    left_outer: Array,
    right: Ints,
    right_values: Array,
    right_outer: Array,
    weight: float,
    pair_starts: Ints,
    parent: Ints,
    value: Array,
    above: Array,
) -> None:
    """Outside values of the items of two cells, from `above`, those of the cell that they make up."""
    stride, one = np.uintp(len(above)), np.uintp(1)
    for m in range(len(left)):
        row, back = np.uintp(left[m]) * stride, 0.0
        mine = left_values[m] * weight
        for k in range(len(right)):
            pair = row + np.uintp(right[k])
            low, high = pair_starts[pair], pair_starts[pair + one]
            if low < high:
                flow = 0.0
                for at in range(np.uintp(low), np.uintp(high)):
                    flow += above[np.uintp(parent[at])] * value[at]
                right_outer[k] += flow * mine
                back += flow * right_values[k]
        left_outer[m] += back * weight


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
            j, cell, most = i + width, cell_number(i, i + width, n), 0.0
            for at in range(starts[cell], starts[cell + 1]):
                most = max(most, outer[at] * values[at])
            if most <= least:
                continue
            for at in range(starts[cell], starts[cell + 1]):
                above[items[at]] = outer[at]
            for k in range(i + 1, j):
                west, east = cell_number(i, k, n), cell_number(k, j, n)
                low, mid = starts[west], starts[east]
                high, end = starts[west + 1], starts[east + 1]
                if low < high and mid < end:
                    _send_down(
                        items[low:high],
                        values[low:high],
                        outer[low:high],
                        items[mid:end],
                        values[mid:end],
                        outer[mid:end],
                        _power(exponents[west] + exponents[east] - exponents[cell]),
                        pair_starts,
                        parent,
                        value,
                        above,
                    )
            for at in range(starts[cell], starts[cell + 1]):
                above[items[at]] = 0.0
    return outer * values, np.log2(total) + exponents[last]
