"""Distances between functions on strings, and whether they are equal.

    |f|^2 = sum over x of f(x)^2 = initial . X . initial,     X = final final^T + sum_a A_a X A_a^T

Two functions are equal if their difference is zero on the strings whose forward vectors span all
others; found breadth-first, the first string on which they differ is a shortest one (Schutzenberger
1961, Tzeng 1992).

All strings up to a length with their values, level by level.

The forward vectors of a level are the images of those of the level before: one product per symbol.

Distances between models by enumeration.

L1_T(p, q) = sum over strings x of length <= T of |p(x) - q(x)|
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.linalg import qr

from sigmastar.automata.data.strings import Strings
from sigmastar.automata.model.algebra import difference
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.automata.model.minimize import observe_gramian, square_summable
from sigmastar.automata.model.sequence import SequenceModel
from sigmastar.core.alphabet import Alphabet, Symbol
from sigmastar.core.arrays import Floats, Int64s

Word = tuple[int, ...]

_ROUNDING = 1e-12  # a vector so much smaller than the operator that made it stands for zero


def l2_norm(automaton: WeightedAutomaton) -> float:
    """The root of the sum of squares; a value below 1e-8 of the automaton's own weights is rounding.

    Parameters
    ----------
    automaton : WeightedAutomaton
        The function.

    Returns
    -------
    float
        The norm.
    """
    automaton = square_summable(automaton)
    square = float(automaton.initial @ observe_gramian(automaton) @ automaton.initial)
    return math.sqrt(max(square, 0.0))


def l2_distance(first: WeightedAutomaton, second: WeightedAutomaton) -> float:
    """The root of the sum of squared differences over all strings.

    Parameters
    ----------
    first, second : WeightedAutomaton
        The two functions.

    Returns
    -------
    float
        Infinite sums are refused with a ValueError.
    """
    return l2_norm(difference(first, second))


@dataclass(frozen=True)
class Equivalence:
    """Whether two functions are equal; if not, a shortest string on which they differ."""

    equal: bool
    witness: tuple[Symbol, ...] | None


def equivalent(first: WeightedAutomaton, second: WeightedAutomaton, tolerance: float = 1e-9) -> Equivalence:
    """Compare two functions on the strings that decide: at most as many as both have states.

    A value of the difference counts as zero if it is below `tolerance` times the sizes of the forward
    and the final vector that make it: rare strings are held to the same relative standard.

    Parameters
    ----------
    first, second : WeightedAutomaton
        The two functions.
    tolerance : float
        Relative size of what is taken for rounding.

    Returns
    -------
    Equivalence
        The verdict, with a shortest string on which they differ.
    """
    gap = difference(first, second)
    cutoff = tolerance * float(np.linalg.norm(gap.final))
    words: list[Word] = [()]
    basis, vectors = np.empty((0, gap.n_states)), _unit_rows(gap.initial[None])
    while len(vectors):
        values = np.abs(vectors @ gap.final)
        if values.max() > cutoff:
            return Equivalence(False, gap.alphabet.decode(words[int(values.argmax())]))
        chosen, basis = _independent(vectors, basis)
        vectors, words = _extended(gap, vectors[chosen], [words[k] for k in chosen])
    return Equivalence(True, None)


def _extended(automaton: WeightedAutomaton, vectors: Floats, words: list[Word]) -> tuple[Floats, list[Word]]:
    """The forward vectors one symbol on, scaled to size one, with the words that lead to them."""
    n = automaton.n_states
    images = (vectors @ automaton.transitions).reshape(-1, n)
    longer = [(*word, code) for code in range(len(automaton.alphabet)) for word in words]
    sizes = np.repeat(np.linalg.norm(automaton.transitions, axis=(1, 2)), len(vectors))
    alive = np.flatnonzero(np.linalg.norm(images, axis=1) > _ROUNDING * sizes)
    return _unit_rows(images[alive]), [longer[k] for k in alive]


def _independent(vectors: Floats, basis: Floats) -> tuple[list[int], Floats]:
    """Which unit rows extend the span of orthonormal `basis`, and the basis of the larger span."""
    rest = vectors
    for _ in range(2):
        rest = rest - (rest @ basis.T) @ basis
    directions, sizes, order = qr(rest.T, mode="economic", pivoting=True)
    rank = min(int(np.sum(np.abs(np.diag(sizes)) > 1e-12)), basis.shape[1] - len(basis))
    return order[:rank].tolist(), np.vstack([basis, directions.T[:rank]])


def _unit_rows(rows: Floats) -> Floats:
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(norms > 0.0, norms, 1.0), dtype=np.float64)


MAX_SIZE = 20_000_000
"""Symbols of all strings, or numbers in their forward vectors, above which enumeration is refused."""


def values_up_to(automaton: WeightedAutomaton, max_length: int) -> tuple[Strings, Floats]:
    """Every string of at most `max_length` symbols, shorter ones first, and its value.

    Parameters
    ----------
    automaton : WeightedAutomaton
        The function.
    max_length : int
        Number of symbols at most.

    Returns
    -------
    tuple of Strings and array
        The strings and their values.
    """
    n_symbols = len(automaton.alphabet)
    levels = list(_levels(automaton, max_length))
    codes = [all_words(n_symbols, length) for length in range(len(levels))]
    lengths = np.repeat(np.arange(len(levels)), [len(values) for values in levels])
    offsets = np.append(0, np.cumsum(lengths)).astype(np.int64)
    flat = np.concatenate([words.ravel() for words in codes]).astype(np.int32)
    return Strings(automaton.alphabet, flat, offsets), np.concatenate(levels)


def _levels(automaton: WeightedAutomaton, max_length: int) -> Iterator[Floats]:
    """The values of all strings of length 0, 1, .., in the order of `all_words`."""
    n = len(automaton.alphabet)
    if max_length < 0:
        raise ValueError(f"max_length={max_length} must not be negative")
    if size_up_to(n, max_length, automaton.n_states) > MAX_SIZE:
        raise ValueError(
            f"too many strings over {n} symbols up to length {max_length}; use a smaller max_length"
        )
    vectors = automaton.initial[None]
    yield vectors @ automaton.final
    for _ in range(max_length if n else 0):
        vectors = (vectors[:, None, None, :] @ automaton.transitions)[:, :, 0, :].reshape(
            -1, automaton.n_states
        )
        yield vectors @ automaton.final


def all_words(n_symbols: int, length: int) -> Int64s:
    """All words of one length, in the order of numbers to the base `n_symbols`."""
    powers = n_symbols ** np.arange(length - 1, -1, -1, dtype=np.int64)
    return np.arange(n_symbols**length)[:, None] // powers % n_symbols


def size_up_to(n_symbols: int, max_length: int, n_states: int) -> float:
    total = 0.0
    for length in range(max_length + 1):
        total += max(length, n_states) * float(n_symbols) ** length
        if total > MAX_SIZE:
            break
    return total


CHUNK = 100_000  # strings held at a time


def l1_up_to(
    model: SequenceModel, reference: SequenceModel, max_length: int, max_strings: int = 5_000_000
) -> float:
    """The L1 distance on all strings up to a length, over the symbols of both models.

    Parameters
    ----------
    model, reference : SequenceModel
        The two models.
    max_length : int
        Number of symbols at most.
    max_strings : int
        Number of strings above which the sum is refused.

    Returns
    -------
    float
        The distance.
    """
    alphabet = Alphabet(dict.fromkeys([*reference.alphabet, *model.alphabet]))
    return sum(
        float(np.abs(values(model, strings) - values(reference, strings)).sum())
        for strings in all_strings(alphabet, max_length, max_strings)
    )


def values(model: SequenceModel, strings: Strings) -> Floats:
    """What the model gives each string; an automaton's values keep their sign."""
    recoded = strings.recoded(model.alphabet, allow_unknown=True)
    if isinstance(model, WeightedAutomaton):
        return model.value(recoded)
    return np.exp(model.log_probability(recoded))


def all_strings(
    alphabet: Alphabet, max_length: int, max_strings: int = 5_000_000, chunk: int = CHUNK
) -> Iterator[Strings]:
    """Every string up to a length, shortest first and in alphabetical order, in pieces.

    >>> ["".join(s) for piece in all_strings(Alphabet("ab"), 2) for s in piece]
    ['', 'a', 'b', 'aa', 'ab', 'ba', 'bb']
    """
    if max_length < 0:
        raise ValueError(f"max_length={max_length} must not be negative")
    total = sum(len(alphabet) ** length for length in range(max_length + 1))
    if total > max_strings:
        raise ValueError(
            f"max_length={max_length} over {len(alphabet)} symbols gives {total:,} strings, more than "
            f"max_strings={max_strings:,}; use a smaller max_length"
        )
    return _enumerate(alphabet, max_length, chunk)


def _enumerate(alphabet: Alphabet, max_length: int, chunk: int) -> Iterator[Strings]:
    for length in range(max_length + 1):
        places = len(alphabet) ** np.arange(length - 1, -1, -1, dtype=np.int64)
        count = len(alphabet) ** length
        for first in range(0, count, chunk):
            numbers = np.arange(first, min(first + chunk, count), dtype=np.int64)
            codes = (numbers[:, None] // places) % max(len(alphabet), 1)
            offsets = np.arange(len(numbers) + 1, dtype=np.int64) * length
            yield Strings(alphabet, codes.astype(np.int32).ravel(), offsets)
