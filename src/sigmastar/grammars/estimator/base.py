"""What all estimators of grammars share: the data that they take, scores, brackets, samples.

X is a sequence of strings of any hashable symbols, a `Strings`, a corpus on disk, a sequence of trees or a
`Bracketings`; the last two have brackets, which `SpectralGrammar` needs and the others may ignore. Trees are
`Tree`s, nltk's, or text such as `(S (NP she) (VP runs))`: an opening bracket, a label, a blank. Strings over
brackets alone, such as `(())`, are strings.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, Self

import numpy as np

from sigmastar.automata.data.strings import Strings, as_strings
from sigmastar.core.alphabet import Alphabet, Symbol
from sigmastar.core.arrays import Floats
from sigmastar.core.estimator import Estimator, RandomState, as_generator
from sigmastar.core.progress import Progress, silent
from sigmastar.grammars.data.bracketings import Bracketings
from sigmastar.grammars.model.grammar import WeightedGrammar
from sigmastar.trees.data.brackets import as_trees, is_nltk
from sigmastar.trees.data.tree import Tree

Corpus = Strings | Bracketings | Iterable[Iterable[Symbol]] | Sequence[Tree]
_IN_BRACKETS = re.compile(r"\s*\(\s*(\(\s*)?[^\s()]+\s+[^\s)]")


def as_bracketings(X: Corpus) -> Bracketings | None:
    """Brackets where there are any; None for bare strings."""
    if isinstance(X, Bracketings):
        return X
    if isinstance(X, (list, tuple)) and X and all(map(_is_tree, X)):
        return Bracketings.of_trees(tree for tree in as_trees(X) if isinstance(tree, Tree))
    return None


def _is_tree(item: Any) -> bool:
    if isinstance(item, str):
        return _IN_BRACKETS.match(item) is not None
    return isinstance(item, Tree) or is_nltk(item)


def as_plain(X: Corpus, alphabet: Alphabet | None = None) -> Strings:
    """The strings of any corpus; symbols outside a given alphabet have no weight."""
    brackets = as_bracketings(X)
    if brackets is not None:
        return brackets.strings.recoded(alphabet, allow_unknown=True)
    return as_strings(X, None, alphabet, "error" if alphabet is None else "zero")


class GrammarEstimator(Estimator, ABC):
    """What all grammars share: `model_` holds the `WeightedGrammar` that `fit` found."""

    model_: WeightedGrammar

    @abstractmethod
    def _learn(self, X: Corpus, weights: Floats | None, progress: Progress) -> dict[str, Any]:
        """The fitted attributes, `model_` among them."""

    def fit(
        self, X: Corpus, y: object = None, *, sample_weight: Sequence[float] | Floats | None = None
    ) -> Self:
        """Learn a grammar.

        Parameters
        ----------
        X : Strings, Bracketings, sequence of strings or of trees
            What to learn from.
        y : None
            Not used.
        sample_weight : sequence of float or None
            How often each string was seen; None: once.

        Returns
        -------
        Self
            The estimator.
        """
        weights = None if sample_weight is None else np.asarray(sample_weight, dtype=float)
        with self._working():
            self._replace_fitted(**self._learn(X, weights, self.progress or silent))
        return self

    def score_samples(self, X: Corpus, y: object = None) -> Floats:
        """The log-value of every string.

        Parameters
        ----------
        X : Strings, Bracketings, sequence of strings or of trees
            Strings; brackets are not looked at.
        y : None
            Not used.

        Returns
        -------
        array of float
            log f, and -inf where f <= 0.
        """
        model = self.model_
        return model.log_probability(as_plain(X, model.alphabet))

    def score(self, X: Corpus, y: object = None) -> float:
        """The mean log-value of strings.

        Parameters
        ----------
        X : Strings, Bracketings, sequence of strings or of trees
            Strings; brackets are not looked at.
        y : None
            Not used.

        Returns
        -------
        float
            The mean of `score_samples`.
        """
        return float(self.score_samples(X).mean())

    def brackets(self, X: Corpus) -> Bracketings:
        """Binary trees that hold the most expected constituents (MBR).

        Parameters
        ----------
        X : Strings, Bracketings, sequence of strings or of trees
            Strings; brackets are not looked at.

        Returns
        -------
        Bracketings
            Of the same strings.
        """
        self.check_fitted()
        given = as_bracketings(X)
        return self.model_.brackets(given.strings if given is not None else as_strings(X))

    def predict(self, X: Corpus) -> list[Tree]:
        """The same as trees whose nodes are all labelled X.

        Parameters
        ----------
        X : Strings, Bracketings, sequence of strings or of trees
            Strings; brackets are not looked at.

        Returns
        -------
        list of Tree
            One per string.
        """
        return self.brackets(X).trees()


class SamplingGrammarEstimator(GrammarEstimator, ABC):
    """Grammars that may be distributions."""

    def sample(self, n_samples: int = 1, random_state: RandomState = None) -> Strings:
        """Draw strings, where the grammar is probabilistic.

        Parameters
        ----------
        n_samples : int
            The number of strings.
        random_state : int, Generator or None
            Seed, or source, of chance; None: that of the estimator.

        Returns
        -------
        Strings
            Over the alphabet of the grammar.
        """
        chance = self.random_state if random_state is None else random_state
        return self.model_.sample(n_samples, as_generator(chance))
