"""Taggers: X holds sentences, each a sequence of words, y their tags; or X is tagged itself.

A word may be a tuple: the word, and what is observed with it, as its part of speech where chunks are asked.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sigmastar.core.errors import InputError
from sigmastar.core.estimator import Estimator, RandomState, as_generator, positive, positive_or_auto
from sigmastar.core.parallel import limited_threads
from sigmastar.taggers.data.sentences import TaggedSentences, Token
from sigmastar.taggers.learn.methods import TaggerSettings, learn_tagger
from sigmastar.taggers.model.tagger import Tagger

Sentences = Sequence[Sequence[Token]] | TaggedSentences
Tags = Sequence[Sequence[str]]
Array = NDArray[np.float64]

SPECTRAL_METHODS = ("refined", "spectral", "max-margin")


def as_sentences(X: Sentences, y: Tags | None = None) -> TaggedSentences:
    """Sentences, with tags where there are any."""
    if isinstance(X, TaggedSentences):
        return X if y is None else replace(TaggedSentences.of(X.cut(X.words), y), observed=X.observed)
    return TaggedSentences.of(X, y)


class TaggerEstimator(Estimator, ABC):
    """What all taggers share: `tagger_` holds what `fit` found."""

    tagger_: Tagger
    decoding: str | None
    random_state: RandomState
    n_threads: int | None

    @abstractmethod
    def _method(self) -> tuple[str, TaggerSettings]:
        """How to learn."""

    def fit(self, X: Sentences, y: Tags | None = None) -> TaggerEstimator:
        """Learn from sentences X and their tags y."""
        method, settings = self._method()
        sentences = as_sentences(X, y)
        with limited_threads(self.n_threads):
            tagger = learn_tagger(sentences, method, settings, as_generator(self.random_state))
        self._replace_fitted(tagger_=tagger, classes_=np.array(tagger.tags))
        return self

    def predict(self, X: Sentences) -> list[list[str]]:
        """The tags of every sentence."""
        sentences = as_sentences(X)
        return sentences.cut(self.tagger_.predict(sentences, self.n_threads))

    def predict_proba(self, X: Sentences) -> list[Array]:
        """Of every sentence the probability of each tag (columns, as in `classes_`) at each word (rows)."""
        sentences = as_sentences(X)
        table = self.tagger_.predict_proba(sentences, self.n_threads)
        return np.split(table, sentences.offsets[1:-1]) if len(sentences) else []

    def predict_nbest(self, X: Sentences, n_best: int = 5) -> list[list[tuple[list[str], float]]]:
        """Of every sentence the best taggings by their pair marginals, with the sum of these."""
        return self.tagger_.predict_nbest(as_sentences(X), positive(n_best, "n_best"), self.n_threads)

    def score(self, X: Sentences, y: Tags | None = None) -> float:
        """The share of words with the right tag."""
        sentences = as_sentences(X, y)
        if sentences.tags is None or not sentences.n_words:
            raise InputError("score needs words and their true tags y")
        found = self.tagger_.predict(sentences, self.n_threads)
        return float(np.mean([a == b for a, b in zip(found, sentences.tags, strict=True)]))

    def score_samples(self, X: Sentences, y: Tags | None = None) -> Array:
        """log P(tags | words) of every sentence."""
        sentences = as_sentences(X, y)
        if sentences.tags is None:
            raise InputError("score_samples needs the tags y")
        return self.tagger_.log_probability(sentences, self.n_threads)


class SpectralTagger(TaggerEstimator):
    """Taggers that start from a spectral decomposition.

    method        "refined": tags refined into states by spectral clusters and a few EM iterations;
                  "spectral": a weighted finite tagger with operators; "max-margin": features and a
                  low-rank Hankel block
    n_states      of a tag at most, or of the operators; "auto": 32, or 80
    n_iterations  of EM, or passes over the sentences; "auto": 7, or 5
    n_members     refinements from several seeds, whose distributions are multiplied
    features      with "refined": multiply the max-margin tagger in
    decoding      "marginals" of single tags, or "viterbi": the sequence of largest pair marginals; None: the
                  second for chunks (B-X, I-X, O), else the first
    conditional   with "spectral": operators of P(tags | words), not of P(words, tags)

    >>> sentences = [["the", "dog", "runs"], ["a", "cat", "sleeps"], ["the", "cat", "runs"]] * 5
    >>> tags = [["D", "N", "V"]] * 15
    >>> SpectralTagger().fit(sentences, tags).predict([["a", "dog", "sleeps"]])
    [['D', 'N', 'V']]
    >>> chunks = [["B-NP", "I-NP", "B-VP"]] * 15
    >>> given = [list(zip(*pair)) for pair in zip(sentences, tags)]
    >>> SpectralTagger().fit(given, chunks).predict([[("a", "D"), ("mouse", "N"), ("sleeps", "V")]])
    [['B-NP', 'I-NP', 'B-VP']]
    """

    def __init__(
        self,
        method: str = "refined",
        n_states: int | str = "auto",
        n_iterations: int | str = "auto",
        n_members: int | str = "auto",
        features: bool = True,
        decoding: str | None = None,
        conditional: bool = False,
        random_state: RandomState = 0,
        n_threads: int | None = 1,
    ) -> None:
        self.method = method
        self.n_states = n_states
        self.n_iterations = n_iterations
        self.n_members = n_members
        self.features = features
        self.decoding = decoding
        self.conditional = conditional
        self.random_state = random_state
        self.n_threads = n_threads

    def _method(self) -> tuple[str, TaggerSettings]:
        if self.method not in SPECTRAL_METHODS:
            raise ValueError(
                f"method={self.method!r} must be one of {', '.join(map(repr, SPECTRAL_METHODS))}"
            )
        return self.method, TaggerSettings(
            positive_or_auto(self.n_states, "n_states"),
            positive_or_auto(self.n_iterations, "n_iterations"),
            positive_or_auto(self.n_members, "n_members"),
            self.features,
            self.decoding,
            self.conditional,
        )


class EMTagger(TaggerEstimator):
    """Refined tags by expectation-maximisation from a random start; parameters as for the spectral one."""

    def __init__(
        self,
        n_states: int = 16,
        n_iterations: int = 40,
        n_members: int = 1,
        decoding: str | None = None,
        random_state: RandomState = 0,
        n_threads: int | None = 1,
    ) -> None:
        self.n_states = n_states
        self.n_iterations = n_iterations
        self.n_members = n_members
        self.decoding = decoding
        self.random_state = random_state
        self.n_threads = n_threads

    def _method(self) -> tuple[str, TaggerSettings]:
        return "em", TaggerSettings(
            positive(self.n_states, "n_states"),
            positive(self.n_iterations, "n_iterations"),
            positive(self.n_members, "n_members"),
            decoding=self.decoding,
        )
