"""Numbers of strings, learned as weighted automata from few of the values, and the base of both estimators.

The Hankel matrix of a function is completed by nuclear norm from the entries that the strings reach,
operators are read off its shifts, and refined by gradients. This is neither `recover`, for there are no whole
blocks, nor states from two views.

Labels of strings by the sign of weighted automata, learned as those of numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from sigmastar.automata.data.strings import (
    Corpus,
    Strings,
    Unknown,
    as_alphabet,
    as_strings,
    require_known,
    require_strings,
)
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.core.alphabet import Alphabet, Symbol
from sigmastar.core.arrays import Array, Floats
from sigmastar.core.errors import InputError
from sigmastar.core.estimator import Estimator, as_generator, chosen, positive, positive_or_auto
from sigmastar.core.progress import announce, silent
from sigmastar.optimise.completers import COMPLETERS
from sigmastar.optimise.completion import Completer, Completion
from sigmastar.regression.data import (
    LOSSES,
    SQUARED,
    Loss,
    Observations,
    Statement,
    finite_numbers,
    sample_weights,
)
from sigmastar.regression.learn.contrast import learn_labels, seconds_of_labels
from sigmastar.regression.learn.hankel import (
    RANK,
    HankelFit,
    HankelSettings,
    cost_of_learning,
    learn_hankel,
)
from sigmastar.regression.metrics import r_squared
from sigmastar.regression.model import StringClassifier, StringFunction

_LARGER = "give an alphabet that holds every symbol, or none"


class _Fitted:
    """What `fit` sets."""

    alphabet_: Alphabet
    n_states_: int
    cost_: float
    completions_: tuple[Completion, ...]
    held_out_costs_: dict[int, float]
    _estimator_type: str


@dataclass(eq=False, repr=False)
class HankelEstimator(_Fitted, Estimator):
    """What regression and classification share: settings, and how one automaton is learned."""

    n_states: int | str = "auto"
    loss: str | Loss = "squared"
    solver: str | Completer = "proximal"
    strengths: Sequence[float] = (0.1, 0.01)
    n_starts: int = 16
    max_iter: int = 1000
    ridge: float = 0.0
    alphabet: Alphabet | Iterable[Symbol] | None = None
    unknown: Unknown = "error"
    rank: int | None = None
    bound: float | None = None
    _takes_columns: ClassVar[bool] = True

    def _learn(self, observations: Observations, rng: np.random.Generator, scale: float = 1.0) -> HankelFit:
        """From observations whose values are those of the function over `scale`."""
        settings, n_states = self._settings(scale), positive_or_auto(self.n_states, "n_states")
        announce(lambda: cost_of_learning(observations, n_states, settings).of_learning(n_states), "learning")
        return learn_hankel(observations, n_states, rng, settings)

    def _settings(self, scale: float) -> HankelSettings:
        if not len(self.strengths) or not all(0.0 < one < 1.0 for one in self.strengths):
            raise ValueError(f"strengths={self.strengths!r} must be numbers between 0 and 1, one at least")
        if self.bound is not None and not (self.bound > 0.0 and self.solver == "proximal"):
            raise ValueError(f"bound={self.bound!r} must be a number above 0, with solver='proximal'")
        return HankelSettings(
            completer=chosen(COMPLETERS, self.solver, "solver"),
            strengths=tuple(self.strengths),
            rank=RANK if self.rank is None else positive(self.rank, "rank"),
            bound=None if self.bound is None else self.bound / scale,
            n_starts=positive(self.n_starts, "n_starts") if self.n_starts != 0 else 0,
            n_iterations=positive(self.max_iter, "max_iter"),
            ridge=float(self.ridge),
            progress=self.progress or silent,
        )

    def _training(self, X: Corpus, n_values: int) -> Strings:
        alphabet = as_alphabet(self.alphabet)
        strings = require_known(require_strings(as_strings(X, None, alphabet, remedy=_LARGER)))
        if len(strings) != n_values:
            raise InputError(
                f"there are {len(strings)} strings but {n_values} values; give one value per string"
            )
        return strings

    def _strings(self, X: Corpus) -> Strings:
        self.check_fitted()
        remedy = "leave such strings out, or set unknown='zero' to give them the value 0"
        return as_strings(X, None, self.alphabet_, self.unknown, remedy)

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags, RegressorTags

        tags = super().__sklearn_tags__()
        tags.estimator_type, tags.target_tags.required = self._estimator_type, True
        is_classifier = self._estimator_type == "classifier"
        tags.classifier_tags = ClassifierTags() if is_classifier else None
        tags.regressor_tags = None if is_classifier else RegressorTags()
        return tags


class _FittedRegressor(HankelEstimator):
    model_: StringFunction
    _estimator_type = "regressor"


@dataclass(eq=False, repr=False)
class HankelRegressor(_FittedRegressor):
    """A weighted automaton whose values agree with those observed: f(x) = initial . A_x1 .. A_xm . final.

    Noiseless values of an automaton with few states are recovered exactly from a small part of them.

    Parameters
    ----------
    n_states : int or "auto"
        Number of states; "auto": chosen by the cost of held-out values, see `held_out_costs_`.
    loss : str or Loss
        "squared"; for values -1 and 1 also "logistic" and "hinge".
    solver : str or callable
        Solver of the completion: "proximal", "frank-wolfe", "svt", "factored" or "alternating"; "hard" has a
        constraint on the rank in place of the nuclear norm.
    strengths : sequence of float
        Penalties to begin from, as parts of the one that leaves nothing.
    n_starts : int
        Number of starts of the refinement; 0 leaves it out.
    max_iter : int
        Largest number of steps of the refinement.
    ridge : float
        Penalty on squared weights in the refinement.
    alphabet : Alphabet, iterable or None
        The symbols; None: those that `fit` meets.
    unknown : {"error", "zero"}
        What a symbol outside the alphabet is after `fit`: an error, or of value zero.
    rank : int or None
        Largest rank of the completed matrix; None: 30.
    bound : float or None
        Largest size of the entries of the completed matrix, which the refinement begins from.

    Attributes
    ----------
    model_ : StringFunction
        The function.
    automaton_ : WeightedAutomaton
        Its automaton.
    n_states_ : int
        The number of its states.
    cost_ : float
        The mean cost of what was observed.
    held_out_costs_ : dict
        Costs of held-out values by number of states, where it was chosen.
    completions_ : tuple
        The completed matrices that the refinement began from.

    Examples
    --------
    >>> from itertools import product
    >>> strings = ["".join(letters) for n in range(5) for letters in product("ab", repeat=n)]
    >>> model = HankelRegressor(n_states=2).fit(strings, [x.count("a") for x in strings])
    >>> round(float(model.predict(["aababaaa"])[0]), 6)
    6.0
    """

    @property
    def automaton_(self) -> WeightedAutomaton:
        """The automaton of the function."""
        return self.model_.automaton

    def fit(
        self,
        X: Corpus,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        statements: Iterable[Statement] = (),
    ) -> Self:
        """Learn from strings and their values.

        Parameters
        ----------
        X : iterable of sequences of symbols
            The strings.
        y : array-like of float
            One value per string.
        sample_weight : array-like of float, optional
            One weight per string.
        statements : iterable of BilinearMeasure or Order
            What else is known of the function.
        """
        values = finite_numbers(y, "value")
        strings, weights = self._training(X, len(values)), sample_weights(sample_weight, len(values))
        loss = chosen(LOSSES, self.loss, "loss")
        seen = Observations.of(strings, values, loss, weights, statements)
        scale = (float(np.abs(values).max()) or 1.0) if loss is SQUARED else 1.0
        with self._working():
            fit = self._learn(seen.scaled(1.0 / scale), as_generator(self.random_state), scale)
        automaton = fit.automaton * scale
        self._replace_fitted(
            **self._of_model(StringFunction(automaton)),
            n_states_=automaton.n_states,
            cost_=fit.cost * scale * scale,
            completions_=fit.completions,
            held_out_costs_=fit.held_out_costs or None,
        )
        return self

    def _of_model(self, model: StringFunction) -> dict[str, Any]:
        return {"model_": model, "alphabet_": model.alphabet}

    def predict(self, X: Corpus) -> Floats:
        """The value of each string."""
        return self.model_.value(self._strings(X))

    def score(self, X: Corpus, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """The share of the variance that is explained (R^2); 1 is exact.

        Parameters
        ----------
        X : iterable of sequences of symbols
            The strings.
        y : array-like of float
            Their values.
        sample_weight : array-like of float, optional
            One weight per string.
        """
        values = finite_numbers(y, "value")
        return r_squared(values, self.predict(X), sample_weights(sample_weight, len(values)))


class _FittedClassifier(HankelEstimator):
    model_: StringClassifier
    classes_: Array
    starts_: tuple[str, ...]
    _estimator_type = "classifier"


@dataclass(eq=False, repr=False)
class HankelClassifier(_FittedClassifier):
    """Labels of strings by the sign of a weighted automaton; with more than two labels one automaton each.

    Learned in two ways, of which held-out labels choose: by completion, as numbers are, or from the
    difference of two distributions, of the strings with a label and of those without.

    Parameters
    ----------
    n_states : int or "auto"
        Number of states of each automaton; "auto": chosen by held-out labels.
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
    starts_ : tuple of str
        What the refinement of each began from: "contrast" or "completed".

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
        missing = [number for number, label in enumerate(labels.tolist(), 1) if label != label]
        if missing:
            raise InputError(f"label {missing[0]} is NaN; leave strings without a label out")
        classes = np.unique(labels)
        if len(classes) < 2:
            raise InputError(f"there is one label only, {classes[0]!r}; a classifier needs two or more")
        loss, rng = chosen(LOSSES, self.loss, "loss"), as_generator(self.random_state)
        settings, n_states = self._settings(1.0), positive_or_auto(self.n_states, "n_states")
        tasks = [
            Observations.of(strings, np.where(labels == label, 1.0, -1.0), loss, weights)
            for label in (classes[1:] if len(classes) == 2 else classes)
        ]
        with self._working():
            announce(lambda: len(tasks) * seconds_of_labels(tasks[0], n_states, settings), "learning")
            fits = [learn_labels(task, n_states, rng, settings) for task in tasks]
        automata = tuple(fit.automaton for fit in fits)
        self._replace_fitted(
            **self._of_model(StringClassifier(tuple(classes.tolist()), automata, self.loss == "logistic")),
            n_states_=max(automaton.n_states for automaton in automata),
            starts_=tuple(fit.start for fit in fits),
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
