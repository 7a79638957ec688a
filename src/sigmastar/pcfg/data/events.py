"""The events of a probabilistic grammar: K multinomials, and what each outcome requires next.

A derivation starts with a draw from the root multinomial; the event that comes out requires further
draws, its children, in order. So a rule A -> B c D requires a draw of B's and one of D's, and a move of a
hidden Markov model into state j for an emission and a move of j. Everything that depends on this shape
alone (sampling, expected counts, entropy, the number of derivations) is the same for all grammars.

A derivation is the sequence of its events, which are numbered through all multinomials. One of a context-free
grammar lists its rules from the top, leftmost first; one of a hidden Markov model its start, emissions and
moves. Equation 11 of Cohen and Smith (2012): the log-probability of a derivation is the sum of those of its
events.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sigmastar.core.arrays import Floats, Indices, Int32s, Int64s


@dataclass(frozen=True, eq=False)
class EventSystem:
    """Events `offsets[k] : offsets[k + 1]` are the outcomes of multinomial k."""

    offsets: Int64s
    child_start: Int64s
    children: Int64s
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
    def sizes(self) -> Int64s:
        return np.diff(self.offsets)

    @cached_property
    def owner(self) -> Int64s:
        """The multinomial of each event."""
        return np.repeat(np.arange(self.n_multinomials), self.sizes)

    def totals(self, values: Floats) -> Floats:
        """The sum over the events of each multinomial, repeated at each event."""
        return np.add.reduceat(values, self.offsets[:-1])[self.owner]

    def normalized(self, counts: Floats) -> Floats:
        """Relative frequencies within each multinomial; uniform where nothing was counted."""
        totals = self.totals(counts)
        uniform = 1.0 / self.sizes[self.owner]
        return np.where(totals > 0, counts / np.where(totals > 0, totals, 1.0), uniform)

    def require_distributions(self, parameters: Floats) -> Floats:
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


@dataclass(frozen=True, eq=False)
class Derivations:
    """Derivation `i` is `events[offsets[i]:offsets[i + 1]]`."""

    events: Int32s
    offsets: Int64s

    @classmethod
    def of(cls, sequences: Iterable[Sequence[int]]) -> Derivations:
        rows = list(sequences)
        offsets = np.concatenate([[0], np.cumsum([len(row) for row in rows], dtype=np.int64)]).astype(
            np.int64
        )
        flat = np.fromiter((event for row in rows for event in row), np.int32, int(offsets[-1]))
        return cls(flat, offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, index: int) -> Int32s:
        return self.events[self.offsets[index] : self.offsets[index + 1]]

    def __iter__(self) -> Iterator[Int32s]:
        return (self[index] for index in range(len(self)))

    @property
    def lengths(self) -> Int64s:
        """How many events each derivation has, |z|."""
        return np.diff(self.offsets)

    def select(self, indices: Sequence[int] | Indices) -> Derivations:
        return Derivations.of([self[int(index)].tolist() for index in indices])

    def counts(self, n_events: int, weights: Floats | None = None) -> Floats:
        """How often each event occurs in all derivations together, each as heavy as its weight."""
        heavy = None if weights is None else np.repeat(weights, self.lengths)
        return np.bincount(self.events, heavy, n_events).astype(float)

    def count_table(self, n_events: int) -> Floats:
        """How often each event occurs in each derivation: derivations x events."""
        cells = np.repeat(np.arange(len(self)), self.lengths) * n_events + self.events
        return np.bincount(cells, minlength=len(self) * n_events).reshape(len(self), n_events).astype(float)

    def sums(self, values: Floats) -> Floats:
        """The sum of `values[event]` over the events of each derivation; -inf is allowed."""
        totals = np.zeros(len(self))
        np.add.at(totals, np.repeat(np.arange(len(self)), self.lengths), values[self.events])
        return totals
