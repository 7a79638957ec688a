"""The events of a probabilistic grammar: K multinomials, and what each outcome asks for next.

A derivation starts with a draw from the root multinomial; the event that comes out asks for further
draws, its children, in order. So a rule A -> B c D asks for a draw of B's and one of D's, and a move of a
hidden Markov model into state j for an emission and a move of j. Everything that depends on this shape
alone (sampling, expected counts, entropy, the number of derivations) is the same for all grammars.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class EventSystem:
    """Events `offsets[k] : offsets[k + 1]` are the outcomes of multinomial k."""

    offsets: Integers
    child_start: Integers
    children: Integers
    root: int = 0

    @classmethod
    def of(cls, sizes: Sequence[int], children: Sequence[Sequence[int]], root: int = 0) -> EventSystem:
        """From the sizes of the multinomials and, of each event, the multinomials it draws from next."""
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        starts = np.concatenate([[0], np.cumsum([len(row) for row in children])]).astype(np.int64)
        flat = np.array([child for row in children for child in row], np.int64)
        return cls(offsets, starts, flat, root)

    @property
    def n_multinomials(self) -> int:
        """K."""
        return len(self.offsets) - 1

    @property
    def n_events(self) -> int:
        """N."""
        return int(self.offsets[-1])

    @property
    def n_parameters(self) -> int:
        """Probabilities that can be chosen freely."""
        return self.n_events - self.n_multinomials

    @property
    def degree(self) -> int:
        """The size of the largest multinomial."""
        return int(self.sizes.max())

    @property
    def sizes(self) -> Integers:
        return np.diff(self.offsets)

    @cached_property
    def owner(self) -> Integers:
        """The multinomial of each event."""
        return np.repeat(np.arange(self.n_multinomials), self.sizes)

    def totals(self, values: Array) -> Array:
        """The sum over the events of each multinomial, told at each event."""
        return np.add.reduceat(values, self.offsets[:-1])[self.owner]

    def normalised(self, counts: Array) -> Array:
        """Relative frequencies within each multinomial; uniform where nothing was counted."""
        totals = self.totals(counts)
        uniform = 1.0 / self.sizes[self.owner]
        return np.where(totals > 0, counts / np.where(totals > 0, totals, 1.0), uniform)

    def require_distributions(self, parameters: Array) -> Array:
        """Parameters as floats; those that are not K distributions are refused."""
        values = np.ascontiguousarray(parameters, dtype=float)
        if values.shape != (self.n_events,):
            raise ValueError(f"{values.shape} parameters for {self.n_events} events")
        if not (np.isfinite(values).all() and (values >= 0).all()):
            raise ValueError("probabilities must be finite and not negative")
        off = np.abs(self.totals(values) - 1)
        if off.max() > 1e-6:
            k = int(self.owner[int(off.argmax())])
            total = self.totals(values)[self.offsets[k]]
            raise ValueError(f"the probabilities of multinomial {k} sum to {total:.6g}, not 1")
        return values
