"""Automata from strings: spectral methods, expectation-maximisation, n-grams."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from sigmastar.automata.counts.backoff import Smoothing
from sigmastar.automata.counts.bases import Statistic
from sigmastar.automata.data.inputs import Corpus, Unknown, as_alphabet, as_strings
from sigmastar.automata.data.strings import Strings, require_strings
from sigmastar.automata.estimator.methods import BATCHES, METHODS, Learner, fit_batches
from sigmastar.automata.estimator.sequence import Lengths, SequenceEstimator
from sigmastar.automata.learn.em import STARTS, STRUCTURES, EMFit, learn_em
from sigmastar.automata.learn.ngram import SMOOTHINGS, learn_ngram
from sigmastar.automata.learn.repair import Repair
from sigmastar.core.alphabet import Alphabet, Symbol
from sigmastar.core.estimator import (
    RandomState,
    as_generator,
    chosen,
    positive,
    positive_or_auto,
)
from sigmastar.core.parallel import limited_threads
from sigmastar.core.rank import RankEvidence

Progress = Callable[[str], None]

PRECISIONS: Mapping[str, type] = {"float32": np.float32, "float64": np.float64}
EM_SIZES = (5, 10, 20, 40)
"""Numbers of states that `EMAutomaton(n_states="auto")` tries."""


class SpectralAutomaton(SequenceEstimator):
    """A weighted automaton by the spectral method.

    method      "fast" (default): spectral operators through a filter that makes them a distribution;
                "convex": non-negative operators, no EM; "auto": spectral start, then EM, the best and
                slowest; "spectral": the classic method on a basis. Or a function of that kind.
    n_states    a number, or "auto": chosen by held-out likelihood, see `rank_evidence_`
    statistic   for "spectral": "string", "prefix" or "substring" counts
    basis_size  for "spectral": how many of the most frequent outsides and insides
    repair      for "spectral": how the result becomes a distribution: "filter", "project", "em" or "none"
    n_classes   for "fast": numbers of context classes to try
    alphabet    the symbols; without it those that `fit` meets
    unknown     what a symbol outside the alphabet is after `fit`: an "error", or of probability "zero"
    n_threads   threads to learn with; None: one a core
    progress    a function that is told what is being done

    >>> model = SpectralAutomaton(n_states=2).fit(["ab", "abab", "", "ab", "abab", "ababab"] * 10)
    >>> model.predict_next(["aba"], top=1)
    [('b',)]
    """

    n_states_: int
    rank_evidence_: RankEvidence
    held_out_score_: float

    def __init__(
        self,
        method: str | Learner = "fast",
        n_states: int | str = "auto",
        statistic: str | Statistic = "substring",
        basis_size: int = 500,
        repair: str | Repair = "filter",
        n_classes: int | Sequence[int] = (300, 1500),
        alphabet: Alphabet | Iterable[Symbol] | None = None,
        unknown: Unknown = "error",
        random_state: RandomState = 0,
        n_threads: int | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.method = method
        self.n_states = n_states
        self.statistic = statistic
        self.basis_size = basis_size
        self.repair = repair
        self.n_classes = n_classes
        self.alphabet = alphabet
        self.unknown = unknown
        self.random_state = random_state
        self.n_threads = n_threads
        self.progress = progress

    def _learn(self, strings: Strings, rng: np.random.Generator) -> dict[str, Any]:
        return chosen(METHODS, self.method, "method")(self, strings, rng)

    def partial_fit(self, X: Corpus, y: object = None, lengths: Lengths = None) -> SpectralAutomaton:
        """Add a batch of strings to the counts and learn from all of them; `batches_` holds the counts.

        The first batch fixes the alphabet (if none was given) and the context classes or the basis, so it
        should be like the rest. Every call decomposes anew: few large batches are better than many small.
        """
        first = BATCHES.get(self.method) if isinstance(self.method, str) else None
        if first is None:
            names = " or ".join(map(repr, BATCHES))
            raise ValueError(f"partial_fit needs a method whose counts add up, {names}, not {self.method!r}")
        known = vars(self).get("batches_")
        if known is None and self.__sklearn_is_fitted__():
            raise ValueError(
                "fit keeps no counts to add to; start with partial_fit on a new or cloned estimator"
            )
        alphabet = as_alphabet(self.alphabet) if known is None else self.alphabet_
        remedy = "the first batch fixes the alphabet; give one that holds every symbol to the constructor"
        strings = require_strings(as_strings(X, lengths, alphabet, remedy=remedy))
        rng = as_generator(self.random_state) if known is None else self.generator_
        with limited_threads(self.n_threads):
            batches = first(self, strings, rng) if known is None else known.more(strings, rng)
            found = fit_batches(self, batches, batches.held.strings, rng)
        self._keep({**found, "batches_": batches, "generator_": rng})
        return self


class EMAutomaton(SequenceEstimator):
    """A probabilistic automaton by expectation-maximisation, the rival of the spectral methods.

    n_states      a number, or "auto" for the best of 5, 10, 20 and 40 on held-out strings
    n_seeds       ascents, of which the best on held-out strings is kept
    n_iterations  at most, of each ascent
    start         "random" or "spectral", or a function that makes the first automaton
    structure     "pfa": any probabilistic automaton; "hmm": a hidden Markov model
    precision     "float64" or "float32", which is faster
    held_out      the share of strings to stop and to choose by; 0 uses the training likelihood
    tolerance     stop when an iteration gains less, in nats a string
    time_limit    seconds after which no further iteration is begun
    alphabet, unknown, n_threads, progress    as in `SpectralAutomaton`
    """

    n_states_: int
    held_out_score_: float
    log_likelihoods_: list[float]

    def __init__(
        self,
        n_states: int | str = 10,
        n_seeds: int = 1,
        n_iterations: int = 100,
        start: str | Callable[..., Any] = "random",
        structure: str | Callable[..., Any] = "pfa",
        precision: str = "float64",
        held_out: float = 0.1,
        tolerance: float = 1e-4,
        time_limit: float | None = None,
        alphabet: Alphabet | Iterable[Symbol] | None = None,
        unknown: Unknown = "error",
        random_state: RandomState = 0,
        n_threads: int | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.n_states = n_states
        self.n_seeds = n_seeds
        self.n_iterations = n_iterations
        self.start = start
        self.structure = structure
        self.precision = precision
        self.held_out = held_out
        self.tolerance = tolerance
        self.time_limit = time_limit
        self.alphabet = alphabet
        self.unknown = unknown
        self.random_state = random_state
        self.n_threads = n_threads
        self.progress = progress

    def _learn(self, strings: Strings, rng: np.random.Generator) -> dict[str, Any]:
        n_states = positive_or_auto(self.n_states, "n_states")
        if n_states is not None:
            return _found_em(self._climb(strings, n_states, rng))
        seed = int(rng.integers(2**63))  # one seed for all sizes: they see the same held-out strings
        sizes = {size: self._climb(strings, size, np.random.default_rng(seed)) for size in EM_SIZES}
        best = max(sizes, key=lambda size: sizes[size].held_out_score)
        scores = {size: fit.held_out_score for size, fit in sizes.items()}
        return {**_found_em(sizes[best]), "held_out_scores_": scores}

    def _climb(self, strings: Strings, n_states: int, rng: np.random.Generator) -> EMFit:
        return learn_em(
            strings,
            n_states,
            rng,
            n_seeds=positive(self.n_seeds, "n_seeds"),
            n_iterations=positive(self.n_iterations, "n_iterations"),
            start=chosen(STARTS, self.start, "start"),
            step=chosen(STRUCTURES, self.structure, "structure"),
            held_out=self.held_out,
            dtype=chosen(PRECISIONS, self.precision, "precision"),
            tolerance=self.tolerance,
            time_limit=self.time_limit,
            progress=self.progress,
        )

    def _why_absent(self, name: str) -> str:
        return "; EM knows no spectrum" if name == "rank_evidence_" else ""


def _found_em(fit: EMFit) -> dict[str, Any]:
    return {
        "model_": fit.automaton,
        "automaton_": fit.automaton,
        "n_states_": fit.automaton.n_states,
        "held_out_score_": fit.held_out_score,
        "log_likelihoods_": fit.log_likelihoods,
        "n_iterations_": fit.n_iterations,
    }


class NgramAutomaton(SequenceEstimator):
    """An n-gram model: the next symbol depends on the `order - 1` before it, smoothed.

    order      a number, or "auto": the best of 1 to 6 on held-out strings
    smoothing  "witten-bell" or "kneser-ney" (interpolated), or a function from counts to a back-off model
    alphabet, unknown, n_threads    as in `SpectralAutomaton`
    """

    def __init__(
        self,
        order: int | str = 3,
        smoothing: str | Smoothing = "witten-bell",
        alphabet: Alphabet | Iterable[Symbol] | None = None,
        unknown: Unknown = "error",
        random_state: RandomState = 0,
        n_threads: int | None = None,
    ) -> None:
        self.order = order
        self.smoothing = smoothing
        self.alphabet = alphabet
        self.unknown = unknown
        self.random_state = random_state
        self.n_threads = n_threads

    def _learn(self, strings: Strings, rng: np.random.Generator) -> dict[str, Any]:
        order = positive_or_auto(self.order, "order")
        model = learn_ngram(strings, order, chosen(SMOOTHINGS, self.smoothing, "smoothing"), rng)
        return {"model_": model}

    def _why_absent(self, name: str) -> str:
        if name in ("automaton_", "n_states_", "rank_evidence_"):
            return ": an n-gram model has no weighted automaton inside; use model_"
        return ""
