"""Where the refinement of tags starts: clusters in a spectral space, chance, or the tag before.

The blocks of gaps (`taggers.counts.contexts`) scaled to correlations, M ~ U S V^T, put every token at

    [ sqrt(T) U S / sqrt(d_r) of the past before it,  sqrt(T) V S / sqrt(d_c) of the future after it ]

and beside this, at the mean of all tokens of its word and tag. Tokens of one tag that stand close there are
used alike; k-means makes states of them. EM moves slowly away from states that are certain, so it begins from
counts that are spread in part over all states of the tag (`softened`), and takes steps longer than its own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sigmastar.core.factors import factorize_up_to
from sigmastar.dependency.learn.em import clustered
from sigmastar.taggers.counts.contexts import LEAST_WORD, TagContexts
from sigmastar.taggers.learn.refinement import RefinedCounts, Shrinkage, TaggedCorpus, count_states, refine
from sigmastar.taggers.model.refined import Ratios, RefinedTags

Array = NDArray[np.float64]
Longs = NDArray[np.int64]

TOKENS_A_STATE = 50
DIMENSIONS = 20
TOKENS_A_CLUSTER = 100  # drawn for k-means
CERTAINTY = 0.35  # the share of the counts of clusters that EM starts from
PACE = 2.1  # EM diverges at 3
OWN = 0.45  # the scale of a token's own context beside the mean one of its word and tag
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
    space = TokenSpace.of(corpus)
    limits = np.diff(state_starts(corpus, n_states))
    state_of, sizes = np.zeros(len(corpus.tags), dtype=np.int64), np.ones(len(limits), dtype=np.int64)
    by_tag, ends = np.argsort(corpus.tags, kind="stable"), np.cumsum(np.bincount(corpus.tags))
    for tag, n in enumerate(limits.tolist()):
        tokens = by_tag[ends[tag - 1] if tag else 0 : ends[tag]]
        if n > 1:
            state_of[tokens] = sampled_clusters(space, tokens, n, rng)
            sizes[tag] = state_of[tokens].max() + 1
    return count_states(corpus, np.append(0, np.cumsum(sizes)), state_of)


def sampled_clusters(space: TokenSpace, tokens: Longs, n: int, rng: np.random.Generator) -> Longs:
    """k-means on a sample of the tokens, and the nearest centre for every token."""
    drawn = tokens[rng.permutation(len(tokens))[: TOKENS_A_CLUSTER * n]]
    points = space.points(drawn)
    labels = clustered(points, np.ones(len(drawn)), n, rng)
    members = sparse.csr_array((np.ones(len(drawn)), (labels, np.arange(len(drawn)))))
    centres = np.asarray(members @ points) / np.asarray(members.sum(axis=1))[:, None]
    return np.unique(space.nearest(tokens, centres), return_inverse=True)[1]


@dataclass(frozen=True, eq=False)
class TokenSpace:
    """Where tokens stand: one row of each table side by side, `rows` says which."""

    tables: tuple[Array, Array, Array]  # of pairs of word and tag, of classes of pasts, of classes of futures
    rows: tuple[Longs, Longs, Longs]

    @classmethod
    def of(cls, corpus: TaggedCorpus) -> TokenSpace:
        contexts = TagContexts.of(words_or_classes(corpus), corpus.tags, corpus.sentences.offsets)
        pasts, futures = embeddings(contexts)
        gaps, pairs = contexts.token_gaps, corpus.pairs.astype(np.int64)
        before, after = contexts.past[gaps], contexts.future[gaps + 1]
        met = (_mean_rows(corpus, pairs, before, pasts), _mean_rows(corpus, pairs, after, futures))
        return cls((np.hstack(met), OWN * pasts, OWN * futures), (pairs, before, after))

    def points(self, tokens: Longs) -> Array:
        return np.hstack([table[rows[tokens]] for table, rows in zip(self.tables, self.rows, strict=True)])

    def nearest(self, tokens: Longs, centres: Array) -> Longs:
        """The nearest centre of each token: distances are sums over the tables, which are small."""
        cuts = np.cumsum([table.shape[1] for table in self.tables])[:-1]
        far = np.tile(0.5 * (centres**2).sum(axis=1), (len(tokens), 1))
        for table, rows, part in zip(self.tables, self.rows, np.split(centres, cuts, axis=1), strict=True):
            far -= (table @ part.T)[rows[tokens]]
        return np.asarray(np.argmin(far, axis=1))


def _mean_rows(corpus: TaggedCorpus, pairs: Longs, classes: Longs, table: Array) -> Array:
    """The mean of `table` over the tokens of every pair of word and tag, pulled to its class of words."""
    met = sparse.csr_array((np.ones(len(pairs)), (pairs, classes)), shape=(len(corpus.pair_keys), len(table)))
    totals = np.bincount(pairs, minlength=len(corpus.pair_keys)).astype(float)
    _, class_of = np.unique(corpus.class_keys, return_inverse=True)
    shape = (int(class_of.max()) + 1, len(totals))
    groups = sparse.csr_array((np.ones(len(totals)), (class_of, np.arange(len(totals)))), shape=shape)
    sums = np.asarray(met @ table)
    means = np.asarray(groups @ sums) / np.asarray(groups @ totals)[:, None]
    return np.asarray((sums + PULL * means[class_of]) / (totals + PULL)[:, None])


def words_or_classes(corpus: TaggedCorpus, least: int = LEAST_WORD) -> NDArray[np.int32]:
    """Of each token its word, or if that is rare its class of words."""
    sentences = corpus.sentences
    codes = sentences.type_codes
    frequent = np.bincount(codes)[codes] >= least
    classes = len(sentences.types) + corpus.lexicon.class_codes(sentences.types)[codes]
    return np.where(frequent, codes, classes).astype(np.int32)


def spectral_refinement(
    corpus: TaggedCorpus, n_states: int, n_iterations: int, rng: np.random.Generator
) -> RefinedTags:
    """Clusters, and a few over-relaxed EM iterations from them."""
    start = spectral_start(corpus, n_states, rng)
    if n_iterations:
        start = softened(corpus, start, CERTAINTY)
    return refine(corpus, start, n_iterations, Shrinkage(), PACE)


def softened(corpus: TaggedCorpus, counts: RefinedCounts, certainty: float) -> RefinedCounts:
    """A share of the counts stays; the rest is spread over the states of each tag by their size."""
    starts = np.append(counts.states[:-1], counts.states[-1])
    tag_of = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(counts.moves))))
    bigrams = np.add.reduceat(np.add.reduceat(counts.moves, starts, axis=0), starts, axis=1)
    sizes = counts.moves.sum(axis=0)
    within = sizes / np.bincount(tag_of, sizes)[tag_of]
    moves = bigrams[np.ix_(tag_of, tag_of)] * within[:, None] * within
    by_tag = np.zeros((corpus.lexicon.n_tags, counts.memberships.shape[1]))
    by_tag[tag_of[:-1], np.arange(len(within) - 1) - starts[tag_of[:-1]]] = within[:-1]
    spread = counts.memberships.sum(axis=1, keepdims=True) * by_tag[corpus.pair_tags]
    return RefinedCounts(
        counts.states,
        certainty * counts.moves + (1 - certainty) * moves,
        certainty * counts.memberships + (1 - certainty) * spread,
    )


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
