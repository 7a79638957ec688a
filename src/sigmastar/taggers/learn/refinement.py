"""Refine tags into states: counts with shrinkage, and EM with the tags given.

    moves    state -> state shrinks to tag -> state, and this to p(t' | t) p(z' | t')
    words    p(z | x, t) shrinks to p(z | class(x), t), and this to p(z | t)

Accuracy peaks after a few iterations, while the likelihood still rises: EM is stopped early.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sigmastar.core.parallel import thread_map
from sigmastar.taggers.data.sentences import TaggedSentences
from sigmastar.taggers.kernels.expectations import refined_expectations
from sigmastar.taggers.model.lexicon import TagLexicon
from sigmastar.taggers.model.refined import Ratios, RefinedTags

Array = NDArray[np.float64]
Codes = NDArray[np.int32]
Longs = NDArray[np.int64]

_SHARDS = 2  # fixed: sums of floats are then the same on any number of threads


@dataclass(frozen=True)
class Shrinkage:
    """How many tokens the coarser estimate counts for."""

    bigram: float = 5.0
    tag: float = 5.0
    state: float = 20.0
    word: float = 5.0
    word_class: float = 20.0

    def softer(self, times: float = 10.0) -> Shrinkage:
        """Stronger, but for pairs of tags: these are known. Leaves EM a choice where states are certain."""
        return Shrinkage(
            self.bigram, times * self.tag, times * self.state, times * self.word, times * self.word_class
        )


@dataclass(frozen=True, eq=False)
class TaggedCorpus:
    """Coded tokens: tags, words, and the distinct pairs of both."""

    lexicon: TagLexicon
    sentences: TaggedSentences

    @cached_property
    def tags(self) -> Codes:
        return self.sentences.tag_codes(self.lexicon.tags)

    @cached_property
    def _distinct(self) -> tuple[Longs, Codes]:
        words = self.lexicon.codes(self.sentences.types)[self.sentences.type_codes].astype(np.int64)
        keys, places = np.unique(words * self.lexicon.n_tags + self.tags, return_inverse=True)
        return keys, places.astype(np.int32)

    @property
    def pair_keys(self) -> Longs:
        """Sorted word x n_tags + tag of the pairs."""
        return self._distinct[0]

    @property
    def pairs(self) -> Codes:
        """The pair of each token."""
        return self._distinct[1]

    @cached_property
    def class_keys(self) -> Longs:
        """class x n_tags + tag of each pair."""
        words, tags = np.divmod(self.pair_keys, self.lexicon.n_tags)
        return (
            self.lexicon.class_codes(self.lexicon.words)[words].astype(np.int64) * self.lexicon.n_tags + tags
        )

    @property
    def pair_tags(self) -> Longs:
        return self.pair_keys % self.lexicon.n_tags


@dataclass(frozen=True, eq=False)
class RefinedCounts:
    """Counts of moves, (Z + 1) x (Z + 1) with the edge last, and of states by pairs of word and tag."""

    states: Longs
    moves: Array
    memberships: Array


def count_states(corpus: TaggedCorpus, states: Longs, state_of: Longs) -> RefinedCounts:
    """Counts when every token has a state, told by its place among the states of its tag."""
    z, edge = states[corpus.tags] + state_of, int(states[-1])
    firsts, lasts = corpus.sentences.offsets[:-1], corpus.sentences.offsets[1:] - 1
    before = np.append(edge, z[:-1])
    before[firsts] = edge
    keys = np.append(before * (edge + 1) + z, z[lasts] * (edge + 1) + edge)
    shape = (len(corpus.pair_keys), int(np.diff(states).max()))
    moves = np.bincount(keys, minlength=(edge + 1) ** 2).reshape(edge + 1, edge + 1).astype(float)
    rows = corpus.pairs.astype(np.int64) * shape[1] + state_of
    memberships = np.bincount(rows, minlength=shape[0] * shape[1]).reshape(shape).astype(float)
    return RefinedCounts(states, moves, memberships)


def estimate(corpus: TaggedCorpus, counts: RefinedCounts, shrinkage: Shrinkage) -> RefinedTags:
    """The M-step: shrunk relative frequencies."""
    edge = int(counts.states[-1])
    moves = shrunk_moves(counts.moves, counts.states, shrinkage)
    words, classes = shrunk_ratios(corpus, counts.memberships, counts.states, shrinkage)
    return RefinedTags(
        counts.states,
        moves[edge, :edge].copy(),
        np.ascontiguousarray(moves[:edge, :edge]),
        moves[:edge, edge].copy(),
        words,
        classes,
    )


def shrunk_moves(moves: Array, states: Longs, shrinkage: Shrinkage) -> Array:
    """p(z' | z), with the edge as a tag of one state."""
    starts = np.append(states[:-1], states[-1])
    tag_of = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(moves))))
    by_tag = np.add.reduceat(moves, starts, axis=0)
    bigrams = np.add.reduceat(by_tag, starts, axis=1)
    arrivals = bigrams.sum(axis=0) + 1e-3
    bigrams = _mixed(bigrams, arrivals / arrivals.sum(), shrinkage.bigram)
    within = moves.sum(axis=0) + 1e-3
    within /= np.bincount(tag_of, within)[tag_of]
    coarse = _mixed(by_tag, bigrams[:, tag_of] * within, shrinkage.tag)
    fine = _mixed(moves, coarse[tag_of], shrinkage.state)
    return np.asarray(fine)


def shrunk_ratios(
    corpus: TaggedCorpus, memberships: Array, states: Longs, shrinkage: Shrinkage
) -> tuple[Ratios, Ratios]:
    """p(z | x, t) / p(z | t) of words, and the same of classes of words."""
    tags = corpus.pair_tags
    real = np.arange(memberships.shape[1]) < np.diff(states)[:, None]
    by_tag = np.zeros(real.shape)
    np.add.at(by_tag, tags, memberships)
    by_tag = (by_tag + 1e-3) * real
    by_tag /= by_tag.sum(axis=1, keepdims=True)
    keys, places = np.unique(corpus.class_keys, return_inverse=True)
    by_class = np.zeros((len(keys), memberships.shape[1]))
    np.add.at(by_class, places, memberships)
    by_class = _mixed(by_class, by_tag[keys % len(real)], shrinkage.word_class)
    by_word = _mixed(memberships, by_class[places], shrinkage.word)
    floor = np.where(real, by_tag, 1.0)
    return (
        Ratios(corpus.pair_keys, by_word / floor[tags]),
        Ratios(keys, by_class / floor[keys % len(real)]),
    )


def _mixed(counts: Array, coarse: Array, strength: float) -> Array:
    totals: Array = counts.sum(axis=1, keepdims=True)
    return (counts + strength * coarse) / (totals + strength)


def expectations(corpus: TaggedCorpus, model: RefinedTags) -> tuple[RefinedCounts, float]:
    """The E-step: expected counts, and the log-likelihood of tags given words up to a constant."""
    edge = model.n_states
    moves = np.zeros((edge + 1, edge + 1))
    moves[:edge, :edge], moves[edge, :edge], moves[:edge, edge] = (
        model.transitions,
        model.initial,
        model.final,
    )
    offsets, ratios = corpus.sentences.offsets, model.by_word.values
    cuts = np.searchsorted(offsets, np.linspace(0, offsets[-1], _SHARDS + 1)[1:-1])
    ends = np.concatenate([[0], cuts, [len(corpus.sentences)]])

    def task(shard: int) -> tuple[Array, Array, float]:
        expected, memberships = np.zeros_like(moves), np.zeros_like(ratios)
        log = refined_expectations(
            offsets, ends[shard], ends[shard + 1], corpus.tags, corpus.pairs,
            model.states, moves, ratios, expected, memberships,
        )  # fmt: skip
        return expected, memberships, log

    parts = thread_map(task, range(_SHARDS))
    total = RefinedCounts(model.states, sum(p[0] for p in parts), sum(p[1] for p in parts))  # type: ignore[arg-type]
    return total, float(sum(p[2] for p in parts))


def refine(
    corpus: TaggedCorpus,
    start: RefinedCounts,
    n_iterations: int,
    shrinkage: Shrinkage,
    pace: float = 1.0,
    begin: Shrinkage | None = None,
    watch: Callable[[RefinedTags, float], None] | None = None,
) -> RefinedTags:
    """EM from counts of states; `watch` sees each model with the likelihood of the one before.

    `begin` shrinks the counts of the start, where that is not to be as later. At a `pace` above 1 all steps
    but the last are over-relaxed.
    """
    model = estimate(corpus, start, begin or shrinkage)
    for number in range(n_iterations):
        counts, log = expectations(corpus, model)
        found = estimate(corpus, counts, shrinkage)
        model = overshot(found, model, pace) if pace != 1.0 and number + 1 < n_iterations else found
        if watch is not None:
            watch(model, log)
    return model


def overshot(found: RefinedTags, before: RefinedTags, pace: float) -> RefinedTags:
    """Over-relaxed EM (Salakhutdinov and Roweis 2003): found^pace before^(1 - pace), normalised."""
    final, transitions, initial = (
        _beyond(new, old, pace)
        for new, old in (
            (found.final, before.final),
            (found.transitions, before.transitions),
            (found.initial, before.initial),
        )
    )
    mass = transitions.sum(axis=1) + final
    words = _beyond(found.by_word.values, before.by_word.values, pace)
    return replace(
        found,
        initial=initial / initial.sum(),
        transitions=transitions / mass[:, None],
        final=final / mass,
        by_word=Ratios(found.by_word.keys, words),
    )


def _beyond(found: Array, before: Array, pace: float) -> Array:
    ratio = np.divide(found, before, out=np.ones_like(found), where=before > 0)
    return np.asarray(found * ratio ** (pace - 1.0))
