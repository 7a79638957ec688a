"""All strings up to a length with their values, level by level.

The forward vectors of a level are the images of those of the level before: one product a symbol.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from sigmastar.automata.data.strings import Strings
from sigmastar.automata.model.algebra import difference
from sigmastar.automata.model.automaton import Array, WeightedAutomaton

MAX_SIZE = 20_000_000
"""Symbols of all strings, or numbers in their forward vectors, above which enumeration is refused."""


def values_up_to(automaton: WeightedAutomaton, max_length: int) -> tuple[Strings, Array]:
    """Every string of at most `max_length` symbols, shorter ones first, and its value."""
    n_symbols = len(automaton.alphabet)
    levels = list(_levels(automaton, max_length))
    codes = [all_words(n_symbols, length) for length in range(len(levels))]
    lengths = np.repeat(np.arange(len(levels)), [len(values) for values in levels])
    offsets = np.append(0, np.cumsum(lengths)).astype(np.int64)
    flat = np.concatenate([words.ravel() for words in codes]).astype(np.int32)
    return Strings(automaton.alphabet, flat, offsets), np.concatenate(levels)


def l1_up_to(first: WeightedAutomaton, second: WeightedAutomaton, max_length: int) -> float:
    """The sum of |f - g| over all strings of at most `max_length` symbols."""
    gap = difference(first, second)
    return float(sum(np.abs(values).sum() for values in _levels(gap, max_length)))


def _levels(automaton: WeightedAutomaton, max_length: int) -> Iterator[Array]:
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


def all_words(n_symbols: int, length: int) -> NDArray[np.int64]:
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
