"""Sums over all projective trees where arcs, siblings, stops and grandparents have weights.

    weight(tree) = product over arcs h -> e of  w[h, e] grand[g, h, e] way[h, l, e]
                   and over heads and sides of  stop[h, last modifier]

with g the head of h, and l the modifier of h next to e towards h, or none (model 1 of Koo and Collins 2010).
Half trees know the arc that they hang on: t[a, e] is what half trees of h weigh whose words end at e, where
a = (g, h); S[h, l, e] what the words between two siblings weigh; M[a, e] the part of h up to its modifier e.
To the right, and mirrored to the left,

    t[a, h]    = stop[h, none]                   S[h, l, e] = sum_k t[(h, l), k] t[(h, e), k+1]   k = l .. e-1
    M[a, e]    = w[h, e] grand[a, e] (way[h, none, e] t[(h, e), h+1] + sum_l M[a, l] way[h, l, e] S[h, l, e])
    t[a, e]    = sum_k M[a, k] stop[h, k] t[(h, k), e]                                            h < k <= e

Only arcs that are not ruled out by a weight of zero are there, so that all sums go over few terms: with K
arcs into each word and out of it, a sentence of N words costs O(N^2 K^2). The root has an arc of its own. The
outside pass is the derivative of log Z; expectations are values times derivatives by them.

Scale: every word is a modifier once, so a factor for each word multiplies all trees alike. When values leave
a safe range the factors are changed and the inside pass begins anew.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sigmastar.core.arrays import Floats, Int32s, Int64s
from sigmastar.core.jit import fast_kernel, kernel, part
from sigmastar.dependency.kernels.inside_outside import LEFT, MOST_RESTARTS, RIGHT


class Links(NamedTuple):
    """Arcs that are not ruled out, and the pairs of arcs that follow each other.

    Arcs are in the order of their modifiers, those of one modifier from the first head on; positions of all
    sentences lie one after the other, and the first of each sentence, its root, has one arc from nowhere.
    """

    numbers: Int64s  # of arcs; flat, each sentence as [head, modifier]; -1: there is none
    heads: Int32s  # of arcs, within their sentence; -1 for the root
    firsts: Int64s  # arcs: the first of each position
    begins: Int64s  # grandparents: the first of each arc, in the order of the arcs into its head


class Factors(NamedTuple):
    """Weights of arcs, of ways and stops (as `model.arcs` lays them), and of grandparents."""

    arcs: Floats
    way_starts: Int64s
    ways: Floats
    stops: Floats
    grands: Floats


class Sums(NamedTuple):
    """Logarithms of Z, -inf where there is no tree, and the expectations of all factors."""

    logs: Floats
    arcs: Floats
    ways: Floats
    stops: Floats
    grands: Floats


class _Sentence(NamedTuple):
    """What the passes read: tables [head, modifier], `firsts` of positions, and lists over all sentences."""

    numbers: Int64s
    firsts: Int64s
    begins: Int64s
    arcs: Floats
    way_starts: Int64s
    ways: Floats
    stops: Floats
    grands: Floats


class _Values(NamedTuple):
    """Values, or derivatives by them. Arcs are counted from the first of the sentence, M, S from nowhere."""

    halves: Floats  # t: direction, end, arc
    modified: Floats  # M: grandparents
    between: Floats  # way times S: ways


class _Room(NamedTuple):
    """Values, derivatives, and the modifiers of each head and direction that are there, the nearest first."""

    values: _Values
    slopes: _Values
    modifiers: Int32s  # direction, head, number
    counts: Int32s  # direction, head


@kernel
def link_arcs(weights: Floats, offsets: Int64s) -> Links:
    """The links of all arcs whose weight is not zero; `weights` lies flat."""
    n_arcs = len(offsets) - 1
    for place in range(len(weights)):
        n_arcs += weights[place] != 0.0
    numbers, heads = np.full(len(weights), -1, np.int64), np.full(n_arcs, -1, np.int32)
    firsts, begins = np.zeros(offsets[-1] + len(offsets), np.int64), np.zeros(n_arcs + 1, np.int64)
    low = at = arc = 0
    for q in range(len(offsets) - 1):
        n = offsets[q + 1] - offsets[q] + 1
        for e in range(n):
            arc += e == 0
            for h in range(n):
                place = low + h * n + e
                if e > 0 and h != e and weights[place] != 0.0:
                    numbers[place], heads[arc] = arc, h
                    arc += 1
            firsts[at + e + 1] = arc
        for e in range(n):
            for b in range(firsts[at + e], firsts[at + e + 1]):
                above = at + heads[b]
                begins[b + 1] = begins[b] + (firsts[above + 1] - firsts[above] if e > 0 else 0)
        low += n * n
        at += n
    return Links(numbers, heads[:arc], firsts, begins[: arc + 1])


@part
def _fill_arc(sentence: _Sentence, room: _Room, d: int, h: int, e: int, scale: float) -> None:
    """M of the arc from h to e under all arcs into h, and e among the modifiers."""
    halves, modified, between = room.values
    numbers, first, origin = sentence.numbers, sentence.firsts[h], sentence.firsts[0]
    arc, way, count = numbers[h, e], sentence.way_starts[h, e], room.counts[d, h]
    n_above, begin = sentence.firsts[h + 1] - first, sentence.begins[arc]
    near = h + 1 if d == RIGHT else h - 1
    value = sentence.ways[way + count] * halves[1 - d, near, arc - origin]
    for g in range(n_above):
        modified[begin + g] = value
    for number in range(count):
        sibling = numbers[h, room.modifiers[d, h, number]]
        low, high = min(e, room.modifiers[d, h, number]), max(e, room.modifiers[d, h, number])
        one, two = (sibling - origin, arc - origin) if d == RIGHT else (arc - origin, sibling - origin)
        value = 0.0
        for k in range(low, high):
            value += halves[RIGHT, k, one] * halves[LEFT, k + 1, two]
        value *= sentence.ways[way + number]
        between[way + number] = value
        before = sentence.begins[sibling]
        for g in range(n_above):
            modified[begin + g] += value * modified[before + g]
    weight = sentence.arcs[h, e] * scale
    for g in range(n_above):
        modified[begin + g] *= weight * sentence.grands[begin + g]
    room.modifiers[d, h, count] = e
    room.counts[d, h] = count + 1


@part
def _fill_halves(sentence: _Sentence, room: _Room, d: int, h: int, e: int) -> float:
    """t of h and e under all arcs into h; the largest of them."""
    halves, modified, _ = room.values
    origin = sentence.firsts[0]
    above, n_above = sentence.firsts[h] - origin, sentence.firsts[h + 1] - sentence.firsts[h]
    for number in range(room.counts[d, h]):
        k = room.modifiers[d, h, number]
        arc = sentence.numbers[h, k]
        factor, begin = sentence.stops[h, k] * halves[d, e, arc - origin], sentence.begins[arc]
        if factor != 0.0:
            for g in range(n_above):
                halves[d, e, above + g] += factor * modified[begin + g]
    largest = 0.0
    for g in range(n_above):
        largest = max(largest, halves[d, e, above + g])
    return largest


@part
def _inside(sentence: _Sentence, room: _Room, scales: Floats) -> tuple[int, float]:
    """Fill all values. Returns (0, 0.0), or the width and the size at which they left a safe range."""
    n, halves, origin = len(sentence.numbers) - 1, room.values.halves, sentence.firsts[0]
    room.counts[:] = 0
    halves[:] = 0.0
    for h in range(n + 1):
        for d in range(LEFT if h > 0 else RIGHT, 2):
            for arc in range(sentence.firsts[h] - origin, sentence.firsts[h + 1] - origin):
                halves[d, h, arc] = sentence.stops[h, h * d]
    for width in range(1, n + 1):
        largest = 0.0
        for low in range(n - width + 1):
            for d in range(LEFT if low > 0 else RIGHT, 2):
                h, e = (low, low + width) if d == RIGHT else (low + width, low)
                if sentence.numbers[h, e] >= 0:
                    _fill_arc(sentence, room, d, h, e, scales[e])
                largest = max(largest, _fill_halves(sentence, room, d, h, e))
        if largest > 1e100 or 0.0 < largest < 1e-100:
            return width, largest
    return 0, 0.0


@part
def _spread_halves(sentence: _Sentence, room: _Room, stopped: Floats, d: int, h: int, e: int) -> None:
    """From the derivatives by t of h and e to what they were made of."""
    origin = sentence.firsts[0]
    above, n_above = sentence.firsts[h] - origin, sentence.firsts[h + 1] - sentence.firsts[h]
    values, slopes = room.values, room.slopes
    for number in range(room.counts[d, h]):
        k = room.modifiers[d, h, number]
        arc = sentence.numbers[h, k]
        half, stop, begin = values.halves[d, e, arc - origin], sentence.stops[h, k], sentence.begins[arc]
        if half != 0.0:
            total, factor = 0.0, stop * half
            for g in range(n_above):
                slope = slopes.halves[d, e, above + g]
                total += slope * values.modified[begin + g]
                slopes.modified[begin + g] += slope * factor
            slopes.halves[d, e, arc - origin] += total * stop
            stopped[h, k] += total * factor


@part
def _spread_arc(
    sentence: _Sentence, room: _Room, expected: Sums, d: int, h: int, e: int, scale: float
) -> float:
    """The same for M of h and e, which was the last modifier; the expectation of the arc."""
    values, slopes, origin = room.values, room.slopes, sentence.firsts[0]
    arc, way, count = sentence.numbers[h, e], sentence.way_starts[h, e], room.counts[d, h] - 1
    room.counts[d, h] = count
    n_above, begin = sentence.firsts[h + 1] - sentence.firsts[h], sentence.begins[arc]
    marginal, total, weight = 0.0, 0.0, sentence.arcs[h, e] * scale
    for g in range(n_above):
        slope = slopes.modified[begin + g]
        expected.grands[begin + g] = slope * values.modified[begin + g]
        marginal += expected.grands[begin + g]
        slopes.modified[begin + g] = slope * weight * sentence.grands[begin + g]  # by what is in brackets
        total += slopes.modified[begin + g]
    near, none = h + 1 if d == RIGHT else h - 1, way + count
    expected.ways[none] = total * sentence.ways[none] * values.halves[1 - d, near, arc - origin]
    slopes.halves[1 - d, near, arc - origin] += total * sentence.ways[none]
    for number in range(count):
        beside = room.modifiers[d, h, number]
        sibling, between, total = sentence.numbers[h, beside], values.between[way + number], 0.0
        before = sentence.begins[sibling]
        for g in range(n_above):
            total += slopes.modified[begin + g] * values.modified[before + g]
            slopes.modified[before + g] += slopes.modified[begin + g] * between
        expected.ways[way + number] = total * between
        total *= sentence.ways[way + number]
        one, two = (sibling - origin, arc - origin) if d == RIGHT else (arc - origin, sibling - origin)
        for k in range(min(beside, e), max(beside, e)):
            slopes.halves[RIGHT, k, one] += total * values.halves[LEFT, k + 1, two]
            slopes.halves[LEFT, k + 1, two] += total * values.halves[RIGHT, k, one]
    return marginal


@part
def _outside(
    sentence: _Sentence, room: _Room, scales: Floats, expected: Sums, arcs: Floats, stopped: Floats
) -> None:
    """Derivatives of log Z by all values, from wide to narrow, and expectations."""
    n, halves, slopes = len(sentence.numbers) - 1, room.values.halves, room.slopes.halves
    origin = sentence.firsts[0]
    slopes[RIGHT, n, 0] = 1.0 / halves[RIGHT, n, 0]
    for width in range(n, 0, -1):
        for low in range(n - width, -1, -1):
            for d in range(LEFT if low > 0 else RIGHT, 2):
                h, e = (low, low + width) if d == RIGHT else (low + width, low)
                _spread_halves(sentence, room, stopped, d, h, e)
                if sentence.numbers[h, e] >= 0:
                    arcs[h, e] = _spread_arc(sentence, room, expected, d, h, e, scales[e])
    for h in range(n + 1):
        for d in range(LEFT if h > 0 else RIGHT, 2):
            for arc in range(sentence.firsts[h] - origin, sentence.firsts[h + 1] - origin):
                stopped[h, h * d] += slopes[d, h, arc] * halves[d, h, arc]


@part
def _first_scales(arcs: Floats) -> Floats:
    """Factors of words that bring their heaviest arcs to one."""
    scales = np.ones(len(arcs))
    for e in range(1, len(arcs)):
        heaviest = arcs[:, e].max()
        if heaviest > 0.0:
            scales[e] = 1.0 / heaviest
    return scales


@part
def _sum_sentence(sentence: _Sentence, room: _Room, expected: Sums, arcs: Floats, stopped: Floats) -> float:
    """The logarithm of Z; expectations are filled in."""
    n, scales = len(sentence.numbers) - 1, _first_scales(sentence.arcs)
    for _ in range(MOST_RESTARTS):
        width, size = _inside(sentence, room, scales)
        if width == 0:
            break
        factor = size ** (-1.0 / width)
        for e in range(1, n + 1):
            scales[e] *= factor
    total = room.values.halves[RIGHT, n, 0]
    if width != 0 or not 0.0 < total < np.inf:
        return -np.inf
    _outside(sentence, room, scales, expected, arcs, stopped)
    log: float = np.log(total)
    for e in range(1, n + 1):
        log -= np.log(scales[e])
    return log


@fast_kernel
def sum_trees(offsets: Int64s, links: Links, factors: Factors) -> Sums:
    """What all trees of each sentence weigh together, and the expectations of all factors."""
    n_ways, n_grands = len(factors.ways), len(factors.grands)
    expected = Sums(
        np.full(len(offsets) - 1, -np.inf),
        np.zeros(len(factors.arcs)),
        np.zeros(n_ways),
        np.zeros(len(factors.arcs)),
        np.zeros(n_grands),
    )
    modified, between = np.zeros(n_grands), np.zeros(n_ways)
    rising, nothing = np.zeros(n_grands), np.zeros(0)
    low = 0
    for q in range(len(offsets) - 1):
        n = offsets[q + 1] - offsets[q] + 1
        here, firsts = slice(low, low + n * n), links.firsts[offsets[q] + q : offsets[q] + q + n + 1]
        sentence = _Sentence(
            links.numbers[here].reshape((n, n)),
            firsts,
            links.begins,
            factors.arcs[here].reshape((n, n)),
            factors.way_starts[here].reshape((n, n)),
            factors.ways,
            factors.stops[here].reshape((n, n)),
            factors.grands,
        )
        shape = (2, n, firsts[n] - firsts[0])
        room = _Room(
            _Values(np.empty(shape), modified, between),
            _Values(np.zeros(shape), rising, nothing),
            np.empty((2, n, n), np.int32),
            np.zeros((2, n), np.int32),
        )
        expected.logs[q] = _sum_sentence(
            sentence,
            room,
            expected,
            expected.arcs[here].reshape((n, n)),
            expected.stops[here].reshape((n, n)),
        )
        low += n * n
    return expected
