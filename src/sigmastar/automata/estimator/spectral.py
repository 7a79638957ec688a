"""Automata from strings by the spectral method."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from sigmastar.automata.counts.bases import Statistic
from sigmastar.automata.data.strings import Strings, Unknown
from sigmastar.automata.estimator.growing import Batches, Growing
from sigmastar.automata.estimator.sequence import Found
from sigmastar.automata.estimator.states import HiddenStates
from sigmastar.automata.learn.auto import AutoFit, learn_auto
from sigmastar.automata.learn.classed import LARGE_ALPHABET, ClassedFit, learn_classed
from sigmastar.automata.learn.convex import learn_convex
from sigmastar.automata.learn.fast import CLASSES, ContextBatches, FilteredFit, learn_fast
from sigmastar.automata.learn.repair import REPAIRS, Repair
from sigmastar.automata.learn.spectral import STATISTICS, WEIGHTINGS, BasisBatches, SpectralFit
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.automata.model.sequence import SequenceModel
from sigmastar.core.alphabet import Alphabet, Symbol
from sigmastar.core.engines import engine_of
from sigmastar.core.estimator import (
    chosen,
    no_method,
    positive,
    positive_or_auto,
)
from sigmastar.core.progress import Progress
from sigmastar.core.rank import RankEvidence

METHODS = ("fast", "convex", "auto", "spectral")
_MOST_GAPS: dict[str, int | None] = {"fast": None, "convex": 1 << 19, "auto": 1 << 18}
"""Symbols and ends of a large alphabet that a method reads: it looks at them many times, but for `fast`."""
_IN_MEMORY = 1 << 23  # gaps of a corpus on disk over a large alphabet that is laid out in memory
_OF_AUTOMATON = ("automaton_", "startprob_", "transmat_", "emissionprob_", "stopprob_")

Fit = FilteredFit | AutoFit


@dataclass(eq=False, repr=False)
class SpectralAutomaton(HiddenStates, Growing):
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
        What a symbol outside the alphabet is after `fit`: an "error", of probability "zero", or of the
        "class" `<unk>`; with a `min_count` the last is meant by "error" too.
    min_count : int
        Symbols that the data hold fewer times become `<unk>`; 1: none.
    half_life : float or None
        For `update` by "fast": number of strings after which a string counts half; None: all count alike.
    workers : int or None
        For "fast" on corpora on disk: number of processes that count; it changes no result.
    client : str, distributed.Client or None
        For "fast" on corpora on disk: a Dask cluster that counts, or the address of its scheduler.
    memory : int or None
        For "fast" on corpora on disk: bytes that tables of counts may take; rare counts are pruned beyond it.
    ledger : str or None
        For "fast" on corpora on disk: folder where counted shards are noted, so that a stopped fit goes on.
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
    drift_ : Drift
        After `update`: how the batch differs from what the model before it expects.
    n_symbol_classes_ : int
        Of alphabets above 1,000 symbols: number of classes that the automaton reads instead, see Notes.
    pruned_ : tuple of int
        Of corpora on disk: how many entries of tables, and how many symbols counted in them, were pruned.

    Notes
    -----
    Above 1,000 symbols most are too rare for an operator each. Then "fast", "convex" and
    "auto" learn an automaton over classes of symbols, "convex" and "auto" from a part of the strings, and
    modified Kneser-Ney trigrams are mixed in at rates that held-out strings choose: `model_` is a
    `ClassedAutomaton`.

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
    min_count: int = field(default=1, kw_only=True)
    half_life: float | None = field(default=None, kw_only=True)
    workers: int | None = field(default=None, kw_only=True)
    client: Any = field(default=None, kw_only=True)
    memory: int | None = field(default=None, kw_only=True)
    ledger: str | None = field(default=None, kw_only=True)

    def _learn(self, strings: Strings, rng: np.random.Generator) -> Found:
        if self.method in _MOST_GAPS:
            if len(strings.alphabet) > LARGE_ALPHABET:
                return self._learn_by_classes(strings, rng)
            return _described(self._learn_whole(strings, rng, self._progress))
        return self._fit_batches(self._first_batch(strings, rng), strings, rng)

    def _learn_whole(self, strings: Strings, rng: np.random.Generator, progress: Progress) -> Fit:
        n_states = positive_or_auto(self.n_states, "n_states")
        if self.method == "fast":
            return learn_fast(strings, rng, n_states, self._n_classes, progress)
        if self.method == "convex":
            return learn_convex(strings, rng, n_states, progress)
        return learn_auto(strings, rng, n_states, progress)

    def _learn_by_classes(self, strings: Strings, rng: np.random.Generator) -> Found:
        most = _MOST_GAPS[self.method]
        return _classed(learn_classed(strings, rng, self._learn_whole, most, self._progress))

    def _why_absent(self, name: str) -> str:
        if name in _OF_AUTOMATON and "n_symbol_classes_" in vars(self):
            return (
                f": over more than {LARGE_ALPHABET:,} symbols an automaton reads classes of them; "
                "it is model_.inner, and model_.symbols.classed(strings) is what it reads"
            )
        return super()._why_absent(name)

    def _learn_on_shards(self, strings: Any, rng: np.random.Generator) -> Found | None:
        from sigmastar.automata.learn.classed_on_shards import learn_classed_on_shards
        from sigmastar.automata.learn.on_shards import Plan, can_be_sharded, learn_fast_on_shards

        by_classes = len(strings.alphabet) > LARGE_ALPHABET
        is_small = by_classes and strings.n_gaps <= _IN_MEMORY
        if self.method != "fast" or is_small or not can_be_sharded(strings):
            return None
        n_states = positive_or_auto(self.n_states, "n_states")
        with closing(engine_of(self.workers, self.client)) as engine:
            ledger = None if self.ledger is None else Path(self.ledger)
            plan = Plan(engine, ledger=ledger) if self.memory is None else Plan(engine, self.memory, ledger)
            options = n_states, self._n_classes, plan, self._progress
            if by_classes:
                whole, lost = learn_classed_on_shards(strings, rng, _IN_MEMORY, *options)
                found = _classed(whole)
            else:
                fit, lost = learn_fast_on_shards(strings, rng, *options)
                found = _filtered(fit)
        return {**found, "pruned_": (int(lost[0]), int(lost[1]))}

    @property
    def _n_classes(self) -> list[int]:
        sizes = [self.n_classes] if isinstance(self.n_classes, int) else self.n_classes
        return [positive(size, "n_classes") for size in sizes]

    def _first_batch(self, strings: Strings, rng: np.random.Generator) -> Batches:
        if self.method == "fast":
            return ContextBatches.first(strings, rng, self._n_classes)
        if self.method != "spectral":
            elsewhere = {"em": "EMAutomaton()", "ngram": "NgramAutomaton()"}
            raise no_method(self.method, METHODS, elsewhere)
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


def _described(fit: Fit) -> Found:
    if isinstance(fit, FilteredFit):
        return _filtered(fit)
    found = _found(fit.automaton, fit.automaton, fit.evidence, fit.held_out_score)
    return {**found, "n_iterations_": fit.n_iterations}


def _filtered(fit: FilteredFit) -> Found:
    return _found(fit.model, fit.model.automaton, fit.evidence, fit.held_out_score)


def _classed(fit: ClassedFit) -> Found:
    found = _described(fit.inner)
    del found["automaton_"]  # it reads classes, not symbols
    found |= {"model_": fit.model, "held_out_score_": fit.held_out_score}
    return {**found, "n_symbol_classes_": len(fit.model.symbols.classes)}


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
