"""Arcs that are possible under a small grammar: marginals of head automata that only tell the first modifier
from later ones.

The two states of DET+F, before the first modifier and after it, follow from the place of an arc, so that the
recursions of `inside_outside` need no vectors. With a = first / stop_first and b = rest / stop_rest,

    S[i, j] = sum_k t[i, k] t[j, k+1]                          f[h, e] = t[h, h] t[e, h+1]
    P[h, e] = w[h, e] (a f[h, e] + b (S[h, e] - f[h, e])) stop_rest_h
    t[h, e] = sum_k P[h, k] t[k, e]

and S is that of `inside_outside`, and here serves both directions. Arcs whose marginal stays below a
threshold get the weight zero; all others keep theirs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sigmastar.core.arrays import Floats, Int32s, Int64s
from sigmastar.core.jit import fast_kernel, part
from sigmastar.dependency.kernels.inside_outside import LEFT, MOST_RESTARTS, RIGHT, dot

MOST_HEADS = 32  # of a word that are not ruled out: long sentences of few symbols would keep all


class FirstAndRest(NamedTuple):
    """DET+F as tables by sort: what a first and a later modifier weigh, each over its stop; both stops."""

    first: Floats  # sorts x symbols
    rest: Floats
    stop_first: Floats  # sorts
    stop_rest: Floats


class Chart(NamedTuple):
    arcs: Floats  # head, end
    halves: Floats  # direction, head, end
    by_end: Floats  # direction, end, head
    pairs: Floats


@fast_kernel
def _room(n: int) -> Chart:
    return Chart(
        np.zeros((n + 1, n + 1)),
        np.zeros((2, n + 1, n + 1)),
        np.zeros((2, n + 1, n + 1)),
        np.zeros((n + 1, n + 1)),
    )


@part
def _tables(codes: Int32s, counted: FirstAndRest, weights: Floats, scales: Floats) -> tuple[Floats, Floats]:
    """The weights of all arcs, [head, modifier], as a first and as a later modifier."""
    n = len(codes)
    first, rest = np.zeros((n, n)), np.zeros((n, n))
    for h in range(n):
        for e in range(1, n):
            if e != h:
                sort = 2 * codes[h] + (1 if h > 0 and e > h else 0)
                factor = weights[h, e] * scales[e] * counted.stop_rest[sort]
                first[h, e] = factor * counted.first[sort, codes[e]]
                rest[h, e] = factor * counted.rest[sort, codes[e]]
    return first, rest


@part
def _inside(
    codes: Int32s, counted: FirstAndRest, first: Floats, rest: Floats, chart: Chart
) -> tuple[int, float]:
    """Fill the chart. Returns (0, 0.0), or the width and the size at which values left a safe range."""
    n = len(codes) - 1
    arcs, halves, by_end, pairs = chart
    for i in range(n + 1):
        for d in range(LEFT if i > 0 else RIGHT, 2):
            halves[d, i, i] = by_end[d, i, i] = counted.stop_first[2 * codes[i] + (d if i > 0 else 0)]
    for width in range(1, n + 1):
        largest = 0.0
        for i in range(n - width + 1):
            j = i + width
            pairs[i, j] = dot(halves[RIGHT, i, i:j], halves[LEFT, j, i + 1 : j + 1])
            near = halves[RIGHT, i, i] * halves[LEFT, j, i + 1]
            arcs[i, j] = first[i, j] * near + rest[i, j] * (pairs[i, j] - near)
            value = dot(arcs[i, i + 1 : j + 1], by_end[RIGHT, j, i + 1 : j + 1])
            halves[RIGHT, i, j] = by_end[RIGHT, j, i] = value
            largest = max(largest, value)
            if i > 0:
                near = halves[RIGHT, i, j - 1] * halves[LEFT, j, j]
                arcs[j, i] = first[j, i] * near + rest[j, i] * (pairs[i, j] - near)
                value = dot(arcs[j, i:j], by_end[LEFT, i, i:j])
                halves[LEFT, j, i] = by_end[LEFT, i, j] = value
                largest = max(largest, value)
        if largest > 1e100 or 0.0 < largest < 1e-100:
            return width, largest
    return 0, 0.0


@part
def _outside(n: int, first: Floats, rest: Floats, chart: Chart, slopes: Chart) -> None:
    """dZ/dP of all arcs, from wide to narrow."""
    arcs, halves, by_end, _ = chart
    rising, outer, outer_by_end, _ = slopes
    outer[RIGHT, 0, n] = 1.0
    for width in range(n, 0, -1):
        for i in range(n - width + 1):
            j = i + width
            slope = outer[RIGHT, i, j] + outer_by_end[RIGHT, j, i]
            up, down, inner, ends = rising[i], arcs[i], by_end[RIGHT, j], outer_by_end[RIGHT, j]
            for k in range(i + 1, j + 1):
                up[k] += slope * inner[k]
                ends[k] += slope * down[k]
            total = up[j] * rest[i, j]
            near = up[j] * first[i, j] - total
            outer[RIGHT, i, i] += near * halves[LEFT, j, i + 1]
            outer[LEFT, j, i + 1] += near * halves[RIGHT, i, i]
            if i > 0:
                slope = outer[LEFT, j, i] + outer_by_end[LEFT, i, j]
                up, down, inner, ends = rising[j], arcs[j], by_end[LEFT, i], outer_by_end[LEFT, i]
                for k in range(i, j):
                    up[k] += slope * inner[k]
                    ends[k] += slope * down[k]
                near = up[i] * (first[j, i] - rest[j, i])
                total += up[i] * rest[j, i]
                outer[RIGHT, i, j - 1] += near * halves[LEFT, j, j]
                outer[LEFT, j, j] += near * halves[RIGHT, i, j - 1]
            one, two, left, right = outer[RIGHT, i], outer[LEFT, j], halves[RIGHT, i], halves[LEFT, j]
            for k in range(i, j):
                one[k] += total * right[k + 1]
                two[k + 1] += total * left[k]


@part
def counted_marginals(
    codes: Int32s, counted: FirstAndRest, weights: Floats, start_scales: Floats
) -> tuple[float, Floats]:
    """Z up to its scale, and the marginals [head, modifier]; zeros where there is no Z."""
    n = len(codes) - 1
    chart, slopes = _room(n), _room(n)
    scales = start_scales.copy()
    first, rest = _tables(codes, counted, weights, scales)
    for _ in range(MOST_RESTARTS):
        width, size = _inside(codes, counted, first, rest, chart)
        if width == 0:
            break
        factor = size ** (-1.0 / width)
        first *= factor
        rest *= factor
    total = chart.halves[RIGHT, 0, n]
    if width != 0 or not (0.0 < total < np.inf):
        return 0.0, np.zeros((n + 1, n + 1))
    _outside(n, first, rest, chart, slopes)
    return total, chart.arcs * slopes.arcs / total


@part
def _least(marginals: Floats, threshold: float) -> float:
    """The threshold, or a larger one where more than `MOST_HEADS` are above it."""
    count = 0
    for h in range(len(marginals)):
        count += marginals[h] >= threshold
    if count <= MOST_HEADS:
        return threshold
    largest = np.zeros(MOST_HEADS)  # from the largest down: few enough to be put in order one by one
    for h in range(len(marginals)):
        k = MOST_HEADS
        while k > 0 and largest[k - 1] < marginals[h]:
            k -= 1
            if k + 1 < MOST_HEADS:
                largest[k + 1] = largest[k]
            largest[k] = marginals[h]
    return largest[MOST_HEADS - 1]  # type: ignore[no-any-return]


@fast_kernel
def prune(
    codes: Int32s,
    offsets: Int64s,
    counted: FirstAndRest,
    weights: Floats,
    at: Int64s,
    scales: Floats,
    threshold: float,
) -> None:
    """Set the weights of improbable arcs to zero; `weights` lies flat, each sentence as [head, modifier].

    Ties aside, no more than `MOST_HEADS` of a word are left.
    """
    root = counted.first.shape[1]
    for q in range(len(offsets) - 1):
        start, end = offsets[q], offsets[q + 1]
        n = end - start
        words, factors = np.empty(n + 1, np.int32), np.ones(n + 1)
        words[0] = root
        for i in range(end - start):
            words[i + 1] = codes[start + i]
        for i in range(n):
            factors[i + 1] = scales[codes[start + i]]
        arcs = weights[at[q] : at[q + 1]].reshape((n + 1, n + 1))
        total, marginals = counted_marginals(words, counted, arcs, factors)
        if total > 0.0:
            for e in range(n + 1):
                least = _least(marginals[:, e], threshold)
                for h in range(n + 1):
                    if marginals[h, e] < least:
                        arcs[h, e] = 0.0
