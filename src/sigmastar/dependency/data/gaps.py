"""The gaps of head-modifier sequences: cuts into a past (an outside) and a future (an inside).

A sequence of T modifiers has T + 1 gaps; gap t lies after t modifiers. Gaps stand in the order of the
sequences, so the gap after gap g is g + 1 unless g is the end of its sequence.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sigmastar.dependency.data.sequences import WeightedSequences

Array = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Gaps:
    """All gaps of distinct sequences, in order; the last gap of each sequence is its end."""

    sequences: WeightedSequences

    @cached_property
    def sequence(self) -> Integers:
        return np.repeat(np.arange(len(self.sequences.strings)), self.sequences.strings.lengths + 1)

    @cached_property
    def sort(self) -> Integers:
        return self.sequences.sort_of_sequence[self.sequence]

    @cached_property
    def weight(self) -> Array:
        return self.sequences.counts[self.sequence]

    @cached_property
    def place(self) -> Integers:
        """How many modifiers stand before the gap."""
        starts = self.sequences.strings.offsets[:-1] + np.arange(len(self.sequences.strings))
        return np.arange(len(self.sequence)) - starts[self.sequence]

    @cached_property
    def after(self) -> Integers:
        """The symbol after each gap; the number of symbols at the end."""
        return self.symbols_after(1)

    def symbols_after(self, steps: int) -> Integers:
        """The symbol `steps` places after each gap (0: just before it); the number of symbols outside."""
        strings, wanted = self.sequences.strings, self.place + steps - 1
        inside = (wanted >= 0) & (wanted < strings.lengths[self.sequence])
        at = np.where(inside, strings.offsets[self.sequence] + wanted, 0)
        symbols = strings.codes[at] if len(strings.codes) else np.zeros(len(at), dtype=np.int32)
        return np.where(inside, symbols, len(self.sequences.alphabet)).astype(np.int64)

    @property
    def remaining(self) -> Integers:
        return self.sequences.strings.lengths[self.sequence] - self.place
