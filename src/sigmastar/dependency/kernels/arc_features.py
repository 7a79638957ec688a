"""Log-linear factors of arcs, over hashed indicators of the words around them.

    weight(h, m) = exp(sum of theta[f] over the indicators f of the arc h -> m)

Indicators are the first-order ones of McDonald, Crammer and Pereira (2005): tags and words of head and
modifier, each with and without the distance; the tags beside both; the coarse tags between. An indicator
is a 64-bit hash of its template and values, cut to the size of the table of theta: no dictionary.
A row of `words` holds tag, coarse tag, word, ending and class of a position (of the last three, -1: none);
position 0 is the root, and its coarse tag is -1 where coarse tags are those of the first column again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sigmastar.core.adagrad import averaged_step
from sigmastar.core.arrays import Flags, Floats, Int32s, Int64s
from sigmastar.core.jit import kernel, part

MOST_INDICATORS = 128
_LARGEST = 30.0  # of a sum of theta: exp of it is still far from overflow
LEAST = 1e-3  # of a slope to be followed


class Places(NamedTuple):
    """Room for the places of indicators, and the bits of a hash that are one."""

    found: Int64s
    mask: int


class Arc(NamedTuple):
    """Head, modifier, side of the modifier, and side with distance."""

    head: int
    modifier: int
    side: int
    span: int


class Trees(NamedTuple):
    """Sentences with their gold trees; sentence q has the positions `starts[q]:starts[q + 1]`."""

    words: Int64s  # rows of positions
    starts: Int64s
    heads: Int32s  # of positions, the root's unused
    usable: Flags  # sentences


class Averaged(NamedTuple):
    """Theta, what adaptive steps remember, and what its mean over all steps needs: see `core.adagrad`."""

    theta: Floats
    squares: Floats
    drift: Floats


@kernel
def mixed(key: np.uint64, value: int) -> np.uint64:
    """A hash of a hash and one more value."""
    product = (key ^ np.uint64(value + 3)) * np.uint64(0x9E3779B97F4A7C15)
    return product ^ (product >> np.uint64(29))


@kernel
def cut(key: np.uint64, mask: int) -> int:
    """The place that a hash stands for in a table."""
    return np.int64((key ^ (key >> np.uint64(32))) & np.uint64(mask))  # type: ignore[return-value]


@kernel
def put(places: Places, n: int, template: int, a: int, b: int, c: int, d: int, e: int) -> int:
    key = mixed(mixed(mixed(np.uint64(template), a), b), c)
    places.found[n] = cut(mixed(mixed(key, d), e), places.mask)
    return n + 1


@part
def room_for_places(theta: Floats, n_parts: int) -> Places:
    """Room for the indicators of so many parts of trees at once."""
    return Places(np.empty(n_parts * MOST_INDICATORS, np.int64), len(theta) - 1)


@kernel
def distance_bin(distance: int) -> int:
    if distance <= 5:
        return distance
    return 6 if distance <= 10 else 7


@part
def _context_indicators(words: Int64s, column: int, arc: Arc, places: Places, n: int) -> int:
    """Tags of head and modifier, alone and with the tags beside them."""
    last, base, h, m = len(words) - 1, 100 + 20 * column, arc.head, arc.modifier
    ht, mt = words[h, column], words[m, column]
    h_next = words[h + 1, column] if h < last else -2
    h_before = words[h - 1, column] if h > 0 else -2
    m_next = words[m + 1, column] if m < last else -2
    m_before = words[m - 1, column] if m > 0 else -2
    for near in (arc.side, arc.span + 2):
        n = put(places, n, base + 1, near, ht, mt, 0, 0)
        n = put(places, n, base + 2, near, ht, 0, 0, 0)
        n = put(places, n, base + 3, near, mt, 0, 0, 0)
        n = put(places, n, base + 5, near, ht, h_next, m_before, mt)
        n = put(places, n, base + 6, near, ht, h_before, m_before, mt)
        n = put(places, n, base + 7, near, ht, h_next, m_next, mt)
        n = put(places, n, base + 8, near, ht, h_before, m_next, mt)
        n = put(places, n, base + 9, near, ht, h_next, mt, 0)
        n = put(places, n, base + 10, near, ht, h_before, mt, 0)
        n = put(places, n, base + 11, near, ht, m_next, mt, 0)
        n = put(places, n, base + 12, near, ht, m_before, mt, 0)
    return n


@part
def _word_indicators(head: Int64s, modifier: Int64s, arc: Arc, places: Places, n: int) -> int:
    """Words of head and modifier, where they are known, with the tags of both."""
    ht, hu, hw, _ = head[:4]
    mt, mu, mw, _ = modifier[:4]
    for near in (arc.side, arc.span + 2):
        if mw >= 0:
            n = put(places, n, 13, near, mw, mt, ht, 0)
            n = put(places, n, 14, near, mw, 0, 0, 0)
            n = put(places, n, 23, near, mw, hu, 0, 0)
        if hw >= 0:
            n = put(places, n, 15, near, hw, ht, mt, 0)
            n = put(places, n, 16, near, hw, 0, 0, 0)
            n = put(places, n, 24, near, hw, mu, 0, 0)
            if mw >= 0:
                n = put(places, n, 17, near, hw, mw, 0, 0)
    if hw >= 0 and mw >= 0:
        n = put(places, n, 18, arc.side, hw, ht, mw, mt)
        n = put(places, n, 19, arc.side, hw, mw, mt, 0)
        n = put(places, n, 20, arc.side, hw, ht, mw, 0)
    return n


@part
def _ending_indicators(head: Int64s, modifier: Int64s, arc: Arc, places: Places, n: int) -> int:
    """Endings of head and modifier, with tags and words."""
    side, span = arc.side, arc.span
    ht, hu, hw, hs = head[:4]
    mt, mu, mw, ms = modifier[:4]
    if ms >= 0:
        n = put(places, n, 25, side, ms, mt, ht, 0)
        n = put(places, n, 26, span, ms, hu, 0, 0)
    if hs >= 0:
        n = put(places, n, 27, side, hs, ht, mt, 0)
        n = put(places, n, 28, span, hs, mu, 0, 0)
        if ms >= 0:
            n = put(places, n, 29, side, hs, ms, 0, 0)
        if mw >= 0:
            n = put(places, n, 30, side, hs, mw, 0, 0)
    if hw >= 0 and ms >= 0:
        n = put(places, n, 31, side, hw, ms, 0, 0)
    return n


@part
def _class_indicators(head: Int64s, modifier: Int64s, arc: Arc, places: Places, n: int) -> int:
    """Classes of head and modifier by raw text, with tags and words."""
    ht, hu, hw = head[:3]
    mt, mu, mw = modifier[:3]
    hc, mc = head[4], modifier[4]
    for near in (arc.side, arc.span + 2):
        if mc >= 0:
            n = put(places, n, 32, near, mc, hu, 0, 0)
            if hc >= 0:
                n = put(places, n, 33, near, hc, mc, 0, 0)
        if hc >= 0:
            n = put(places, n, 34, near, hc, mu, 0, 0)
    if mc >= 0:
        n = put(places, n, 35, arc.side, mc, mt, ht, 0)
        if hw >= 0:
            n = put(places, n, 36, arc.side, hw, mc, 0, 0)
    if hc >= 0:
        n = put(places, n, 37, arc.side, hc, ht, mt, 0)
        if mw >= 0:
            n = put(places, n, 38, arc.side, hc, mw, 0, 0)
    return n


@kernel
def arc_indicators(words: Int64s, between: Int64s, h: int, m: int, places: Places) -> int:
    """Write the places in theta of all indicators of the arc h -> m; returns how many there are."""
    low, high = min(h, m), max(h, m)
    side = 1 if m > h else 0
    arc = Arc(h, m, side, 2 * distance_bin(high - low) + side)
    n = 0
    n_columns = 2 if words[0, 1] >= 0 else 1  # fine tags, then coarse ones, in the same templates
    for column in range(n_columns):
        n = _context_indicators(words, column, arc, places, n)
    n = _word_indicators(words[h], words[m], arc, places, n)
    n = _ending_indicators(words[h], words[m], arc, places, n)
    n = _class_indicators(words[h], words[m], arc, places, n)
    tags, kind = between[low, high], 0
    while tags:
        if tags & 1 and n < MOST_INDICATORS - 2:
            n = put(places, n, 21, side, words[h, 1], kind, words[m, 1], 0)
            n = put(places, n, 22, side, words[h, 0], kind, words[m, 0], 0)
        tags >>= 1
        kind += 1
    return n


@kernel
def _tags_between(words: Int64s) -> Int64s:
    """Bits of the coarse tags strictly between two positions."""
    n = len(words)
    bits = np.zeros((n, n), np.int64)
    for low in range(n):
        for high in range(low + 2, n):
            bits[low, high] = bits[low, high - 1] | (1 << (words[high - 1, 1] & 31))
    return bits


@kernel
def factor(theta: Floats, places: Places, n: int) -> float:
    total = 0.0
    for k in range(n):
        total += theta[places.found[k]]
    return np.exp(min(max(total, -_LARGEST), _LARGEST))  # type: ignore[no-any-return]


@part
def factors(theta: Floats, places: Places, ends: Int64s, found: Floats) -> None:
    """The factors of several parts of trees, whose places end at `ends`."""
    begin = 0
    for k in range(len(found)):
        total = 0.0
        for at in range(begin, ends[k]):
            total += theta[places.found[at]]
        begin = ends[k]
        found[k] = total
    for k in range(len(found)):
        found[k] = np.exp(min(max(found[k], -_LARGEST), _LARGEST))


@kernel
def multiply_arcs(words: Int64s, starts: Int64s, theta: Floats, weights: Floats, at: Int64s) -> None:
    """Multiply the weights of all arcs; `weights` lies flat, each sentence as [head, modifier] from `at` on.

    Arcs that weigh nothing are passed over.
    """
    places = room_for_places(theta, 1)
    for q in range(len(starts) - 1):
        rows = words[starts[q] : starts[q + 1]]
        between, n = _tags_between(rows), len(rows)
        for h in range(n):
            for m in range(1, n):
                place = at[q] + h * n + m
                if h != m and weights[place] != 0.0:
                    weights[place] *= factor(theta, places, arc_indicators(rows, between, h, m, places))


@part
def step(trained: Averaged, places: Places, n: int, slope: float, rate: float, time: float) -> None:
    for k in range(n):
        averaged_step(trained.theta, trained.squares, trained.drift, places.found[k], slope, -rate, time)


@kernel
def ascend(trees: Trees, marginals: Floats, at: Int64s, trained: Averaged, rate: float, time: float) -> None:
    """One adaptive gradient step of the log-likelihood: gold arcs up, expected arcs down."""
    places, starts = room_for_places(trained.theta, 1), trees.starts
    for q in np.flatnonzero(trees.usable):
        rows, tops = trees.words[starts[q] : starts[q + 1]], trees.heads[starts[q] : starts[q + 1]]
        between, n = _tags_between(rows), len(rows)
        for h in range(n):
            for m in range(1, n):
                slope = (1.0 if tops[m] == h else 0.0) - marginals[at[q] + h * n + m]
                if h != m and abs(slope) >= LEAST:
                    count = arc_indicators(rows, between, h, m, places)
                    step(trained, places, count, slope, rate, time)
