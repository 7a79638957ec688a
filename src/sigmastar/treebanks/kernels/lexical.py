"""Scores of words from a forest of back-off nodes: word, signatures, rare words, all words.

    P(a, z | node) = (c(a, z, node) + k P(a, z | above)) / (c(node) + k),     at the top c / total

Nodes hold (node, symbol) pairs, sorted by node; a pair owns the values of the states of its symbol, and any
linear function of the counts may stand in their place, signed ones too. With a tag given, every level is
taken within the symbols of that tag.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sigmastar.core.jit import kernel

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Array = NDArray[np.float64]


@kernel
def add_posteriors(
    pairs: Longs, levels: Longs, offsets: Longs, vectors: Array, at: Longs, size: int
) -> Array:
    """Sum the vectors of words over their pairs and those above: `levels` [word pair, level], -1 for none."""
    values = np.zeros(size)
    for i in range(len(pairs)):
        for level in range(levels.shape[1]):
            pair = levels[pairs[i], level]
            if pair >= 0:
                low = offsets[pair]
                for z in range(offsets[pair + 1] - low):
                    values[low + z] += vectors[at[i] + z]
    return values


@kernel
def _total(
    node: int, tag: int, starts: Longs, symbols: Ints, counts: Array, totals: Array, tags: Ints
) -> float:
    if tag < 0:
        return float(totals[node])
    total = 0.0
    for pair in range(starts[node], starts[node + 1]):
        if tags[symbols[pair]] == tag:
            total += counts[pair]
    return total


@kernel
def _shares(
    node: int,
    tag: int,
    strength: float,
    above: Ints,
    starts: Longs,
    symbols: Ints,
    counts: Array,
    totals: Array,
    tags: Ints,
    shares: Array,
) -> float:
    """Fill P(a | node) for all leaf symbols; the largest of them."""
    shares[:] = 0.0
    weight, at = 1.0, node
    while at >= 0:
        total = _total(at, tag, starts, symbols, counts, totals, tags)
        k = strength if above[at] >= 0 else 0.0
        if total + k > 0.0:
            factor = weight / (total + k)
            for pair in range(starts[at], starts[at + 1]):
                if tag < 0 or tags[symbols[pair]] == tag:
                    shares[symbols[pair]] += factor * counts[pair]
            weight *= k / (total + k)
        at = above[at]
    return float(shares.max())


@kernel
def candidates(
    nodes: Longs,
    word_tags: Longs,
    strength: float,
    least: float,
    above: Ints,
    starts: Longs,
    symbols: Ints,
    counts: Array,
    totals: Array,
    tags: Ints,
    frequencies: Array,
) -> tuple[Longs, Ints, Array, Longs]:
    """Candidates of every word: where they begin, symbols, P(a | w) / P(a); and the tag that was obeyed."""
    n_symbols, n = len(frequencies), len(nodes)
    shares, begin, obeyed = np.zeros(n_symbols), np.zeros(n + 1, np.int64), word_tags.copy()
    found, scores = np.zeros(n * n_symbols, np.int32), np.zeros(n * n_symbols)
    m = 0
    for i in range(n):
        most = _shares(nodes[i], obeyed[i], strength, above, starts, symbols, counts, totals, tags, shares)
        if most <= 0.0:  # a tag that no word below this one ever had
            obeyed[i] = -1
            most = _shares(nodes[i], -1, strength, above, starts, symbols, counts, totals, tags, shares)
        for a in range(n_symbols):
            if shares[a] > 0.0 and shares[a] >= least * most:
                found[m], scores[m] = a, shares[a] / frequencies[a]
                m += 1
        begin[i + 1] = m
    return begin, found[:m], scores[:m], obeyed


@kernel
def candidate_vectors(
    nodes: Longs,
    word_tags: Longs,
    begin: Longs,
    found: Ints,
    strength: float,
    above: Ints,
    starts: Longs,
    symbols: Ints,
    counts: Array,
    totals: Array,
    tags: Ints,
    offsets: Longs,
    values: Array,
    n_states: Longs,
) -> tuple[Longs, Array]:
    """Where the vector of every candidate begins, and the vectors."""
    at = np.zeros(len(found) + 1, np.int64)
    for m in range(len(found)):
        at[m + 1] = at[m] + n_states[found[m]]
    vectors = np.zeros(at[-1])
    for i in range(len(nodes)):
        node, weight = nodes[i], 1.0
        while node >= 0:
            total = _total(node, word_tags[i], starts, symbols, counts, totals, tags)
            k = strength if above[node] >= 0 else 0.0
            if total + k > 0.0:
                factor, pair, high = weight / (total + k), starts[node], starts[node + 1]
                for m in range(begin[i], begin[i + 1]):  # both are sorted by symbol
                    while pair < high and symbols[pair] < found[m]:
                        pair += 1
                    if pair < high and symbols[pair] == found[m]:
                        for z in range(at[m + 1] - at[m]):
                            vectors[at[m] + z] += factor * values[offsets[pair] + z]
                weight *= k / (total + k)
            node = above[node]
    return at, vectors


@kernel
def leaf_vectors(
    leaf_nodes: Longs,
    leaf_symbols: Ints,
    strength: float,
    above: Ints,
    starts: Longs,
    symbols: Ints,
    totals: Array,
    offsets: Longs,
    values: Array,
    at: Longs,
) -> Array:
    """The vector of every (node, symbol) asked for, flat, beginning at `at`."""
    result = np.zeros(at[-1])
    for i in range(len(leaf_nodes)):
        node, a, weight = leaf_nodes[i], leaf_symbols[i], 1.0
        while node >= 0:
            k = strength if above[node] >= 0 else 0.0
            factor = weight / max(totals[node] + k, 1e-300)
            low, high = starts[node], starts[node + 1]
            pair = low + np.searchsorted(symbols[low:high], a)
            if pair < high and symbols[pair] == a:
                for z in range(offsets[pair + 1] - offsets[pair]):
                    result[at[i] + z] += factor * values[offsets[pair] + z]
            weight *= k / max(totals[node] + k, 1e-300)
            node = above[node]
    return result
