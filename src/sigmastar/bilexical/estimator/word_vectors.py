"""`WordVectors`: distributional vectors of the words of a text."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sigmastar.bilexical.counts import WEIGHTINGS
from sigmastar.bilexical.data.pairs import Pairs
from sigmastar.bilexical.data.text import Text
from sigmastar.bilexical.learn.vectors import VectorSettings, frequent_words, learn_vectors, window_counts
from sigmastar.bilexical.metrics import pairwise_accuracy
from sigmastar.bilexical.model.vectors import Vectors, dense
from sigmastar.core.arrays import Floats
from sigmastar.core.estimator import Estimator, SpreadEstimator, chosen, positive
from sigmastar.core.progress import silent

_JUDGED = 1000  # most frequent words that `score` looks at


class _FittedVectors(Estimator):
    model_: Vectors


@dataclass(eq=False, repr=False)
class WordVectors(SpreadEstimator, _FittedVectors):
    """Vectors of words: counts of the words around them, weighted, normalized, and compressed if asked for.

    Parameters
    ----------
    window : int
        Number of words to each side that count as neighbours.
    n_contexts : int
        Number of the most frequent words that count as contexts.
    sided : bool
        Contexts on the left and on the right are different ones: twice the coordinates, better for
        `BilexicalOperator` and no better for `PPAttachment`.
    weighting : {"ppmi", "sqrt", "raw"}
        Of the counts: positive pointwise mutual information, square roots, or none.
    min_count : int
        Words that are rarer get no vector.
    n_dimensions : int or None
        Leading singular directions to compress to; None: one coordinate per context.
    lower_case : bool
        Words are lower-cased.
    workers : int or None
        Number of processes that count, a file, a part of a corpus or some thousands of sentences at a time;
        it changes no result.
    client : str, distributed.Client or None
        A Dask cluster that does it, or the address of its scheduler.

    Attributes
    ----------
    model_ : Vectors
        The vectors.

    Examples
    --------
    >>> text = ["the cat eats fish", "the dog eats meat", "a stone lies still", "a rock lies still"] * 3
    >>> vectors = WordVectors(window=2).fit(text)
    >>> vectors.nearest("stone", 1)[0][0]
    'rock'
    >>> vectors.transform(["cat", "dog"]).shape
    (2, 11)
    """

    window: int = 2
    n_contexts: int = 2000
    sided: bool = False
    weighting: str = "ppmi"
    min_count: int = 2
    n_dimensions: int | None = None
    lower_case: bool = True

    def fit(self, X: Text | os.PathLike[str], y: object = None) -> WordVectors:
        """Count the neighbours of every word.

        Parameters
        ----------
        X : sequence
            Sentences, as strings with blanks between the words or as lists of words; or files
            (`pathlib.Path`) with one tokenized sentence per line, and corpora on disk, which are read twice
            and never held as a whole. One corpus may stand alone.
        y
            Not used.

        Returns
        -------
        WordVectors
            The estimator itself.
        """
        settings = self._settings()
        (self.progress or silent)("counting")
        with self._working():
            self._replace_fitted(model_=learn_vectors([X] if isinstance(X, os.PathLike) else X, settings))
        return self

    def transform(self, X: Sequence[str]) -> Floats:
        """The vectors of words, one row per word; zeros where a word is unknown."""
        self.check_fitted()
        return dense(self.model_.rows(X))

    def nearest(self, word: str, k: int = 10) -> list[tuple[str, float]]:
        """The most similar words.

        Parameters
        ----------
        word : str
            A word with a vector.
        k : int
            At most so many.

        Returns
        -------
        list of tuple
            Words and their inner products with `word`, the largest first.
        """
        self.check_fitted()
        return self.model_.nearest(word, k)

    def score(self, X: Text, y: object = None) -> float:
        """How often a neighbour in the text is more similar to a word than another word of like frequency.

        Parameters
        ----------
        X : sequence
            Text, as for `fit`; best other text than that of `fit`.
        y
            Not used.

        Returns
        -------
        float
            The share of pairs in the right order, over the thousand most frequent words; 0.5 is chance.
        """
        self.check_fitted()
        settings = replace(self._settings(), n_contexts=_JUDGED, sided=False, min_count=1)
        ordered = zip(*frequent_words(X, settings), strict=True)
        known = [(word, count) for word, count in ordered if word in self.model_][:_JUDGED]
        if not known:
            raise ValueError("no word of the text has a vector")
        words = tuple(word for word, _ in known)
        pairs = Pairs(words, words, window_counts(X, words, [count for _, count in known], settings))
        rows = dense(self.model_.rows(words))
        similar = dict(zip(words, rows @ rows.T, strict=True))
        found = pairwise_accuracy(
            lambda heads: np.stack([similar[head] for head in heads]), pairs, pairs.popularity
        )
        return float(np.nan_to_num(found.micro, nan=0.5))

    def _settings(self) -> VectorSettings:
        return VectorSettings(
            positive(self.window, "window"),
            positive(self.n_contexts, "n_contexts"),
            self.sided,
            chosen(WEIGHTINGS, self.weighting, "weighting"),
            positive(self.min_count, "min_count"),
            None if self.n_dimensions is None else positive(self.n_dimensions, "n_dimensions"),
            self.lower_case,
        )
