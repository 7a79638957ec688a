"""`fast`: spectral operators read through the restart filter.

Everything is counted once, on the finest classes: counts without the held-out strings are a difference,
counts on coarser classes are sums. One decomposition for each number of classes serves all ranks; the
number of classes, the rank and the mixing rates are chosen by held-out likelihood, and the chosen model
is recovered from all counts, its decomposition started from the one before. Counts add up, so a corpus
may come in batches, each forgotten once it is counted: the first one fixes the alphabet and the classes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from sigmastar.factorization.krylov import quick_svd
from sigmastar.factorization.rank import RankEvidence, count_above
from sigmastar.learning.contexts import ContextModel, choose_classes, context_noise, learn_contexts
from sigmastar.learning.holdout import HeldOut, HeldStrings
from sigmastar.learning.mixing import START_RATE, Steps, fit_rates
from sigmastar.operators.filtered import FilteredAutomaton
from sigmastar.operators.ngram import NgramModel
from sigmastar.statistics.backoff import NextCounts
from sigmastar.statistics.context_growth import most_frequent
from sigmastar.statistics.contexts import ContextCounts
from sigmastar.structures.contexts import ContextTrie
from sigmastar.structures.strings import Strings, require_strings

Array = NDArray[np.float64]
Classes = tuple[ContextTrie, ContextTrie]

RANKS = (2, 3, 5, 7, 10, 12, 15, 20, 25, 30, 40, 50, 60, 70, 80, 100)
CLASSES = (300, 1500)
_QUICK_ROUNDS = 10  # enough to compare ranks
_MIXING_ROUNDS = 2
_FINAL_ROUNDS = 2  # from singular vectors of nine tenths of the counts

Progress = Callable[[str], None]


@dataclass(frozen=True, eq=False)
class FilteredFit:
    """A filtered automaton, why it has its rank, and the context model behind it."""

    model: FilteredAutomaton
    evidence: RankEvidence
    contexts: ContextModel
    held_out_score: float


def learn_fast(
    strings: Strings,
    rng: np.random.Generator,
    n_states: int | None = None,
    n_classes: Sequence[int] = CLASSES,
    progress: Progress | None = None,
) -> FilteredFit:
    """Learn a filtered automaton; `n_states=None` chooses the rank among `RANKS`."""
    return ContextBatches.first(strings, rng, n_classes).fit(n_states, progress)


@dataclass(frozen=True, eq=False)
class ContextBatches:
    """Counts on the finest classes in the running, and the strings among them to choose by."""

    counts: ContextCounts
    held: HeldStrings
    classes: tuple[Classes, ...]  # all that are in the running; the last are those of the counts

    @classmethod
    def first(
        cls, strings: Strings, rng: np.random.Generator, n_classes: Sequence[int] = CLASSES
    ) -> ContextBatches:
        require_strings(strings)
        counts = ContextCounts.of(strings, *choose_classes(strings, max(n_classes)))
        coarser = (_coarser_classes(counts, size) for size in sorted(set(n_classes))[:-1])
        return cls(counts, HeldStrings.chosen(strings, rng), (*coarser, (counts.pasts, counts.futures)))

    def more(self, strings: Strings, rng: np.random.Generator) -> ContextBatches:
        counts = self.counts + ContextCounts.of(strings, self.counts.pasts, self.counts.futures)
        return ContextBatches(counts, self.held.and_of(strings, rng), self.classes)

    def kept_counts(self) -> ContextCounts:
        """The counts without the held-out strings."""
        if self.held.are_counted:
            return self.counts
        return self.counts - ContextCounts.of(self.held.strings, self.counts.pasts, self.counts.futures)

    def fit(self, n_states: int | None = None, progress: Progress | None = None) -> FilteredFit:
        """Choose classes, rank and mixing by the held-out strings, and recover from all counts."""
        say, held_out, kept = progress or (lambda _: None), HeldOut.of(self.held.strings), self.kept_counts()
        searches = []
        for classes in self.classes:
            say(f"spectral fit on {classes[0].n_classes} context classes")
            searches.append(_Search.of(kept.coarsened(*classes), held_out, n_states))
        best = max(searches, key=lambda search: search.best.score)
        say(f"final fit with {best.best.n_states} states")
        return best.finish(self.counts)


@dataclass(frozen=True, eq=False)
class _Trial:
    """A rank, its held-out score, and the mixing rates that gave it."""

    n_states: int
    score: float
    mixing: Array


class _Search:
    """The ranks that were tried on some context classes."""

    def __init__(self, contexts: ContextModel, held_out: HeldOut) -> None:
        self.contexts, self.held_out = contexts, held_out
        self.trials: dict[int, _Trial] = {}
        self._whole = filtered(contexts)
        self._walk = self._whole.walk(held_out.trie)
        self._sizes = contexts.counts.past_counts

    @classmethod
    def of(cls, counts: ContextCounts, held_out: HeldOut, n_states: int | None) -> _Search:
        """From the number of correlations above the noise uphill on a ladder of ranks, or one rank alone."""
        solver = partial(quick_svd, start=_constant(counts))
        search = cls(learn_contexts(counts, max(RANKS) if n_states is None else n_states, solver), held_out)
        if n_states is not None:
            search.contexts.leading(n_states)  # refuses ranks that the counts do not bear
            search.score(n_states)
        else:
            search.climb(sorted({min(rank, search.contexts.n_states) for rank in RANKS}))
        return search

    @property
    def best(self) -> _Trial:
        return max(self.trials.values(), key=lambda trial: trial.score)

    def score(self, n_states: int) -> float:
        if n_states not in self.trials:
            steps = Steps.of(self.model(n_states), self.held_out, self._walk, np.float32)
            rates = fit_rates(steps, self._sizes, _QUICK_ROUNDS)
            self.trials[n_states] = _Trial(n_states, steps.score(rates), rates)
        return self.trials[n_states].score

    def model(self, n_states: int) -> FilteredAutomaton:
        part, whole = self.contexts.leading(n_states), self._whole
        return FilteredAutomaton(part.automaton, part.mass, whole.backoff, part.states, whole.mixing)

    def climb(self, ladder: Sequence[int]) -> None:
        """To a rung from where neither direction leads higher, best of those around the number expected."""
        known = count_above(self.contexts.singular_values, context_noise(self.contexts.counts))
        nearest = min(int(np.searchsorted(ladder, known)), len(ladder) - 1)
        around = range(max(nearest - 1, 0), min(nearest + 2, len(ladder)))
        at = max(around, key=lambda rung: self.score(ladder[rung]))
        for step in (1, -1):
            while 0 <= at + step < len(ladder) and self.score(ladder[at + step]) > self.score(ladder[at]):
                at += step

    def finish(self, counts: ContextCounts) -> FilteredFit:
        """Tune the mixing of the best rank, and recover it from all counts."""
        n_states, rates = self.best.n_states, self.best.mixing
        for _ in range(_MIXING_ROUNDS):
            steps = Steps.of(self.model(n_states).with_mixing(rates), self.held_out, self._walk)
            rates = fit_rates(steps, self._sizes)
        classes = self.contexts.counts
        counts = counts.coarsened(classes.pasts, classes.futures)
        start = self.contexts.right[:, :n_states]
        final = learn_contexts(counts, n_states, partial(quick_svd, start=start, n_rounds=_FINAL_ROUNDS))
        model = filtered(final).with_mixing(rates)
        return FilteredFit(model, self.evidence(), final, steps.score(rates))

    def evidence(self) -> RankEvidence:
        trials = [self.trials[rank] for rank in sorted(self.trials)]
        return RankEvidence(
            singular_values=self.contexts.singular_values,
            noise_level=context_noise(self.contexts.counts),
            candidates=tuple(trial.n_states for trial in trials),
            scores=tuple(trial.score for trial in trials),
            chosen=self.best.n_states,
            reason="best held-out log-likelihood",
        )


def _coarser_classes(counts: ContextCounts, n_classes: int) -> Classes:
    """What `choose_classes` would give for fewer classes."""
    pasts = most_frequent(counts.pasts, counts.past_counts, n_classes)
    return pasts, most_frequent(counts.futures, counts.future_counts, n_classes)


def _constant(counts: ContextCounts) -> Array:
    """The right vector of the first correlation, known beforehand."""
    return np.asarray(np.sqrt(counts.future_counts / counts.future_counts.sum()))[:, None]


def filtered(contexts: ContextModel, rate: float = START_RATE) -> FilteredAutomaton:
    """A context model behind the restart filter, with one mixing rate for all classes."""
    mixing = np.full(contexts.counts.pasts.n_classes, rate)
    return FilteredAutomaton(
        contexts.automaton, contexts.mass, backoff_of(contexts.counts), contexts.states, mixing
    )


def backoff_of(counts: ContextCounts) -> NgramModel:
    """The back-off model of next symbols on the same past classes."""
    following = NextCounts.of_classes(counts.pasts, *counts.next_symbols())
    return NgramModel.of_counts(counts.strings_like.alphabet, following)
