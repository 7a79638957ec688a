"""Deterministic automata, and the restriction of a function to their language.

States of the restriction are pairs (state of the automaton, state of the DFA): reading a symbol moves
the first by its operator and the second by its table.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sigmastar.automata.data.strings import Strings
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.arrays import Flags, Int32s, Int64s
from sigmastar.core.jit import kernel

DEAD = -1


@dataclass(frozen=True, eq=False)
class DFA:
    """A language: a string is in it if the walk from `start` ends in an accepting state."""

    alphabet: Alphabet
    start: int
    next_state: Int64s  # states x symbols; DEAD: no string that goes here is accepted
    accepting: Flags

    def __post_init__(self) -> None:
        object.__setattr__(self, "next_state", np.ascontiguousarray(self.next_state, dtype=np.int64))
        object.__setattr__(self, "accepting", np.ascontiguousarray(self.accepting, dtype=np.bool_))
        n = len(self.accepting)
        if self.next_state.shape != (n, len(self.alphabet)) or not 0 <= self.start < n:
            raise ValueError(
                f"start {self.start} and a table of shape {self.next_state.shape} do not fit "
                f"{n} states and {len(self.alphabet)} symbols"
            )
        if self.next_state.size and not (self.next_state.min() >= DEAD and self.next_state.max() < n):
            raise ValueError(f"next states must be {DEAD} (dead) or 0..{n - 1}")

    @property
    def n_states(self) -> int:
        return len(self.accepting)

    def accepts(self, strings: Strings) -> Flags:
        """Whether each string is in the language; one with an unknown symbol is not."""
        strings = strings.recoded(self.alphabet, allow_unknown=True)
        ends = _walk(strings.codes, strings.offsets, self.next_state, self.start)
        return np.where(ends == DEAD, False, self.accepting[ends])

    def over(self, alphabet: Alphabet) -> DFA:
        """The strings of the language that are over another alphabet."""
        table = np.full((self.n_states, len(alphabet)), DEAD)
        for code, symbol in enumerate(alphabet):
            if symbol in self.alphabet:
                table[:, code] = self.next_state[:, self.alphabet.codes[symbol]]
        return DFA(alphabet, self.start, table, self.accepting)


def smallest_table(next_state: Int64s, accepting: Flags) -> tuple[Int64s, Flags]:
    """The smallest table of the same language (Moore 1956), for a whole one that starts in state 0.

    Parameters
    ----------
    next_state : integer array of shape (n_states, n_symbols)
        Without DEAD.
    accepting : flags of shape (n_states,)
        Whether strings may end in each state.

    Returns
    -------
    tuple
        The table and the flags of the states that can be reached, in the order of a breadth-first walk.
    """
    # How far the end is tells long chains apart at once, where rounds of the loop would tell one state each.
    far, count = _distances(next_state, accepting), 0
    labels = far * (len(far) + 1) + _distances(next_state, ~accepting)
    while True:
        signatures = np.column_stack([labels, labels[next_state]])
        _, first, labels = np.unique(signatures, axis=0, return_index=True, return_inverse=True)
        labels = labels.reshape(-1)
        if len(first) == count:
            break
        count = len(first)
    return _as_met(labels[next_state[first]], accepting[first], int(labels[0]))


def _distances(next_state: Int64s, is_goal: Flags) -> Int64s:
    """The fewest symbols from each state to a goal; the number of states where none leads to one."""
    n_states = len(next_state)
    found = np.where(is_goal, 0, n_states)
    while True:
        nearer = np.minimum(found, found[next_state].min(axis=1, initial=n_states - 1) + 1)
        if (nearer == found).all():
            return found
        found = nearer


def _as_met(table: Int64s, accepting: Flags, start: int) -> tuple[Int64s, Flags]:
    """States in the order of a breadth-first walk; those that are not met are left out."""
    order, names = [start], {start: 0}
    for state in order:
        for target in table[state].tolist():
            if target not in names:
                names[target] = len(order)
                order.append(target)
    renamed = np.array([names.get(state, 0) for state in range(len(table))], dtype=np.int64)
    return renamed[table[order]], accepting[order]


def intersect(automaton: WeightedAutomaton, dfa: DFA) -> WeightedAutomaton:
    """The function on the language of `dfa`, zero elsewhere.

    Parameters
    ----------
    automaton : WeightedAutomaton
        The function.
    dfa : DFA
        The language.

    Returns
    -------
    WeightedAutomaton
        On pairs of states.
    """
    dfa = dfa.over(automaton.alphabet)
    n, m, n_symbols = automaton.n_states, dfa.n_states, len(automaton.alphabet)
    transitions = np.zeros((n_symbols, n, m, n, m))
    source, symbol = np.nonzero(dfa.next_state != DEAD)
    target = dfa.next_state[source, symbol]
    transitions[symbol, :, source, :, target] = automaton.transitions[symbol]
    return WeightedAutomaton(
        automaton.alphabet,
        np.outer(automaton.initial, np.arange(m) == dfa.start).ravel(),
        transitions.reshape(n_symbols, n * m, n * m),
        np.outer(automaton.final, dfa.accepting).ravel(),
    )


@kernel
def _walk(codes: Int32s, offsets: Int64s, next_state: Int64s, start: int) -> Int64s:
    """The state at the end of each string."""
    ends = np.empty(len(offsets) - 1, np.int64)
    for i in range(len(ends)):
        state = start
        for position in range(offsets[i], offsets[i + 1]):
            state = next_state[state, codes[position]] if codes[position] >= 0 else -1
            if state < 0:
                break
        ends[i] = state
    return ends
