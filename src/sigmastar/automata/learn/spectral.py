"""`spectral`: the spectral method on a basis of strings. Of the two ideas it is the first, as it stands.

    counts -> blocks -> smoothed, weighted -> factors -> operators -> string function

with string, prefix or substring statistics (Balle, Quattoni and Carreras, 2014). The operators of prefix
and substring statistics compute the prefix or substring function; its string function has the same operators
and other vectors at its ends. Counts add up, so a corpus may come in batches, each forgotten once it is
counted: the first one fixes the alphabet and the basis. A share of every batch is held out to choose
the number of states, until there are enough strings for that; in the end its counts join the others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sigmastar.automata.counts.bases import PREFIX, STRING, SUBSTRING, Basis, Statistic, most_frequent
from sigmastar.automata.counts.block_smoothing import add_strings, scale_by_counts, unigram_blocks
from sigmastar.automata.counts.on_basis import StringCounts, count_strings
from sigmastar.automata.data.strings import Strings, require_strings
from sigmastar.automata.learn.held_out import Held, hold_out
from sigmastar.automata.model.algebra import prefix_to_string, substring_to_string
from sigmastar.automata.model.automaton import WeightedAutomaton, gap_probabilities
from sigmastar.core.alphabet import Sort
from sigmastar.core.arrays import Floats
from sigmastar.core.factors import Factors, factorize_up_to
from sigmastar.core.rank import RankEvidence, choose_rank, split_half_noise
from sigmastar.core.recover import Blocks, affordable_states, factorize_blocks, recover

Step = Callable[[Blocks], Blocks]
"""Smoothing or weighting, between counting and factorizing."""

MOST_STATES = 100
"""States tried where no number is given."""

STATISTICS: Mapping[str, Statistic] = {"string": STRING, "prefix": PREFIX, "substring": SUBSTRING}
TO_STRING: Mapping[Statistic, Callable[[WeightedAutomaton], WeightedAutomaton]] = {
    STRING: lambda automaton: automaton,
    PREFIX: prefix_to_string,
    SUBSTRING: substring_to_string,
}
WEIGHTINGS: Mapping[str, Sequence[Step]] = {"none": (), "counts": (scale_by_counts,)}
"""What blocks are multiplied by before they are factorized: nothing, or 1 / sqrt(count) on both sides."""


@dataclass(frozen=True, eq=False)
class SpectralFit:
    """A learnt automaton with the evidence for its number of states."""

    automaton: WeightedAutomaton
    evidence: RankEvidence
    counts: StringCounts


def learn_automaton(
    strings: Strings,
    basis: Basis,
    n_states: int,
    statistic: Statistic = STRING,
    steps: Sequence[Step] = (),
) -> WeightedAutomaton:
    """The automaton of `n_states` states whose string function fits the counts on `basis`.

    Parameters
    ----------
    strings : Strings
        The corpus.
    basis : Basis
        Outsides and insides.
    n_states : int
        Number of states.
    statistic : Statistic
        What is counted: `STRING`, `PREFIX` or `SUBSTRING`.
    steps : sequence of functions
        Smoothing and weighting of blocks.

    Returns
    -------
    WeightedAutomaton
        Its weights may have any sign.
    """
    blocks = prepared(count_strings(require_strings(strings), basis, statistic), steps)
    return string_automaton(blocks, factorize_blocks(blocks, n_states), statistic)


def prepared(counts: StringCounts, steps: Sequence[Step]) -> Blocks:
    """The blocks of counts after smoothing and weighting."""
    blocks = counts.blocks()
    for step in steps:
        blocks = step(blocks)
    return blocks


def string_automaton(
    blocks: Blocks, factors: Mapping[Sort, Factors], statistic: Statistic
) -> WeightedAutomaton:
    """Recover the operators and turn the statistic's function into the string function.

    Parameters
    ----------
    blocks : Blocks
        Statistics of a function.
    factors : mapping
        A factorization of the blocks by sort.
    statistic : Statistic
        What is counted: `STRING`, `PREFIX` or `SUBSTRING`.

    Returns
    -------
    WeightedAutomaton
        The string function.
    """
    return _string_function(_recovered(blocks, factors), statistic)


def _recovered(blocks: Blocks, factors: Mapping[Sort, Factors]) -> WeightedAutomaton:
    """The function of the statistic; its first states alone are what fewer factors would give."""
    return WeightedAutomaton.of_operators(recover(blocks, factors))


def _string_function(automaton: WeightedAutomaton, statistic: Statistic) -> WeightedAutomaton:
    if statistic not in TO_STRING:
        raise ValueError(f"there is no way from {statistic.name} statistics to a string function")
    return TO_STRING[statistic](automaton)


def _gap_logs(automaton: WeightedAutomaton, strings: Strings, mix: float) -> Floats:
    probabilities = gap_probabilities(automaton, strings)
    mixed = (1.0 - mix) * probabilities + mix / (len(automaton.alphabet) + 1)
    return np.asarray(np.log(mixed))


@dataclass(frozen=True, eq=False)
class BasisBatches:
    """Counts of a statistic on a basis of the most frequent strings of the first batch.

    They are kept in two halves, every other string: where the halves differ there is noise.
    """

    halves: tuple[StringCounts, StringCounts]  # without what is held out
    whole: StringCounts | None  # all, where they are not those kept and those of the held-out strings
    held: Held
    smoothing: float = 0.0  # strings of the unigram model that are added
    weighting: Sequence[Step] = ()

    @classmethod
    def first(
        cls,
        strings: Strings,
        rng: np.random.Generator,
        statistic: Statistic,
        basis_size: int,
        smoothing: float = 0.0,
        weighting: Sequence[Step] = (),
    ) -> BasisBatches:
        """Counts of a first batch.

        Parameters
        ----------
        strings : Strings
            The batch.
        rng : Generator
            Source of the choice of held-out strings.
        statistic : Statistic
            What is counted.
        basis_size : int
            Number of outsides, and of insides: the most frequent ones.
        smoothing : float
            Strings of the unigram model that are added to the counts.
        weighting : sequence of Step
            Applied to blocks before they are factorized.
        """
        if smoothing < 0.0:
            raise ValueError(f"smoothing={smoothing} must not be negative")
        basis = most_frequent(require_strings(strings), basis_size, basis_size, statistic)
        kept, held = hold_out(strings, rng)
        halves = _count_halves(kept, basis, statistic)
        whole = None if held.are_whole else count_strings(strings, basis, statistic)
        return cls(halves, whole, held, smoothing, weighting)

    def more(self, strings: Strings, rng: np.random.Generator) -> BasisBatches:
        """With the counts of a further batch."""
        held, kept = self.held.and_of(strings, rng)
        first, second = _count_halves(kept, self.basis, self.statistic)
        halves = self.halves[0] + first, self.halves[1] + second
        if held.are_whole and not self.held.are_whole:  # what judged itself before is learnt from now
            halves = self.all_counts() + first, second
        whole = None if held.are_whole else self.all_counts() + first + second
        return BasisBatches(halves, whole, held, self.smoothing, self.weighting)

    @property
    def basis(self) -> Basis:
        return self.halves[0].basis

    @property
    def statistic(self) -> Statistic:
        return self.halves[0].statistic

    def all_counts(self) -> StringCounts:
        """The counts with the held-out strings."""
        if self.whole is not None:
            return self.whole
        counts = self.halves[0] + self.halves[1]
        return counts + count_strings(self.held.strings, self.basis, self.statistic)

    def fit(self, n_states: int | None = None) -> SpectralFit:
        """Choose the rank by the held-out strings, if it is not given, and recover from all counts."""
        everything, evidence = self.all_counts(), self._choose(n_states)
        blocks = self._prepared(everything)
        automaton = string_automaton(blocks, factorize_blocks(blocks, evidence.chosen), self.statistic)
        return SpectralFit(automaton, evidence, everything)

    def _prepared(self, counts: StringCounts) -> Blocks:
        """Smoothed towards independent symbols of the held-out strings' frequencies, then weighted."""
        steps = list(self.weighting)
        if self.smoothing:
            chance = unigram_blocks(self.held.strings, self.basis, self.statistic)
            steps.insert(0, lambda blocks: add_strings(blocks, chance, counts.n_strings, self.smoothing))
        return prepared(counts, steps)

    def _choose(self, n_states: int | None) -> RankEvidence:
        blocks = self._prepared(self.halves[0] + self.halves[1])
        most = affordable_states(len(self.basis.alphabet), n_states or MOST_STATES)
        if n_states and n_states > most:
            raise ValueError(
                f"n_states={n_states} over {len(self.basis.alphabet):,} symbols are "
                f"{n_states**2 * len(self.basis.alphabet):,} weights; use n_states<={most} or fewer symbols"
            )
        factors = factorize_up_to(blocks.matrices["string"], most)
        if n_states and n_states > factors.n_states:
            raise ValueError(
                f"n_states={n_states} exceeds block rank {factors.n_states}; "
                f"use n_states<={factors.n_states} or a larger basis"
            )

        whole = _recovered(blocks, {"string": factors})  # once: fewer states are its first ones

        def score(rank: int) -> Floats:
            return _score_or_nothing(_string_function(whole.leading(rank), self.statistic), self.held)

        noise = split_half_noise(*(self._prepared(half).matrices["string"] for half in self.halves))
        chosen = choose_rank(factors, score, [n_states] if n_states else None, noise)
        return chosen.judged(self.held.is_held)


def _count_halves(strings: Strings, basis: Basis, statistic: Statistic) -> tuple[StringCounts, StringCounts]:
    every = np.arange(len(strings))
    first, second = (count_strings(strings.select(every[k::2]), basis, statistic) for k in (0, 1))
    return first, second


def _score_or_nothing(automaton: WeightedAutomaton, held: Held) -> Floats:
    """Of each held-out string; of one with a head, of what comes after it."""
    try:
        logs = _gap_logs(automaton, held.strings, 1e-3)
    except ValueError:  # no next-symbol weights: I - A is singular
        return np.array([-np.inf])
    first = held.strings.offsets[:-1] + np.arange(len(held.strings))
    return np.asarray(np.add.reduceat(np.where(held.judged_gaps, logs, 0.0), first))
