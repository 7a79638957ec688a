"""Derivations of a probabilistic grammar: sequences of events, kept flat.

An event is the i-th outcome of the k-th multinomial; all events of all multinomials are numbered
through. A context-free derivation lists its rules from the top, leftmost first; one of a hidden Markov
model its start, emissions and moves. Equation 11 of Cohen and Smith (2012): the log-probability of a
derivation is the sum of those of its events.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Events = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Derivations:
    """Derivation `i` is `events[offsets[i]:offsets[i + 1]]`."""

    events: Events
    offsets: NDArray[np.int64]

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

    def __getitem__(self, index: int) -> Events:
        return self.events[self.offsets[index] : self.offsets[index + 1]]

    def __iter__(self) -> Iterator[Events]:
        return (self[index] for index in range(len(self)))

    @property
    def lengths(self) -> NDArray[np.int64]:
        """How many events each derivation has, |z|."""
        return np.diff(self.offsets)

    def select(self, indices: Sequence[int] | NDArray[np.intp]) -> Derivations:
        return Derivations.of([self[int(index)].tolist() for index in indices])

    def counts(self, n_events: int, weights: Array | None = None) -> Array:
        """How often each event occurs in all derivations together, each as heavy as its weight."""
        heavy = None if weights is None else np.repeat(weights, self.lengths)
        return np.bincount(self.events, heavy, n_events).astype(float)

    def count_table(self, n_events: int) -> Array:
        """How often each event occurs in each derivation: derivations x events."""
        cells = np.repeat(np.arange(len(self)), self.lengths) * n_events + self.events
        return np.bincount(cells, minlength=len(self) * n_events).reshape(len(self), n_events).astype(float)

    def sums(self, values: Array) -> Array:
        """The sum of `values[event]` over the events of each derivation; -inf is allowed."""
        totals = np.zeros(len(self))
        np.add.at(totals, np.repeat(np.arange(len(self)), self.lengths), values[self.events])
        return totals
