"""Next words of many contexts, from sparse rows of words."""

from __future__ import annotations

from sigmastar.core.arrays import Array, Int32s, Int64s
from sigmastar.core.jit import fast_kernel


@fast_kernel
def add_own(starts: Int64s, states: Int32s, values: Array, beliefs: Array, rows: Array) -> None:
    """Add sparse rows (words x states) times `beliefs` (states x contexts) to `rows` (words x contexts)."""
    n_contexts = beliefs.shape[1]
    for word in range(len(starts) - 1):
        for at in range(starts[word], starts[word + 1]):
            state, value = states[at], values[at]
            for k in range(n_contexts):
                rows[word, k] += value * beliefs[state, k]


@fast_kernel
def spread_own(starts: Int64s, states: Int32s, values: Array, table: Array) -> None:
    """Add sparse rows to a table."""
    for word in range(len(starts) - 1):
        for at in range(starts[word], starts[word + 1]):
            table[word, states[at]] += values[at]
