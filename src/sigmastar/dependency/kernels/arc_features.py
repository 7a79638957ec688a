"""Log-linear factors of arcs, over hashed indicators of the words around them.

    weight(h, m) = exp(sum of theta[f] over the indicators f of the arc h -> m)

Indicators are the first-order ones of McDonald, Crammer and Pereira (2005): tags and words of head and
modifier, each with and without the distance; the tags beside both; the coarse tags between. An indicator
is a 64-bit hash of its template and values, cut to the size of the table of theta: no dictionary.
Ways to come to a modifier, from the sibling next to it towards the head or from none, have weights too, over
the tags and words of head, sibling and modifier: the second-order ones of McDonald and Pereira (2006).
A row of `words` holds tag, coarse tag, word and ending of a position (word or ending -1: none); position 0 is
the root, and its coarse tag is -1 where coarse tags are those of the first column again.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sigmastar.core.jit import kernel, part

Array = NDArray[np.float64]
Codes = NDArray[np.int32]
Longs = NDArray[np.int64]

MOST_INDICATORS = 128
_LARGEST = 30.0  # of a sum of theta: exp of it is still far from overflow


@kernel
def _mixed(key: np.uint64, value: int) -> np.uint64:
    product = (key ^ np.uint64(value + 3)) * np.uint64(0x9E3779B97F4A7C15)
    return product ^ (product >> np.uint64(29))


@kernel
def _put(found: Longs, n: int, mask: int, template: int, a: int, b: int, c: int, d: int, e: int) -> int:
    key = _mixed(_mixed(_mixed(np.uint64(template), a), b), c)
    key = _mixed(_mixed(key, d), e)
    found[n] = np.int64((key ^ (key >> np.uint64(32))) & np.uint64(mask))
    return n + 1


@kernel
def _distance_bin(distance: int) -> int:
    if distance <= 5:
        return distance
    return 6 if distance <= 10 else 7


@part
def _context_indicators(
    words: Codes, column: int, h: int, m: int, side: int, span: int, mask: int, found: Longs, n: int
) -> int:
    """Tags of head and modifier, alone and with the tags beside them."""
    last, base = len(words) - 1, 100 + 20 * column
    ht, mt = words[h, column], words[m, column]
    h_next = words[h + 1, column] if h < last else -2
    h_before = words[h - 1, column] if h > 0 else -2
    m_next = words[m + 1, column] if m < last else -2
    m_before = words[m - 1, column] if m > 0 else -2
    for near in (side, span + 2):
        n = _put(found, n, mask, base + 1, near, ht, mt, 0, 0)
        n = _put(found, n, mask, base + 2, near, ht, 0, 0, 0)
        n = _put(found, n, mask, base + 3, near, mt, 0, 0, 0)
        n = _put(found, n, mask, base + 5, near, ht, h_next, m_before, mt)
        n = _put(found, n, mask, base + 6, near, ht, h_before, m_before, mt)
        n = _put(found, n, mask, base + 7, near, ht, h_next, m_next, mt)
        n = _put(found, n, mask, base + 8, near, ht, h_before, m_next, mt)
        n = _put(found, n, mask, base + 9, near, ht, h_next, mt, 0)
        n = _put(found, n, mask, base + 10, near, ht, h_before, mt, 0)
        n = _put(found, n, mask, base + 11, near, ht, m_next, mt, 0)
        n = _put(found, n, mask, base + 12, near, ht, m_before, mt, 0)
    return n


@kernel
def arc_indicators(words: Codes, between: NDArray[np.int64], h: int, m: int, mask: int, found: Longs) -> int:
    """Write the places in theta of all indicators of the arc h -> m; returns how many there are."""
    low, high = min(h, m), max(h, m)
    side = 1 if m > h else 0
    span = 2 * _distance_bin(high - low) + side
    ht, hu, hw, hs = words[h]
    mt, mu, mw, ms = words[m]
    n = 0
    n_columns = 2 if words[0, 1] >= 0 else 1  # fine tags, then coarse ones, in the same templates
    for column in range(n_columns):
        n = _context_indicators(words, column, h, m, side, span, mask, found, n)
    for near in (side, span + 2):
        if mw >= 0:
            n = _put(found, n, mask, 13, near, mw, mt, ht, 0)
            n = _put(found, n, mask, 14, near, mw, 0, 0, 0)
            n = _put(found, n, mask, 23, near, mw, hu, 0, 0)
        if hw >= 0:
            n = _put(found, n, mask, 15, near, hw, ht, mt, 0)
            n = _put(found, n, mask, 16, near, hw, 0, 0, 0)
            n = _put(found, n, mask, 24, near, hw, mu, 0, 0)
            if mw >= 0:
                n = _put(found, n, mask, 17, near, hw, mw, 0, 0)
    if hw >= 0 and mw >= 0:
        n = _put(found, n, mask, 18, side, hw, ht, mw, mt)
        n = _put(found, n, mask, 19, side, hw, mw, mt, 0)
        n = _put(found, n, mask, 20, side, hw, ht, mw, 0)
    if ms >= 0:
        n = _put(found, n, mask, 25, side, ms, mt, ht, 0)
        n = _put(found, n, mask, 26, span, ms, hu, 0, 0)
    if hs >= 0:
        n = _put(found, n, mask, 27, side, hs, ht, mt, 0)
        n = _put(found, n, mask, 28, span, hs, mu, 0, 0)
        if ms >= 0:
            n = _put(found, n, mask, 29, side, hs, ms, 0, 0)
        if mw >= 0:
            n = _put(found, n, mask, 30, side, hs, mw, 0, 0)
    if hw >= 0 and ms >= 0:
        n = _put(found, n, mask, 31, side, hw, ms, 0, 0)
    tags = between[low, high]
    kind = 0
    while tags:
        if tags & 1 and n < MOST_INDICATORS - 2:
            n = _put(found, n, mask, 21, side, hu, kind, mu, 0)
            n = _put(found, n, mask, 22, side, ht, kind, mt, 0)
        tags >>= 1
        kind += 1
    return n


@kernel
def _tags_between(words: Codes) -> NDArray[np.int64]:
    """Bits of the coarse tags strictly between two positions."""
    n = len(words)
    bits = np.zeros((n, n), np.int64)
    for low in range(n):
        for high in range(low + 2, n):
            bits[low, high] = bits[low, high - 1] | (1 << (words[high - 1, 1] & 31))
    return bits


@kernel
def multiply_arcs(words: Codes, starts: Longs, theta: Array, weights: Array, at: Longs) -> None:
    """Multiply the weights of all arcs; `weights` lies flat, each sentence as [head, modifier] from `at` on.

    Arcs that weigh nothing are passed over.
    """
    found, mask = np.empty(MOST_INDICATORS, np.int64), len(theta) - 1
    for q in range(len(starts) - 1):
        rows = words[starts[q] : starts[q + 1]]
        between, n = _tags_between(rows), len(rows)
        for h in range(n):
            for m in range(1, n):
                place = at[q] + h * n + m
                if h == m or weights[place] == 0.0:
                    continue
                total = 0.0
                for k in range(arc_indicators(rows, between, h, m, mask, found)):
                    total += theta[found[k]]
                weights[place] *= np.exp(min(max(total, -_LARGEST), _LARGEST))


@kernel
def _step(
    place: int, slope: float, theta: Array, squares: Array, drift: Array, time: float, rate: float
) -> None:
    squares[place] += slope * slope
    step = rate * slope / np.sqrt(squares[place])
    theta[place] += step
    drift[place] += time * step


@kernel
def ascend(
    words: Codes, starts: Longs, heads: Codes, marginals: Array, at: Longs, usable: NDArray[np.bool_],
    theta: Array, squares: Array, drift: Array, time: float, rate: float,
) -> None:  # fmt: skip
    """One adaptive gradient step of the log-likelihood: gold arcs up, expected arcs down.

    `heads` has an entry for every position, the root's unused; `drift` gathers time * step, so that
    theta - drift / time is the mean of theta over the steps.
    """
    found, mask = np.empty(MOST_INDICATORS, np.int64), len(theta) - 1
    for q in range(len(starts) - 1):
        if not usable[q]:
            continue
        rows = words[starts[q] : starts[q + 1]]
        between, n = _tags_between(rows), len(rows)
        for h in range(n):
            for m in range(1, n):
                if h == m:
                    continue
                slope = (1.0 if heads[starts[q] + m] == h else 0.0) - marginals[at[q] + h * n + m]
                if abs(slope) < 1e-3:
                    continue
                for k in range(arc_indicators(rows, between, h, m, mask, found)):
                    _step(found[k], slope, theta, squares, drift, time, rate)


@kernel
def _way_indicators(words: Codes, h: int, s: int, m: int, mask: int, found: Longs) -> int:
    """Places in theta of the indicators of coming from sibling s (0: none) to m under h."""
    side = 1 if m > h else 0
    gap = 2 * _distance_bin(abs(m - s)) + side if s > 0 else side
    ht, hu, hw, _ = words[h]
    st, su, sw, _ = words[s]  # of the root where there is none
    mt, mu, mw, _ = words[m]
    n = 0
    for near in (side, gap + 2):
        n = _put(found, n, mask, 50, near, ht, st, mt, 0)
        n = _put(found, n, mask, 51, near, hu, su, mu, 0)
        n = _put(found, n, mask, 52, near, st, mt, 0, 0)
        n = _put(found, n, mask, 53, near, su, mu, 0, 0)
    if hw >= 0:
        n = _put(found, n, mask, 54, side, hw, st, mt, 0)
        n = _put(found, n, mask, 55, side, hw, su, mu, 0)
    if sw >= 0:
        n = _put(found, n, mask, 56, side, sw, mt, 0, 0)
        n = _put(found, n, mask, 57, side, sw, hu, mt, 0)
    if mw >= 0:
        n = _put(found, n, mask, 58, side, mw, st, 0, 0)
        n = _put(found, n, mask, 59, side, mw, hu, st, 0)
        if sw >= 0:
            n = _put(found, n, mask, 60, side, sw, mw, 0, 0)
    return n


@kernel
def weigh_ways(words: Codes, starts: Longs, at: Longs, ways: Codes, theta: Array) -> Array:
    """The weight of each way; those of sentence q are `at[q]:at[q + 1]`."""
    found, mask, weights = np.empty(MOST_INDICATORS, np.int64), len(theta) - 1, np.empty(len(ways))
    for q in range(len(starts) - 1):
        rows = words[starts[q] : starts[q + 1]]
        for w in range(at[q], at[q + 1]):
            total = 0.0
            for k in range(_way_indicators(rows, ways[w, 0], ways[w, 1], ways[w, 2], mask, found)):
                total += theta[found[k]]
            weights[w] = np.exp(min(max(total, -_LARGEST), _LARGEST))
    return weights


@part
def _gold_siblings(heads: Codes) -> Codes:
    """The modifier next to each word towards its head, or 0."""
    siblings = np.zeros(len(heads), np.int32)
    for m in range(1, len(heads)):
        step = -1 if m > heads[m] else 1
        k = m + step
        while k != heads[m]:
            if heads[k] == heads[m]:
                siblings[m] = k
                break
            k += step
    return siblings


@kernel
def ascend_ways(
    words: Codes, starts: Longs, heads: Codes, at: Longs, ways: Codes, expected: Array,
    usable: NDArray[np.bool_], theta: Array, squares: Array, drift: Array, time: float, rate: float,
) -> None:  # fmt: skip
    """The step of `ascend` for ways, of which `expected` are the marginals."""
    found, mask = np.empty(MOST_INDICATORS, np.int64), len(theta) - 1
    for q in range(len(starts) - 1):
        if not usable[q]:
            continue
        rows, tops = words[starts[q] : starts[q + 1]], heads[starts[q] : starts[q + 1]]
        siblings = _gold_siblings(tops)
        for w in range(at[q], at[q + 1]):
            h, sibling, m = ways[w]
            slope = (1.0 if tops[m] == h and siblings[m] == sibling else 0.0) - expected[w]
            if abs(slope) < 1e-3:
                continue
            for k in range(_way_indicators(rows, h, sibling, m, mask, found)):
                _step(found[k], slope, theta, squares, drift, time, rate)
