"""Strings held out to choose by: sizes, ranks, mixing rates, and when to stop."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sigmastar.automata.data.strings import Strings, joined
from sigmastar.automata.data.trie import PrefixTrie
from sigmastar.core.arrays import Floats, Indices

SHARE = 0.1
ENOUGH = 5_000  # strings tell models apart; more would only cost time


def hold_out(strings: Strings, rng: np.random.Generator, share: float = SHARE) -> tuple[Strings, Strings]:
    """Strings to learn from, and a random tenth (at most `ENOUGH`) to choose by.

    A corpus of one string has none to spare: it is both.
    """
    if len(strings) < 2:
        return strings, strings
    return strings.split(min(share, ENOUGH / len(strings)), rng)


def _held_part(strings: Strings, rng: np.random.Generator) -> Strings:
    """The held-out part alone: the other may be most of a large corpus."""
    return strings.select(strings.split_indices(min(SHARE, ENOUGH / len(strings)), rng)[1])


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Held-out strings as a trie, with how often each step in it is taken."""

    trie: PrefixTrie
    ending: Indices  # the nodes where strings end
    weights: Floats  # of the steps to all nodes but the first, then of the ends
    n_strings: float

    @classmethod
    def of(cls, strings: Strings) -> HeldOut:
        trie = PrefixTrie.of(strings)
        ends, through = trie.end_counts(), trie.through_counts()
        ending = np.flatnonzero(ends)
        return cls(trie, ending, np.concatenate([through[1:], ends[ending]]), float(through[0]))

    @property
    def end_counts(self) -> Floats:
        """How many strings end at each node of `ending`."""
        return self.weights[self.trie.n_nodes - 1 :]


@dataclass(frozen=True, eq=False)
class HeldStrings:
    """Strings kept to choose by. A corpus of one string has none to spare: it is counted and kept."""

    strings: Strings
    are_counted: bool

    @classmethod
    def chosen(cls, strings: Strings, rng: np.random.Generator) -> HeldStrings:
        """Strings to choose by, of a corpus that is counted whole."""
        return cls(strings, True) if len(strings) == 1 else cls(_held_part(strings, rng), False)

    def and_of(self, strings: Strings, rng: np.random.Generator) -> HeldStrings:
        """With strings of a further batch, until there are enough."""
        if len(strings) < 2 or len(self.strings) >= ENOUGH:
            return self
        held = _held_part(strings, rng)
        return HeldStrings(held if self.are_counted else joined(self.strings, held), False)

    @classmethod
    def first(cls, strings: Strings, rng: np.random.Generator) -> tuple[HeldStrings, Strings]:
        """Strings to choose by, and those to count."""
        if len(strings) == 1:
            return cls(strings, True), strings
        counted, held = hold_out(strings, rng)
        return cls(held, False), counted

    def more(self, strings: Strings, rng: np.random.Generator) -> tuple[HeldStrings, Strings]:
        if len(strings) < 2 or len(self.strings) >= ENOUGH:
            return self, strings
        counted, held = hold_out(strings, rng)
        return HeldStrings(held if self.are_counted else joined(self.strings, held), False), counted
