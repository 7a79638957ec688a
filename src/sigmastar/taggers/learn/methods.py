"""From tagged sentences to a tagger: the methods by name.

    refined      tags refined into states by spectral clusters and few EM iterations, times a max-margin chain
    spectral     a weighted finite tagger with operators A_x^y
    em           refined tags from a random start, many iterations
    bigram, trigram    hidden Markov models of tags
    max-margin   a chain over features and a low-rank Hankel block

All share one lexicon. Sizes were chosen on development data; weights of a product are by held-out sentences.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from sigmastar.taggers.data.chunks import is_chunk_tagging
from sigmastar.taggers.data.sentences import TaggedSentences
from sigmastar.taggers.learn.lexicon import learn_lexicon
from sigmastar.taggers.learn.margin import learn_margin
from sigmastar.taggers.learn.operators import learn_operators
from sigmastar.taggers.learn.refinement import Shrinkage, TaggedCorpus, estimate, refine
from sigmastar.taggers.learn.starts import bigram_start, random_start, spectral_refinement, trigram_model
from sigmastar.taggers.learn.weights import choose_weights
from sigmastar.taggers.model.tagger import DECODINGS, Tagger, TagModel

Say = Callable[[str, float], None]

WORDS_A_STATE = 2500  # of operators: with fewer words, fewer states stand above the noise


@dataclass(frozen=True)
class TaggerSettings:
    """What may be chosen; None is what suits the method."""

    n_states: int | None = None  # of a tag, or of the operators
    n_iterations: int | None = None  # of EM, or passes of the max-margin tagger
    n_members: int | None = None  # refinements, from several seeds, whose distributions are multiplied
    features: bool = True  # with refined: multiply the max-margin chain in
    decoding: str | None = None
    conditional: bool = False  # with spectral: operators of P(tags | words), not of P(words, tags)


@dataclass(frozen=True, eq=False)
class _Task:
    corpus: TaggedCorpus
    settings: TaggerSettings
    rng: np.random.Generator
    say: Say

    def n_states(self, usual: int) -> int:
        return self.settings.n_states or usual

    def n_iterations(self, usual: int) -> int:
        return usual if self.settings.n_iterations is None else self.settings.n_iterations


Members = list[tuple[TagModel, float]]


def _refined(task: _Task) -> Members:
    features = task.settings.features
    n = task.settings.n_members or (2 if features else 4)
    n_states, n_iterations = task.n_states(32), task.n_iterations(7)
    refined_weight, feature_weight = 1.0, 0.0
    if features:
        task.say("weighing on held-out sentences", 0.1)
        sentences = task.corpus.sentences
        refined_weight, feature_weight = choose_weights(sentences, n_states, n_iterations, task.rng)
    members: Members = []
    for number in range(n if refined_weight else 0):
        task.say(f"refining tags, {number + 1} of {n}", 0.4 + 0.3 * number / n)
        refined = spectral_refinement(task.corpus, n_states, n_iterations, task.rng)
        members.append((refined, refined_weight / n))
    if features:
        task.say("training features", 0.7)
        members.append((learn_margin(task.corpus, task.rng), feature_weight))
    return members


def _spectral(task: _Task) -> Members:
    usual = int(np.clip(task.corpus.sentences.n_words // WORDS_A_STATE, 10, 80))
    conditional = task.settings.conditional
    return [(learn_operators(task.corpus, task.n_states(usual), conditional=conditional), 1.0)]


def _em(task: _Task) -> Members:
    n = task.settings.n_members or 1
    members: Members = []
    for number in range(n):
        task.say(f"refining tags from a random start, {number + 1} of {n}", 0.1 + 0.9 * number / n)
        start = random_start(task.corpus, task.n_states(16), task.rng)
        soft = Shrinkage().softer()
        refined = refine(task.corpus, start, task.n_iterations(40), Shrinkage(), begin=soft)
        members.append((refined, 1.0 / n))
    return members


def _bigram(task: _Task) -> Members:
    return [(estimate(task.corpus, bigram_start(task.corpus), Shrinkage()), 1.0)]


def _trigram(task: _Task) -> Members:
    return [(trigram_model(task.corpus), 1.0)]


def _max_margin(task: _Task) -> Members:
    task.say("training features", 0.2)
    return [(learn_margin(task.corpus, task.rng, n_epochs=task.n_iterations(5)), 1.0)]


METHODS: dict[str, Callable[[_Task], Members]] = {
    "refined": _refined,
    "spectral": _spectral,
    "em": _em,
    "bigram": _bigram,
    "trigram": _trigram,
    "max-margin": _max_margin,
}


def learn_tagger(
    sentences: TaggedSentences,
    method: str = "refined",
    settings: TaggerSettings = TaggerSettings(),  # noqa: B008  (frozen)
    rng: np.random.Generator | None = None,
    say: Say = lambda message, done: None,
) -> Tagger:
    """Learn a tagger; sentences without words are passed over."""
    if method not in METHODS:
        raise ValueError(f"method={method!r} must be one of {', '.join(map(repr, METHODS))}")
    if settings.decoding not in (None, *DECODINGS):
        raise ValueError(f"decoding={settings.decoding!r} must be one of {', '.join(map(repr, DECODINGS))}")
    if settings.conditional and method != "spectral":
        raise ValueError(f"conditional=True is for method='spectral'; method={method!r} has no such form")
    say("counting words", 0.0)
    lengths = sentences.lengths
    whole = sentences if (lengths > 0).all() else sentences.select(np.flatnonzero(lengths))
    corpus = TaggedCorpus(learn_lexicon(whole), whole)
    found = METHODS[method](_Task(corpus, settings, rng or np.random.default_rng(0), say))
    decoding = settings.decoding or ("viterbi" if is_chunk_tagging(corpus.lexicon.tags) else "marginals")
    return Tagger(corpus.lexicon, tuple(m for m, _ in found), tuple(w for _, w in found), decoding)


def reweighted(tagger: Tagger, weights: tuple[float, ...]) -> Tagger:
    """The same members under other weights."""
    return replace(tagger, weights=weights)
