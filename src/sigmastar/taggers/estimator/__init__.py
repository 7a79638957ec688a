"""Taggers: X holds sentences, each a sequence of words, y their tags; or X is tagged itself.

A word may be a tuple: the word, and what is observed with it. Without y the last of each tuple is the tag.
Or it may be a mapping of own features, with the word under "word": `{"word": "dog", "ends": "og"}`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from sigmastar.core.arrays import Array, Floats
from sigmastar.core.errors import InputError
from sigmastar.core.estimator import Estimator, SpreadEstimator, as_generator, positive, positive_or_auto
from sigmastar.core.progress import silent, stage
from sigmastar.core.word_classes import WordClasses
from sigmastar.taggers.data.sentences import (
    Sentences,
    TaggedSentences,
    Tags,
    as_sentences,
    as_tagged,
    require_tagged,
)
from sigmastar.taggers.learn.lexicon import TaggedCorpus
from sigmastar.taggers.learn.methods import OF_OTHERS, OTHERS, TaggerSettings, Task, learned_by
from sigmastar.taggers.metrics import is_chunk_tagging
from sigmastar.taggers.model.tagger import DECODINGS, Tagger

SPECTRAL_METHODS = ("refined", "spectral", "chain", "hankel-margin")
ORDERS = {2: "bigram", 3: "trigram"}


class TaggerEstimator(Estimator, ABC):
    """What all taggers share: `model_` is the tagger that `fit` found, `classes_` are its tags."""

    model_: Tagger
    classes_: Array
    decoding: str | None

    @abstractmethod
    def _method(self) -> tuple[str, TaggerSettings]:
        """How to learn."""

    def fit(self, X: Sentences, y: Tags | None = None) -> Self:
        """Learn from tagged sentences.

        Parameters
        ----------
        X : sequence of sequences of words, or TaggedSentences
            Sentences; words may be tuples of a word and what is observed with it. Without `y`, tuples end in
            the tag.
        y : sequence of sequences of str, optional
            The tag of every word.
        """
        return self._fit_with(as_tagged(X, y))

    def _fit_with(self, tagged: TaggedSentences, classes: WordClasses | None = None) -> Self:
        """`fit`, with classes of words from raw text."""
        method, settings = self._method()
        if self.decoding not in (None, *DECODINGS):
            raise ValueError(f"decoding={self.decoding!r} must be one of {', '.join(map(repr, DECODINGS))}")
        sentences, progress = require_tagged(tagged), self.progress or silent
        with self._working():
            progress("counting words", 0.0)
            corpus = TaggedCorpus.of(sentences, classes)
            rng, going = as_generator(self.random_state), stage(progress, 0.05, 1.0)
            task = Task(corpus, settings, rng, going, self._last_model)
            models, weights = zip(*learned_by(method, task), strict=True)
        by_sequence = method == "hankel-margin" or is_chunk_tagging(corpus.lexicon.tags)
        decoding = self.decoding or ("viterbi" if by_sequence else "marginals")
        tagger = Tagger(corpus.lexicon, models, weights, decoding)
        self._replace_fitted(**self._of_model(tagger))
        return self

    def _of_model(self, model: Tagger) -> dict[str, Any]:
        return {"model_": model, "classes_": np.array(model.tags)}

    def predict(self, X: Sentences) -> list[list[str]]:
        """Tag sentences.

        Parameters
        ----------
        X : sequence of sequences of words, or TaggedSentences
            Sentences; words are tuples where the tagger was learned from tuples.

        Returns
        -------
        list of lists of str
            One tag per word.
        """
        model, sentences = self.model_, as_sentences(X)
        with self._working():
            return sentences.cut(model.predict(sentences))

    def predict_proba(self, X: Sentences) -> list[Floats]:
        """The probability of each tag at each word.

        Parameters
        ----------
        X : sequence of sequences of words, or TaggedSentences
            Sentences.

        Returns
        -------
        list of arrays
            One table per sentence, words x tags in the order of `classes_`.
        """
        model, sentences = self.model_, as_sentences(X)
        with self._working():
            table = model.predict_proba(sentences)
        return np.split(table, sentences.offsets[1:-1]) if len(sentences) else []

    def predict_nbest(self, X: Sentences, n_best: int = 5) -> list[list[tuple[list[str], float]]]:
        """The most probable taggings of each sentence.

        Parameters
        ----------
        X : sequence of sequences of words, or TaggedSentences
            Sentences.
        n_best : int
            At most so many taggings per sentence.

        Returns
        -------
        list of lists of pairs
            For each sentence taggings, best first, with their probabilities, as `score_samples` has them.
        """
        model, sentences, n_best = self.model_, as_sentences(X), positive(n_best, "n_best")
        with self._working():
            return model.predict_nbest(sentences, n_best)

    def score(self, X: Sentences, y: Tags | None = None) -> float:
        """The share of words with the right tag.

        Parameters
        ----------
        X, y
            Tagged sentences, as of `fit`.

        Returns
        -------
        float
            The accuracy.
        """
        model, sentences = self.model_, as_tagged(X, y)
        if sentences.tags is None or not sentences.n_words:
            raise InputError("score needs words and their true tags y")
        with self._working():
            found = model.predict(sentences)
        return float(np.mean([a == b for a, b in zip(found, sentences.tags, strict=True)]))

    def score_samples(self, X: Sentences, y: Tags | None = None) -> Floats:
        """log P(tags | words), by the chain that marginals of pairs of tags imply.

        Parameters
        ----------
        X, y
            Tagged sentences, as of `fit`.

        Returns
        -------
        array
            One number per sentence; -inf where a tag is no candidate of its word.
        """
        model, sentences = self.model_, as_tagged(X, y)
        if sentences.tags is None:
            raise InputError("score_samples needs the tags y")
        with self._working():
            return model.log_probability(sentences)

    def __sklearn_tags__(self) -> Any:
        """Several outputs of several classes; targets of a "classifier" would have to be flat arrays."""
        from sklearn.utils import ClassifierTags

        tags = super().__sklearn_tags__()
        tags.classifier_tags, tags.target_tags.multi_output = ClassifierTags(multi_class=True), True
        return tags


@dataclass(eq=False, repr=False)
class SpectralTagger(SpreadEstimator, TaggerEstimator):
    """Taggers that start from a spectral decomposition.

    Parameters
    ----------
    method : {"refined", "spectral", "chain", "hankel-margin"}
        "refined": states from two views, that is tags refined into states by spectral clusters and a few
        iterations of EM; "spectral": operators by `recover`, a weighted finite tagger; "chain": a conditional
        random field over features; "hankel-margin": the structured hinge under the nuclear norm of a Hankel
        block (Quattoni et al. 2014).
    n_states : int or "auto"
        Number of states per tag at most (auto: 32), or of operators (auto: up to 80); or rank (auto: 16).
    max_iter : int or "auto"
        Number of iterations of EM (auto: 7) or "hankel-margin" (auto: 60), or of passes of "chain" (auto: 5).
    n_members : int or "auto"
        Number of refinements, from several seeds, whose distributions are multiplied (auto: 2, or 4 without
        features).
    features : bool
        With "refined": multiply the chain of features in.
    decoding : {"marginals", "viterbi"} or None
        By the marginals of single tags, or the sequence of largest pair marginals; None: the second for
        chunks (B-X, I-X, O) and "hankel-margin", where it is the one of the highest score, else the first.
    conditional : bool
        With "spectral": operators of P(tags | words), not of P(words, tags).
    workers : int or None
        Number of processes that count, with "spectral", and take the expectations of EM, with "refined"; it
        changes no result.
    client : str, distributed.Client or None
        A Dask cluster that does it, or the address of its scheduler.

    Attributes
    ----------
    model_ : Tagger
        The lexicon and the models of tags.
    classes_ : array of str
        The tags, in the order of the columns of `predict_proba`.

    Examples
    --------
    >>> sentences = [["the", "dog", "runs"], ["a", "cat", "sleeps"], ["the", "cat", "runs"]] * 5
    >>> tags = [["D", "N", "V"]] * 15
    >>> SpectralTagger().fit(sentences, tags).predict([["a", "dog", "sleeps"]])
    [['D', 'N', 'V']]
    >>> chunks = [["B-NP", "I-NP", "B-VP"]] * 15
    >>> given = [list(zip(*pair)) for pair in zip(sentences, tags)]
    >>> SpectralTagger().fit(given, chunks).predict([[("a", "D"), ("mouse", "N"), ("sleeps", "V")]])
    [['B-NP', 'I-NP', 'B-VP']]
    """

    method: str = "refined"
    n_states: int | str = "auto"
    max_iter: int | str = "auto"
    n_members: int | str = "auto"
    features: bool = True
    decoding: str | None = None
    conditional: bool = False

    def _method(self) -> tuple[str, TaggerSettings]:
        if self.method not in SPECTRAL_METHODS:
            names, where = ", ".join(map(repr, SPECTRAL_METHODS)), OF_OTHERS.get(self.method, OTHERS)
            raise ValueError(f"method={self.method!r} must be one of {names}; {where}")
        if self.conditional and self.method != "spectral":
            raise ValueError(f"conditional=True is for method='spectral', not method={self.method!r}")
        return self.method, TaggerSettings(
            positive_or_auto(self.n_states, "n_states"),
            positive_or_auto(self.max_iter, "max_iter"),
            positive_or_auto(self.n_members, "n_members"),
            self.features,
            self.conditional,
        )


@dataclass(eq=False, repr=False)
class EMTagger(SpreadEstimator, TaggerEstimator):
    """Refined tags by expectation-maximization from a random start.

    Parameters
    ----------
    n_states : int or "auto"
        Number of states per tag at most (auto: 16).
    max_iter : int or "auto"
        Number of iterations (auto: 40).
    n_members : int or "auto"
        Number of refinements, from several seeds, whose distributions are multiplied (auto: 1).
    decoding : {"marginals", "viterbi"} or None
        As of `SpectralTagger`.
    warm_start : bool
        Whether `fit` goes on from the states of the last one, whose tags it must have; words may be new.
    workers : int or None
        Number of processes that take the expectations of EM; it changes no result.
    client : str, distributed.Client or None
        A Dask cluster that does it, or the address of its scheduler.

    Attributes
    ----------
    model_, classes_
        As of `SpectralTagger`.

    Examples
    --------
    >>> pairs = [[("the", "D"), ("dog", "N")], [("a", "D"), ("cat", "N")]] * 5
    >>> EMTagger(n_states=2, max_iter=5).fit(pairs).predict([["a", "dog"]])
    [['D', 'N']]
    """

    n_states: int | str = 16
    max_iter: int | str = 40
    n_members: int | str = 1
    decoding: str | None = None
    warm_start: bool = False

    def _method(self) -> tuple[str, TaggerSettings]:
        return "em", TaggerSettings(
            positive_or_auto(self.n_states, "n_states"),
            positive_or_auto(self.max_iter, "max_iter"),
            positive_or_auto(self.n_members, "n_members"),
            features=False,
        )


@dataclass(eq=False, repr=False)
class NgramTagger(TaggerEstimator):
    """Hidden Markov models of tags by counting.

    Parameters
    ----------
    order : {2, 3}
        2: a bigram tagger, one state per tag; 3: a trigram tagger, one state per pair of neighbours.
    decoding : {"marginals", "viterbi"} or None
        As of `SpectralTagger`.

    Attributes
    ----------
    model_, classes_
        As of `SpectralTagger`.

    Examples
    --------
    >>> pairs = [[("the", "D"), ("dog", "N")], [("a", "D"), ("cat", "N")]] * 5
    >>> NgramTagger(order=3).fit(pairs).predict([["a", "dog"]])
    [['D', 'N']]
    """

    order: int = 2
    decoding: str | None = None

    def _method(self) -> tuple[str, TaggerSettings]:
        if self.order not in ORDERS:
            raise ValueError(f"order={self.order!r} must be 2 (bigrams) or 3 (trigrams)")
        return ORDERS[self.order], TaggerSettings()
