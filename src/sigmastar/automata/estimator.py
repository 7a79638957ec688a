"""What all estimators of distributions on strings share: everything but the learning.

The methods of `SpectralAutomaton` by name: each takes the estimator for its settings.

To add a method, write a function and name it in `METHODS`; if its counts add up, in `BATCHES` too.

Automata from strings: spectral methods, expectation-maximisation, n-grams.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from sigmastar.automata.counts.bases import PREFIX, STRING, SUBSTRING, Statistic
from sigmastar.automata.counts.ngram_smoothing import Smoothing
from sigmastar.automata.data.inputs import END, Corpus, Unknown, as_alphabet, as_strings
from sigmastar.automata.data.strings import Strings, require_strings
from sigmastar.automata.learn.auto import learn_auto
from sigmastar.automata.learn.batches import BasisBatches
from sigmastar.automata.learn.convex import ConvexFit, learn_convex
from sigmastar.automata.learn.em import STARTS, STRUCTURES, EMFit, learn_em
from sigmastar.automata.learn.fast import ContextBatches, learn_fast
from sigmastar.automata.learn.ngram import SMOOTHINGS, learn_ngram
from sigmastar.automata.learn.repair import REPAIRS, Repair
from sigmastar.automata.learn.spectral import SpectralFit
from sigmastar.automata.learn.two_resolutions import FilteredFit
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.automata.model.sequence import SequenceModel, next_distribution
from sigmastar.core.alphabet import Alphabet, Symbol
from sigmastar.core.arrays import Floats
from sigmastar.core.estimator import (
    Estimator,
    RandomState,
    as_generator,
    chosen,
    positive,
    positive_or_auto,
)
from sigmastar.core.parallel import limited_threads
from sigmastar.core.progress import Progress
from sigmastar.core.rank import RankEvidence

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

    def score_samples(self, X: Corpus, y: object = None, lengths: Lengths = None) -> Floats:
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

    def predict_proba_next(self, prefixes: Corpus, lengths: Lengths = None) -> Floats:
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

    def _next_rows(self, prefixes: Strings) -> Iterable[Floats]:
        """Next-symbol distributions in pieces, so that tables at all gaps stay small."""
        for piece in prefixes.pieces(_CELLS // len(self.outcomes_)):
            yield next_distribution(self.model_, piece)


Found = dict[str, Any]
"""Names and values of the attributes that `fit` sets."""
Learner = Callable[[Any, Strings, np.random.Generator], Found]
Batches = ContextBatches | BasisBatches
FirstBatch = Callable[[Any, Strings, np.random.Generator], Batches]

STATISTICS: Mapping[str, Statistic] = {"string": STRING, "prefix": PREFIX, "substring": SUBSTRING}


def fast(settings: SpectralAutomaton, strings: Strings, rng: np.random.Generator) -> Found:
    """Spectral operators on context classes, read through the restart filter."""
    fit = learn_fast(strings, rng, _n_states(settings), _n_classes(settings), settings.progress)
    return found_filtered(fit)


def convex(settings: SpectralAutomaton, strings: Strings, rng: np.random.Generator) -> Found:
    """Non-negative operators by convex problems, read through the restart filter."""
    return found_filtered(learn_convex(strings, rng, _n_states(settings), settings.progress))


def auto(settings: SpectralAutomaton, strings: Strings, rng: np.random.Generator) -> Found:
    """A spectral start, then expectation-maximisation: a proper automaton."""
    fit = learn_auto(strings, rng, _n_states(settings), settings.progress)
    found = _found(fit.model, fit.automaton, fit.evidence, fit.held_out_score)
    return {**found, "n_iterations_": fit.n_iterations}


def spectral(settings: SpectralAutomaton, strings: Strings, rng: np.random.Generator) -> Found:
    """The classic: counts on a basis, one decomposition; then the repair of choice."""
    return fit_batches(settings, first_on_basis(settings, strings, rng), strings, rng)


METHODS: Mapping[str, Learner] = {"fast": fast, "convex": convex, "auto": auto, "spectral": spectral}


def first_on_classes(
    settings: SpectralAutomaton, strings: Strings, rng: np.random.Generator
) -> ContextBatches:
    return ContextBatches.first(strings, rng, _n_classes(settings))


def first_on_basis(settings: SpectralAutomaton, strings: Strings, rng: np.random.Generator) -> BasisBatches:
    statistic = chosen(STATISTICS, settings.statistic, "statistic")
    return BasisBatches.first(strings, rng, statistic, positive(settings.basis_size, "basis_size"))


BATCHES: Mapping[str, FirstBatch] = {"fast": first_on_classes, "spectral": first_on_basis}


def fit_batches(
    settings: SpectralAutomaton, batches: Batches, strings: Strings, rng: np.random.Generator
) -> Found:
    """A model from counts; `strings` are what a repair may look at."""
    fit = batches.fit(_n_states(settings))
    if isinstance(fit, FilteredFit):
        return found_filtered(fit)
    repair = chosen(REPAIRS, settings.repair, "repair")
    return _found_spectral(fit, repair(fit.automaton, strings, rng))


def found_filtered(fit: FilteredFit | ConvexFit) -> Found:
    return _found(fit.model, fit.model.automaton, fit.evidence, fit.held_out_score)


def _found_spectral(fit: SpectralFit, model: SequenceModel) -> Found:
    """No held-out score: the strings that chose the states were counted, and the repair saw them too."""
    automaton = model if isinstance(model, WeightedAutomaton) else getattr(model, "automaton", fit.automaton)
    return _found(model, automaton, fit.evidence, None)


def _found(
    model: SequenceModel, automaton: WeightedAutomaton, evidence: RankEvidence, held_out_score: float | None
) -> Found:
    return {
        "model_": model,
        "automaton_": automaton,
        "n_states_": automaton.n_states,
        "rank_evidence_": evidence,
        "held_out_score_": held_out_score,
    }


def _n_states(settings: SpectralAutomaton) -> int | None:
    return positive_or_auto(settings.n_states, "n_states")


def _n_classes(settings: SpectralAutomaton) -> Sequence[int]:
    sizes = settings.n_classes
    return [positive(size, "n_classes") for size in ([sizes] if isinstance(sizes, int) else sizes)]


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
