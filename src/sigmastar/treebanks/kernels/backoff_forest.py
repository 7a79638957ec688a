"""Scores of words from a forest of back-off nodes: word, signatures, rare words, all words.

    P(a, z | node) = (c(a, z, node) + k P(a, z | above)) / (c(node) + k),     at the top c / total

Nodes hold (node, symbol) pairs, sorted by node; a pair owns the values of the states of its symbol, and any
linear function of the counts may stand in their place, signed ones too. With a tag given, every level is
taken within the symbols of that tag.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sigmastar.core.arrays import Floats, Int32s, Int64s
from sigmastar.core.jit import kernel, part


class ForestArrays(NamedTuple):
    """A forest as kernels take it; see `LexicalForest`."""

    above: Int32s
    starts: Int64s
    symbols: Int32s
    counts: Floats
    totals: Floats
    tags: Int32s
    strength: float


@part
def _total(forest: ForestArrays, node: int, tag: int) -> float:
    if tag < 0:
        return float(forest.totals[node])
    total = 0.0
    for pair in range(forest.starts[node], forest.starts[node + 1]):
        if forest.tags[forest.symbols[pair]] == tag:
            total += forest.counts[pair]
    return total


@kernel
def add_posteriors(
    pairs: Int64s, levels: Int64s, offsets: Int64s, vectors: Floats, at: Int64s, size: int
) -> Floats:
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
def _shares(forest: ForestArrays, node: int, tag: int, shares: Floats) -> float:
    """Fill P(a | node) for all leaf symbols; the largest of them."""
    shares[:] = 0.0
    weight, at, symbols = 1.0, node, forest.symbols
    while at >= 0:
        total = _total(forest, at, tag)
        k = forest.strength if forest.above[at] >= 0 else 0.0
        if total + k > 0.0:
            factor = weight / (total + k)
            for pair in range(forest.starts[at], forest.starts[at + 1]):
                if tag < 0 or forest.tags[symbols[pair]] == tag:
                    shares[symbols[pair]] += factor * forest.counts[pair]
            weight *= k / (total + k)
        at = forest.above[at]
    return float(shares.max())


@kernel
def candidates(
    forest: ForestArrays, nodes: Int64s, word_tags: Int64s, least: float, frequencies: Floats
) -> tuple[Int64s, Int32s, Floats, Int64s]:
    """Candidates of every word: where they begin, symbols, P(a | w) / P(a); and the tag that was obeyed."""
    n_symbols, n = len(frequencies), len(nodes)
    shares, begin, obeyed = np.zeros(n_symbols), np.zeros(n + 1, np.int64), word_tags.copy()
    found, scores = np.zeros(n * n_symbols, np.int32), np.zeros(n * n_symbols)
    m = 0
    for i in range(n):
        most = _shares(forest, nodes[i], obeyed[i], shares)
        if most <= 0.0:  # a tag that no word below this one ever had
            obeyed[i] = -1
            most = _shares(forest, nodes[i], -1, shares)
        for a in range(n_symbols):
            if shares[a] > 0.0 and shares[a] >= least * most:
                found[m], scores[m] = a, shares[a] / frequencies[a]
                m += 1
        begin[i + 1] = m
    return begin, found[:m], scores[:m], obeyed


class StateValues(NamedTuple):
    """The values of the states of every pair, flat, where those of each begin, and the states of symbols."""

    values: Floats
    offsets: Int64s
    n_states: Int64s


class WordCandidates(NamedTuple):
    """Nodes and tags of words, where the candidates of each begin, and their symbols."""

    nodes: Int64s
    tags: Int64s
    begin: Int64s
    symbols: Int32s


@kernel
def candidate_vectors(
    forest: ForestArrays, words: WordCandidates, states: StateValues
) -> tuple[Int64s, Floats]:
    """Where the vector of every candidate begins, and the vectors."""
    begin, found, symbols = words.begin, words.symbols, forest.symbols
    at = np.zeros(len(found) + 1, np.int64)
    for m in range(len(found)):
        at[m + 1] = at[m] + states.n_states[found[m]]
    vectors = np.zeros(at[-1])
    for i in range(len(words.nodes)):
        node, weight = words.nodes[i], 1.0
        while node >= 0:
            total = _total(forest, node, words.tags[i])
            k = forest.strength if forest.above[node] >= 0 else 0.0
            if total + k > 0.0:
                factor, pair, high = weight / (total + k), forest.starts[node], forest.starts[node + 1]
                for m in range(begin[i], begin[i + 1]):  # both are sorted by symbol
                    while pair < high and symbols[pair] < found[m]:
                        pair += 1
                    if pair < high and symbols[pair] == found[m]:
                        for z in range(at[m + 1] - at[m]):
                            vectors[at[m] + z] += factor * states.values[states.offsets[pair] + z]
                weight *= k / (total + k)
            node = forest.above[node]
    return at, vectors


@kernel
def leaf_vectors(
    forest: ForestArrays, leaf_nodes: Int64s, leaf_symbols: Int32s, states: StateValues, at: Int64s
) -> Floats:
    """The vector of every (node, symbol) asked for, flat, beginning at `at`."""
    result, offsets = np.zeros(at[-1]), states.offsets
    for i in range(len(leaf_nodes)):
        node, a, weight = leaf_nodes[i], leaf_symbols[i], 1.0
        while node >= 0:
            k = forest.strength if forest.above[node] >= 0 else 0.0
            factor = weight / max(forest.totals[node] + k, 1e-300)
            low, high = forest.starts[node], forest.starts[node + 1]
            pair = low + np.searchsorted(forest.symbols[low:high], a)
            if pair < high and forest.symbols[pair] == a:
                for z in range(offsets[pair + 1] - offsets[pair]):
                    result[at[i] + z] += factor * states.values[offsets[pair] + z]
            weight *= k / max(forest.totals[node] + k, 1e-300)
            node = forest.above[node]
    return result
