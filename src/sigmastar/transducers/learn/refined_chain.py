"""Refine the symbols of strings into substates: spectral embeddings, clusters, a few EM iterations.

1. canonical correlations of pasts and futures on context classes (`automata.learn.context_model`);
2. a token's embedding is [past after it; future before it], each scaled by the correlations;
3. k-means a symbol, min(k, count / `per_state`) clusters;
4. counts of moves between substates, shrunk: substate -> symbol -> Kneser-Ney bigram;
5. few EM iterations with the symbols given: more fit the training strings and not others.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.vq import vq

from sigmastar.automata.counts.ngram_smoothing import kneser_ney
from sigmastar.automata.counts.on_classes import ContextCounts, correlation_scaled
from sigmastar.automata.data.strings import Strings, require_known, require_strings
from sigmastar.automata.learn.context_model import choose_classes
from sigmastar.automata.learn.ngram import learn_ngram
from sigmastar.core.factors import factorize_up_to
from sigmastar.core.kmeans import cluster
from sigmastar.transducers.model.refined_chain import RefinedChain, flat_with_edges

Array = NDArray[np.float64]
Integers = NDArray[np.int32]
Longs = NDArray[np.int64]

_STEPS = 15  # of k-means
_ENOUGH = 4000  # tokens of a symbol tell its clusters


@dataclass(frozen=True)
class Refinement:
    """Settings: substates a symbol, tokens a substate, dimensions, classes, iterations, shrinkage."""

    n_substates: int = 16
    per_state: int = 30
    n_dimensions: int = 30
    n_classes: int = 3000
    min_count: int = 20
    n_iterations: int = 6
    substate: float = 4.0  # tokens that the symbol's moves count for
    symbol: float = 2.0  # tokens that the bigram's moves count for


def learn_refined(
    strings: Strings, rng: np.random.Generator, settings: Refinement | None = None
) -> RefinedChain:
    """A chain refined from spectral clusters."""
    settings = settings or Refinement()
    require_strings(require_known(strings))
    clusters = _clusters(strings, _embeddings(strings, settings), settings, rng)
    return _climb(strings, clusters, settings)


def _embeddings(strings: Strings, settings: Refinement) -> Array:
    """A row a token."""
    pasts, futures = choose_classes(strings, settings.n_classes, settings.min_count)
    counts = ContextCounts.of(strings, pasts, futures)
    factors = factorize_up_to(correlation_scaled(counts).matrices["string"], settings.n_dimensions + 1)
    values = factors.singular_values
    past = (factors.left / np.sqrt(np.maximum(counts.past_counts, 1))[:, None])[:, 1:]
    future = (factors.right * values / np.sqrt(np.maximum(counts.future_counts, 1))[:, None])[:, 1:]
    scale = np.sqrt(counts.past_counts.sum())
    before = np.arange(strings.n_symbols) + np.repeat(np.arange(len(strings)), strings.lengths)
    after = past[pasts.classify(strings)[before + 1]]
    return np.asarray(np.hstack([after, future[futures.classify(strings)[before]]]) * scale)


def _clusters(
    strings: Strings, embeddings: Array, settings: Refinement, rng: np.random.Generator
) -> Integers:
    """The substate of every token, numbered within its symbol."""
    found = np.zeros(strings.n_symbols, dtype=np.int32)
    order = np.argsort(strings.codes, kind="stable")
    cuts = np.searchsorted(strings.codes[order], np.arange(len(strings.alphabet) + 1))
    for low, high in zip(cuts.tolist(), cuts[1:].tolist(), strict=False):
        k = min(settings.n_substates, (high - low) // settings.per_state)
        if k < 2:
            continue
        rows = embeddings[order[low:high]]
        some = rows if len(rows) <= _ENOUGH else rows[rng.choice(len(rows), _ENOUGH, replace=False)]
        distinct = len(np.unique(some, axis=0))
        if distinct < 2:
            continue
        centres = _centres(some, cluster(some, min(k, distinct), rng.random(k), _STEPS))
        found[order[low:high]] = _compact(vq(rows, centres)[0])
    return found


def _centres(rows: Array, labels: Longs) -> Array:
    """The mean of every cluster that is not empty."""
    _, places, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    sums = np.zeros((len(sizes), rows.shape[1]))
    np.add.at(sums, places, rows)
    return np.asarray(sums / sizes[:, None])


def _compact(labels: Integers) -> Integers:
    return np.unique(labels, return_inverse=True)[1].astype(np.int32)


def _climb(strings: Strings, clusters: Integers, settings: Refinement) -> RefinedChain:
    n_symbols = len(strings.alphabet)
    symbols, ends = flat_with_edges(strings)
    substates = np.zeros(len(symbols), dtype=np.int64)
    substates[symbols < n_symbols] = clusters
    sizes = np.ones(n_symbols + 1, dtype=np.int64)
    np.maximum.at(sizes, strings.codes, clusters + 1)
    firsts = np.concatenate([[0], np.cumsum(sizes)])
    inside = np.ones(len(symbols) - 1, dtype=bool)
    inside[ends[1:-1] - 1] = False  # from the end of a string to the start of the next
    width = n_symbols + 1
    keys = np.unique((symbols[:-1].astype(np.int64) * width + symbols[1:])[inside])
    bigram = learn_ngram(strings, 2, kneser_ney)
    empty = np.empty(0)
    chain = RefinedChain(bigram, firsts, keys, empty, empty, empty)
    pairs = chain.pairs_of(symbols)
    at = chain.block_starts[pairs[:-1]] + substates[:-1] * sizes[symbols[1:]] + substates[1:]
    counts = np.bincount(at[inside], minlength=int(chain.block_starts[-1])).astype(np.float64)
    chain = _shrunk(chain, counts, settings)
    for _ in range(settings.n_iterations):
        counts, _ = chain.expected(symbols, ends, pairs)
        chain = _shrunk(chain, counts, settings)
    return chain


def _shrunk(chain: RefinedChain, counts: Array, settings: Refinement) -> RefinedChain:
    """Moves from counts of them.

    p(b, z' | a) = (c(a, b, z') + s p(b | a) p(z' | b)) / (c(a) + s), and likewise from (a, z) with that.
    """
    width, sizes = len(chain.alphabet) + 1, np.diff(chain.firsts)
    before, after = np.divmod(chain.pair_keys, width)
    cells = sizes[before] * sizes[after]
    pair = np.repeat(np.arange(len(cells)), cells)
    within = np.arange(len(pair)) - chain.block_starts[pair]
    source = chain.firsts[before[pair]] + within // sizes[after[pair]]
    target = chain.firsts[after[pair]] + within % sizes[after[pair]]
    shares = np.asarray(np.bincount(target, counts, chain.n_substates) + 0.1, dtype=np.float64)
    shares /= np.add.reduceat(shares, chain.firsts[:-1])[np.repeat(np.arange(width), sizes)]
    bigrams = chain.bigram.probabilities(chain._after[before], after.astype(np.int32))
    column = np.concatenate([[0], np.cumsum(sizes[after])])  # places of (pair, z')
    to_column = column[pair] + within % sizes[after[pair]]
    totals = np.bincount(source, counts, chain.n_substates)
    symbol_totals = np.add.reduceat(totals, chain.firsts[:-1])
    coarse = np.bincount(to_column, counts, column[-1])[to_column]
    coarse += settings.symbol * bigrams[pair] * shares[target]
    coarse /= (symbol_totals[before] + settings.symbol)[pair]
    blocks = (counts + settings.substate * coarse) / (totals + settings.substate)[source]
    owner = np.repeat(np.arange(width), sizes)
    spare = np.asarray(settings.substate / (totals + settings.substate), dtype=np.float64)
    spare = spare * settings.symbol / (symbol_totals[owner] + settings.symbol)
    return chain.with_moves(blocks, spare, shares)
