"""Inside and outside vectors of distinct substrings, scaled: the work behind every weighted grammar.

    beta(a)  = words[a]
    beta(x)  = A . M(x),      M(x) = sum over x = y z of beta(y) (x) beta(z)                          (9)
    alpha    = seed(x) + sum over the places of x in a larger u = x z or u = y x of
               A^T alpha(u) contracted with the other part                                          (11)

(Bailly et al. 2013, equations 8-11.) A substring has one inside vector however often it occurs, so the
matrices M and the products with A are one kernel and one GEMM a length. Row t of the insides stands for
`vectors[t] * 2 ** exponents[t]`; outsides are kept multiplied by the exponent of their substring, so that
`outside . inside` needs no exponents and cannot overflow where the seeds are shares of whole values.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sigmastar.core.jit import fast_kernel, kernel

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

_CELLS = 4_000_000  # numbers in the matrices M that are held at a time


class Spans(NamedTuple):
    """The arrays of a table of substrings (`structures.substrings.Substrings`)."""

    numbers: NDArray[np.int32]
    rows: Integers
    first: Integers
    level_starts: Integers
    word_codes: NDArray[np.int32]


class Insides(NamedTuple):
    """An inside vector for every substring: `vectors[t] * 2 ** exponents[t]`."""

    vectors: Array
    exponents: Integers


class Gradients(NamedTuple):
    """What seeds at substrings amount to at each word vector and at the composition."""

    words: Array  # symbols x states
    composition: Array  # states x states x states


def insides(spans: Spans, words: Array, composition: Array) -> Insides:
    """Inside vectors of all substrings; the vector of an unknown word (code -1) is zero."""
    n = words.shape[1]
    vectors = np.zeros((int(spans.level_starts[-1]), n))
    exponents = np.zeros(len(vectors), dtype=np.int64)
    known = np.flatnonzero(spans.word_codes >= 0)
    vectors[known] = words[spans.word_codes[known]]
    _rescale(vectors, exponents, 0, len(spans.word_codes))
    operator = np.ascontiguousarray(composition.reshape(n, n * n).T)
    for length, low, high in _levels(spans, n):
        pairs = np.empty((high - low, n * n))
        _pair_matrices(
            low, high, length, spans.numbers, spans.rows, spans.first, vectors, exponents, pairs, True
        )
        vectors[low:high] = pairs @ operator
        _rescale(vectors, exponents, low, high)
    return Insides(vectors, exponents)


def gradients(spans: Spans, found: Insides, seeds: Array, composition: Array, n_symbols: int) -> Gradients:
    """Pull `seeds` (substrings x states, in the scale of each substring) down to words and composition."""
    n = composition.shape[0]
    vectors, exponents = found
    outside = seeds.copy()
    operator = composition.reshape(n, n * n)
    total = np.zeros((n, n * n))
    for length, low, high in reversed(list(_levels(spans, n))):
        pairs = np.empty((high - low, n * n))
        _pair_matrices(
            low, high, length, spans.numbers, spans.rows, spans.first, vectors, exponents, pairs, False
        )
        total += outside[low:high].T @ pairs
        pulled = outside[low:high] @ operator
        _spread(
            low, high, length, spans.numbers, spans.rows, spans.first, vectors, exponents, pulled, outside
        )
    words = np.zeros((n_symbols, n))
    known = np.flatnonzero(spans.word_codes >= 0)
    scaled = outside[known] * np.exp2(-exponents[known].astype(float))[:, None]
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
def _rescale(vectors: Array, exponents: Integers, low: int, high: int) -> None:
    """Move powers of two from vectors into exponents, so that the largest number of each is near one."""
    for node in range(low, high):
        largest = 0.0
        for i in range(vectors.shape[1]):
            largest = max(largest, abs(vectors[node, i]))
        if largest > 0.0 and largest < np.inf:
            _, shift = math.frexp(largest)
            exponents[node] += shift
            scale = math.ldexp(1.0, int(-shift))
            for i in range(vectors.shape[1]):
                vectors[node, i] *= scale


@kernel
def _top_exponent(
    at: int, length: int, numbers: NDArray[np.int32], rows: Integers, vectors: Array, exponents: Integers
) -> int:
    """The largest exponent of a cut into two vectors that are not zero (of all cuts, if none is)."""
    top, any_top = -(1 << 60), -(1 << 60)
    for k in range(1, length):
        left, right = numbers[rows[at] + k - 1], numbers[rows[at + k] + length - k - 1]
        exponent = exponents[left] + exponents[right]
        any_top = max(any_top, exponent)
        if exponent > top and np.any(vectors[left]) and np.any(vectors[right]):
            top = exponent
    return top if top > -(1 << 60) else any_top


@fast_kernel
def _pair_matrices(
    low: int,
    high: int,
    length: int,
    numbers: NDArray[np.int32],
    rows: Integers,
    first: Integers,
    vectors: Array,
    exponents: Integers,
    pairs: Array,
    choose: bool,
) -> None:
    """M of each substring, in units of 2 to its exponent; with `choose` that exponent is set first."""
    n = vectors.shape[1]
    for node in range(low, high):
        at = first[node]
        if choose:
            exponents[node] = _top_exponent(at, length, numbers, rows, vectors, exponents)
        target = pairs[node - low]
        target[:] = 0.0
        for k in range(1, length):
            left, right = numbers[rows[at] + k - 1], numbers[rows[at + k] + length - k - 1]
            shift = exponents[left] + exponents[right] - exponents[node]
            if abs(shift) > 1000:  # next to nothing; or too much, where one of the vectors is zero
                continue
            scale = math.ldexp(1.0, int(shift))
            for i in range(n):
                value = vectors[left, i] * scale
                if value != 0.0:
                    for j in range(n):
                        target[i * n + j] += value * vectors[right, j]


@fast_kernel
def _spread(
    low: int,
    high: int,
    length: int,
    numbers: NDArray[np.int32],
    rows: Integers,
    first: Integers,
    vectors: Array,
    exponents: Integers,
    pulled: Array,
    outside: Array,
) -> None:
    """Hand what was pulled through the composition to both parts of every cut."""
    n = vectors.shape[1]
    for node in range(low, high):
        at = first[node]
        source = pulled[node - low]
        for k in range(1, length):
            left, right = numbers[rows[at] + k - 1], numbers[rows[at + k] + length - k - 1]
            shift = exponents[left] + exponents[right] - exponents[node]
            if abs(shift) > 1000:  # next to nothing; or too much, where one of the vectors is zero
                continue
            scale = math.ldexp(1.0, int(shift))
            for i in range(n):
                weight = vectors[left, i] * scale
                total = 0.0
                for j in range(n):
                    value = source[i * n + j]
                    total += value * vectors[right, j]
                    outside[right, j] += weight * value
                outside[left, i] += scale * total
