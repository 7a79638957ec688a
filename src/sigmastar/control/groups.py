"""Symbols that move a constraint alike: one group each, side by side."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sigmastar.automata.model.dfa import DEAD, DFA
from sigmastar.core.arrays import Int64s


@dataclass(frozen=True, eq=False)
class Groups:
    """Symbols that move a deterministic automaton alike, and where each group moves each state."""

    order: Int64s  # symbols, group by group
    starts: Int64s  # groups + 1
    moves: Int64s  # states x groups; the number of states stands for dead

    @classmethod
    def of(cls, dfa: DFA) -> Groups:
        columns, kind = np.unique(dfa.next_state, axis=1, return_inverse=True)
        kind = kind.reshape(-1)
        starts = np.concatenate([[0], np.cumsum(np.bincount(kind, minlength=columns.shape[1]))])
        moves = np.where(columns == DEAD, dfa.n_states, columns)
        return cls(np.argsort(kind, kind="stable"), starts, moves)

    @property
    def n_groups(self) -> int:
        return len(self.starts) - 1

    @cached_property
    def place(self) -> Int64s:
        """Where each symbol stands in the order."""
        places = np.empty_like(self.order)
        places[self.order] = np.arange(len(self.order))
        return places

    @cached_property
    def of_places(self) -> Int64s:
        """The group of each place."""
        return np.repeat(np.arange(self.n_groups), np.diff(self.starts))

    def slice(self, group: int) -> slice:
        return slice(int(self.starts[group]), int(self.starts[group + 1]))
