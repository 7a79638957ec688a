"""Distances between models by enumeration.

L1_T(p, q) = sum over strings x of length <= T of |p(x) - q(x)|
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from sigmastar.automata.data.strings import Strings
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.automata.model.sequence import SequenceModel
from sigmastar.core.alphabet import Alphabet

Array = NDArray[np.float64]

CHUNK = 100_000  # strings held at a time


def l1_up_to(
    model: SequenceModel, reference: SequenceModel, max_length: int, max_strings: int = 5_000_000
) -> float:
    """The L1 distance on all strings up to a length, over the symbols of both models."""
    alphabet = Alphabet(dict.fromkeys([*reference.alphabet, *model.alphabet]))
    return sum(
        float(np.abs(values(model, strings) - values(reference, strings)).sum())
        for strings in all_strings(alphabet, max_length, max_strings)
    )


def values(model: SequenceModel, strings: Strings) -> Array:
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
