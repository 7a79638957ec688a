"""The classic spectral method from batches: counts on a basis add up, a batch can be forgotten.

The first batch fixes the alphabet and the basis. A share of every batch is held out to choose the number
of states, until there are enough strings for that; in the end its counts join the others.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sigmastar.automata.counts.bases import Basis, Statistic, most_frequent
from sigmastar.automata.counts.on_basis import StringCounts, count_strings
from sigmastar.automata.data.strings import Strings, require_strings
from sigmastar.automata.learn.held_strings import HeldStrings
from sigmastar.automata.learn.spectral import (
    MOST_STATES,
    SpectralFit,
    repaired_log_probability,
    string_automaton,
)
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.core.arrays import Floats
from sigmastar.core.factors import factorize_up_to
from sigmastar.core.rank import RankEvidence, choose_rank, split_half_noise
from sigmastar.core.recover import factorize_blocks


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

        def score(rank: int) -> Floats:
            automaton = string_automaton(blocks, {"string": factors.leading(rank)}, self.statistic)
            return _score_or_nothing(automaton, self.held.strings)

        noise = split_half_noise(*(half.blocks().matrices["string"] for half in self.halves))
        return choose_rank(factors, score, [n_states] if n_states else None, noise)


def _count_halves(strings: Strings, basis: Basis, statistic: Statistic) -> tuple[StringCounts, StringCounts]:
    every = np.arange(len(strings))
    first, second = (count_strings(strings.select(every[k::2]), basis, statistic) for k in (0, 1))
    return first, second


def _score_or_nothing(automaton: WeightedAutomaton, held: Strings) -> Floats:
    try:
        return repaired_log_probability(automaton, held)
    except ValueError:  # no next-symbol weights: I - A is singular
        return np.array([-np.inf])
