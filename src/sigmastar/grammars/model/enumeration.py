"""All strings up to a length with their values under a weighted grammar.

The inside vectors of all strings of length l are sums over k of the products of all of length k with all of
length l - k: `beta(y z)` stands at the number of y times symbols^(l - k) plus the number of z.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sigmastar.automata.data.strings import Strings
from sigmastar.automata.model.distances import MAX_SIZE, all_words, size_up_to
from sigmastar.grammars.model.grammar import WeightedGrammar

Array = NDArray[np.float64]


def grammar_values_up_to(grammar: WeightedGrammar, max_length: int) -> tuple[Strings, Array]:
    """Every non-empty string of at most `max_length` symbols, shorter ones first, and its value."""
    levels = _levels(grammar, max_length)
    words = [all_words(len(grammar.alphabet), length) for length in range(1, max_length + 1)]
    lengths = np.repeat(np.arange(1, max_length + 1), [len(level) for level in levels])
    offsets = np.append(0, np.cumsum(lengths)).astype(np.int64)
    codes = np.concatenate([level.ravel() for level in words]).astype(np.int32)
    return Strings(grammar.alphabet, codes, offsets), np.concatenate(levels)


def _levels(grammar: WeightedGrammar, max_length: int) -> list[Array]:
    n, n_symbols = grammar.n_states, len(grammar.alphabet)
    if max_length < 1:
        raise ValueError(f"max_length={max_length} must be 1 or more")
    if size_up_to(n_symbols, max_length, n) > MAX_SIZE:
        raise ValueError(
            f"too many strings over {n_symbols} symbols up to length {max_length}; use a smaller max_length"
        )
    vectors = [grammar.words]
    for length in range(2, max_length + 1):
        total = np.zeros((n_symbols**length, n))
        for k in range(1, length):
            pulled = np.einsum("yj,ijk->yik", vectors[k - 1], grammar.composition)
            total += np.einsum("yik,zk->yzi", pulled, vectors[length - k - 1], optimize=True).reshape(-1, n)
        vectors.append(total)
    return [level @ grammar.initial for level in vectors]
