"""Brute-force twins of the kernels behind completion and refinement."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def string_value(word: Sequence[int], initial: Array, transitions: Array, final: Array) -> float:
    """initial . A_x1 .. A_xm . final, one symbol at a time."""
    vector = initial
    for code in word:
        vector = vector @ transitions[code]
    return float(vector @ final)


def value_gradient(
    word: Sequence[int], initial: Array, transitions: Array, final: Array
) -> tuple[Array, Array, Array]:
    """The derivative of the value of one string in every weight: a product with one factor left out."""
    by_transitions = np.zeros_like(transitions)
    for t, code in enumerate(word):
        before, after = initial, final
        for other in word[:t]:
            before = before @ transitions[other]
        for other in reversed(word[t + 1 :]):
            after = transitions[other] @ after
        by_transitions[code] += np.outer(before, after)
    after = final
    for code in reversed(word):
        after = transitions[code] @ after
    before = initial
    for code in word:
        before = before @ transitions[code]
    return after, by_transitions, before


def hankel_entries(words: Sequence[str]) -> dict[tuple[str, str], str]:
    """The yield of every (prefix, suffix) of the words, by writing them out."""
    prefixes = {word[:t] for word in words for t in range(len(word) + 1)}
    suffixes = {word[t:] for word in words for t in range(len(word) + 1)}
    return {(p, s): p + s for p in prefixes for s in suffixes}
