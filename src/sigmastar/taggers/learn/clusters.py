"""States of tags by clusters of tokens: the first half of states from two views.

views      the class of the past and the class of the future of every gap (`taggers.counts`)
correlate  their counts scaled to correlations; a token lies at the places of the past before it and of
           the future after it, and at the mean place of all tokens of its word and tag
cluster    k-means inside each tag: tokens that stand close together are used alike
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from sigmastar.core.arrays import Floats, Int64s
from sigmastar.core.clusters import k_means, rows_by_group
from sigmastar.core.shrinkage import towards
from sigmastar.core.views import correlate
from sigmastar.taggers.counts import LEAST_WORD, TagContexts
from sigmastar.taggers.learn.lexicon import TaggedCorpus

TOKENS_PER_STATE = 50
DIMENSIONS = 20
TOKENS_PER_CLUSTER = 100  # drawn for k-means
OWN = 0.45  # the scale of a token's own context beside the mean one of its word and tag
PULL = 50.0  # tokens that the mean context of a class counts for


def state_starts(corpus: TaggedCorpus, n_states: int, tokens_per_state: int = TOKENS_PER_STATE) -> Int64s:
    """How many states each tag may have: at most `n_states`, and one for so many tokens."""
    counts = np.bincount(corpus.tags, minlength=corpus.lexicon.n_tags)
    sizes = np.clip(counts // tokens_per_state, 1, n_states)
    return np.append(0, np.cumsum(sizes)).astype(np.int64)


def clustered_states(corpus: TaggedCorpus, n_states: int, rng: np.random.Generator) -> tuple[Int64s, Int64s]:
    """States are clusters of tokens in the spectral space, tag by tag.

    Where the states of each tag start, and the state of each token among those of its tag.
    """
    space = TokenSpace.of(corpus)
    limits = np.diff(state_starts(corpus, n_states))
    state_of, sizes = np.zeros(len(corpus.tags), dtype=np.int64), np.ones(len(limits), dtype=np.int64)
    for tag, tokens in enumerate(rows_by_group(corpus.tags, len(limits))):
        if limits[tag] > 1:
            state_of[tokens] = sampled_clusters(space, tokens, int(limits[tag]), rng)
            sizes[tag] = state_of[tokens].max() + 1
    return np.append(0, np.cumsum(sizes)), state_of


def sampled_clusters(space: TokenSpace, tokens: Int64s, n: int, rng: np.random.Generator) -> Int64s:
    """k-means on a sample of the tokens, and the nearest centre for every token."""
    drawn = tokens[rng.permutation(len(tokens))[: TOKENS_PER_CLUSTER * n]]
    centres = k_means(space.points(drawn), n, rng).centres
    return np.unique(space.nearest(tokens, centres), return_inverse=True)[1]


@dataclass(frozen=True, eq=False)
class TokenSpace:
    """Where tokens stand: row `rows[k][i]` of table k, side by side, for token i."""

    tables: tuple[Floats, ...]  # of pairs of word and tag, of classes of pasts, of classes of futures
    rows: tuple[Int64s, ...]

    @classmethod
    def of(cls, corpus: TaggedCorpus) -> TokenSpace:
        words = corpus.words_or_classes(LEAST_WORD)
        contexts = TagContexts.of(words, corpus.tags, corpus.sentences.offsets)
        found = correlate(contexts.matrix, DIMENSIONS).without_constant()
        pasts, futures = found.left(1.0), found.right(1.0)
        gaps, pairs = contexts.token_gaps, corpus.pairs.astype(np.int64)
        before, after = contexts.past[gaps], contexts.future[gaps + 1]
        met = (_mean_places(corpus, before, pasts), _mean_places(corpus, after, futures))
        return cls((np.hstack(met), OWN * pasts, OWN * futures), (pairs, before, after))

    def points(self, tokens: Int64s) -> Floats:
        return np.hstack([table[at[tokens]] for table, at in zip(self.tables, self.rows, strict=True)])

    def nearest(self, tokens: Int64s, centres: Floats) -> Int64s:
        """The nearest centre of each token; distances are sums over the tables, and tables are short."""
        ends = np.cumsum([table.shape[1] for table in self.tables])[:-1]
        pieces = np.split(centres, ends, axis=1)
        scores = -0.5 * (centres**2).sum(axis=1) + sum(
            (table @ piece.T)[at[tokens]]
            for table, piece, at in zip(self.tables, pieces, self.rows, strict=True)
        )
        return np.asarray(np.argmax(scores, axis=1))


def _mean_places(corpus: TaggedCorpus, classes: Int64s, table: Floats) -> Floats:
    """The mean row of each pair of word and tag, shrunk towards that of its class of words and tag."""
    n_pairs, entries = len(corpus.pair_keys), (np.ones(len(classes)), (corpus.pairs, classes))
    sums = np.asarray(sparse.csr_array(entries, shape=(n_pairs, len(table))) @ table)
    totals = np.bincount(corpus.pairs, minlength=n_pairs).astype(float)
    keys, class_of = np.unique(corpus.class_keys, return_inverse=True)
    means = summed(sums, class_of, len(keys)) / np.bincount(class_of, totals)[:, None]
    return towards(sums, means[class_of], PULL, totals=totals[:, None])


def summed(table: Floats, groups: Int64s, n_groups: int) -> Floats:
    """Sums of the rows of each group."""
    shape = (n_groups, len(groups))
    ones = sparse.csr_array((np.ones(len(groups)), (groups, np.arange(len(groups)))), shape=shape)
    return np.asarray(ones @ table)
