"""The distinct substrings of a corpus: each is parsed once, however often it occurs.

Substrings are numbered from short to long, those of one length in the order of their symbols. The table
`numbers` gives which substring begins at a position of the corpus and has a length: the one of length l at
position p stands at `rows[p] + l - 1`. So the two parts of a substring that is cut after k symbols,

    left  = numbers[rows[first] + k - 1],    right = numbers[rows[first + k] + l - k - 1],

are looked up at its first occurrence, and no list of cuts is ever held.

Distinct strings with their counts: which are held out, how many are enough, and how long they may be.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sigmastar.automata.data.strings import Codes, Offsets, PrefixTrie, Strings, require_strings
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.arrays import Floats, Int32s, Int64s
from sigmastar.core.errors import InputError
from sigmastar.core.held_out import n_held, split

MOST_SPANS, LONGEST = 500_000_000, 10_000
"""Places in the table of numbers (2 GB), and symbols of a string: its cost grows as the cube."""
SECONDS_PER_CUT = 1e-7
"""Of a substring in two parts, with ten states."""


@dataclass(frozen=True, eq=False)
class Substrings:
    """All non-empty substrings of `strings`."""

    strings: Strings
    numbers: Int32s
    rows: Int64s  # where the substrings that begin at each position stand in `numbers`
    first: Int64s  # of each substring: a position where it occurs
    level_starts: Int64s  # of each length: its first substring; a last entry closes
    string_node: Int64s  # of each string: the substring that is all of it

    @classmethod
    def of(cls, strings: Strings) -> Substrings:
        """Number the substrings of strings, none of which may be empty."""
        if len(strings) and strings.lengths.min() == 0:
            empty = int(np.argmin(strings.lengths)) + 1
            raise InputError(f"string {empty} is empty; grammars have no empty strings, leave it out")
        _require_room(strings.lengths)
        return cls(strings, *_number(strings.codes, strings.offsets, len(strings.alphabet) + 1))

    @property
    def n_nodes(self) -> int:
        return int(self.level_starts[-1])

    @property
    def longest(self) -> int:
        return len(self.level_starts) - 1

    @property
    def lengths(self) -> Int64s:
        return np.repeat(np.arange(1, self.longest + 1), np.diff(self.level_starts))

    @property
    def word_codes(self) -> Codes:
        """The symbol of each substring of length one."""
        return self.strings.codes[self.first[: self.level_starts[1]]] if self.longest else self.strings.codes

    def totals(self, weights: Floats | None = None) -> Floats:
        """How often each substring is a whole string, or the sum of the weights of these."""
        return np.bincount(self.string_node, weights, minlength=self.n_nodes).astype(np.float64)

    def at(self, positions: Int64s, lengths: Int64s) -> Int64s:
        """The substrings of given lengths that begin at positions of the corpus."""
        found: Int64s = self.numbers[self.rows[positions] + lengths - 1].astype(np.int64)
        return found


def _require_room(lengths: Int64s) -> None:
    n_spans, longest = float((lengths * (lengths + 1.0)).sum() / 2), int(lengths.max(initial=0))
    if longest > LONGEST or n_spans > MOST_SPANS:
        hours = float((lengths.astype(float) ** 3).sum()) / 6 * SECONDS_PER_CUT / 3600
        raise InputError(
            f"strings of up to {longest:,} symbols have {n_spans:.2g} substrings, {4e-9 * n_spans:.2g} GB to "
            f"number, and take up to {hours:.2g} hours with ten states: time grows as the cube of the "
            f"length; leave out strings of more than {LONGEST:,} symbols, or use fewer strings"
        )


def _number(codes: Codes, offsets: Offsets, n_symbols: int) -> tuple[Int32s, Int64s, Int64s, Int64s, Int64s]:
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


def distinct_strings(strings: Strings, weights: Floats | None = None) -> tuple[Strings, Floats]:
    """Each string once, shorter ones first, with how often it occurs (or the sum of its weights)."""
    trie = PrefixTrie.of(strings)
    nodes, index = np.unique(trie.string_node, return_index=True)
    return strings.select(index), trie.end_counts(weights)[nodes]


def within_length(
    strings: Strings, weights: Floats | None, max_length: int | None
) -> tuple[Strings, Floats, float]:
    """Strings of 1 to `max_length` symbols, their weights, and the share of weight that is cut off."""
    counts = np.ones(len(strings)) if weights is None else np.asarray(weights, dtype=float)
    longest = np.inf if max_length is None else max_length
    kept = np.flatnonzero((strings.lengths >= 1) & (strings.lengths <= longest))
    lost = 1.0 - counts[kept].sum() / max(counts.sum(), 1e-300)
    return require_strings(strings.select(kept)), counts[kept], float(max(lost, 0.0))


def with_lengths(strings: Strings, exact: int, longest: int) -> Strings:
    """Strings of more than `exact` symbols as so many symbols `None`, but at most `longest` of them."""
    n_symbols, long = len(strings.alphabet), strings.lengths > exact
    lengths = np.where(long, np.minimum(strings.lengths, max(longest, exact + 1)), strings.lengths)
    offsets = np.append(0, np.cumsum(lengths)).astype(np.int64)
    places = np.arange(offsets[-1]) + np.repeat(strings.offsets[:-1] - offsets[:-1], lengths)
    codes = np.where(np.repeat(long, lengths), n_symbols, strings.codes[places])
    return Strings(Alphabet([*range(n_symbols), None]), codes.astype(np.int32), offsets)


Counted = tuple[Strings, Floats]
"""Distinct strings, and how often each occurs."""

ENOUGH = 10
"""Fewer strings than this are too few to hold any out."""
FEW = 4000
"""Distinct strings that are enough to choose a start by."""
LEAST_EXACT = 12
"""Symbols of strings that are always seen whole."""
_EXACT = (16, 20, 24, 32, 40, 60, 80, 120, 200)


def held_counts(strings: Strings, counts: Floats, rng: np.random.Generator) -> tuple[Counted, Counted | None]:
    """Distinct strings with their counts, less a random share of these to choose by."""
    total = float(counts.sum())
    if total < ENOUGH:
        return (strings, counts), None
    if (counts == np.round(counts)).all():
        taken = rng.multivariate_hypergeometric(
            counts.astype(np.int64), n_held(int(total)), method="marginals"
        ).astype(float)
    else:  # weights that count nothing: whole strings are held out
        parts = split(len(strings), rng, least=ENOUGH)
        if parts is None:
            return (strings, counts), None
        taken = np.zeros_like(counts)
        taken[parts.held] = counts[parts.held]
    left = counts - taken
    return _with_counts(strings, left), _with_counts(strings, taken)


def _with_counts(strings: Strings, counts: Floats) -> Counted:
    some = np.flatnonzero(counts)
    return strings.select(some), counts[some]


def some_of(corpus: Counted, rng: np.random.Generator) -> Counted:
    """At most `FEW` distinct strings, the frequent ones as likely as their counts."""
    strings, counts = corpus
    if len(strings) <= FEW:
        return corpus
    some = np.sort(rng.choice(len(strings), FEW, replace=False, p=counts / counts.sum()))
    return strings.select(some), counts[some]


def exact_length(strings: Strings, n_cuts: int) -> int:
    """The length up to which all strings together have no more cuts of distinct substrings.

    It is never below `LEAST_EXACT`, nor below the length of half of the strings: what is left of strings of
    which only the length is seen is not enough to learn from.
    """
    least = max(LEAST_EXACT, int(np.median(strings.lengths)))
    for longer in (*_EXACT, int(strings.lengths.max())):
        if longer > least:
            table = Substrings.of(within_length(strings, None, longer)[0])
            if int((np.diff(table.level_starts) * np.arange(table.longest)).sum()) > n_cuts:
                break
            least = longer
    return least
