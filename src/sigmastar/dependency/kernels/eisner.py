"""Inside-outside for head automata with hidden states (section 4 of Luque et al. 2012), by pairs of siblings.

t[h, e] is the weight of a half-constituent: head h with modifiers on one side whose words end at e, stopped.
S[i, j] is that of the words from i to j as a right half of i and a left half of j, which lie between two
siblings i and j whoever their head is; P[h, e] is the state vector of the automaton of h just after modifier
e. To the right, and mirrored to the left,

    t[h, h] = initial_h . final_h                 S[i, j] = sum_k t[i, k] t[j, k+1]         k = i .. j-1
    P[h, e] = (initial_h t[e, h+1] + sum_l P[h, l] S[l, e]) A_e                             h < l < e
    t[h, e] = sum_k P[h, k] . final_h t[k, e]                                               h < k <= e

These are equations 18 to 20 with the triangles put into the trapezoids: sums over the end of a half no longer
carry states. A sentence of N words costs O(N^3) scalar and, for M arcs that are not ruled out by a weight of
zero, n states and s siblings on the way, O(M (s n + n^2)). Z = t[0, N]; the outside pass is the derivative of
log Z, and the marginal of an arc is P[h, e] . d log Z / dP[h, e].

A second, deterministic automaton may be multiplied in: its state is the class of the last modifier (0
before the first), its weights are `weights[class, head, modifier]` and `stops[class, direction, head]`.
Each term of the second equation, a way to come to e, may have a weight of its own (`Ways`).

Scale: every word is a modifier once, so a factor for each word multiplies all trees alike. When values
leave a safe range the factors are changed and the inside pass begins anew.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sigmastar.core.jit import fast_kernel, part
from sigmastar.dependency.kernels.items import Automata, Items, Sentence, Siblings, Ways

__all__ = ["Automata", "Ways", "all_marginals", "sentence_marginals"]

Array = NDArray[np.float64]
Codes = NDArray[np.int32]
Longs = NDArray[np.int64]

LEFT, RIGHT = 0, 1
_MOST_RESTARTS = 30


@fast_kernel
def _room(n: int, n_states: int) -> Items:
    return Items(
        np.empty((n + 1, n + 1, n_states)),  # where there are arcs they are set
        np.zeros((n + 1, n + 1)),
        np.zeros((2, n + 1, n + 1)),
        np.zeros((2, n + 1, n + 1)),
        np.zeros((n + 1, n + 1)),
    )


@part
def _sort(code: int, head: int, direction: int) -> int:
    return 2 * code + (direction if head > 0 else 0)


@fast_kernel
def _dot(one: Array, two: Array) -> float:
    total = 0.0
    for s in range(len(one)):
        total += one[s] * two[s]
    return total


@fast_kernel
def _is_open(weights: Array, head: int, end: int) -> bool:
    total = 0.0
    for c in range(weights.shape[0]):
        total += abs(weights[c, head, end])
    return total != 0.0


@part
def _fill_states(
    sentence: Sentence, automata: Automata, items: Items, siblings: Siblings, scale: float,
    d: int, head: int, end: int, mixed: Array,
) -> None:  # fmt: skip
    """P[head, end], its weight when it stops, and `end` among the siblings."""
    sort = _sort(sentence.codes[head], head, d)
    m, count, result = automata.n_states[sort], siblings.counts[d, head], items.states[head, end]
    initial, operator = automata.initial[sort], automata.operators[sort, sentence.codes[end]]
    near = head + 1 if d == RIGHT else head - 1
    half = items.halves[1 - d, end, near] * sentence.weights[0, head, end] * scale
    way, trained = sentence.ways.starts[head, end], len(sentence.ways.weights) > 0
    if trained:
        half *= sentence.ways.weights[way + count]
    for s in range(m):
        mixed[s] = half * initial[s]
    for number in range(count):
        word = siblings.words[d, head, number]
        factor = items.pairs[end, word] * sentence.weights[sentence.classes[word], head, end] * scale
        if trained:
            factor *= sentence.ways.weights[way + number]
        before = items.states[head, word]
        for s in range(m):
            mixed[s] += factor * before[s]
    result[:m] = 0.0
    for s in range(m):
        factor, row = mixed[s], operator[s]
        for t in range(m):
            result[t] += factor * row[t]
    stop = sentence.stops[sentence.classes[end], d, head]
    items.ended[head, end] = stop * _dot(result[:m], automata.final[sort, :m])
    siblings.words[d, head, count] = end
    siblings.counts[d, head] = count + 1


@part
def _inside(
    sentence: Sentence, automata: Automata, scales: Array, items: Items, siblings: Siblings, mixed: Array
) -> tuple[int, float]:
    """Fill all items. Returns (0, 0.0), or the width and the size at which values left a safe range."""
    n = len(sentence.codes) - 1
    halves, by_end = items.halves, items.halves_by_end
    siblings.counts[:] = 0
    items.ended[:] = 0.0
    for i in range(n + 1):
        for d in range(LEFT if i > 0 else RIGHT, 2):
            sort = _sort(sentence.codes[i], i, d)
            value = sentence.stops[0, d, i] * _dot(automata.initial[sort], automata.final[sort])
            halves[d, i, i] = by_end[d, i, i] = value
    for width in range(1, n + 1):
        largest = 0.0
        for i in range(n - width + 1):
            j = i + width
            value = _dot(halves[RIGHT, i, i:j], halves[LEFT, j, i + 1 : j + 1])
            items.pairs[i, j] = items.pairs[j, i] = value
            for d in range(LEFT if i > 0 else RIGHT, 2):
                head, end, far = (i, j, i + 1) if d == RIGHT else (j, i, i)
                if _is_open(sentence.weights, head, end):
                    _fill_states(sentence, automata, items, siblings, scales[end], d, head, end, mixed)
                value = _dot(items.ended[head, far : far + width], by_end[d, end, far : far + width])
                halves[d, head, end] = by_end[d, end, head] = value
                largest = max(largest, abs(value))
        if largest > 1e100 or 0.0 < largest < 1e-100:
            return width, largest
    return 0, 0.0


@part
def _spread_states(
    sentence: Sentence, automata: Automata, items: Items, slopes: Items, siblings: Siblings, scale: float,
    d: int, head: int, end: int, lifted: Array, expected: Array,
) -> float:  # fmt: skip
    """From the derivative by P[head, end] to the items that it was made of; returns the arc's marginal."""
    sort = _sort(sentence.codes[head], head, d)
    m, count = automata.n_states[sort], siblings.counts[d, head] - 1
    siblings.counts[d, head] = count  # `end` was the last
    slope, operator = slopes.states[head, end], automata.operators[sort, sentence.codes[end]]
    factor = slopes.ended[head, end] * sentence.stops[sentence.classes[end], d, head]
    for s in range(m):
        slope[s] += factor * automata.final[sort, s]
    for s in range(m):
        lifted[s] = scale * _dot(operator[s, :m], slope[:m])
    near = head + 1 if d == RIGHT else head - 1
    way, trained = sentence.ways.starts[head, end], len(sentence.ways.weights) > 0
    weight = sentence.weights[0, head, end] * (sentence.ways.weights[way + count] if trained else 1.0)
    value = weight * _dot(automata.initial[sort, :m], lifted[:m])
    slopes.halves[1 - d, end, near] += value
    if trained:
        expected[way + count] = value * items.halves[1 - d, end, near]
    for number in range(count):
        word = siblings.words[d, head, number]
        weight = sentence.weights[sentence.classes[word], head, end]
        if trained:
            weight *= sentence.ways.weights[way + number]
        factor, value = weight * items.pairs[end, word], 0.0
        before, rising = items.states[head, word], slopes.states[head, word]
        for s in range(m):
            rising[s] += factor * lifted[s]
            value += before[s] * lifted[s]
        slopes.pairs[max(end, word), min(end, word)] += weight * value
        if trained:
            expected[way + number] = factor * value
    return _dot(items.states[head, end, :m], slope[:m])


@part
def _outside(
    sentence: Sentence, automata: Automata, scales: Array, items: Items, slopes: Items, siblings: Siblings,
    lifted: Array, marginals: Array, expected: Array,
) -> None:  # fmt: skip
    """Derivatives of log Z by all items, from wide to narrow, and the marginals of arcs and ways."""
    n = len(sentence.codes) - 1
    halves, by_end = items.halves, items.halves_by_end
    for head in range(n + 1):
        for d in range(2):
            for word in siblings.words[d, head, : siblings.counts[d, head]]:
                slopes.states[head, word] = 0.0
    slopes.halves[RIGHT, 0, n] = 1.0 / halves[RIGHT, 0, n]
    for width in range(n, 0, -1):
        for i in range(n - width + 1):
            j = i + width
            for d in range(LEFT if i > 0 else RIGHT, 2):
                head, end, far = (i, j, i + 1) if d == RIGHT else (j, i, i)
                slope = slopes.halves[d, head, end] + slopes.halves_by_end[d, end, head]
                if slope != 0.0:
                    ended, rising = items.ended[head], slopes.ended[head]
                    inner, outer = by_end[d, end], slopes.halves_by_end[d, end]
                    for k in range(far, far + width):
                        rising[k] += slope * inner[k]
                        outer[k] += slope * ended[k]
                if _is_open(sentence.weights, head, end):
                    marginals[head, end] = _spread_states(
                        sentence,
                        automata,
                        items,
                        slopes,
                        siblings,
                        scales[end],
                        d,
                        head,
                        end,
                        lifted,
                        expected,
                    )
            slope = slopes.pairs[j, i]
            if slope != 0.0:
                one, two = slopes.halves[RIGHT, i], slopes.halves[LEFT, j]
                left, right = halves[RIGHT, i], halves[LEFT, j]
                for k in range(i, j):
                    one[k] += slope * right[k + 1]
                    two[k + 1] += slope * left[k]


@fast_kernel
def _marginals(
    sentence: Sentence, automata: Automata, start_scales: Array, marginals: Array, expected: Array
) -> tuple[float, float]:
    """Fill the marginals of arcs and of ways; sign and logarithm of Z."""
    n, n_states = len(sentence.codes) - 1, automata.initial.shape[1]
    items, vector, scales = _room(n, n_states), np.zeros(n_states), start_scales.copy()
    siblings = Siblings(np.empty((2, n + 1, n + 1), np.int32), np.zeros((2, n + 1), np.int32))
    for _ in range(_MOST_RESTARTS):
        width, size = _inside(sentence, automata, scales, items, siblings, vector)
        if width == 0:
            break
        factor = size ** (-1.0 / width)
        for i in range(n + 1):
            scales[i] *= factor
    total = items.halves[RIGHT, 0, n]
    if width != 0 or total == 0.0 or not np.isfinite(total):
        return 0.0, -np.inf
    slopes = _room(n, n_states)
    _outside(sentence, automata, scales, items, slopes, siblings, vector, marginals, expected)
    log = np.log(abs(total))
    for i in range(1, n + 1):
        log -= np.log(scales[i])
    return np.sign(total), log


@fast_kernel
def sentence_marginals(
    codes: Codes, classes: Codes, automata: Automata, weights: Array, stops: Array, start_scales: Array
) -> tuple[float, float, Array]:
    """Sign and logarithm of Z, and the marginals [head, modifier]; zeros where Z is zero."""
    size = len(codes)
    marginals, nothing = np.zeros((size, size)), np.zeros(0)
    sentence = Sentence(codes, classes, weights, stops, Ways(np.zeros((size, size), np.int64), nothing))
    sign, log = _marginals(sentence, automata, start_scales, marginals, nothing)
    return sign, log, marginals


@fast_kernel
def all_marginals(
    codes: Codes, classes: Codes, offsets: Longs, automata: Automata, weights: Array, stops: Array,
    scales: Array, ways: Ways,
) -> tuple[Array, Array, Array, Array]:  # fmt: skip
    """Signs and logarithms of Z, and the marginals of arcs, flat, each sentence as [head, modifier]; of ways.

    `weights` and `ways.starts` lie flat too, sentence after sentence as [class, head, modifier] and [head,
    modifier]; `stops` is [class, direction, position] over all sentences, each with its root before it.
    """
    n_classes, root = stops.shape[0], automata.operators.shape[1]
    signs, logs = np.zeros(len(offsets) - 1), np.zeros(len(offsets) - 1)
    found, expected = np.zeros(len(weights) // n_classes), np.zeros(len(ways.weights))
    low = 0
    for q in range(len(offsets) - 1):
        start, end = offsets[q], offsets[q + 1]
        n = end - start
        high = low + (n + 1) ** 2
        words, kinds, factors = np.empty(n + 1, np.int32), np.zeros(n + 1, np.int32), np.ones(n + 1)
        words[0] = root
        for i in range(n):
            words[i + 1], kinds[i + 1] = codes[start + i], classes[start + i]
            factors[i + 1] = scales[codes[start + i]]
        shape = (n + 1, n + 1)
        sentence = Sentence(
            words,
            kinds,
            weights[low * n_classes : high * n_classes].reshape((n_classes, n + 1, n + 1)),
            stops[:, :, start + q : end + q + 1],
            Ways(ways.starts[low:high].reshape(shape), ways.weights),
        )
        signs[q], logs[q] = _marginals(sentence, automata, factors, found[low:high].reshape(shape), expected)
        low = high
    return signs, logs, found, expected
