"""Numbers and labels of strings, learned as weighted automata from few of the values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sigmastar.automata.data.inputs import Corpus, Unknown, as_alphabet, as_strings
from sigmastar.automata.data.strings import Strings, require_known, require_strings
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.core.alphabet import Alphabet, Symbol
from sigmastar.core.errors import InputError
from sigmastar.core.estimator import (
    Estimator,
    RandomState,
    as_generator,
    chosen,
    positive,
    positive_or_auto,
)
from sigmastar.core.parallel import limited_threads
from sigmastar.optimise.completion import COMPLETERS, Completer, Completion
from sigmastar.regression.data.losses import LOSSES, SQUARED, Loss
from sigmastar.regression.data.observations import Observations, Statement
from sigmastar.regression.learn.hankel import HankelFit, HankelSettings, learn_hankel

Array = NDArray[np.float64]
Self = TypeVar("Self", bound="HankelEstimator")

_LARGER = "give an alphabet that holds every symbol, or none"


class HankelEstimator(Estimator):
    """What regression and classification share: settings, and how one automaton is learned."""

    alphabet_: Alphabet

    def __init__(
        self,
        n_states: int | str = "auto",
        loss: str | Loss = "squared",
        solver: str | Completer = "proximal",
        strengths: Sequence[float] = (0.1, 0.01),
        n_starts: int = 16,
        n_iterations: int = 1000,
        ridge: float = 0.0,
        alphabet: Alphabet | Iterable[Symbol] | None = None,
        unknown: Unknown = "error",
        random_state: RandomState = 0,
        n_threads: int | None = None,
        progress: Callable[[str], None] | None = None,
    ) -> None:
        self.n_states = n_states
        self.loss = loss
        self.solver = solver
        self.strengths = strengths
        self.n_starts = n_starts
        self.n_iterations = n_iterations
        self.ridge = ridge
        self.alphabet = alphabet
        self.unknown = unknown
        self.random_state = random_state
        self.n_threads = n_threads
        self.progress = progress

    def _learn(self, observations: Observations, rng: np.random.Generator) -> HankelFit:
        return learn_hankel(observations, positive_or_auto(self.n_states, "n_states"), rng, self._settings())

    def _settings(self) -> HankelSettings:
        if not len(self.strengths) or not all(0.0 < one < 1.0 for one in self.strengths):
            raise ValueError(f"strengths={self.strengths!r} must be numbers between 0 and 1, one at least")
        return HankelSettings(
            completer=chosen(COMPLETERS, self.solver, "solver"),
            strengths=tuple(self.strengths),
            n_starts=positive(self.n_starts, "n_starts") if self.n_starts != 0 else 0,
            n_iterations=positive(self.n_iterations, "n_iterations"),
            ridge=float(self.ridge),
            progress=self.progress,
        )

    def _strings(self, X: Corpus, n_values: int) -> Strings:
        strings = require_known(
            require_strings(as_strings(X, None, as_alphabet(self.alphabet), remedy=_LARGER))
        )
        if len(strings) != n_values:
            raise InputError(
                f"there are {len(strings)} strings but {n_values} values; give one value a string"
            )
        return strings

    def _values(self, automaton: WeightedAutomaton, X: Corpus) -> Array:
        remedy = "leave such strings out, or set unknown='zero' to give them the value 0"
        return automaton.value(as_strings(X, None, self.alphabet_, self.unknown, remedy))


class HankelRegressor(HankelEstimator):
    """A weighted automaton whose values agree with those observed: f(x) = initial . A_x1 .. A_xm . final

    The Hankel matrix of f is completed by nuclear norm from the entries that the strings reach, operators
    are extracted from it, and refined by gradients. Noiseless values of an automaton with few states are
    recovered exactly from a small part of them.

    n_states      a number, or "auto": chosen by the cost of held-out values, see `held_out_costs_`
    loss          "squared" (for values -1 and 1 "logistic" and "hinge" too), or a `Loss`
    solver        of the completion: "proximal", "frank-wolfe", "svt", "factored" or "alternating"
    strengths     penalties to begin from, as parts of the one that leaves nothing
    n_starts      of the refinement; 0 leaves it out
    n_iterations  of the refinement at most
    ridge         penalty on squared weights in the refinement
    alphabet      the symbols; without it those that `fit` meets
    unknown       what a symbol outside the alphabet is after `fit`: an "error", or of value "zero"

    >>> from itertools import product
    >>> strings = ["".join(letters) for n in range(5) for letters in product("ab", repeat=n)]
    >>> model = HankelRegressor(n_states=2).fit(strings, [x.count("a") for x in strings])
    >>> round(float(model.predict(["aababaaa"])[0]), 6)
    6.0
    """

    automaton_: WeightedAutomaton
    n_states_: int
    cost_: float
    completions_: tuple[Completion, ...]
    held_out_costs_: dict[int, float]

    def fit(
        self,
        X: Corpus,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        statements: Iterable[Statement] = (),
    ) -> HankelRegressor:
        """Learn from strings and their values; `statements` are bilinear measures and orders besides."""
        values = _finite(y, "value")
        strings, weights = self._strings(X, len(values)), _weights(sample_weight, len(values))
        loss = chosen(LOSSES, self.loss, "loss")
        seen = Observations.of(strings, values, loss, weights, statements)
        scale = (float(np.abs(values).max()) or 1.0) if loss is SQUARED else 1.0
        with limited_threads(self.n_threads):
            fit = self._learn(seen.scaled(1.0 / scale), as_generator(self.random_state))
        automaton = fit.automaton * scale
        self._replace_fitted(
            automaton_=automaton,
            alphabet_=automaton.alphabet,
            n_states_=automaton.n_states,
            cost_=fit.cost * scale * scale,
            completions_=fit.completions,
            held_out_costs_=fit.held_out_costs or None,
        )
        return self

    def predict(self, X: Corpus) -> Array:
        """The value of each string."""
        self.check_fitted()
        return self._values(self.automaton_, X)

    def score(self, X: Corpus, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """The share of the variance that is explained (R^2); 1 is exact."""
        values = _finite(y, "value")
        weights = _weights(sample_weight, len(values))
        error, spread = (values - self.predict(X)) ** 2, (values - np.average(values, weights=weights)) ** 2
        total = float(np.average(spread, weights=weights))
        return 1.0 - float(np.average(error, weights=weights)) / total if total else 0.0

    def __sklearn_tags__(self) -> Any:
        return _tags(super().__sklearn_tags__(), "regressor")


class HankelClassifier(HankelEstimator):
    """Labels of strings by the sign of a weighted automaton; with more than two labels one automaton each.

    Parameters are those of `HankelRegressor`; `loss` is "logistic" (with probabilities), "hinge" or
    "squared". `ridge` keeps the values of strings that can be told apart from growing without end.

    >>> strings = ["a" * n + "b" * m for n in range(6) for m in range(6)]
    >>> labels = ["even" if len(x) % 2 == 0 else "odd" for x in strings]
    >>> model = HankelClassifier(n_states=2).fit(strings, labels)
    >>> model.predict(["aaabbbb", "ab"]).tolist()
    ['odd', 'even']
    """

    classes_: NDArray[Any]
    automata_: tuple[WeightedAutomaton, ...]

    def __init__(
        self,
        n_states: int | str = "auto",
        loss: str | Loss = "logistic",
        solver: str | Completer = "proximal",
        strengths: Sequence[float] = (0.1, 0.01),
        n_starts: int = 4,
        n_iterations: int = 300,
        ridge: float = 1e-3,
        alphabet: Alphabet | Iterable[Symbol] | None = None,
        unknown: Unknown = "error",
        random_state: RandomState = 0,
        n_threads: int | None = None,
        progress: Callable[[str], None] | None = None,
    ) -> None:
        super().__init__(
            n_states,
            loss,
            solver,
            strengths,
            n_starts,
            n_iterations,
            ridge,
            alphabet,
            unknown,
            random_state,
            n_threads,
            progress,
        )

    def fit(self, X: Corpus, y: ArrayLike, sample_weight: ArrayLike | None = None) -> HankelClassifier:
        """Learn from strings and their labels."""
        labels = np.asarray(y)
        strings, weights = self._strings(X, len(labels)), _weights(sample_weight, len(labels))
        classes = np.unique(labels)
        if len(classes) < 2:
            raise InputError(f"there is one label only, {classes[0]!r}; a classifier needs two or more")
        loss, rng = chosen(LOSSES, self.loss, "loss"), as_generator(self.random_state)
        fits = []
        with limited_threads(self.n_threads):
            for label in classes[1:] if len(classes) == 2 else classes:
                signs = np.where(labels == label, 1.0, -1.0)
                fits.append(self._learn(Observations.of(strings, signs, loss, weights), rng))
        self._replace_fitted(
            classes_=classes,
            automata_=tuple(fit.automaton for fit in fits),
            automaton_=fits[0].automaton if len(fits) == 1 else None,
            alphabet_=strings.alphabet,
            n_states_=max(fit.automaton.n_states for fit in fits),
        )
        return self

    def decision_function(self, X: Corpus) -> Array:
        """The value of each string: above zero for the second of two labels; else a column a label."""
        self.check_fitted()
        rows = X if isinstance(X, Strings) else list(X)
        values = np.stack([self._values(automaton, rows) for automaton in self.automata_], axis=1)
        return values[:, 0] if len(self.automata_) == 1 else values

    def predict(self, X: Corpus) -> NDArray[Any]:
        values = self.decision_function(X)
        best = (values > 0).astype(int) if values.ndim == 1 else values.argmax(axis=1)
        return self.classes_[best]  # type: ignore[no-any-return]

    def predict_proba(self, X: Corpus) -> Array:
        """The probability of each label, for the logistic loss: one against the rest, made to sum to one."""
        if self.loss != "logistic":
            raise AttributeError(f"probabilities need loss='logistic', not {self.loss!r}")
        values = self.decision_function(X)
        positive_share = np.exp(-np.logaddexp(0.0, -values))
        if values.ndim == 1:
            return np.stack([1.0 - positive_share, positive_share], axis=1)
        return positive_share / positive_share.sum(axis=1, keepdims=True)  # type: ignore[no-any-return]

    def score(self, X: Corpus, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """The share of strings that get their label."""
        labels = np.asarray(y)
        weights = _weights(sample_weight, len(labels))
        return float(np.average(self.predict(X) == labels, weights=weights))

    def __sklearn_tags__(self) -> Any:
        return _tags(super().__sklearn_tags__(), "classifier")


def _finite(values: ArrayLike, what: str) -> Array:
    """Numbers, one a string."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise InputError(f"expected one {what} a string, got an array of shape {array.shape}")
    if not np.isfinite(array).all():
        raise InputError(
            f"{what} {int(np.argmin(np.isfinite(array))) + 1} is not a finite number; leave it out"
        )
    return array


def _weights(weights: ArrayLike | None, n: int) -> Array | None:
    if weights is None:
        return None
    array = _finite(weights, "weight")
    if len(array) != n or (array < 0).any() or not array.sum():
        raise InputError(f"sample_weight must hold {n} weights, none below 0 and not all 0")
    return array


def _tags(tags: Any, kind: str) -> Any:
    from sklearn.utils import ClassifierTags, RegressorTags

    tags.estimator_type, tags.target_tags.required = kind, True
    if kind == "classifier":
        tags.classifier_tags = ClassifierTags()
    else:
        tags.regressor_tags = RegressorTags()
    return tags
