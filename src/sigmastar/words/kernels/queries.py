"""Next words of many contexts, from sparse rows of words; mixed with those of n-grams."""

from __future__ import annotations

from typing import Any

import numpy as np

from sigmastar.core.arrays import Array, Floats, Int32s, Int64s
from sigmastar.core.jit import fast_kernel

_TILE = 64  # words that are turned from columns to rows at a time, near the processor


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


@fast_kernel
def mix_columns(found: Array, rates: Floats, contexts: Int32s, tables: Any, rows: Floats) -> None:
    """`rows` (contexts x words) of `found` (words x contexts), each made to sum to one, and of n-grams.

    What all words get is written in one pass: their share of `found`, of the empty context and of nothing
    known. What longer contexts know of some words is added to these alone.
    """
    parent, row_starts, outcomes, own, backoff, _ = tables
    n_words, n_contexts = found.shape
    sums, shares, weights = np.zeros(n_contexts), np.zeros(n_contexts), np.zeros(n_contexts)
    bases, base, base_sum = np.zeros(n_contexts), np.zeros(n_words), 0.0
    for at in range(row_starts[0], row_starts[1]):
        base[outcomes[at]] = own[at]
        base_sum += own[at]
    for word in range(n_words):
        for k in range(n_contexts):
            sums[k] += found[word, k]
    for k in range(n_contexts):
        node, weight, total = contexts[k], 1.0, 0.0
        while node:
            for at in range(row_starts[node], row_starts[node + 1]):
                total += weight * own[at]
            weight *= backoff[node]
            node = parent[node]
        weights[k] = rates[k] / (total + weight * (base_sum + backoff[0]))
        bases[k] = weight * weights[k]
        shares[k] = bases[k] * backoff[0] / n_words
        sums[k] = (1.0 - rates[k]) / sums[k]
    for first in range(0, n_words, _TILE):
        last = min(first + _TILE, n_words)
        for k in range(n_contexts):
            scale, share, lowest, row = sums[k], shares[k], bases[k], rows[k]
            for word in range(first, last):
                row[word] = scale * found[word, k] + lowest * base[word] + share
    for k in range(n_contexts):
        node, weight = contexts[k], weights[k]
        while node:
            for at in range(row_starts[node], row_starts[node + 1]):
                rows[k, outcomes[at]] += weight * own[at]
            weight *= backoff[node]
            node = parent[node]
