"""Where the refinement of tags starts: clusters in a spectral space, chance, or the tag before.

The blocks of gaps (`statistics.tag_contexts`) scaled to correlations, M ~ U S V^T, put every token at

    [ sqrt(T) U S / sqrt(d_r) of the past before it,  sqrt(T) V S / sqrt(d_c) of the future after it ]

and beside this, at the mean of all tokens of its word and tag. Tokens of one tag that stand close there are
used alike; k-means makes states of them.
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
DIMENSIONS = 20
TOKENS_A_CLUSTER = 300  # drawn for k-means
PULL = 50.0  # tokens that the mean context of a class counts for


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
    pasts, futures = (
        factors.left * scale / np.sqrt(d_r)[:, None],
        factors.right * scale / np.sqrt(d_c)[:, None],
    )
    return pasts[:, 1:], futures[:, 1:]  # the first is the same for all


def spectral_start(corpus: TaggedCorpus, n_states: int, rng: np.random.Generator) -> RefinedCounts:
    """States are clusters of tokens in the spectral space, tag by tag."""
    points, places = token_points(corpus)
    counts = np.bincount(places)
    tag_of = np.zeros(len(points), dtype=np.int64)
    tag_of[places] = corpus.tags
    limits = np.diff(state_starts(corpus, n_states))
    state_of, sizes = np.zeros(len(points), dtype=np.int64), np.ones(len(limits), dtype=np.int64)
    for tag, n in enumerate(limits.tolist()):
        chosen = np.flatnonzero(tag_of == tag)
        if n > 1:
            state_of[chosen] = sampled_clusters(points[chosen], counts[chosen], n, rng)
            sizes[tag] = state_of[chosen].max() + 1
    return count_states(corpus, np.append(0, np.cumsum(sizes)), state_of[places])


def sampled_clusters(points: Array, counts: Longs, n: int, rng: np.random.Generator) -> Longs:
    """k-means on a sample of the tokens, and the nearest centre for every point."""
    n_drawn = min(TOKENS_A_CLUSTER * n, int(counts.sum()))
    times = rng.multinomial(n_drawn, counts / counts.sum()).astype(float)
    drawn = np.flatnonzero(times)
    labels = clustered(points[drawn], times[drawn], n, rng)
    members = sparse.csr_array((times[drawn], (labels, np.arange(len(drawn)))))
    centres = np.asarray(members @ points[drawn]) / np.asarray(members.sum(axis=1))[:, None]
    nearest = np.argmin((centres**2).sum(axis=1) - 2.0 * points @ centres.T, axis=1)
    return np.unique(nearest, return_inverse=True)[1]


def token_points(corpus: TaggedCorpus) -> tuple[Array, Longs]:
    """Distinct points, and the point of each token: its own context, and that of its word and tag."""
    contexts = TagContexts.of(words_or_classes(corpus), corpus.tags, corpus.sentences.offsets)
    pasts, futures = embeddings(contexts)
    gaps, width = contexts.token_gaps, contexts.shape[1]
    around = contexts.past[gaps] * width + contexts.future[gaps + 1]
    distinct, of_token = np.unique(around, return_inverse=True)
    surroundings = np.hstack([pasts[distinct // width], futures[distinct % width]])
    keys, places = np.unique(corpus.pairs.astype(np.int64) * len(distinct) + of_token, return_inverse=True)
    of_pair, of_context = np.divmod(keys, len(distinct))
    by_pair = pair_points(corpus, surroundings, of_pair, of_context, np.bincount(places))
    return np.hstack([by_pair[of_pair], surroundings[of_context]]), places


def pair_points(
    corpus: TaggedCorpus, surroundings: Array, of_pair: Longs, of_context: Longs, counts: Longs
) -> Array:
    """The mean context of every pair of word and tag, pulled towards that of its class of words."""
    shape = (len(corpus.pair_keys), len(surroundings))
    met = sparse.csr_array((counts.astype(float), (of_pair, of_context)), shape=shape)
    totals = np.asarray(met.sum(axis=1)).ravel()
    _, class_of = np.unique(corpus.class_keys, return_inverse=True)
    shape = (int(class_of.max()) + 1, len(totals))
    classes = sparse.csr_array((np.ones(len(totals)), (class_of, np.arange(len(totals)))), shape=shape)
    sums = np.asarray(met @ surroundings)
    means = np.asarray(classes @ sums) / np.asarray(classes @ totals)[:, None]
    return (sums + PULL * means[class_of]) / (totals + PULL)[:, None]


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
