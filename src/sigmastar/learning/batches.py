"""Learning from batches: counts add up, and a batch can be forgotten once it is counted.

The first batch fixes the alphabet and the context classes, or the basis. A share of every batch is
held out to choose the number of states and the mixing rates, until there are enough strings for that;
in the end its counts join the others. One batch that is the whole corpus gives what `learn_fast` gives.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sigmastar.factorization.rank import RankEvidence, choose_rank, split_half_noise
from sigmastar.factorization.svd import factorize_up_to
from sigmastar.learning.contexts import ContextModel, choose_classes, context_noise, learn_contexts
from sigmastar.learning.fast import CLASSES, HELD_OUT, RANKS, FilteredFit, filtered
from sigmastar.learning.mixing import HeldOut, Steps, tune_mixing
from sigmastar.learning.spectral import MOST_STATES, SpectralFit, repaired_log_probability, string_automaton
from sigmastar.operators.automaton import Array, WeightedAutomaton
from sigmastar.operators.filtered import FilteredAutomaton
from sigmastar.operators.recover import factorize_blocks
from sigmastar.statistics.bases import Basis, Statistic, most_frequent
from sigmastar.statistics.contexts import ContextCounts
from sigmastar.statistics.strings import StringCounts, count_strings
from sigmastar.structures.strings import Strings, require_strings

ENOUGH_GAPS = 1_000_000
"""Held-out gaps that tell models apart; later batches are counted whole."""


@dataclass(frozen=True, eq=False)
class HeldStrings:
    """Strings kept to choose by. A corpus of one string has none to spare: it is counted and kept."""

    strings: Strings
    are_counted: bool

    @classmethod
    def first(cls, strings: Strings, rng: np.random.Generator) -> tuple[HeldStrings, Strings]:
        """Strings to choose by, and those to count."""
        if len(strings) == 1:
            return cls(strings, True), strings
        counted, held = strings.split(HELD_OUT, rng)
        return cls(held, False), counted

    def more(self, strings: Strings, rng: np.random.Generator) -> tuple[HeldStrings, Strings]:
        if len(strings) < 2 or self.strings.n_gaps >= ENOUGH_GAPS:
            return self, strings
        counted, held = strings.split(HELD_OUT, rng)
        return HeldStrings(held if self.are_counted else _joined(self.strings, held), False), counted


@dataclass(frozen=True, eq=False)
class ContextBatches:
    """Counts on context classes, once for each number of classes that is in the running."""

    counts: tuple[ContextCounts, ...]  # without the held-out strings
    held: HeldStrings

    @classmethod
    def first(
        cls, strings: Strings, rng: np.random.Generator, n_classes: Sequence[int] = CLASSES
    ) -> ContextBatches:
        require_strings(strings)
        held, counted = HeldStrings.first(strings, rng)
        counts = tuple(ContextCounts.of(counted, *choose_classes(strings, size)) for size in n_classes)
        return cls(counts, held)

    def more(self, strings: Strings, rng: np.random.Generator) -> ContextBatches:
        held, counted = self.held.more(strings, rng)
        counts = tuple(known + ContextCounts.of(counted, known.pasts, known.futures) for known in self.counts)
        return ContextBatches(counts, held)

    def all_counts(self, counts: ContextCounts) -> ContextCounts:
        """One of the `counts` with the held-out strings."""
        if self.held.are_counted:
            return counts
        return counts + ContextCounts.of(self.held.strings, counts.pasts, counts.futures)

    def fit(self, n_states: int | None = None) -> FilteredFit:
        """Choose classes, rank and mixing by the held-out strings, and recover from all counts."""
        held_out = HeldOut.of(self.held.strings)
        candidates = []
        for counts in self.counts:
            contexts = learn_contexts(counts, n_states or max(RANKS))
            candidates.append((contexts, _rank_scores(contexts, held_out, n_states)))
        contexts, scores = max(candidates, key=lambda candidate: max(candidate[1].values()))
        rank = max(scores, key=scores.__getitem__)
        rates = tune_mixing(filtered(contexts.leading(rank)), contexts.counts.past_counts, held_out, 3)
        final = learn_contexts(self.all_counts(contexts.counts), rank)
        model = filtered(final).with_mixing(rates.mixing)
        evidence = _evidence(contexts, scores, rank)
        return FilteredFit(model, evidence, final, Steps.of(rates, held_out).log_likelihood)


def _rank_scores(contexts: ContextModel, held_out: HeldOut, n_states: int | None) -> dict[int, float]:
    ranks = [n_states] if n_states else sorted({min(rank, contexts.n_states) for rank in RANKS})
    base, scores = filtered(contexts), {}
    for rank in ranks:
        part = contexts.leading(rank)
        model = FilteredAutomaton(part.automaton, part.mass, base.backoff, part.states, base.mixing)
        tuned = tune_mixing(model, contexts.counts.past_counts, held_out, 1)
        scores[rank] = Steps.of(tuned, held_out).log_likelihood
    return scores


def _evidence(contexts: ContextModel, scores: dict[int, float], rank: int) -> RankEvidence:
    return RankEvidence(
        singular_values=contexts.singular_values,
        noise_level=context_noise(contexts.counts),
        candidates=tuple(scores),
        scores=tuple(scores.values()),
        chosen=rank,
        reason="best held-out log-likelihood",
    )


@dataclass(frozen=True, eq=False)
class BasisBatches:
    """Counts of a statistic on a basis of the most frequent strings of the first batch.

    They are kept in two halves, every other string: where the halves differ there is noise.
    """

    halves: tuple[StringCounts, StringCounts]  # without the held-out strings
    held: HeldStrings

    @classmethod
    def first(
        cls, strings: Strings, rng: np.random.Generator, statistic: Statistic, basis_size: int
    ) -> BasisBatches:
        basis = most_frequent(require_strings(strings), basis_size, basis_size, statistic)
        held, counted = HeldStrings.first(strings, rng)
        return cls(_count_halves(counted, basis, statistic), held)

    def more(self, strings: Strings, rng: np.random.Generator) -> BasisBatches:
        held, counted = self.held.more(strings, rng)
        first, second = _count_halves(counted, self.basis, self.statistic)
        return BasisBatches((self.halves[0] + first, self.halves[1] + second), held)

    @property
    def basis(self) -> Basis:
        return self.halves[0].basis

    @property
    def statistic(self) -> Statistic:
        return self.halves[0].statistic

    @property
    def counts(self) -> StringCounts:
        return self.halves[0] + self.halves[1]

    def all_counts(self) -> StringCounts:
        """The counts with the held-out strings."""
        if self.held.are_counted:
            return self.counts
        return self.counts + count_strings(self.held.strings, self.basis, self.statistic)

    def fit(self, n_states: int | None = None) -> SpectralFit:
        """Choose the rank by the held-out strings, if it is not given, and recover from all counts."""
        everything, evidence = self.all_counts(), self._choose(n_states)
        blocks = everything.blocks()
        automaton = string_automaton(blocks, factorize_blocks(blocks, evidence.chosen), self.statistic)
        return SpectralFit(automaton, evidence, everything)

    def _choose(self, n_states: int | None) -> RankEvidence:
        blocks = self.counts.blocks()
        factors = factorize_up_to(blocks.matrices["string"], n_states or MOST_STATES)
        if n_states and n_states > factors.n_states:
            raise ValueError(
                f"n_states={n_states} exceeds block rank {factors.n_states}; "
                f"use n_states<={factors.n_states} or a larger basis"
            )

        def score(rank: int) -> Array:
            automaton = string_automaton(blocks, {"string": factors.leading(rank)}, self.statistic)
            return _score_or_nothing(automaton, self.held.strings)

        noise = split_half_noise(*(half.blocks().matrices["string"] for half in self.halves))
        return choose_rank(factors, score, [n_states] if n_states else None, noise)


def _count_halves(strings: Strings, basis: Basis, statistic: Statistic) -> tuple[StringCounts, StringCounts]:
    every = np.arange(len(strings))
    first, second = (count_strings(strings.select(every[k::2]), basis, statistic) for k in (0, 1))
    return first, second


def _score_or_nothing(automaton: WeightedAutomaton, held: Strings) -> Array:
    try:
        return repaired_log_probability(automaton, held)
    except ValueError:  # no next-symbol weights: I - A is singular
        return np.array([-np.inf])


def _joined(first: Strings, second: Strings) -> Strings:
    offsets = np.concatenate([first.offsets, second.offsets[1:] + first.offsets[-1]])
    return Strings(first.alphabet, np.concatenate([first.codes, second.codes]), offsets)
