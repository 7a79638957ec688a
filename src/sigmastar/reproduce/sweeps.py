"""Spectral automata of every size from one decomposition.

With H ~ U S V^T the operators are A_a = S^-1 U^T H_a V: those of the first n triples are the leading
n x n blocks of those of all. So counting, decomposing and recovering are paid once for a whole curve.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from sigmastar.automata.counts.bases import Basis, Statistic
from sigmastar.automata.counts.on_basis import StringCounts, count_strings
from sigmastar.automata.data.strings import Strings
from sigmastar.automata.learn.spectral import TO_STRING
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.core.factors import factorize_up_to
from sigmastar.core.recover import recover
from sigmastar.reproduce.trials import Split, Trial, timed


@dataclass(frozen=True, eq=False)
class Sweep:
    """The function of a statistic with the most states, and what it took."""

    statistic: Statistic
    shape: tuple[int, int]
    largest: WeightedAutomaton
    share_counted: float  # of the gaps of the sample, those that the block holds
    counting_seconds: float
    seconds: float  # choosing the basis and counting included

    @classmethod
    def of(
        cls, strings: Strings, choose: Callable[[], Basis], statistic: Statistic, most_states: int
    ) -> Sweep:
        basis, choosing = timed(choose)
        counts, counting = timed(lambda: count_strings(strings, basis, statistic))
        largest, rest = timed(lambda: _recovered(counts, most_states))
        share = float(counts.gaps.counts.sum()) / strings.n_gaps
        return cls(statistic, basis.shape, largest, share, counting, choosing + counting + rest)

    def automaton(self, n_states: int) -> WeightedAutomaton:
        """The string function with fewer states."""
        n, whole = n_states, self.largest
        part = WeightedAutomaton(
            whole.alphabet, whole.initial[:n], whole.transitions[:, :n, :n], whole.final[:n]
        )
        return TO_STRING[self.statistic](part)

    def trials(self, split: Split, learner: str, setting: str, sizes: Sequence[int]) -> list[Trial]:
        """One a size, as far as the rank of the block goes."""
        found = []
        for n_states in sizes:
            if n_states <= self.largest.n_states:
                try:
                    model = self.automaton(n_states)
                    found.append(split.judge(learner, setting, n_states, self.seconds, model))
                except (ValueError, np.linalg.LinAlgError):  # I - A is singular: nothing to predict by
                    continue
        return found


def _recovered(counts: StringCounts, most_states: int) -> WeightedAutomaton:
    blocks = counts.blocks()
    factors = factorize_up_to(blocks.matrices["string"], most_states)
    return WeightedAutomaton.of_operators(recover(blocks, {"string": factors}))
