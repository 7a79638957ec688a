"""Where the refinement of tags starts: clusters in a spectral space, chance, or the tag before.

The blocks of gaps (`statistics.tag_contexts`) scaled to correlations, M ~ U S V^T, put every token at

    [ sqrt(T) U S / sqrt(d_r) of the past after it,  sqrt(T) V S / sqrt(d_c) of the future before it ]

Tokens of one tag that stand close there have alike pasts and futures; k-means makes states of them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sigmastar.factorization.svd import factorize_up_to
from sigmastar.learning.heads_em import clustered
from sigmastar.learning.tag_refinement import RefinedCounts, TaggedCorpus, count_states
from sigmastar.operators.refined_tags import Ratios, RefinedTags
from sigmastar.statistics.tag_contexts import LEAST_WORD, TagContexts

Array = NDArray[np.float64]
Longs = NDArray[np.int64]

TOKENS_A_STATE = 50
DIMENSIONS = 40


def state_starts(corpus: TaggedCorpus, n_states: int, tokens_a_state: int = TOKENS_A_STATE) -> Longs:
    """How many states each tag may have: at most `n_states`, and one for so many tokens."""
    counts = np.bincount(corpus.tags, minlength=corpus.lexicon.n_tags)
    sizes = np.clip(counts // tokens_a_state, 1, n_states)
    return np.append(0, np.cumsum(sizes)).astype(np.int64)


def embeddings(contexts: TagContexts, n_dimensions: int = DIMENSIONS) -> tuple[Array, Array]:
    """The places of past classes and of future classes."""
    matrix = contexts.matrix
    d_r, d_c = np.asarray(matrix.sum(axis=1)).ravel(), np.asarray(matrix.sum(axis=0)).ravel()
    left, right = sparse.diags_array(1 / np.sqrt(d_r)), sparse.diags_array(1 / np.sqrt(d_c))
    factors = factorize_up_to((left @ matrix @ right).tocsr(), n_dimensions)
    scale = np.sqrt(d_r.sum()) * factors.singular_values
    return factors.left * scale / np.sqrt(d_r)[:, None], factors.right * scale / np.sqrt(d_c)[:, None]


def spectral_start(corpus: TaggedCorpus, n_states: int, rng: np.random.Generator) -> RefinedCounts:
    """States are clusters of tokens in the spectral space, tag by tag."""
    sentences = corpus.sentences
    contexts = TagContexts.of(words_or_classes(corpus), corpus.tags, sentences.offsets)
    pasts, futures = embeddings(contexts)
    gaps = contexts.token_gaps
    keys, places, counts = np.unique(
        contexts.past[gaps + 1] * contexts.shape[1] + contexts.future[gaps],
        return_inverse=True,
        return_counts=True,
    )
    r, c = np.divmod(keys, contexts.shape[1])
    points = np.hstack([pasts[r], futures[c]])
    tag_of = np.zeros(len(keys), dtype=np.int64)
    tag_of[places] = corpus.tags
    limits = np.diff(state_starts(corpus, n_states))
    state_of_key, sizes = np.zeros(len(keys), dtype=np.int64), np.ones(len(limits), dtype=np.int64)
    for tag, n in enumerate(limits.tolist()):
        chosen = np.flatnonzero(tag_of == tag)
        if n > 1:
            state_of_key[chosen] = clustered(points[chosen], counts[chosen].astype(float), n, rng)
            sizes[tag] = state_of_key[chosen].max() + 1
    return count_states(corpus, np.append(0, np.cumsum(sizes)), state_of_key[places])


def words_or_classes(corpus: TaggedCorpus, least: int = LEAST_WORD) -> NDArray[np.int32]:
    """Of each token its word, or if that is rare its class of words."""
    sentences = corpus.sentences
    codes = sentences.type_codes
    frequent = np.bincount(codes)[codes] >= least
    classes = len(sentences.types) + corpus.lexicon.class_codes(sentences.types)[codes]
    return np.where(frequent, codes, classes).astype(np.int32)


def random_start(corpus: TaggedCorpus, n_states: int, rng: np.random.Generator) -> RefinedCounts:
    """Every token in a state of its tag by chance."""
    states = state_starts(corpus, n_states)
    sizes = np.diff(states)[corpus.tags]
    return count_states(corpus, states, (rng.random(len(sizes)) * sizes).astype(np.int64))


def bigram_start(corpus: TaggedCorpus) -> RefinedCounts:
    """One state a tag."""
    states = np.arange(corpus.lexicon.n_tags + 1, dtype=np.int64)
    return count_states(corpus, states, np.zeros(len(corpus.tags), dtype=np.int64))


def trigram_model(corpus: TaggedCorpus) -> RefinedTags:
    """States are the tags before; deleted interpolation weighs tri-, bi- and unigrams (Brants 2000)."""
    n, tags, offsets = corpus.lexicon.n_tags, corpus.tags.astype(np.int64), corpus.sentences.offsets
    before = np.append(n, tags[:-1])
    before[offsets[:-1]] = n
    edged = np.zeros((n + 1, n + 1, n + 1))
    earlier = np.append(n, before[:-1])
    earlier[offsets[:-1]] = n
    np.add.at(edged, (earlier, before, tags), 1.0)
    last = offsets[1:] - 1
    np.add.at(edged, (before[last], tags[last], np.full(len(last), n)), 1.0)
    smooth = _interpolated(edged)
    states = np.arange(n + 1, dtype=np.int64) * (n + 1)  # state (s, t) is t (n + 1) + s
    transitions = np.zeros((n * (n + 1),) * 2)
    for t in range(n):
        for u in range(n):
            transitions[t * (n + 1) : (t + 1) * (n + 1), u * (n + 1) + t] = smooth[:, t, u]
    initial = np.zeros(n * (n + 1))
    initial[np.arange(n) * (n + 1) + n] = smooth[n, n, :n]
    final = smooth[:, :n, n].T.ravel().copy()
    nothing = Ratios(np.zeros(0, dtype=np.int64), np.zeros((0, n + 1)))
    return RefinedTags(states, initial, transitions, final, nothing, nothing)


def _interpolated(counts: Array) -> Array:
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


def _without_one(counts: Array, totals: Array | float) -> Array:
    """The relative frequency of an event if it had been met once less."""
    return np.where(np.asarray(totals) > 1, (counts - 1) / np.maximum(np.asarray(totals) - 1, 1), 0.0)
