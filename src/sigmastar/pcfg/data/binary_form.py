"""Binary normal form: every multinomial of degree at most two (section 3.2 of Cohen and Smith, 2012).

Multinomial k with probabilities a_1 .. a_N becomes an entry and N sticks. Stick i either takes event i,
with probability b_i, or passes on to stick i + 1; the last one takes event N.

    b_i = a_i / (a_i + .. + a_N)              a_i = b_i (1 - b_1) .. (1 - b_(i-1))

The paper's b_i = (a_i / a_(i-1)) (b_(i-1) / c_(i-1)) divides by zero where a_(i-1) = 0; this form does not.
Where a_i + .. + a_N = 0 any b_i will do: 1 / (N - i + 1) shares equally what a truncation gives to
the stick; 1/2 would starve the last events.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sigmastar.core.arrays import Flags, Floats, Int64s
from sigmastar.pcfg.data.events import Derivations, EventSystem


@dataclass(frozen=True, eq=False)
class BinaryForm:
    """The map between a system of events and its binary normal form, both ways."""

    events: EventSystem

    @cached_property
    def place(self) -> Int64s:
        """The place of each event in its multinomial, from 0."""
        return np.arange(self.events.n_events) - self.events.offsets[self.events.owner]

    @cached_property
    def is_last(self) -> Flags:
        return np.asarray(self.place == self.events.sizes[self.events.owner] - 1)

    def tails(self, values: Floats) -> Floats:
        """The sum over an event and those after it in its multinomial."""
        n_multinomials, width = self.events.n_multinomials, self.events.degree
        table = np.zeros((n_multinomials, width))
        table[self.events.owner, self.place] = values
        return table[:, ::-1].cumsum(axis=1)[:, ::-1][self.events.owner, self.place]

    def sticks(self, values: Floats) -> Floats:
        """b of probabilities, or its maximum likelihood estimate of counts, at every event; the last is 1."""
        tails = self.tails(values)
        equal = 1.0 / (self.events.sizes[self.events.owner] - self.place)
        sticks = np.where(tails > 0, values / np.where(tails > 0, tails, 1.0), equal)
        return np.where(self.is_last, 1.0, np.minimum(sticks, 1.0))

    def probabilities(self, sticks: Floats) -> Floats:
        """a of b."""
        table = np.ones((self.events.n_multinomials, self.events.degree))
        table[self.events.owner, self.place] = 1.0 - sticks
        passed = np.cumprod(np.hstack([np.ones((len(table), 1)), table[:, :-1]]), axis=1)
        return sticks * passed[self.events.owner, self.place]

    def truncated(self, sticks: Floats, margin: float | Floats) -> Floats:
        """Every stick but the last into [margin, 1 - margin]; one margin for all, or one per stick."""
        if np.min(margin) < 0 or np.max(margin) > 0.5:
            raise ValueError(f"margin={margin} must be from 0 to 1/2")
        return np.where(self.is_last, 1.0, np.clip(sticks, margin, 1 - margin))

    @cached_property
    def binary(self) -> EventSystem:
        """The events in normal form: of each multinomial its entry, then take and pass of its sticks."""
        sizes, children = list[int](), list[list[int]]()
        first = np.concatenate([[0], np.cumsum(self.events.sizes + 1)])  # the entry of each multinomial
        for event in range(self.events.n_events):
            owner, place = int(self.events.owner[event]), int(self.place[event])
            entry = int(first[owner])
            if place == 0:
                sizes.append(1)
                children.append([entry + 1])
            asked = self.events.children[self.events.child_start[event] : self.events.child_start[event + 1]]
            children.append([int(first[child]) for child in asked])
            if not self.is_last[event]:
                children.append([entry + place + 2])
            sizes.append(1 if self.is_last[event] else 2)
        return EventSystem.of(sizes, children, int(first[self.events.root]))

    @cached_property
    def entry(self) -> Int64s:
        """The binary event by which the multinomial of each event is entered."""
        before = np.concatenate([[0], np.cumsum(2 * self.events.sizes)])[:-1]  # entry, takes, passes but one
        return np.asarray(before[self.events.owner])

    @cached_property
    def taken(self) -> Int64s:
        """The binary event that takes each event; the one after it passes on, but for the last."""
        return self.entry + 1 + 2 * self.place

    def binary_parameters(self, sticks: Floats) -> Floats:
        """The parameters of the normal form."""
        values = np.ones(self.binary.n_events)
        values[self.taken] = sticks
        values[self.taken[~self.is_last] + 1] = 1.0 - sticks[~self.is_last]
        return values

    def to_binary(self, derivations: Derivations) -> Derivations:
        """Each event as its entry, the passes before it, and its take."""
        rows = []
        for derivation in derivations:
            row = list[int]()
            for event in derivation.tolist():
                entry, place = int(self.entry[event]), int(self.place[event])
                row += [entry, *(entry + 2 + 2 * step for step in range(place)), int(self.taken[event])]
            rows.append(row)
        return Derivations.of(rows)

    def of_binary(self, derivations: Derivations) -> Derivations:
        """The takes only."""
        original = np.full(self.binary.n_events, -1)
        original[self.taken] = np.arange(self.events.n_events)
        return Derivations.of([[e for e in original[row].tolist() if e >= 0] for row in derivations])
