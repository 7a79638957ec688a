"""Inside-outside for head automata with hidden states, on half-constituents (section 4 of Luque et al. 2012).

A triangle T[h, e] is the state vector of the automaton of head h after modifiers that together cover
all words from h to e; a trapezoid P[h, e] is that vector just after modifier e, of which only the half
towards h is there; t[h, e] is the scalar of a triangle that has stopped. To the right, h = i and e = j:

    T[i, i] = initial_i                           t[i, j] = T[i, j] . final_i
    P[i, j] = (sum_k T[i, k] t[j, k+1]) A_j       k = i .. j-1        (equation 20, A_j outside the sum)
    T[i, j] = sum_k P[i, k] t[k, j]               k = i+1 .. j        (equation 19)

where t[j, k+1] is a left half, and mirrored to the left; Z = t[0, n]. With the operator outside the sum a
sentence of N words costs O(n N^3 + n^2 N^2) for n states. The outside pass is the derivative of Z, and the
marginal of an arc is P[h, e] . dZ/dP[h, e] / Z.

A second, deterministic automaton may be multiplied in: its state is the class of the last modifier (0
before the first), its weights are `weights[class, head, modifier]` and `stops[class, direction, head]`;
triangles then hold one vector a class.

Scale: every word is a modifier once, so a factor for each word multiplies all trees alike. When values
leave a safe range the factors are changed and the inside pass begins anew.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sigmastar.jit import kernel

Array = NDArray[np.float64]
Codes = NDArray[np.int32]
Longs = NDArray[np.int64]

LEFT, RIGHT = 0, 1
_MOST_RESTARTS = 30


class Automata(NamedTuple):
    """The arrays of all head automata, padded to the largest number of states."""

    n_states: Codes  # sorts
    initial: Array  # sorts x states
    final: Array  # sorts x states
    operators: Array  # sorts x symbols x states x states


class Items(NamedTuple):
    """Vectors and scalars of half-constituents, each indexed by direction, head and end."""

    triangles: Array  # direction, head, end, class, state
    trapezoids: Array  # direction, head, end, state
    halves: Array  # direction, head, end
    halves_by_end: Array  # direction, end, head


@kernel
def _room(n: int, n_classes: int, n_states: int) -> Items:
    return Items(
        np.zeros((2, n + 1, n + 1, n_classes, n_states)),
        np.zeros((2, n + 1, n + 1, n_states)),
        np.zeros((2, n + 1, n + 1)),
        np.zeros((2, n + 1, n + 1)),
    )


@kernel
def _sorts(codes: Codes) -> NDArray[np.int32]:
    """The sort of each position's automata; position 0 is the root, codes[0] the number of symbols."""
    sorts = np.empty((2, len(codes)), np.int32)
    for i in range(len(codes)):
        sorts[LEFT, i] = 2 * codes[i]
        sorts[RIGHT, i] = 2 * codes[i] + (1 if i > 0 else 0)
    return sorts


@kernel
def _stopped(triangle: Array, final: Array, stops: Array, m: int) -> float:
    total = 0.0
    for c in range(triangle.shape[0]):
        value = 0.0
        for s in range(m):
            value += triangle[c, s] * final[s]
        total += stops[c] * value
    return total


@kernel
def _fill_trapezoid(
    triangles: Array, halves: Array, weights: Array, operator: Array, scale: float, m: int, mixed: Array,
    result: Array,
) -> None:  # fmt: skip
    """result = scale (sum over k, c of weights[c] halves[k] triangles[k, c]) operator."""
    mixed[:] = 0.0
    for k in range(triangles.shape[0]):
        half = halves[k] * scale
        if half == 0.0:
            continue
        for c in range(triangles.shape[1]):
            factor = half * weights[c]
            for s in range(m):
                mixed[s] += factor * triangles[k, c, s]
    result[:] = 0.0
    for s in range(m):
        factor = mixed[s]
        for t in range(m):
            result[t] += factor * operator[s, t]


@kernel
def _fill_triangle(trapezoids: Array, halves: Array, classes: Codes, m: int, result: Array) -> None:
    """result[class of k] = sum over k of halves[k] trapezoids[k]."""
    result[:] = 0.0
    for k in range(trapezoids.shape[0]):
        half = halves[k]
        if half == 0.0:
            continue
        c = classes[k]
        for s in range(m):
            result[c, s] += half * trapezoids[k, s]


@kernel
def _inside(
    codes: Codes,
    classes: Codes,
    automata: Automata,
    weights: Array,
    stops: Array,
    scales: Array,
    items: Items,
) -> tuple[int, float]:
    """Fill all items. Returns (0, 0.0), or the width and the size at which values left a safe range."""
    n = len(codes) - 1
    sorts = _sorts(codes)
    mixed = np.zeros(automata.initial.shape[1])
    for i in range(n + 1):
        for d in range(LEFT if i > 0 else RIGHT, 2):
            sort = sorts[d, i]
            items.triangles[d, i, i] = 0.0
            items.triangles[d, i, i, 0] = automata.initial[sort]
            value = _stopped(
                items.triangles[d, i, i], automata.final[sort], stops[:, d, i], automata.n_states[sort]
            )
            items.halves[d, i, i] = items.halves_by_end[d, i, i] = value
    for width in range(1, n + 1):
        largest = 0.0
        for i in range(n - width + 1):
            j = i + width
            for d in range(LEFT if i > 0 else RIGHT, 2):
                head, end = (i, j) if d == RIGHT else (j, i)
                near, far = (i, i + 1) if d == RIGHT else (i + 1, i)
                sort = sorts[d, head]
                m = automata.n_states[sort]
                _fill_trapezoid(
                    items.triangles[d, head, near : near + width],
                    items.halves[1 - d, end, far : far + width],
                    weights[:, head, end],
                    automata.operators[sort, codes[end]],
                    scales[end],
                    m,
                    mixed,
                    items.trapezoids[d, head, end],
                )
            for d in range(LEFT if i > 0 else RIGHT, 2):
                head, end = (i, j) if d == RIGHT else (j, i)
                far = i + 1 if d == RIGHT else i
                sort = sorts[d, head]
                m = automata.n_states[sort]
                _fill_triangle(
                    items.trapezoids[d, head, far : far + width],
                    items.halves_by_end[d, end, far : far + width],
                    classes[far : far + width],
                    m,
                    items.triangles[d, head, end],
                )
                value = _stopped(items.triangles[d, head, end], automata.final[sort], stops[:, d, head], m)
                items.halves[d, head, end] = items.halves_by_end[d, end, head] = value
                largest = max(largest, abs(value))
        if largest > 1e100 or 0.0 < largest < 1e-100:
            return width, largest
    return 0, 0.0


@kernel
def _outside(
    codes: Codes, classes: Codes, automata: Automata, weights: Array, stops: Array, scales: Array,
    items: Items, slopes: Items, marginals: Array,
) -> None:  # fmt: skip
    """Derivatives of Z by all items, from wide to narrow, and P . dZ/dP of every arc, not yet over Z."""
    n = len(codes) - 1
    sorts = _sorts(codes)
    lifted = np.zeros(automata.initial.shape[1])
    slopes.halves[RIGHT, 0, n] = 1.0
    for width in range(n, 0, -1):
        for i in range(n - width + 1):
            j = i + width
            for d in range(LEFT if i > 0 else RIGHT, 2):
                head, end = (i, j) if d == RIGHT else (j, i)
                near, far = (i, i + 1) if d == RIGHT else (i + 1, i)
                sort = sorts[d, head]
                m = automata.n_states[sort]
                slope = slopes.halves[d, head, end] + slopes.halves_by_end[d, end, head]
                final, triangle = automata.final[sort], slopes.triangles[d, head, end]
                rising, falling = slopes.trapezoids[d, head], items.trapezoids[d, head]
                for c in range(weights.shape[0]):
                    factor = slope * stops[c, d, head]
                    for s in range(m):
                        triangle[c, s] += factor * final[s]
                for k in range(far, far + width):
                    c, half, value = classes[k], items.halves_by_end[d, end, k], 0.0
                    for s in range(m):
                        rising[k, s] += half * triangle[c, s]
                        value += falling[k, s] * triangle[c, s]
                    slopes.halves_by_end[d, end, k] += value  # beside each other, as k goes
                value = 0.0
                for s in range(m):
                    value += rising[end, s] * falling[end, s]
                marginals[head, end] = value
                operator = automata.operators[sort, codes[end]]
                for s in range(m):
                    value = 0.0
                    for t in range(m):
                        value += operator[s, t] * rising[end, t]
                    lifted[s] = value * scales[end]
                insides, outsides = items.triangles[d, head], slopes.triangles[d, head]
                for k in range(width):
                    half, total = items.halves[1 - d, end, far + k], 0.0
                    for c in range(weights.shape[0]):
                        weight, value = weights[c, head, end], 0.0
                        factor = weight * half
                        for s in range(m):
                            outsides[near + k, c, s] += factor * lifted[s]
                            value += insides[near + k, c, s] * lifted[s]
                        total += weight * value
                    slopes.halves[1 - d, end, far + k] += total


@kernel
def sentence_marginals(
    codes: Codes, classes: Codes, automata: Automata, weights: Array, stops: Array, start_scales: Array
) -> tuple[float, float, Array]:
    """Sign and logarithm of Z, and the marginals [head, modifier]; zeros where Z is zero."""
    n, n_states = len(codes) - 1, automata.initial.shape[1]
    scales = start_scales.copy()
    items = _room(n, weights.shape[0], n_states)
    for _ in range(_MOST_RESTARTS):
        width, size = _inside(codes, classes, automata, weights, stops, scales, items)
        if width == 0:
            break
        scales *= size ** (-1.0 / width)
    total = items.halves[RIGHT, 0, n]
    marginals = np.zeros((n + 1, n + 1))
    if width != 0 or total == 0.0 or not np.isfinite(total):
        return 0.0, -np.inf, marginals
    slopes = _room(n, weights.shape[0], n_states)
    _outside(codes, classes, automata, weights, stops, scales, items, slopes, marginals)
    marginals /= total
    return np.sign(total), np.log(abs(total)) - np.log(scales[1:]).sum(), marginals


@kernel
def _push(stack: Longs, size: int, direction: int, head: int, end: int) -> int:
    stack[size, 0], stack[size, 1], stack[size, 2] = direction, head, end
    return size + 1


@kernel
def best_tree(scores: Array, single_root: bool) -> Codes:
    """The heads (0 is the root) of the projective tree with the largest sum of scores[head, modifier].

    Eisner's algorithm (2000). With `single_root` exactly one word hangs on the root.
    """
    n = scores.shape[0] - 1
    first = 1 if single_root else 0
    whole, open_ = np.zeros((2, n + 1, n + 1)), np.zeros((2, n + 1, n + 1))
    split, joint = np.zeros((2, n + 1, n + 1), np.int32), np.zeros((n + 1, n + 1), np.int32)
    for width in range(1, n + 1 - first):
        for i in range(first, n - width + 1):
            j = i + width
            best, at = -np.inf, i
            for k in range(i, j):
                value = whole[RIGHT, i, k] + whole[LEFT, j, k + 1]
                if value > best:
                    best, at = value, k
            joint[i, j] = at
            open_[RIGHT, i, j] = best + scores[i, j]
            open_[LEFT, j, i] = best + scores[j, i] if i > 0 else -np.inf
            for d in range(2):
                head, end, far = (i, j, i + 1) if d == RIGHT else (j, i, i)
                best, at = -np.inf, far
                for k in range(far, far + width):
                    value = open_[d, head, k] + whole[d, k, end]
                    if value > best:
                        best, at = value, k
                whole[d, head, end], split[d, head, end] = best, at
    heads = np.zeros(n, np.int32)
    stack = np.empty((4 * n + 8, 3), np.int64)
    if single_root:
        top, best = 1, -np.inf
        for word in range(1, n + 1):
            value = scores[0, word] + whole[LEFT, word, 1] + whole[RIGHT, word, n]
            if value > best:
                top, best = word, value
        size = _push(stack, _push(stack, 0, LEFT, top, 1), RIGHT, top, n)
    else:
        size = _push(stack, 0, RIGHT, 0, n)
    while size > 0:
        size -= 1
        d, head, end = stack[size]
        if head == end:
            continue
        word = split[d, head, end]
        heads[word - 1] = head
        at = joint[min(head, word), max(head, word)]
        near, beyond = (at, at + 1) if d == RIGHT else (at + 1, at)
        size = _push(stack, size, d, word, end)
        size = _push(stack, size, d, head, near)
        size = _push(stack, size, 1 - d, word, beyond)
    return heads


@kernel
def parse_sentences(
    codes: Codes, classes: Codes, offsets: Longs, automata: Automata,
    weights: Array, weight_starts: Longs, stops: Array, scales: Array, single_root: bool,
    keep: bool,
) -> tuple[Codes, Array, Array, Array]:  # fmt: skip
    """Heads, signs and logarithms of Z, and (if `keep`) all marginals of sentences.

    `weights` lies flat, sentence after sentence as [class, head, modifier], from `weight_starts` on;
    `stops` is [class, direction, position] over all sentences, each with its root before its words.
    Where Z is not positive the heads are -1.
    """
    n_sentences = len(offsets) - 1
    n_classes, root = stops.shape[0], automata.operators.shape[1]
    heads = np.full(offsets[n_sentences], -1, np.int32)
    signs, logs = np.zeros(n_sentences), np.zeros(n_sentences)
    kept_size = 0
    for q in range(n_sentences):
        kept_size += (offsets[q + 1] - offsets[q] + 1) ** 2
    kept = np.zeros(kept_size if keep else 0)
    at = 0
    for q in range(n_sentences):
        start, end = offsets[q], offsets[q + 1]
        n = end - start
        words, kinds, factors = np.empty(n + 1, np.int32), np.zeros(n + 1, np.int32), np.ones(n + 1)
        words[0] = root
        words[1:] = codes[start:end]
        kinds[1:] = classes[start:end]
        for i in range(n):
            factors[i + 1] = scales[codes[start + i]]
        arcs = weights[weight_starts[q] : weight_starts[q + 1]].reshape((n_classes, n + 1, n + 1))
        signs[q], logs[q], marginals = sentence_marginals(
            words, kinds, automata, arcs, stops[:, :, start + q : end + q + 1], factors
        )
        if signs[q] > 0:
            heads[start:end] = best_tree(marginals, single_root)
        if keep:
            kept[at : at + (n + 1) ** 2] = marginals.ravel()
            at += (n + 1) ** 2
    return heads, signs, logs, kept
