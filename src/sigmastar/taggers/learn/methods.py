"""The methods of taggers by name: from a corpus to models of tags, each with its weight in the product.

    refined      states from two views: tags refined into states, times a chain of features
    spectral     recover: a weighted finite tagger with operators A_x^y
    em           refined tags from a random start, many iterations
    bigram, trigram    hidden Markov models of tags
    chain        a conditional random field over features, with softmax-margin loss and a block of rank 16
                 between neighbours
    hankel-margin      the structured hinge under the nuclear norm of a Hankel block

All share one lexicon. Sizes were chosen on development data. In the product of refinements and features each
of the two has the weight one: weights by held-out sentences were worth less than another seed.

Hidden Markov models of tags are counted: they are the rivals of refined tags.

A bigram tagger has one state per tag. A trigram tagger has one per pair of a tag and the tag before; deleted
interpolation weighs tri-, bi- and unigrams (Brants 2000).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from sigmastar.core.arrays import Array, Floats
from sigmastar.core.errors import InputError
from sigmastar.core.progress import Progress, silent, stage
from sigmastar.taggers.learn.feature_chain import learn_margin
from sigmastar.taggers.learn.lexicon import TaggedCorpus
from sigmastar.taggers.learn.max_margin import N_ITERATIONS, RANK, learn_hankel
from sigmastar.taggers.learn.operators import learn_operators
from sigmastar.taggers.learn.refinement import (
    RefinedCounts,
    count_states,
    estimate,
    known_refinement,
    random_refinement,
    spectral_refinement,
)
from sigmastar.taggers.model.refined import Ratios, RefinedTags
from sigmastar.taggers.model.tagger import Tagger, TagModel


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


WORDS_PER_STATE = 2500  # of operators: with fewer words, fewer states stand above the noise

Members = list[tuple[TagModel, float]]
"""Models of tags with their weights."""


@dataclass(frozen=True)
class TaggerSettings:
    """What may be chosen; None is what suits the method."""

    n_states: int | None = None  # per tag, or of the operators; dimensions of the Hankel block
    max_iter: int | None = None  # iterations of EM or of L-BFGS, or passes of the chain
    n_members: int | None = None  # refinements, from several seeds, whose distributions are multiplied
    features: bool = True  # with refined: multiply the chain of features in
    conditional: bool = False  # with spectral: operators of P(tags | words), not of P(words, tags)


@dataclass(frozen=True, eq=False)
class Task:
    """What every method is given."""

    corpus: TaggedCorpus
    settings: TaggerSettings
    rng: np.random.Generator
    progress: Progress = silent
    last: Tagger | None = None  # to go on from, where the method climbs from any model


def refined(task: Task) -> Members:
    """Refinements from several seeds, and features."""
    settings, features = task.settings, task.settings.features
    found = _refinements(task, spectral_refinement, settings.n_members or (2 if features else 4), (32, 7))
    if features:
        progress = stage(task.progress, 0.6, 1.0)
        found.append((learn_margin(task.corpus, task.rng, 5, progress=progress), 1.0))
    return found


def em(task: Task) -> Members:
    """Refinements from random starts, or from those of the last tagger."""
    starts = _last_refinements(task)

    def refine(
        corpus: TaggedCorpus, n_states: int, max_iter: int, rng: np.random.Generator, progress: Progress
    ) -> TagModel:
        return random_refinement(corpus, n_states, max_iter, rng, progress, next(starts, None))

    return _refinements(task, refine, task.settings.n_members or 1, (16, 40))


def _last_refinements(task: Task) -> Iterator[RefinedTags]:
    """Where the last tagger ended, on the words of this corpus, one after the other."""
    if task.last is not None:
        for member in task.last.members:
            if isinstance(member, RefinedTags):
                yield known_refinement(task.corpus, member, task.last.lexicon)


def _refinements(
    task: Task, refine: Callable[..., TagModel], n_members: int, usual: tuple[int, int]
) -> Members:
    """So many refinements that together have the weight one; `usual` are states per tag and iterations."""
    n_states = task.settings.n_states or usual[0]
    n_iterations = usual[1] if task.settings.max_iter is None else task.settings.max_iter
    end = 0.6 if task.settings.features else 1.0
    members: Members = []
    for number in range(n_members):
        progress = stage(task.progress, end * number / n_members, end * (number + 1) / n_members)
        members.append((refine(task.corpus, n_states, n_iterations, task.rng, progress), 1.0 / n_members))
    return members


def spectral(task: Task) -> Members:
    """Operators; their states grow with the words that there are."""
    usual = int(np.clip(task.corpus.sentences.n_words // WORDS_PER_STATE, 10, 80))
    settings = task.settings
    return [(learn_operators(task.corpus, settings.n_states or usual, conditional=settings.conditional), 1.0)]


def chain(task: Task) -> Members:
    """Features alone."""
    return [(learn_margin(task.corpus, task.rng, task.settings.max_iter or 5, progress=task.progress), 1.0)]


def hankel_margin(task: Task) -> Members:
    """A Hankel block beside the lexicon, and nothing else."""
    rank, n_iterations = task.settings.n_states or RANK, task.settings.max_iter or N_ITERATIONS
    return [(learn_hankel(task.corpus, task.rng, rank, n_iterations, progress=task.progress), 1.0)]


OF_OTHERS: Mapping[str, str] = {
    "em": "'em' is EMTagger()",
    "bigram": "'bigram' is NgramTagger(2)",
    "trigram": "'trigram' is NgramTagger(3)",
    "max-margin": "'max-margin' is called 'chain' now, and 'hankel-margin' has the structured hinge",
}
"""Where the methods are that `SpectralTagger` does not have."""
OTHERS = "EMTagger and NgramTagger have others"


def learned_by(method: str, task: Task) -> Members:
    """The members that a method finds; own features of tokens need one that trains features."""
    trains_features = method == "chain" or (method == "refined" and task.settings.features)
    if task.corpus.sentences.own is not None and not trains_features:
        raise InputError(f"{method} has no features; own features of tokens are for 'chain' and 'refined'")
    return METHODS[method](task)


METHODS: Mapping[str, Callable[[Task], Members]] = {
    "refined": refined,
    "spectral": spectral,
    "chain": chain,
    "hankel-margin": hankel_margin,
    "em": em,
    "bigram": lambda task: [(bigram_model(task.corpus), 1.0)],
    "trigram": lambda task: [(trigram_model(task.corpus), 1.0)],
}
