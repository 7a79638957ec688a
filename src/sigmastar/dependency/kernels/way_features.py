"""Log-linear factors of siblings, stops and grandparents, over the same hashed indicators as those of arcs.

Ways to come to a modifier, from the sibling next to it towards the head or from none, have weights over the
tags and words of head, sibling and modifier: the second-order ones of McDonald and Pereira (2006). Stops have
weights too: over head and last modifier, or, where a side has none, over the head and the word next to it. So
have the heads of heads, which in Universal Dependencies carry what prepositions tell of the verbs above them.
"""

from __future__ import annotations

import numpy as np

from sigmastar.core.arrays import Floats, Int32s, Int64s
from sigmastar.core.jit import kernel, part
from sigmastar.dependency.kernels.arc_features import (
    LEAST,
    Averaged,
    Places,
    Trees,
    distance_bin,
    factor,
    factors,
    put,
    room_for_places,
    step,
)
from sigmastar.dependency.kernels.grandparents import Links

_AT_ONCE = 8  # parts of trees whose places are found before theta is read: memory then answers side by side


@kernel
def _way_indicators(words: Int64s, h: int, s: int, m: int, places: Places, n: int) -> int:
    """Places in theta, from the n-th on, of the indicators of sibling s (0: none), then m, under h."""
    side = 1 if m > h else 0
    gap = 2 * distance_bin(abs(m - s)) + side if s > 0 else side
    ht, hu, hw = words[h, 0], words[h, 1], words[h, 2]
    st, su, sw = words[s, 0], words[s, 1], words[s, 2]  # of the root where there is none
    mt, mu, mw = words[m, 0], words[m, 1], words[m, 2]
    for near in (side, gap + 2):
        n = put(places, n, 50, near, ht, st, mt, 0)
        n = put(places, n, 51, near, hu, su, mu, 0)
        n = put(places, n, 52, near, st, mt, 0, 0)
        n = put(places, n, 53, near, su, mu, 0, 0)
    if hw >= 0:
        n = put(places, n, 54, side, hw, st, mt, 0)
        n = put(places, n, 55, side, hw, su, mu, 0)
    if sw >= 0:
        n = put(places, n, 56, side, sw, mt, 0, 0)
        n = put(places, n, 57, side, sw, hu, mt, 0)
    if mw >= 0:
        n = put(places, n, 58, side, mw, st, 0, 0)
        n = put(places, n, 59, side, mw, hu, st, 0)
        if sw >= 0:
            n = put(places, n, 60, side, sw, mw, 0, 0)
    return n


@kernel
def weigh_ways(words: Int64s, starts: Int64s, at: Int64s, ways: Int32s, theta: Floats) -> Floats:
    """The weight of each way; those of sentence q are `at[q]:at[q + 1]`."""
    places, ends = room_for_places(theta, _AT_ONCE), np.empty(_AT_ONCE, np.int64)
    weights = np.empty(len(ways))
    for q in range(len(starts) - 1):
        rows = words[starts[q] : starts[q + 1]]
        for begin in range(at[q], at[q + 1], _AT_ONCE):
            some, n = weights[begin : min(begin + _AT_ONCE, at[q + 1])], 0
            for k in range(len(some)):
                h, sibling, m = ways[begin + k]
                n = _way_indicators(rows, h, sibling, m, places, n)
                ends[k] = n
            factors(theta, places, ends, some)
    return weights


@part
def _gold_siblings(heads: Int32s) -> Int32s:
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
    trees: Trees, at: Int64s, ways: Int32s, expected: Floats, trained: Averaged, rate: float, time: float
) -> None:
    """The step of `ascend` for ways, of which `expected` are the marginals."""
    places, starts = room_for_places(trained.theta, 1), trees.starts
    for q in np.flatnonzero(trees.usable):
        rows, tops = trees.words[starts[q] : starts[q + 1]], trees.heads[starts[q] : starts[q + 1]]
        siblings = _gold_siblings(tops)
        for w in range(at[q], at[q + 1]):
            h, sibling, m = ways[w]
            slope = (1.0 if tops[m] == h and siblings[m] == sibling else 0.0) - expected[w]
            if abs(slope) >= LEAST:
                count = _way_indicators(rows, h, sibling, m, places, 0)
                step(trained, places, count, slope, rate, time)


@kernel
def _stop_indicators(words: Int64s, h: int, e: int, places: Places) -> int:
    """Places in theta of the indicators of stopping after e; 0 and h: with no modifier to the left, right."""
    ht, hu, hw = words[h, 0], words[h, 1], words[h, 2]
    n = 0
    if e == h or e == 0:
        side = 1 if e == h else 0
        beside = h + 2 * side - 1
        near = words[beside, 0] if 0 <= beside < len(words) else -2
        n = put(places, n, 75, side, ht, 0, 0, 0)
        n = put(places, n, 76, side, hu, near, 0, 0)
        n = put(places, n, 77, side, ht, near, 0, 0)
        return put(places, n, 78, side, hw, 0, 0, 0) if hw >= 0 else n
    side = 1 if e > h else 0
    et, eu, ew = words[e, 0], words[e, 1], words[e, 2]
    n = put(places, n, 70, side, ht, et, 0, 0)
    n = put(places, n, 71, side, hu, eu, 0, 0)
    if hw >= 0:
        n = put(places, n, 72, side, hw, eu, 0, 0)
    if ew >= 0:
        n = put(places, n, 73, side, ew, hu, 0, 0)
    return n


@part
def _is_stop(h: int, e: int, weight: float) -> bool:
    """Whether head h may stop after e: an arc, or one of the two places of none."""
    return e == h or (e == 0 and h > 0) or weight != 0.0


@kernel
def weigh_stops(words: Int64s, starts: Int64s, weights: Floats, at: Int64s, theta: Floats) -> Floats:
    """The weights of stops, flat, each sentence as [head, last modifier]; of arcs of no weight 1."""
    places, stops = room_for_places(theta, 1), np.ones(len(weights))
    for q in range(len(starts) - 1):
        rows = words[starts[q] : starts[q + 1]]
        n = len(rows)
        for h in range(n):
            for e in range(n):
                place = at[q] + h * n + e
                if _is_stop(h, e, weights[place]):
                    stops[place] = factor(theta, places, _stop_indicators(rows, h, e, places))
    return stops


@part
def _gold_stops(heads: Int32s) -> Int32s:
    """The last modifiers of each position, to the left and to the right: itself where there is none."""
    n = len(heads)
    last = np.zeros((n, 2), np.int32)
    for h in range(n):
        last[h, 1] = h
    for m in range(1, n):
        if m > heads[m]:
            last[heads[m], 1] = m
    for m in range(n - 1, 0, -1):
        if m < heads[m]:
            last[heads[m], 0] = m
    return last


@kernel
def ascend_stops(
    trees: Trees, at: Int64s, expected: Floats, trained: Averaged, rate: float, time: float
) -> None:
    """The step of `ascend` for stops, of which `expected` are the marginals."""
    places, starts = room_for_places(trained.theta, 1), trees.starts
    for q in np.flatnonzero(trees.usable):
        rows = trees.words[starts[q] : starts[q + 1]]
        last, n = _gold_stops(trees.heads[starts[q] : starts[q + 1]]), len(rows)
        for h in range(n):
            for e in range(n):
                is_gold = e == last[h, 1] if e >= h else e == last[h, 0]
                slope = (1.0 if is_gold else 0.0) - expected[at[q] + h * n + e]
                if abs(slope) >= LEAST and (h > 0 or e > 0):
                    step(trained, places, _stop_indicators(rows, h, e, places), slope, rate, time)


@kernel
def _grand_indicators(words: Int64s, g: int, h: int, m: int, places: Places, n: int) -> int:
    """Places in theta, from the n-th on, of the indicators of m under h under g."""
    side = (1 if m > h else 0) + (2 if (g > h) == (m > h) else 0)
    gt, gu, gw = words[g, 0], words[g, 1], words[g, 2]
    ht, hu, hw = words[h, 0], words[h, 1], words[h, 2]
    mt, mu, mw = words[m, 0], words[m, 1], words[m, 2]
    n = put(places, n, 80, side, gt, ht, mt, 0)
    n = put(places, n, 81, side, gu, hu, mu, 0)
    n = put(places, n, 82, side, gt, mt, 0, 0)
    if gw >= 0:
        n = put(places, n, 84, side, gw, hu, mu, 0)
        n = put(places, n, 85, side, gw, mt, 0, 0)
    if hw >= 0:
        n = put(places, n, 86, side, gu, hw, mu, 0)
    if mw >= 0:
        n = put(places, n, 87, side, gu, hu, mw, 0)
        n = put(places, n, 88, side, gt, mw, 0, 0)
        if gw >= 0:
            n = put(places, n, 89, side, gw, mw, 0, 0)
        if hw >= 0:
            n = put(places, n, 90, side, gu, hw, mw, 0)
    return n


@kernel
def weigh_grands(words: Int64s, starts: Int64s, links: Links, theta: Floats) -> Floats:
    """The weight of each grandparent of each arc."""
    places, ends = room_for_places(theta, _AT_ONCE), np.empty(_AT_ONCE, np.int64)
    weights = np.ones(links.begins[-1])
    for q in range(len(starts) - 1):
        rows = words[starts[q] : starts[q + 1]]
        for m in range(1, len(rows)):
            for arc in range(links.firsts[starts[q] + m], links.firsts[starts[q] + m + 1]):
                h, end = links.heads[arc], links.begins[arc + 1]
                shift = links.firsts[starts[q] + h] - links.begins[arc]
                for begin in range(links.begins[arc] if h > 0 else end, end, _AT_ONCE):
                    some, n = weights[begin : min(begin + _AT_ONCE, end)], 0
                    for k in range(len(some)):
                        n = _grand_indicators(rows, links.heads[shift + begin + k], h, m, places, n)
                        ends[k] = n
                    factors(theta, places, ends, some)
    return weights


@kernel
def ascend_grands(
    trees: Trees, links: Links, expected: Floats, trained: Averaged, rate: float, time: float
) -> None:
    """The step of `ascend` for grandparents, of which `expected` are the marginals."""
    places, starts = room_for_places(trained.theta, 1), trees.starts
    for q in np.flatnonzero(trees.usable):
        rows, tops = trees.words[starts[q] : starts[q + 1]], trees.heads[starts[q] : starts[q + 1]]
        for m in range(1, len(rows)):
            for arc in range(links.firsts[starts[q] + m], links.firsts[starts[q] + m + 1]):
                h = links.heads[arc]
                first = links.firsts[starts[q] + h]
                for number in range(links.begins[arc + 1] - links.begins[arc] if h > 0 else 0):
                    g = links.heads[first + number]
                    is_gold = tops[m] == h and tops[h] == g
                    slope = (1.0 if is_gold else 0.0) - expected[links.begins[arc] + number]
                    if abs(slope) >= LEAST:
                        count = _grand_indicators(rows, g, h, m, places, 0)
                        step(trained, places, count, slope, rate, time)
