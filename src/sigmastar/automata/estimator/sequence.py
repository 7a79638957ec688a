"""What all estimators of distributions on strings share: everything but the learning."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from sigmastar.automata.data.end import END
from sigmastar.automata.data.inputs import Corpus, Unknown, as_alphabet, as_strings
from sigmastar.automata.data.strings import Strings, require_strings
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.automata.model.sequence import SequenceModel, next_distribution
from sigmastar.core.alphabet import Alphabet, Symbol
from sigmastar.core.estimator import Estimator, RandomState, as_generator
from sigmastar.core.parallel import limited_threads

Array = NDArray[np.float64]
Lengths = Sequence[int] | None
Self = TypeVar("Self", bound="SequenceEstimator")

_CELLS = 4_000_000  # next-symbol probabilities held at a time
_LARGER = "give an alphabet that holds every symbol, or none"


class SequenceEstimator(Estimator):
    """A distribution on strings, learned by `fit`.

    `X` is a list of strings, each a sequence of hashable symbols (text is a sequence of characters), or
    `Strings`; or, with `lengths`, one flat sequence of symbols to be cut. `y` is there for pipelines and
    is not looked at.

    After `fit`: `model_` is the distribution, `automaton_` the weighted automaton inside it, `alphabet_`
    its symbols, and `outcomes_` what can come next: the symbols, then `END`.
    """

    model_: SequenceModel
    automaton_: WeightedAutomaton
    alphabet_: Alphabet
    outcomes_: tuple[Symbol, ...]

    alphabet: Alphabet | Iterable[Symbol] | None
    unknown: Unknown
    random_state: RandomState
    n_threads: int | None

    @abstractmethod
    def _learn(self, strings: Strings, rng: np.random.Generator) -> dict[str, Any]:
        """The attributes that `fit` sets, with `model_` among them."""

    def fit(self: Self, X: Corpus, y: object = None, lengths: Lengths = None) -> Self:
        """Learn from strings; whatever was learned before is replaced."""
        strings = require_strings(as_strings(X, lengths, as_alphabet(self.alphabet), remedy=_LARGER))
        with limited_threads(self.n_threads):
            found = self._learn(strings, as_generator(self.random_state))
        self._keep(found)
        return self

    def score_samples(self, X: Corpus, y: object = None, lengths: Lengths = None) -> Array:
        """The natural log-probability of each string; -inf where it has none."""
        return self.model_.log_probability(self._coded(X, lengths))

    def score(self, X: Corpus, y: object = None, lengths: Lengths = None) -> float:
        """The mean log-probability of a string: larger is better."""
        strings = require_strings(self._coded(X, lengths), "score")
        return float(self.model_.log_probability(strings).mean())

    def predict_next(
        self, prefixes: Corpus, top: int | None = None, lengths: Lengths = None
    ) -> list[tuple[Symbol, ...]]:
        """What comes after each prefix, most likely first, the `top` best or all; `END` is the end.

        Equally likely symbols stand in the order of the alphabet.
        """
        names, rankings = self.outcomes_, list[tuple[Symbol, ...]]()
        for rows in self._next_rows(self._coded(prefixes, lengths)):
            order = np.argsort(-rows, axis=1, kind="stable")[:, :top]
            rankings += [tuple(names[column] for column in row) for row in order.tolist()]
        return rankings

    def predict_proba_next(self, prefixes: Corpus, lengths: Lengths = None) -> Array:
        """The probability of each of `outcomes_` after each prefix: one row a prefix, summing to one."""
        rows = list(self._next_rows(self._coded(prefixes, lengths)))
        return np.concatenate(rows) if rows else np.zeros((0, len(self.outcomes_)))

    def sample(
        self, n_strings: int = 1, random_state: RandomState = None, max_length: int = 10_000
    ) -> list[tuple[Symbol, ...]]:
        """Draw strings; without `random_state` the estimator's own is used, so that calls repeat."""
        model = self.model_
        rng = as_generator(self.random_state if random_state is None else random_state)
        return list(model.sample(n_strings, rng, max_length))

    def _keep(self, found: dict[str, Any]) -> None:
        alphabet = found["model_"].alphabet
        self._replace_fitted(**found, alphabet_=alphabet, outcomes_=(*alphabet, END))

    def _coded(self, X: Corpus, lengths: Lengths) -> Strings:
        self.check_fitted()
        return as_strings(X, lengths, self.alphabet_, self.unknown)

    def _next_rows(self, prefixes: Strings) -> Iterable[Array]:
        """Next-symbol distributions in pieces, so that tables at all gaps stay small."""
        for piece in prefixes.pieces(_CELLS // len(self.outcomes_)):
            yield next_distribution(self.model_, piece)
