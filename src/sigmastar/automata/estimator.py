"""Automata from strings: spectral methods, expectation-maximization, n-grams."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from sigmastar.automata.counts.bases import Statistic
from sigmastar.automata.counts.ngram_smoothing import Smoothing
from sigmastar.automata.data.inputs import END, Corpus, Unknown, as_alphabet, as_strings
from sigmastar.automata.data.strings import Strings, require_strings
from sigmastar.automata.learn.auto import learn_auto
from sigmastar.automata.learn.convex import learn_convex
from sigmastar.automata.learn.em import STARTS, STRUCTURES, EMFit, learn_em
from sigmastar.automata.learn.fast import CLASSES, ContextBatches, FilteredFit, learn_fast
from sigmastar.automata.learn.ngram import SMOOTHINGS, learn_ngram
from sigmastar.automata.learn.repair import REPAIRS, Repair
from sigmastar.automata.learn.spectral import STATISTICS, WEIGHTINGS, BasisBatches, SpectralFit
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
from sigmastar.core.progress import Progress, silent
from sigmastar.core.rank import RankEvidence

Lengths = Sequence[int] | None
Found = dict[str, Any]
"""Names and values of the attributes that `fit` sets."""
Batches = ContextBatches | BasisBatches

METHODS = ("fast", "convex", "auto", "spectral")
PRECISIONS: Mapping[str, type] = {"float32": np.float32, "float64": np.float64}
EM_SIZES = (5, 10, 20, 40)
"""Numbers of states that `EMAutomaton(n_states="auto")` tries."""
_CELLS = 4_000_000  # next-symbol probabilities held at a time
_LARGER = "give an alphabet that holds every symbol, or none"


class _FittedSequence:
    """What `fit` sets."""

    model_: SequenceModel
    automaton_: WeightedAutomaton
    alphabet_: Alphabet
    outcomes_: tuple[Symbol, ...]
    n_states_: int
    rank_evidence_: RankEvidence
    held_out_score_: float
    log_likelihoods_: list[float]


@dataclass(eq=False, repr=False)
class SequenceEstimator(_FittedSequence, Estimator):
    """A distribution on strings, learned by `fit`.

    `X` is a list of strings, each a sequence of hashable symbols (text is a sequence of characters), or
    `Strings`; or, with `lengths`, one flat sequence of symbols to be cut. `y` is there for pipelines and
    is not looked at.
    """

    @abstractmethod
    def _learn(self, strings: Strings, rng: np.random.Generator) -> Found:
        """The attributes that `fit` sets, with `model_` among them."""

    @property
    def _symbols(self) -> Alphabet | None:
        return as_alphabet(getattr(self, "alphabet", None))

    @property
    def _progress(self) -> Progress:
        return self.progress or silent

    def fit(
        self, X: Corpus, y: object = None, lengths: Lengths = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn from strings; whatever was learned before is replaced.

        Parameters
        ----------
        X : list of sequences, Strings, or one flat sequence
            The strings.
        y : object
            Not used.
        lengths : sequence of int, optional
            Lengths of the strings in a flat `X`.
        sample_weight : sequence of int, optional
            How often each string counts; whole numbers.

        Returns
        -------
        Self
            The estimator itself.
        """
        strings = require_strings(as_strings(X, lengths, self._symbols, remedy=_LARGER))
        if sample_weight is not None:
            strings = require_strings(strings.repeated(sample_weight))
        with self._working():
            found = self._learn(strings, as_generator(self.random_state))
        self._keep(found)
        return self

    def score_samples(self, X: Corpus, y: object = None, lengths: Lengths = None) -> Floats:
        """The natural log-probability of each string; -inf where it has none.

        Parameters
        ----------
        X, y, lengths
            As of `fit`.

        Returns
        -------
        array of shape (n_strings,)
            In nats.
        """
        return self.model_.log_probability(self._coded(X, lengths))

    def score(self, X: Corpus, y: object = None, lengths: Lengths = None) -> float:
        """The mean log-probability per string: larger is better.

        Parameters
        ----------
        X, y, lengths
            As of `fit`.

        Returns
        -------
        float
            In nats.
        """
        strings = require_strings(self._coded(X, lengths), "score")
        return float(self.model_.log_probability(strings).mean())

    def predict_next(
        self, prefixes: Corpus, top: int | None = None, lengths: Lengths = None
    ) -> list[tuple[Symbol, ...]]:
        """What comes after each prefix, most likely first; `END` is the end of the string.

        Parameters
        ----------
        prefixes, lengths
            Strings, as of `fit`.
        top : int, optional
            Number of symbols per prefix; all if left out.

        Returns
        -------
        list of tuples
            Equally likely symbols stand in the order of the alphabet.
        """
        names, rankings = self.outcomes_, list[tuple[Symbol, ...]]()
        for rows in self._next_rows(self._coded(prefixes, lengths)):
            order = np.argsort(-rows, axis=1, kind="stable")[:, :top]
            rankings += [tuple(names[column] for column in row) for row in order.tolist()]
        return rankings

    def predict_proba_next(self, prefixes: Corpus, lengths: Lengths = None) -> Floats:
        """The probability of each of `outcomes_` after each prefix.

        Parameters
        ----------
        prefixes, lengths
            Strings, as of `fit`.

        Returns
        -------
        array of shape (n_prefixes, n_symbols + 1)
            Rows sum to one; the end of the string is last.
        """
        rows = list(self._next_rows(self._coded(prefixes, lengths)))
        return np.concatenate(rows) if rows else np.zeros((0, len(self.outcomes_)))

    def sample(
        self, n_samples: int = 1, random_state: RandomState = None, max_length: int = 10_000
    ) -> list[tuple[Symbol, ...]]:
        """Draw strings.

        Parameters
        ----------
        n_samples : int
            Number of strings.
        random_state : int, Generator or None
            Seed or source of chance; None: the estimator's own, so that calls repeat.
        max_length : int
            Longer strings are cut.

        Returns
        -------
        list of tuples
            The strings.
        """
        model = self.model_
        rng = as_generator(self.random_state if random_state is None else random_state)
        return list(model.sample(n_samples, rng, max_length))

    def _keep(self, found: Found) -> None:
        alphabet = found["model_"].alphabet
        self._replace_fitted(**found, alphabet_=alphabet, outcomes_=(*alphabet, END))

    def _coded(self, X: Corpus, lengths: Lengths) -> Strings:
        self.check_fitted()
        return as_strings(X, lengths, self.alphabet_, getattr(self, "unknown", "error"))

    def _next_rows(self, prefixes: Strings) -> Iterable[Floats]:
        """Next-symbol distributions in pieces, so that tables at all gaps stay small."""
        for piece in prefixes.pieces(_CELLS // len(self.outcomes_)):
            yield next_distribution(self.model_, piece)


@dataclass(eq=False, repr=False)
class SpectralAutomaton(SequenceEstimator):
    """A weighted automaton by the spectral method.

    Parameters
    ----------
    method : str
        "fast": spectral operators on context classes, read through a filter that makes them a distribution.
        "convex": non-negative operators by concave problems, the same filter. "auto": spectral starts, then
        expectation-maximization, a proper automaton. "spectral": the classic method on a basis of strings.
    n_states : int or "auto"
        Number of states; "auto": chosen by held-out likelihood, see `rank_evidence_`.
    statistic : str or Statistic
        For "spectral": what is counted, "string", "prefix" or "substring".
    basis_size : int
        For "spectral": number of outsides, and of insides; the most frequent ones.
    block_smoothing : float
        For "spectral": number of strings of a unigram model that are added to the counts.
    weighting : str or sequence of functions
        For "spectral": "none", or "counts": rows and columns of the blocks are divided by the roots of their
        sums before they are factorized; or functions from blocks to blocks.
    repair : str or function
        For "spectral": how the result becomes a distribution, "filter", "project", "em" or "none".
    n_classes : int or sequence of int
        For "fast": numbers of context classes to try.
    alphabet : Alphabet, iterable or None
        The symbols; None: those that `fit` meets.
    unknown : str
        What a symbol outside the alphabet is after `fit`: an "error", or of probability "zero".
    random_state, n_jobs, progress
        As of all estimators.

    Attributes
    ----------
    model_ : SequenceModel
        The distribution.
    automaton_ : WeightedAutomaton
        The weighted automaton inside it.
    alphabet_ : Alphabet
        Its symbols.
    outcomes_ : tuple
        What can come next: the symbols, then `END`.
    n_states_ : int
        Number of states.
    rank_evidence_ : RankEvidence
        Why it is this number.
    held_out_score_ : float
        Log-likelihood per held-out string; absent where nothing was held out.

    Examples
    --------
    >>> model = SpectralAutomaton(n_states=2).fit(["ab", "abab", "", "ab", "abab", "ababab"] * 10)
    >>> model.predict_next(["aba"], top=1)
    [('b',)]
    """

    method: str = "fast"
    n_states: int | str = "auto"
    statistic: str | Statistic = "substring"
    basis_size: int = 500
    block_smoothing: float = 0.0
    weighting: str | Sequence[Callable[..., Any]] = "none"
    repair: str | Repair = "filter"
    n_classes: int | Sequence[int] = CLASSES
    alphabet: Alphabet | Iterable[Symbol] | None = None
    unknown: Unknown = "error"

    def _learn(self, strings: Strings, rng: np.random.Generator) -> Found:
        n_states = positive_or_auto(self.n_states, "n_states")
        if self.method == "fast":
            return _filtered(learn_fast(strings, rng, n_states, self._n_classes, self._progress))
        if self.method == "convex":
            return _filtered(learn_convex(strings, rng, n_states, self._progress))
        if self.method == "auto":
            fit = learn_auto(strings, rng, n_states, self._progress)
            found = _found(fit.automaton, fit.automaton, fit.evidence, fit.held_out_score)
            return {**found, "n_iterations_": fit.n_iterations}
        return self._fit_batches(self._first_batch(strings, rng), strings, rng)

    def partial_fit(self, X: Corpus, y: object = None, lengths: Lengths = None) -> Self:
        """Add a batch of strings to the counts and learn from all of them, by "fast" or "spectral".

        The first batch fixes the alphabet (if none was given) and the context classes or the basis, so it
        should be like the rest. Every call decomposes anew: few large batches are better than many.

        Parameters
        ----------
        X, y, lengths
            A batch, as of `fit`.

        Returns
        -------
        Self
            The estimator itself; `batches_` holds the counts.
        """
        if self.method in ("convex", "auto"):
            raise ValueError(
                f"partial_fit needs a method whose counts add up, 'fast' or 'spectral', not {self.method!r}"
            )
        known = vars(self).get("batches_")
        if known is None and self.__sklearn_is_fitted__():
            raise ValueError(
                "fit keeps no counts to add to; start with partial_fit on a new or cloned estimator"
            )
        alphabet = self._symbols if known is None else self.alphabet_
        remedy = "the first batch fixes the alphabet; give one that holds every symbol to the constructor"
        strings = require_strings(as_strings(X, lengths, alphabet, remedy=remedy))
        rng = as_generator(self.random_state) if known is None else self.generator_
        with self._working():
            batches = self._first_batch(strings, rng) if known is None else known.more(strings, rng)
            found = self._fit_batches(batches, batches.held.strings, rng)
        self._keep({**found, "batches_": batches, "generator_": rng})
        return self

    @property
    def _n_classes(self) -> list[int]:
        sizes = [self.n_classes] if isinstance(self.n_classes, int) else self.n_classes
        return [positive(size, "n_classes") for size in sizes]

    def _first_batch(self, strings: Strings, rng: np.random.Generator) -> Batches:
        if self.method == "fast":
            return ContextBatches.first(strings, rng, self._n_classes)
        if self.method != "spectral":
            raise ValueError(f"method={self.method!r} must be one of {', '.join(map(repr, METHODS))}")
        return BasisBatches.first(
            strings,
            rng,
            chosen(STATISTICS, self.statistic, "statistic"),
            positive(self.basis_size, "basis_size"),
            self.block_smoothing,
            chosen(WEIGHTINGS, self.weighting, "weighting"),
        )

    def _fit_batches(self, batches: Batches, strings: Strings, rng: np.random.Generator) -> Found:
        """A model from counts; `strings` are what a repair may look at."""
        n_states = positive_or_auto(self.n_states, "n_states")
        if isinstance(batches, ContextBatches):
            return _filtered(batches.fit(n_states, self._progress))
        repair = chosen(REPAIRS, self.repair, "repair")
        fit: SpectralFit = batches.fit(n_states)
        model = repair(fit.automaton, strings, rng)
        automaton = (
            model if isinstance(model, WeightedAutomaton) else getattr(model, "automaton", fit.automaton)
        )
        # no held-out score: the strings that chose the states were counted, and the repair saw them too
        return _found(model, automaton, fit.evidence, None)


def _filtered(fit: FilteredFit) -> Found:
    return _found(fit.model, fit.model.automaton, fit.evidence, fit.held_out_score)


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


@dataclass(eq=False, repr=False)
class EMAutomaton(SequenceEstimator):
    """A probabilistic automaton by expectation-maximization, the rival of the spectral methods.

    Parameters
    ----------
    n_states : int or "auto"
        Number of states; "auto": the best of 5, 10, 20 and 40 on held-out strings.
    n_seeds : int
        Number of ascents, of which the best on held-out strings is kept.
    max_iter : int
        Number of iterations of each ascent at most.
    start : str or function
        "random" or "spectral", or what makes the first automaton.
    structure : str or function
        "pfa": any probabilistic automaton; "hmm": a hidden Markov model.
    precision : str
        "float64", or "float32", which is faster.
    held_out : float
        Share of the strings to stop and to choose by; 0 uses the training likelihood.
    tolerance : float
        Gain per iteration and string, in nats, that is worth going on for.
    time_limit : float or None
        Seconds of processor time after which no further iteration is begun.
    alphabet, unknown, random_state, n_jobs, progress
        As of `SpectralAutomaton`.

    Attributes
    ----------
    model_, automaton_ : WeightedAutomaton
        The automaton.
    alphabet_, outcomes_, n_states_, held_out_score_
        As of `SpectralAutomaton`.
    log_likelihoods_ : list of float
        Log-likelihood per string before each iteration of the best ascent.
    n_iterations_ : int
        Iterations of all ascents.

    Examples
    --------
    >>> model = EMAutomaton(n_states=2).fit(["ab", "abab", "", "ab", "abab", "ababab"] * 10)
    >>> model.predict_next(["aba"], top=1)
    [('b',)]
    """

    n_states: int | str = 10
    n_seeds: int = 1
    max_iter: int = 100
    start: str | Callable[..., Any] = "random"
    structure: str | Callable[..., Any] = "pfa"
    precision: str = "float64"
    held_out: float = 0.1
    tolerance: float = 1e-4
    time_limit: float | None = None
    alphabet: Alphabet | Iterable[Symbol] | None = None
    unknown: Unknown = "error"

    def _learn(self, strings: Strings, rng: np.random.Generator) -> Found:
        n_states = positive_or_auto(self.n_states, "n_states")
        if n_states is not None:
            return _found_em(self._climb(strings, n_states, rng))
        seed = int(rng.integers(2**63))  # one seed for all sizes: they see the same held-out strings
        sizes = {size: self._climb(strings, size, np.random.default_rng(seed)) for size in EM_SIZES}
        best = max(sizes, key=lambda size: sizes[size].score)
        scores = {size: fit.score for size, fit in sizes.items()}
        return {**_found_em(sizes[best]), "held_out_scores_": scores if sizes[best].is_held_out else None}

    def _climb(self, strings: Strings, n_states: int, rng: np.random.Generator) -> EMFit:
        return learn_em(
            strings,
            n_states,
            rng,
            n_seeds=positive(self.n_seeds, "n_seeds"),
            max_iter=positive(self.max_iter, "max_iter"),
            start=chosen(STARTS, self.start, "start"),
            step=chosen(STRUCTURES, self.structure, "structure"),
            held_out=self.held_out,
            dtype=chosen(PRECISIONS, self.precision, "precision"),
            tolerance=self.tolerance,
            time_limit=self.time_limit,
            progress=self._progress,
        )

    def _why_absent(self, name: str) -> str:
        return "; EM has no spectrum" if name == "rank_evidence_" else ""


def _found_em(fit: EMFit) -> Found:
    return {
        "model_": fit.automaton,
        "automaton_": fit.automaton,
        "n_states_": fit.automaton.n_states,
        "held_out_score_": fit.held_out_score,
        "log_likelihoods_": fit.log_likelihoods,
        "n_iterations_": fit.n_iterations,
    }


@dataclass(eq=False, repr=False)
class NgramAutomaton(SequenceEstimator):
    """An n-gram model: the next symbol depends on the `order - 1` before it, smoothed.

    Parameters
    ----------
    order : int or "auto"
        Length of the n-grams; "auto": the best of 1 to 6 on held-out strings.
    smoothing : str or function
        "witten-bell" or "kneser-ney" (interpolated), or a function from counts to a back-off model.
    alphabet, unknown, random_state, n_jobs, progress
        As of `SpectralAutomaton`.

    Attributes
    ----------
    model_ : NgramModel
        The distribution.
    alphabet_, outcomes_
        As of `SpectralAutomaton`.

    Examples
    --------
    >>> model = NgramAutomaton(order=2).fit(["ab", "abab", "", "ab", "abab", "ababab"] * 10)
    >>> model.predict_next(["aba"], top=1)
    [('b',)]
    """

    order: int | str = 3
    smoothing: str | Smoothing = "witten-bell"
    alphabet: Alphabet | Iterable[Symbol] | None = None
    unknown: Unknown = "error"

    def _learn(self, strings: Strings, rng: np.random.Generator) -> Found:
        order = positive_or_auto(self.order, "order")
        model = learn_ngram(strings, order, chosen(SMOOTHINGS, self.smoothing, "smoothing"), rng)
        return {"model_": model}

    def _why_absent(self, name: str) -> str:
        if name in ("automaton_", "n_states_", "rank_evidence_"):
            return ": an n-gram model has no weighted automaton inside; use model_"
        return ""
