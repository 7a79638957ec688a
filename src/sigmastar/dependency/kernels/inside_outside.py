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

P[h, e] is multiplied by the weight of its arc.

Scale: every word is a modifier once, so a factor for each word multiplies all trees alike. When values
leave a safe range the factors are changed and the inside pass begins anew.

What the recursions over sentences read and fill stands first: automata, weights, items, derivatives.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sigmastar.core.arrays import Floats, Int32s, Int64s
from sigmastar.core.jit import fast_kernel, part

LEFT, RIGHT = 0, 1
MOST_RESTARTS = 30


class Automata(NamedTuple):
    """The arrays of all head automata, padded to the largest number of states."""

    n_states: Int32s  # sorts
    initial: Floats  # sorts x states
    final: Floats  # sorts x states
    operators: Floats  # sorts x symbols x states x states


class Sentence(NamedTuple):
    """What the passes read; position 0 is the root, codes[0] the number of symbols."""

    codes: Int32s
    weights: Floats  # head, modifier
    scales: Floats  # positions; they change where values leave a safe range


class Items(NamedTuple):
    """Values of items, or derivatives by them."""

    states: Floats  # P: head, end, state
    ended: Floats  # P . final: head, end
    halves: Floats  # t: direction, head, end
    halves_by_end: Floats  # direction, end, head
    pairs: Floats  # S: both ways round


class Siblings(NamedTuple):
    """The modifiers of each head and direction whose items are there, from the nearest on."""

    words: Int32s  # direction, head, number
    counts: Int32s  # direction, head


class Chart(NamedTuple):
    """All that the passes fill."""

    items: Items
    slopes: Items
    siblings: Siblings
    vector: Floats  # room for a vector of states
    marginals: Floats  # of arcs: head, modifier


class Marginals(NamedTuple):
    """Signs and logarithms of Z; marginals of arcs."""

    signs: Floats
    logs: Floats
    arcs: Floats


@fast_kernel
def room(n: int, n_states: int) -> Items:
    """Items of a sentence of n words."""
    one, two = (n + 1, n + 1), (2, n + 1, n + 1)
    states = np.empty((n + 1, n + 1, n_states))  # where there are arcs they are set
    return Items(states, np.zeros(one), np.zeros(two), np.zeros(two), np.zeros(one))


@fast_kernel
def dot(one: Floats, two: Floats) -> float:
    """The inner product of two short vectors."""
    total = 0.0
    for s in range(len(one)):
        total += one[s] * two[s]
    return total


@part
def _sort(code: int, head: int, direction: int) -> int:
    return 2 * code + (direction if head > 0 else 0)


@part
def _fill_states(sentence: Sentence, automata: Automata, chart: Chart, d: int, head: int, end: int) -> None:
    """P[head, end], its weight when it stops, and `end` among the siblings."""
    items, siblings, mixed = chart.items, chart.siblings, chart.vector
    sort = _sort(sentence.codes[head], head, d)
    m, count, result = automata.n_states[sort], siblings.counts[d, head], items.states[head, end]
    initial, operator = automata.initial[sort], automata.operators[sort, sentence.codes[end]]
    near = head + 1 if d == RIGHT else head - 1
    weight = sentence.weights[head, end] * sentence.scales[end]
    half = items.halves[1 - d, end, near] * weight
    for s in range(m):
        mixed[s] = half * initial[s]
    for number in range(count):
        word = siblings.words[d, head, number]
        factor = items.pairs[end, word] * weight
        before = items.states[head, word]
        for s in range(m):
            mixed[s] += factor * before[s]
    result[:m] = 0.0
    for s in range(m):
        factor, row = mixed[s], operator[s]
        for t in range(m):
            result[t] += factor * row[t]
    items.ended[head, end] = dot(result[:m], automata.final[sort, :m])
    siblings.words[d, head, count] = end
    siblings.counts[d, head] = count + 1


@part
def _inside(sentence: Sentence, automata: Automata, chart: Chart) -> tuple[int, float]:
    """Fill all items. Returns (0, 0.0), or the width and the size at which values left a safe range."""
    n, items = len(sentence.codes) - 1, chart.items
    halves, by_end = items.halves, items.halves_by_end
    chart.siblings.counts[:] = 0
    items.ended[:] = 0.0
    for i in range(n + 1):
        for d in range(LEFT if i > 0 else RIGHT, 2):
            sort = _sort(sentence.codes[i], i, d)
            halves[d, i, i] = dot(automata.initial[sort], automata.final[sort])
            by_end[d, i, i] = halves[d, i, i]
    for width in range(1, n + 1):
        largest = 0.0
        for i in range(n - width + 1):
            j = i + width
            value = dot(halves[RIGHT, i, i:j], halves[LEFT, j, i + 1 : j + 1])
            items.pairs[i, j] = items.pairs[j, i] = value
            for d in range(LEFT if i > 0 else RIGHT, 2):
                head, end, far = (i, j, i + 1) if d == RIGHT else (j, i, i)
                if sentence.weights[head, end] != 0.0:
                    _fill_states(sentence, automata, chart, d, head, end)
                value = dot(items.ended[head, far : far + width], by_end[d, end, far : far + width])
                halves[d, head, end] = by_end[d, end, head] = value
                largest = max(largest, abs(value))
        if largest > 1e100 or 0.0 < largest < 1e-100:
            return width, largest
    return 0, 0.0


@part
def _spread_states(sentence: Sentence, automata: Automata, chart: Chart, d: int, head: int, end: int) -> None:
    """From the derivative by P[head, end] to the items that it was made of; the marginal of the arc."""
    items, slopes, siblings, lifted = chart.items, chart.slopes, chart.siblings, chart.vector
    sort = _sort(sentence.codes[head], head, d)
    m, count = automata.n_states[sort], siblings.counts[d, head] - 1
    siblings.counts[d, head] = count  # `end` was the last
    slope, operator = slopes.states[head, end], automata.operators[sort, sentence.codes[end]]
    weight = sentence.weights[head, end] * sentence.scales[end]
    for s in range(m):
        slope[s] += slopes.ended[head, end] * automata.final[sort, s]
    for s in range(m):
        lifted[s] = weight * dot(operator[s, :m], slope[:m])
    near = head + 1 if d == RIGHT else head - 1
    value = dot(automata.initial[sort, :m], lifted[:m])
    slopes.halves[1 - d, end, near] += value
    for number in range(count):
        word = siblings.words[d, head, number]
        factor, value = items.pairs[end, word], 0.0
        before, rising = items.states[head, word], slopes.states[head, word]
        for s in range(m):
            rising[s] += factor * lifted[s]
            value += before[s] * lifted[s]
        slopes.pairs[max(end, word), min(end, word)] += value
    chart.marginals[head, end] = dot(items.states[head, end, :m], slope[:m])


@part
def _outside(sentence: Sentence, automata: Automata, chart: Chart) -> None:
    """Derivatives of log Z by all items, from wide to narrow, and the marginals of arcs."""
    n, items, slopes, siblings = len(sentence.codes) - 1, chart.items, chart.slopes, chart.siblings
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
                if sentence.weights[head, end] != 0.0:
                    _spread_states(sentence, automata, chart, d, head, end)
            slope = slopes.pairs[j, i]
            if slope != 0.0:
                one, two = slopes.halves[RIGHT, i], slopes.halves[LEFT, j]
                left, right = halves[RIGHT, i], halves[LEFT, j]
                for k in range(i, j):
                    one[k] += slope * right[k + 1]
                    two[k + 1] += slope * left[k]


@fast_kernel
def _marginals(sentence: Sentence, automata: Automata, marginals: Floats) -> tuple[float, float]:
    """Fill the marginals of arcs; sign and logarithm of Z."""
    n, n_states = len(sentence.codes) - 1, automata.initial.shape[1]
    siblings = Siblings(np.empty((2, n + 1, n + 1), np.int32), np.zeros((2, n + 1), np.int32))
    items, slopes, vector = room(n, n_states), room(n, n_states), np.zeros(n_states)
    chart = Chart(items, slopes, siblings, vector, marginals)
    for _ in range(MOST_RESTARTS):
        width, size = _inside(sentence, automata, chart)
        if width == 0:
            break
        factor = size ** (-1.0 / width)
        for i in range(n + 1):
            sentence.scales[i] *= factor
    total = chart.items.halves[RIGHT, 0, n]
    if width != 0 or total == 0.0 or not np.isfinite(total):
        return 0.0, -np.inf
    _outside(sentence, automata, chart)
    log = np.log(abs(total))
    for i in range(1, n + 1):
        log -= np.log(sentence.scales[i])
    return np.sign(total), log


@fast_kernel
def sentence_marginals(
    codes: Int32s, automata: Automata, weights: Floats, scales: Floats
) -> tuple[float, float, Floats]:
    """Sign and logarithm of Z, and the marginals [head, modifier]; zeros where Z is zero."""
    marginals = np.zeros((len(codes), len(codes)))
    sign, log = _marginals(Sentence(codes, weights, scales.copy()), automata, marginals)
    return sign, log, marginals


@fast_kernel
def all_marginals(
    codes: Int32s, offsets: Int64s, automata: Automata, weights: Floats, scales: Floats
) -> Marginals:
    """What all trees of each sentence weigh together, and the marginals of arcs.

    `weights` lies flat, sentence after sentence as [head, modifier], and so do marginals; `scales` are of
    symbols.
    """
    root, low = automata.operators.shape[1], 0
    signs, logs, found = np.zeros(len(offsets) - 1), np.zeros(len(offsets) - 1), np.zeros(len(weights))
    for q in range(len(offsets) - 1):
        start, n = offsets[q], offsets[q + 1] - offsets[q]
        words, factors = np.empty(n + 1, np.int32), np.ones(n + 1)
        words[0] = root
        for i in range(n):
            words[i + 1] = codes[start + i]
            factors[i + 1] = scales[codes[start + i]]
        here, shape = slice(low, low + (n + 1) ** 2), (n + 1, n + 1)
        sentence = Sentence(words, weights[here].reshape(shape), factors)
        signs[q], logs[q] = _marginals(sentence, automata, found[here].reshape(shape))
        low += (n + 1) ** 2
    return Marginals(signs, logs, found)
