"""Hidden Markov models of tags by counting: bigram and trigram taggers, the rivals of refined tags.

A bigram tagger has one state per tag. A trigram tagger has one per pair of a tag and the tag before; deleted
interpolation weighs tri-, bi- and unigrams (Brants 2000).
"""

from __future__ import annotations

import numpy as np

from sigmastar.core.arrays import Array, Floats
from sigmastar.taggers.learn.lexicon import TaggedCorpus
from sigmastar.taggers.learn.refinement import RefinedCounts, count_states, estimate
from sigmastar.taggers.model.refined import Ratios, RefinedTags


def bigram_counts(corpus: TaggedCorpus) -> RefinedCounts:
    """One state per tag."""
    states = np.arange(corpus.lexicon.n_tags + 1, dtype=np.int64)
    return count_states(corpus, states, np.zeros(len(corpus.tags), dtype=np.int64))


def bigram_model(corpus: TaggedCorpus) -> RefinedTags:
    """p(t' | t), shrunk to p(t')."""
    return estimate(corpus, bigram_counts(corpus))


def trigram_model(corpus: TaggedCorpus) -> RefinedTags:
    """p(u | s, t); state (s, t) is t (n + 1) + s, with the edge as tag n."""
    n = corpus.lexicon.n_tags
    smooth = _interpolated(_trigram_counts(corpus))
    transitions = np.zeros((n * (n + 1),) * 2)
    for t in range(n):
        for u in range(n):
            transitions[t * (n + 1) : (t + 1) * (n + 1), u * (n + 1) + t] = smooth[:, t, u]
    initial = np.zeros(n * (n + 1))
    initial[np.arange(n) * (n + 1) + n] = smooth[n, n, :n]
    final = smooth[:, :n, n].T.ravel().copy()
    states = np.arange(n + 1, dtype=np.int64) * (n + 1)
    nothing = Ratios(np.zeros(0, dtype=np.int64), np.zeros((0, n + 1)))
    return RefinedTags(states, initial, transitions, final, nothing, nothing)


def _trigram_counts(corpus: TaggedCorpus) -> Floats:
    """Counts [s, t, u] of three tags in a row, two edges before each sentence and one behind it."""
    n, tags, offsets = corpus.lexicon.n_tags, corpus.tags.astype(np.int64), corpus.sentences.offsets
    before = np.append(n, tags[:-1])
    before[offsets[:-1]] = n
    earlier = np.append(n, before[:-1])
    earlier[offsets[:-1]] = n
    counts, last = np.zeros((n + 1, n + 1, n + 1)), offsets[1:] - 1
    np.add.at(counts, (earlier, before, tags), 1.0)
    np.add.at(counts, (before[last], tags[last], np.full(len(last), n)), 1.0)
    return counts


def _interpolated(counts: Floats) -> Floats:
    """p(u | s, t) from counts [s, t, u]; weights by deleted interpolation."""
    pairs, singles = counts.sum(axis=0), counts.sum(axis=(0, 1))
    trigram = _without_one(counts, counts.sum(axis=2, keepdims=True))
    bigram = np.broadcast_to(_without_one(pairs, pairs.sum(axis=1, keepdims=True)), counts.shape)
    unigram = np.broadcast_to(_without_one(singles, singles.sum()), counts.shape)
    winner = np.argmax(np.stack([trigram, bigram, unigram]), axis=0)
    weights = np.bincount(winner.ravel(), counts.ravel(), 3)
    weights = weights / weights.sum()
    fine = counts / np.maximum(counts.sum(axis=2, keepdims=True), 1.0)
    middle = pairs / np.maximum(pairs.sum(axis=1, keepdims=True), 1.0)
    mixed = weights[0] * fine + weights[1] * middle + (weights[2] + 1e-6) * singles / singles.sum()
    return np.asarray(mixed / np.maximum(mixed.sum(axis=2, keepdims=True), 1e-300))


def _without_one(counts: Floats, totals: Array | float) -> Floats:
    """The relative frequency of an event if it had occurred once less."""
    return np.where(np.asarray(totals) > 1, (counts - 1) / np.maximum(np.asarray(totals) - 1, 1), 0.0)
