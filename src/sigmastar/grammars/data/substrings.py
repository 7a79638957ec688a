"""The distinct substrings of a corpus: each is parsed once, however often it occurs.

Substrings are numbered from short to long, those of one length in the order of their symbols. The table
`numbers` says which substring begins at a position of the corpus and has a length: the one of length l at
position p stands at `rows[p] + l - 1`. So the two parts of a substring that is cut after k symbols,

    left  = numbers[rows[first] + k - 1],    right = numbers[rows[first + k] + l - k - 1],

are looked up at its first occurrence, and no list of cuts is ever held.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sigmastar.automata.data.strings import Codes, Offsets, Strings
from sigmastar.automata.data.trie import PrefixTrie
from sigmastar.core.errors import InputError

Integers = NDArray[np.int64]
Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Substrings:
    """All non-empty substrings of `strings`."""

    strings: Strings
    numbers: NDArray[np.int32]
    rows: Integers  # where the substrings that begin at each position stand in `numbers`
    first: Integers  # of each substring: a position where it occurs
    level_starts: Integers  # of each length: its first substring; a last entry closes
    string_node: Integers  # of each string: the substring that is all of it

    @classmethod
    def of(cls, strings: Strings) -> Substrings:
        """Number the substrings of strings, none of which may be empty."""
        if len(strings) and strings.lengths.min() == 0:
            empty = int(np.argmin(strings.lengths)) + 1
            raise InputError(f"string {empty} is empty; grammars have no empty strings, leave it out")
        return cls(strings, *_number(strings.codes, strings.offsets, len(strings.alphabet) + 1))

    @property
    def n_nodes(self) -> int:
        return int(self.level_starts[-1])

    @property
    def longest(self) -> int:
        return len(self.level_starts) - 1

    @property
    def lengths(self) -> Integers:
        return np.repeat(np.arange(1, self.longest + 1), np.diff(self.level_starts))

    @property
    def word_codes(self) -> Codes:
        """The symbol of each substring of length one."""
        return self.strings.codes[self.first[: self.level_starts[1]]] if self.longest else self.strings.codes

    def totals(self, weights: Array | None = None) -> Array:
        """How often each substring is a whole string, or the sum of the weights of these."""
        return np.bincount(self.string_node, weights, minlength=self.n_nodes).astype(np.float64)

    def at(self, positions: Integers, lengths: Integers) -> Integers:
        """The substrings of given lengths that begin at positions of the corpus."""
        found: Integers = self.numbers[self.rows[positions] + lengths - 1].astype(np.int64)
        return found


def _number(
    codes: Codes, offsets: Offsets, n_symbols: int
) -> tuple[NDArray[np.int32], Integers, Integers, Integers, Integers]:
    """Level by level: a substring is its own beginning, which has a number, and one symbol more."""
    lengths = np.diff(offsets)
    ends = np.repeat(offsets[1:], lengths)
    remaining = ends - np.arange(len(codes))
    rows = np.concatenate([[0], np.cumsum(remaining)])[:-1]
    numbers = np.empty(int(remaining.sum()), dtype=np.int32)
    active, keys = np.arange(len(codes)), codes.astype(np.int64) + 1  # an unknown symbol has code -1
    starts, firsts = [0], [np.empty(0, dtype=np.int64)]
    for length in range(1, int(lengths.max(initial=0)) + 1):
        distinct, where, inverse = np.unique(keys, return_index=True, return_inverse=True)
        numbers[rows[active] + length - 1] = inverse + starts[-1]
        firsts.append(active[where])
        starts.append(starts[-1] + len(distinct))
        longer = remaining[active] > length
        active = active[longer]
        keys = (inverse[longer] + 1) * n_symbols + codes[active + length] + 1
    whole = numbers[rows[offsets[:-1]] + lengths - 1].astype(np.int64) if len(codes) else offsets[:-1]
    return numbers, rows, np.concatenate(firsts), np.array(starts, dtype=np.int64), whole


def distinct_strings(strings: Strings, weights: Array | None = None) -> tuple[Strings, Array]:
    """Each string once, shorter ones first, with how often it occurs (or the sum of its weights)."""
    trie = PrefixTrie.of(strings)
    nodes, index = np.unique(trie.string_node, return_index=True)
    return strings.select(index), trie.end_counts(weights)[nodes]
