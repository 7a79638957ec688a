"""Estimators that grow with a stream: counting at every batch, learning when a model is asked for."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from sigmastar.automata.data.strings import Corpus, Strings, as_strings, require_strings
from sigmastar.automata.estimator.sequence import Found, Lengths, SequenceEstimator, lengths_of
from sigmastar.automata.learn.fast import ContextBatches
from sigmastar.automata.learn.spectral import BasisBatches
from sigmastar.automata.model.sequence import SequenceModel
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.estimator import as_generator

Batches = ContextBatches | BasisBatches
_OF_MODEL = ("model_", "automaton_", "n_states_", "rank_evidence_", "held_out_score_")
_SAMPLE = 1000  # strings of a batch that drift is measured on
_FIXED = "the first batch fixes the alphabet; give one that holds every symbol to the constructor"


class Drift(NamedTuple):
    """How a batch differs from what the model before it expects.

    Parameters
    ----------
    n_strings : int
        Number of strings of the batch.
    n_new_symbols : int
        Number of symbols that were never met before.
    score : float
        Log-likelihood per symbol of strings of the batch under the model before it, ends counted.
    change : float
        How much larger that is than for the batch before.
    error : float
        Standard error of the score.
    """

    n_strings: int
    n_new_symbols: int
    score: float
    change: float
    error: float


class Growing(SequenceEstimator):
    """What estimators share whose counts add up."""

    method: str
    half_life: float | None
    _before: SequenceModel | None = None
    generator_: np.random.Generator
    drift_: Drift
    n_symbol_classes_: int
    pruned_: tuple[int, int]

    @abstractmethod
    def _first_batch(self, strings: Strings, rng: np.random.Generator) -> Batches: ...

    @abstractmethod
    def _fit_batches(self, batches: Batches, strings: Strings, rng: np.random.Generator) -> Found: ...

    def update(self, X: Corpus, y: object = None, lengths: Lengths = None) -> Self:
        """Add a batch of strings to the counts; nothing is learned yet.

        The first batch fixes the context classes or the basis, so it should be like the rest. With "fast" the
        alphabet stays open, unless one was given: later symbols are added to it, with classes of their own.

        Parameters
        ----------
        X, y, lengths
            A batch, as of `fit`.

        Returns
        -------
        Self
            The estimator itself; `batches_` holds the counts, and `drift_` what is new about the batch.
        """
        if self.method in ("convex", "auto"):
            raise ValueError(
                f"update needs a method whose counts add up, 'fast' or 'spectral', not {self.method!r}"
            )
        if getattr(self, "min_count", 1) != 1:
            raise ValueError("min_count needs all data at once: use fit, or build a corpus with --min-count")
        known, rng = vars(self).get("batches_"), as_generator(self.random_state)
        if known is None and self.__sklearn_is_fitted__():
            raise ValueError(
                "fit keeps no counts to add to; start with update or partial_fit on a new or cloned estimator"
            )
        alphabet, n_before = self._symbols if known is None else self.alphabet_, 0
        if known is not None:
            rng, n_before = self.generator_, len(self.alphabet_)
            if self._symbols is None and self.method == "fast":
                alphabet = None
        strings = require_strings(as_strings(X, lengths_of(X, y, lengths), alphabet, remedy=_FIXED))
        if known is not None and alphabet is None:
            strings = _over_more(strings, self.alphabet_)
        drift = self._drift(strings, n_before)
        with self._working():
            batches = self._first_batch(strings, rng) if known is None else self._more(known, strings, rng)
        found = {"batches_": batches, "generator_": rng, "alphabet_": strings.alphabet, "drift_": drift}
        before = vars(self).get("model_") or self._before
        self._replace_fitted(**found)
        self._before = before
        return self

    def decompose(self) -> Self:
        """Learn from all that was counted so far.

        Returns
        -------
        Self
            The estimator itself, with the attributes that `fit` sets.
        """
        self.check_fitted()
        if "batches_" not in vars(self):
            return self  # learned by fit, which keeps no counts
        kept: Found = {
            name: vars(self)[name] for name in ("batches_", "generator_", "drift_") if name in vars(self)
        }
        batches, rng = kept["batches_"], kept["generator_"]
        with self._working():
            found = self._fit_batches(batches, batches.held.strings, rng)
        self._keep({**found, **kept})
        return self

    def partial_fit(self, X: Corpus, y: object = None, lengths: Lengths = None) -> Self:
        """Add a batch of strings, by "fast" or "spectral"; the model is learned when it is asked for.

        Parameters
        ----------
        X, y, lengths
            A batch, as of `update`.

        Returns
        -------
        Self
            The estimator itself.
        """
        return self.update(X, y, lengths)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name in _OF_MODEL and "batches_" in vars(self) and "model_" not in vars(self):
                return getattr(self.decompose(), name)
            if name == "outcomes_" and "batches_" in vars(self):
                return self.decompose().__dict__["outcomes_"]
            return super().__getattr__(name)

    def _more(self, known: Batches, strings: Strings, rng: np.random.Generator) -> Batches:
        if not isinstance(known, ContextBatches):
            if self.half_life is not None:
                raise ValueError("half_life is for method='fast'")
            return known.more(strings, rng)
        from sigmastar.automata.learn.streaming import faded, opened  # which most fits do without

        if self.half_life is not None:
            if not self.half_life > 0.0:
                raise ValueError(f"half_life={self.half_life} must be above 0")
            known = faded(known, 0.5 ** (len(strings) / self.half_life), rng)
        return opened(known, strings.alphabet).more(strings, rng)

    def _drift(self, strings: Strings, n_before: int) -> Drift | None:
        """Against the last model that was learned; None before there is one."""
        model = vars(self).get("model_") or self._before
        if model is None:
            return None
        some = strings.select(np.unique(np.linspace(0, len(strings) - 1, _SAMPLE).astype(np.int64)))
        logs = model.log_probability(some.recoded(model.alphabet, allow_unknown=True))
        known, gaps = np.isfinite(logs), some.lengths + 1
        score, error = np.nan, np.nan
        if known.any():
            score = float(logs[known].sum() / gaps[known].sum())
            rest = logs[known] - score * gaps[known]
            error = float(np.sqrt((rest**2).sum()) / gaps[known].sum())
        before = vars(self).get("drift_")
        change = score - before.score if before is not None else np.nan
        return Drift(len(strings), len(strings.alphabet) - n_before, score, change, error)


def _over_more(strings: Strings, alphabet: Alphabet) -> Strings:
    """Strings over an alphabet with their new symbols behind those that it has."""
    new = [symbol for symbol in strings.alphabet if symbol not in alphabet]
    return strings.recoded(Alphabet([*alphabet, *new]) if new else alphabet)
