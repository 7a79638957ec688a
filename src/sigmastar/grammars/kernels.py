"""Inside and outside vectors of distinct substrings, scaled: the work behind every weighted grammar.

    beta(a)  = words[a]
    beta(x)  = A . M(x),      M(x) = sum over x = y z of beta(y) (x) beta(z)                          (9)
    alpha    = seed(x) + sum over the places of x in a larger u = x z or u = y x of
               A^T alpha(u) contracted with the other part                                          (11)

(Bailly et al. 2013, equations 8-11.) A substring has one inside vector however often it occurs, so the
matrices M and the products with A are one kernel and one GEMM per length. Row t of the insides stands for
`vectors[t] * 2 ** exponents[t]`; outsides are kept multiplied by the exponent of their substring, so that
`outside . inside` needs no exponents and cannot overflow where the seeds are shares of whole values.

The outside vector of one context (equations 10 and 11) is

    alpha(x; z) = sum over x = x1 x2 of alpha(x1; z) A (beta(x2) (x) I)
                + sum over z = z1 z2 of alpha(x; z2) A (I (x) beta(z1))

How much of a string's weight has a constituent at each span, and the tree that collects the most of it.

    posterior(i, j) = alpha(x[:i]; x[j:]) . beta(x[i:j]) / f(x)
    best(i, j)      = posterior(i, j) + max over k of best(i, k) + best(k, j)         (Goodman 1996)

Weights may be negative, so posteriors need not lie between 0 and 1; the tree is defined all the same.

Drawing from probabilistic grammars in binary form: strings with the spans of their derivations.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from sigmastar.core.arrays import Floats, Int32s, Int64s
from sigmastar.core.jit import fast_kernel, kernel, part
from sigmastar.core.scaling import LARGEST_POWER, grown, largest_size, normalize, power_of_two

_CELLS = 4_000_000  # numbers in the matrices M that are held at a time


class Spans(NamedTuple):
    """The arrays of a table of substrings (`data.substrings.Substrings`)."""

    numbers: Int32s
    rows: Int64s
    first: Int64s
    level_starts: Int64s
    word_codes: Int32s


class Insides(NamedTuple):
    """An inside vector for every substring: `vectors[t] * 2 ** exponents[t]`."""

    vectors: Floats
    exponents: Int64s


class Gradients(NamedTuple):
    """What seeds at substrings amount to at each word vector and at the composition."""

    words: Floats  # symbols x states
    composition: Floats  # states x states x states


def insides(spans: Spans, words: Floats, composition: Floats) -> Insides:
    """Inside vectors of all substrings; the vector of an unknown word (code -1) is zero."""
    n, n_nodes = words.shape[1], int(spans.level_starts[-1])
    found = Insides(np.zeros((n_nodes, n)), np.zeros(n_nodes, dtype=np.int64))
    known = np.flatnonzero(spans.word_codes >= 0)
    found.vectors[known] = words[spans.word_codes[known]]
    _rescale(found, 0, len(spans.word_codes))
    operator = np.ascontiguousarray(composition.reshape(n, n * n).T)
    for length, low, high in _levels(spans, n):
        pairs = np.empty((high - low, n * n))
        _pair_matrices(spans, found, low, length, pairs, True)
        found.vectors[low:high] = pairs @ operator
        _rescale(found, low, high)
    return found


def gradients(spans: Spans, found: Insides, seeds: Floats, composition: Floats, n_symbols: int) -> Gradients:
    """Pull `seeds` (substrings x states, in the scale of each substring) down to words and composition."""
    n = composition.shape[0]
    outside = seeds.copy()
    operator = composition.reshape(n, n * n)
    total = np.zeros((n, n * n))
    for length, low, high in reversed(list(_levels(spans, n))):
        pairs = np.empty((high - low, n * n))
        _pair_matrices(spans, found, low, length, pairs, False)
        total += outside[low:high].T @ pairs
        _spread(spans, found, low, length, outside[low:high] @ operator, outside)
    words = np.zeros((n_symbols, n))
    known = np.flatnonzero(spans.word_codes >= 0)
    scaled = outside[known] * np.exp2(-found.exponents[known].astype(float))[:, None]
    words[spans.word_codes[known]] = scaled
    return Gradients(words, total.reshape(n, n, n))


def _levels(spans: Spans, n_states: int) -> Iterator[tuple[int, int, int]]:
    """Lengths from two on with the numbers of their substrings, in pieces."""
    room = max(1, _CELLS // n_states**2)
    for length in range(2, len(spans.level_starts)):
        low, end = int(spans.level_starts[length - 1]), int(spans.level_starts[length])
        while low < end:
            yield length, low, min(low + room, end)
            low += room


@kernel
def _rescale(found: Insides, low: int, high: int) -> None:
    """Move powers of two from vectors into exponents, so that the largest number of each is near one."""
    for node in range(low, high):
        if largest_size(found.vectors[node]) < np.inf:
            found.exponents[node] += normalize(found.vectors[node])


@kernel
def _top_exponent(spans: Spans, found: Insides, at: int, length: int) -> int:
    """The largest exponent of a cut into two vectors that are not zero (of all cuts, if none is)."""
    top, any_top = -(1 << 60), -(1 << 60)
    for k in range(1, length):
        left = spans.numbers[spans.rows[at] + k - 1]
        right = spans.numbers[spans.rows[at + k] + length - k - 1]
        exponent = found.exponents[left] + found.exponents[right]
        any_top = max(any_top, exponent)
        if exponent > top and np.any(found.vectors[left]) and np.any(found.vectors[right]):
            top = exponent
    return top if top > -(1 << 60) else any_top


@fast_kernel
def _pair_matrices(spans: Spans, found: Insides, low: int, length: int, pairs: Floats, choose: bool) -> None:
    """M of each substring, in units of 2 to its exponent; with `choose` that exponent is set first."""
    numbers, rows, vectors, exponents = spans.numbers, spans.rows, found.vectors, found.exponents
    n = vectors.shape[1]
    for place in range(len(pairs)):
        node, target = low + place, pairs[place]
        at = spans.first[node]
        if choose:
            exponents[node] = _top_exponent(spans, found, at, length)
        target[:] = 0.0
        for k in range(1, length):
            left, right = numbers[rows[at] + k - 1], numbers[rows[at + k] + length - k - 1]
            shift = exponents[left] + exponents[right] - exponents[node]
            if abs(shift) > LARGEST_POWER:  # next to nothing; or too much, where one of the vectors is zero
                continue
            scale = power_of_two(shift)
            for i in range(n):
                value = vectors[left, i] * scale
                if value != 0.0:
                    for j in range(n):
                        target[i * n + j] += value * vectors[right, j]


@fast_kernel
def _spread(spans: Spans, found: Insides, low: int, length: int, pulled: Floats, outside: Floats) -> None:
    """Hand what was pulled through the composition to both parts of every cut."""
    numbers, rows, vectors, exponents = spans.numbers, spans.rows, found.vectors, found.exponents
    n = vectors.shape[1]
    for place in range(len(pulled)):
        node, source = low + place, pulled[place]
        at = spans.first[node]
        for k in range(1, length):
            left, right = numbers[rows[at] + k - 1], numbers[rows[at + k] + length - k - 1]
            shift = exponents[left] + exponents[right] - exponents[node]
            if abs(shift) > LARGEST_POWER:  # next to nothing; or too much, where one of the vectors is zero
                continue
            scale = power_of_two(shift)
            for i in range(n):
                weight = vectors[left, i] * scale
                total = 0.0
                for j in range(n):
                    value = source[i * n + j]
                    total += value * vectors[right, j]
                    outside[right, j] += weight * value
                outside[left, i] += scale * total


@kernel
def _chart_of(codes: Int64s, words: Floats, composition: Floats) -> Floats:
    """beta of every span [begin, end] of one string."""
    length, n = len(codes), words.shape[1]
    chart = np.zeros((length + 1, length + 1, n))
    for i in range(length):
        if codes[i] >= 0:
            chart[i, i + 1] = words[codes[i]]
    for width in range(2, length + 1):
        for i in range(length - width + 1):
            for k in range(i + 1, i + width):
                for r in range(n):
                    for a in range(n):
                        for b in range(n):
                            chart[i, i + width, r] += (
                                composition[r, a, b] * chart[i, k, a] * chart[k, i + width, b]
                            )
    return chart


@kernel
def outside_of_context(
    left: Int64s, right: Int64s, initial: Floats, words: Floats, composition: Floats
) -> Floats:
    """alpha(left; right), unscaled: for contexts of moderate length."""
    n, n_left, n_right = len(initial), len(left), len(right)
    before, after = _chart_of(left, words, composition), _chart_of(right, words, composition)
    chart = np.zeros((n_left + 1, n_right + 1, n))  # [p, q]: the context left[:p]; right[n_right - q:]
    chart[0, 0] = initial
    for p in range(n_left + 1):
        for q in range(n_right + 1):
            for k in range(p):
                for r in range(n):
                    for a in range(n):
                        for b in range(n):
                            chart[p, q, b] += chart[k, q, r] * composition[r, a, b] * before[k, p, a]
            for k in range(q):
                for r in range(n):
                    for a in range(n):
                        for b in range(n):
                            chart[p, q, a] += (
                                chart[p, k, r] * composition[r, a, b] * after[n_right - q, n_right - k, b]
                            )
    found: Floats = chart[n_left, n_right]
    return found


@part
def _pull(above: Floats, composition: Floats, pulled: Floats) -> bool:
    """pulled[a, b] = sum over r of above[r] composition[r, a, b]; whether any of `above` is not zero."""
    n, some = len(above), False
    pulled[:] = 0.0
    for r in range(n):
        if above[r] != 0.0:
            some = True
            for a in range(n):
                for b in range(n):
                    pulled[a, b] += above[r] * composition[r, a, b]
    return some


@kernel
def span_posteriors(
    low: int, high: int, spans: Spans, found: Insides, initial: Floats, composition: Floats
) -> Floats:
    """Posteriors [begin, end] of the string at `low:high` of a table of substrings; all 0 where f is 0."""
    numbers, rows, vectors, exponents = spans.numbers, spans.rows, found.vectors, found.exponents
    length, n = high - low, len(initial)
    shares = np.zeros((length + 1, length + 1))
    outside, pulled = np.zeros((length + 1, length + 1, n)), np.empty((n, n))
    total = np.dot(initial, vectors[numbers[rows[low] + length - 1]])
    if total == 0.0:
        return shares
    for r in range(n):
        outside[0, length, r] = initial[r] / total
    for width in range(length, 0, -1):
        for i in range(length - width + 1):
            j = i + width
            node = numbers[rows[low + i] + width - 1]
            above = outside[i, j]
            shares[i, j] = np.dot(above, vectors[node])
            if width == 1 or not _pull(above, composition, pulled):
                continue
            for k in range(i + 1, j):
                left, right = numbers[rows[low + i] + k - i - 1], numbers[rows[low + k] + j - k - 1]
                shift = exponents[left] + exponents[right] - exponents[node]
                if (
                    abs(shift) > LARGEST_POWER
                ):  # next to nothing; or too much, where one of the vectors is zero
                    continue
                scale = power_of_two(shift)
                for a in range(n):
                    for b in range(n):
                        value = scale * pulled[a, b]
                        outside[i, k, a] += value * vectors[right, b]
                        outside[k, j, b] += value * vectors[left, a]
    return shares


@kernel
def best_spans(shares: Floats) -> Int64s:
    """The spans (begin, end) of the binary tree with the largest sum; it branches to the right in a tie."""
    length = shares.shape[0] - 1
    best, cut = np.zeros((length + 1, length + 1)), np.zeros((length + 1, length + 1), dtype=np.int64)
    for width in range(2, length + 1):
        for i in range(length - width + 1):
            j, top = i + width, -np.inf
            for k in range(i + 1, j):
                value = best[i, k] + best[k, j]
                if value > top + 1e-12 or k == i + 1:
                    top, cut[i, j] = value, k
            best[i, j] = shares[i, j] + top
    spans = np.zeros((max(length - 1, 0), 2), dtype=np.int64)
    stack, depth, found = np.zeros((length + 1, 2), dtype=np.int64), 1, 0
    stack[0, 1] = length
    while depth:
        depth -= 1
        i, j = stack[depth]
        if j - i > 1:
            spans[found, 0], spans[found, 1] = i, j
            found += 1
            stack[depth, 0], stack[depth, 1] = cut[i, j], j
            stack[depth + 1, 0], stack[depth + 1, 1] = i, cut[i, j]
            depth += 2
    return spans


Drawn = tuple[Int32s, Int64s, Int64s, Int64s, Int64s]

_DEEPEST = 1_000_000  # states that wait to be rewritten


def draw_yields(
    n_strings: int,
    initial: Floats,
    rules: Floats,
    n_symbols: int,
    rng: np.random.Generator,
    max_length: int,
) -> Drawn:
    """Codes, offsets, begins, ends and span offsets of strings drawn by cumulated probabilities.

    A row of `rules` holds first the words and then the pairs of states that a state rewrites to. A string is
    cut when it has `max_length` symbols; its spans are left out then.
    """
    drawn = _draw(n_strings, initial, rules, n_symbols, rng, max_length, _DEEPEST)
    if not drawn[-1]:
        raise ValueError(
            f"a derivation had more than {_DEEPEST} states waiting: the grammar's derivations need not end; "
            "give more probability to words"
        )
    return drawn[:-1]


@part
def _pick(cumulated: Floats, rng: np.random.Generator) -> int:
    return min(
        int(np.searchsorted(cumulated, rng.random() * cumulated[-1], side="right")), len(cumulated) - 1
    )


@part
def _close(waiting: Int64s, ends: Int64s, length: int) -> bool:
    """End the spans that are still open; whether no state was left to rewrite."""
    finished = True
    for entry in waiting:
        if entry < 0:
            ends[-1 - entry] = length
        else:
            finished = False
    return finished


@kernel
def _draw(
    n_strings: int,
    initial: Floats,
    rules: Floats,
    n_symbols: int,
    rng: np.random.Generator,
    max_length: int,
    deepest: int,
) -> tuple[Int32s, Int64s, Int64s, Int64s, Int64s, bool]:
    n = len(initial)
    codes, begins, ends = np.empty(1024, np.int32), np.empty(1024, np.int64), np.empty(1024, np.int64)
    offsets, span_offsets = np.zeros(n_strings + 1, np.int64), np.zeros(n_strings + 1, np.int64)
    stack = np.empty(1024, np.int64)  # states to rewrite, and -1 - s where span s ends
    for string in range(n_strings):
        first, length, n_spans, depth = offsets[string], 0, span_offsets[string], 1
        stack[0] = _pick(initial, rng)
        while depth and length < max_length:
            depth -= 1
            top = stack[depth]
            if top < 0:
                ends[-1 - top] = length
                continue
            rule = _pick(rules[top], rng)
            if rule < n_symbols:
                codes = grown(codes, first + length + 1)
                codes[first + length] = rule
                length += 1
                continue
            begins, ends = grown(begins, n_spans + 1), grown(ends, n_spans + 1)
            if depth + 3 > deepest:
                return codes, offsets, begins, ends, span_offsets, False
            stack = grown(stack, depth + 3)
            begins[n_spans] = length
            left, right = divmod(rule - n_symbols, n)
            stack[depth], stack[depth + 1], stack[depth + 2] = -1 - n_spans, right, left
            depth, n_spans = depth + 3, n_spans + 1
        finished = _close(stack[:depth], ends, length)
        offsets[string + 1] = first + length
        span_offsets[string + 1] = n_spans if finished else span_offsets[string]
    n_spans = span_offsets[-1]
    return codes[: offsets[-1]], offsets, begins[:n_spans], ends[:n_spans], span_offsets, True
