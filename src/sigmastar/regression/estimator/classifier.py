"""Labels of strings by the sign of weighted automata, learned as those of numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from sigmastar.automata.data.strings import Corpus
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.core.arrays import Array, Floats
from sigmastar.core.errors import InputError
from sigmastar.core.estimator import as_generator, chosen
from sigmastar.regression.data.losses import LOSSES, Loss
from sigmastar.regression.data.observations import Observations, sample_weights
from sigmastar.regression.estimator.regressor import HankelEstimator
from sigmastar.regression.model import StringClassifier


class _FittedClassifier(HankelEstimator):
    model_: StringClassifier
    classes_: Array
    _estimator_type = "classifier"


@dataclass(eq=False, repr=False)
class HankelClassifier(_FittedClassifier):
    """Labels of strings by the sign of a weighted automaton; with more than two labels one automaton each.

    Parameters
    ----------
    n_states : int or "auto"
        Number of states of each automaton; "auto": chosen by the cost of held-out labels.
    loss : str or Loss
        "logistic" (with probabilities), "hinge" or "squared".
    solver, strengths, n_starts, alphabet, unknown, rank, bound
        As of `HankelRegressor`.
    max_iter : int
        Largest number of steps of the refinement.
    ridge : float
        Penalty on squared weights, which keeps the values of strings that can be separated from growing
        without end.

    Attributes
    ----------
    model_ : StringClassifier
        The automata and their labels.
    classes_ : array
        The labels.
    automata_ : tuple of WeightedAutomaton
        The automata.

    Examples
    --------
    >>> strings = ["a" * n + "b" * m for n in range(6) for m in range(6)]
    >>> labels = ["even" if len(x) % 2 == 0 else "odd" for x in strings]
    >>> model = HankelClassifier(n_states=2).fit(strings, labels)
    >>> model.predict(["aaabbbb", "ab"]).tolist()
    ['odd', 'even']
    """

    loss: str | Loss = "logistic"
    n_starts: int = 4
    max_iter: int = 300
    ridge: float = 1e-3

    @property
    def automata_(self) -> tuple[WeightedAutomaton, ...]:
        """The automata: one, or one per label."""
        return self.model_.automata

    def fit(self, X: Corpus, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from strings and their labels.

        Parameters
        ----------
        X : iterable of sequences of symbols
            The strings.
        y : array-like
            One label per string.
        sample_weight : array-like of float, optional
            One weight per string.
        """
        labels = np.asarray(y)
        strings, weights = self._training(X, len(labels)), sample_weights(sample_weight, len(labels))
        classes = np.unique(labels)
        if len(classes) < 2:
            raise InputError(f"there is one label only, {classes[0]!r}; a classifier needs two or more")
        loss, rng = chosen(LOSSES, self.loss, "loss"), as_generator(self.random_state)
        with self._working():
            fits = [
                self._learn(
                    Observations.of(strings, np.where(labels == label, 1.0, -1.0), loss, weights), rng
                )
                for label in (classes[1:] if len(classes) == 2 else classes)
            ]
        automata = tuple(fit.automaton for fit in fits)
        self._replace_fitted(
            **self._of_model(StringClassifier(tuple(classes.tolist()), automata, self.loss == "logistic")),
            n_states_=max(automaton.n_states for automaton in automata),
        )
        return self

    def _of_model(self, model: StringClassifier) -> dict[str, Any]:
        classes = np.array(model.classes)
        return {"model_": model, "classes_": classes, "alphabet_": model.automata[0].alphabet}

    def decision_function(self, X: Corpus) -> Floats:
        """The value of each string: above zero for the second of two labels; else one column per label."""
        return self.model_.values(self._strings(X))

    def predict(self, X: Corpus) -> Array:
        """The label of each string."""
        found = self.model_.predict(self._strings(X))
        return np.asarray(self.classes_[np.searchsorted(self.classes_, found)])

    def predict_proba(self, X: Corpus) -> Floats:
        """The probability of each label, for the logistic loss, in the order of `classes_`."""
        if self.loss != "logistic":
            raise AttributeError(f"probabilities need loss='logistic', not {self.loss!r}")
        return self.model_.probabilities(self._strings(X))

    def score(self, X: Corpus, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """The share of strings that get their label.

        Parameters
        ----------
        X : iterable of sequences of symbols
            The strings.
        y : array-like
            Their labels.
        sample_weight : array-like of float, optional
            One weight per string.
        """
        labels = np.asarray(y)
        weights = sample_weights(sample_weight, len(labels))
        return float(np.average(self.predict(X) == labels, weights=weights))
