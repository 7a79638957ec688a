"""Complete deterministic machines over classes of symbols: products, complements, the least of a language.

A constraint names few symbols of an alphabet that may have ten thousands. So machines have a column per
symbol that is named and one for all others, and are spread over the alphabet at the very end.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sigmastar.automata.model.dfa import DEAD, DFA, smallest_table
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.arrays import Flags, Int64s
from sigmastar.core.errors import InputError

MOST_STATES = 20_000


@dataclass(frozen=True, eq=False)
class Columns:
    """Which column of a machine each symbol has; the last is that of all symbols without a name."""

    alphabet: Alphabet
    named: tuple[int, ...]  # codes

    @property
    def n_columns(self) -> int:
        return len(self.named) + 1

    @property
    def of_symbols(self) -> Int64s:
        columns = np.full(len(self.alphabet), len(self.named), dtype=np.int64)
        columns[list(self.named)] = np.arange(len(self.named))
        return columns


@dataclass(frozen=True, eq=False)
class Machine:
    """A complete deterministic automaton; it begins in state 0."""

    next_state: Int64s  # states x columns
    accepting: Flags

    @property
    def n_states(self) -> int:
        return len(self.accepting)

    def complement(self) -> Machine:
        """The machine of all other strings."""
        return Machine(self.next_state, ~self.accepting)

    def spread(self, columns: Columns) -> DFA:
        """The automaton over the alphabet; the state that nothing is accepted from is dead."""
        live = self._live()
        if not live[0]:
            width = len(columns.alphabet)
            return DFA(columns.alphabet, 0, np.full((1, width), DEAD), np.zeros(1, dtype=bool))
        names = np.where(live, np.cumsum(live) - 1, DEAD)
        table = names[self.next_state[live]]
        return DFA(columns.alphabet, 0, table[:, columns.of_symbols], self.accepting[live])

    def _live(self) -> Flags:
        """The states from which an accepting one can be reached."""
        live = self.accepting.copy()
        while True:
            more = live | live[self.next_state].any(axis=1)
            if np.array_equal(more, live):
                return live
            live = more


def combine(first: Machine, second: Machine, accepts: Callable[[Flags, Flags], Flags]) -> Machine:
    """The least machine of a combination of two languages, such as `numpy.logical_and`."""
    width = second.n_states
    seen, rows, frontier = {0: 0}, list[Int64s](), np.zeros(1, dtype=np.int64)
    pairs = [frontier]
    while len(frontier):
        left, right = np.divmod(frontier, width)
        reached = first.next_state[left] * width + second.next_state[right]
        rows.append(reached)
        fresh = [pair for pair in np.unique(reached).tolist() if pair not in seen]
        for pair in fresh:
            seen[pair] = len(seen)
        _require_few(len(seen))
        frontier = np.array(fresh, dtype=np.int64)
        pairs.append(frontier)
    table = np.concatenate(rows)
    names = np.array([seen[pair] for pair in table.ravel().tolist()], dtype=np.int64).reshape(table.shape)
    left, right = np.divmod(np.concatenate(pairs), width)
    return least(Machine(names, accepts(first.accepting[left], second.accepting[right])))


def least(machine: Machine) -> Machine:
    """The smallest machine of the same language, its states numbered as they are met."""
    return Machine(*smallest_table(machine.next_state, machine.accepting))


def _require_few(n_states: int) -> None:
    if n_states > MOST_STATES:
        raise InputError(f"the constraint needs more than {MOST_STATES} states; use a simpler one")


def of_phrase(phrase: list[int], n_columns: int) -> Machine:
    """The strings that contain a phrase, given as columns (Knuth, Morris and Pratt 1977)."""
    size = len(phrase)
    table = np.zeros((size + 1, n_columns), dtype=np.int64)
    fallback = 0
    for state, column in enumerate(phrase):
        if state:
            table[state] = table[fallback]
        table[state, column] = state + 1
        if state:
            fallback = int(table[fallback, column])
    table[size] = size
    return least(Machine(table, np.arange(size + 1) == size))


def of_lengths(low: int, high: int | None, n_columns: int) -> Machine:
    """The strings of at least `low` and at most `high` symbols."""
    last = low if high is None else high + 1
    _require_few(last)
    states = np.arange(last + 1)
    table = np.repeat(np.minimum(states + 1, last)[:, None], n_columns, axis=1)
    return least(Machine(table, (states >= low) & (True if high is None else states <= high)))


def of_positions(starts: int, follows: list[int], ends: int, masks: list[int], empty: bool) -> Machine:
    """The machine of a regular expression by its positions, sets of which are bits (Glushkov 1961).

    A state is the set of positions that may come next, and whether the string may end here.
    """
    begin = (starts, empty)
    names, order, rows = {begin: 0}, [begin], list[list[int]]()
    for possible, _ in order:
        row = []
        for mask in masks:
            met, following = possible & mask, 0
            reached = (0, bool(met & ends))
            while met:
                low = met & -met
                following |= follows[low.bit_length() - 1]
                met ^= low
            reached = (following, reached[1])
            if reached not in names:
                names[reached] = len(order)
                order.append(reached)
                _require_few(len(order))
            row.append(names[reached])
        rows.append(row)
    return least(Machine(np.array(rows, dtype=np.int64), np.array([accepts for _, accepts in order])))
