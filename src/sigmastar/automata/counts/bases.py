"""Bases: which outsides and insides the blocks of strings are indexed by.

    H[o, i] = f(o i),   o in outsides (prefixes), i in insides (suffixes)

The choices of Balle, Quattoni and Carreras (2014, "Choosing the Basis"): all strings up to length k;
the K most frequent prefixes and suffixes; all that occur. Where a statistic lets an outside begin, or
an inside end, anywhere in a string, the candidates are substrings in place of prefixes or suffixes.

Frequent strings are grown symbol by symbol. A string is never more frequent than its prefixes, so the
K most frequent lie below the K most frequent of each length, and the rest is never looked at.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sigmastar.automata.data.strings import Strings
from sigmastar.core.alphabet import UNKNOWN, Alphabet
from sigmastar.core.arrays import Flags, Int32s, Int64s

SIZE_LIMIT = 1_000_000
"""Elements that a basis may have, and the unit for symbols in them: beyond, a block is out of reach."""


@dataclass(frozen=True)
class Statistic:
    """How often a string w is counted in a string x.

    Once for each occurrence of w that begins where x begins (if `anchored_left`) and ends where x
    ends (if `anchored_right`).
    """

    name: str
    anchored_left: bool
    anchored_right: bool


STRING = Statistic("string", True, True)
"""Whether x is w: the mean is the probability of w."""
PREFIX = Statistic("prefix", True, False)
"""Whether x begins with w: the mean is the probability of all strings that do."""
SUBSTRING = Statistic("substring", False, False)
"""How often w occurs in x: the mean is the expected number of occurrences."""


@dataclass(frozen=True, eq=False)
class Basis:
    """Distinct outsides and insides over one alphabet, the empty string first in both."""

    alphabet: Alphabet
    outsides: Strings
    insides: Strings

    def __post_init__(self) -> None:
        for name, strings in (("outsides", self.outsides), ("insides", self.insides)):
            if strings.alphabet != self.alphabet:
                raise ValueError(f"the {name} of a basis must be over its alphabet")
            if len(strings) == 0 or strings.lengths[0] != 0:
                raise ValueError(f"the first of the {name} of a basis must be the empty string")

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.outsides), len(self.insides)

    def same_as(self, other: Basis) -> bool:
        return self is other or (
            self.alphabet == other.alphabet
            and _same(self.outsides, other.outsides)
            and _same(self.insides, other.insides)
        )


def _same(first: Strings, second: Strings) -> bool:
    return np.array_equal(first.offsets, second.offsets) and np.array_equal(first.codes, second.codes)


def all_up_to(alphabet: Alphabet, max_length: int, size_limit: int = 20_000) -> Basis:
    """All strings of length up to `max_length`, as outsides and as insides (Hsu et al., 2009).

    Parameters
    ----------
    alphabet : Alphabet
        The symbols.
    max_length : int
        Number of symbols at most.
    size_limit : int
        Number of strings above which the basis is refused.

    Returns
    -------
    Basis
        The same strings on both sides.
    """
    n_symbols = len(alphabet)
    size = sum(n_symbols**length for length in range(max_length + 1))
    if size > size_limit:
        raise ValueError(
            f"{n_symbols} symbols make {size} strings of length up to {max_length}, more than {size_limit}; "
            "use a smaller max_length, or the most frequent strings"
        )
    levels = [np.zeros((1, 0), np.int32)]
    for length in range(1, max_length + 1):
        symbols = np.indices((n_symbols,) * length, dtype=np.int32)
        levels.append(symbols.reshape(length, -1).T)
    strings = _of_levels(alphabet, levels)
    return Basis(alphabet, strings, strings)


def most_frequent(strings: Strings, n_outsides: int, n_insides: int, statistic: Statistic = STRING) -> Basis:
    """The most frequent prefixes and suffixes, or substrings, most frequent first (Balle et al., 2012).

    Equally frequent strings are ordered by length, then by their codes.

    Parameters
    ----------
    strings : Strings
        The corpus.
    n_outsides, n_insides : int
        Number of outsides, and of insides.
    statistic : Statistic
        What is counted: `STRING`, `PREFIX` or `SUBSTRING`.

    Returns
    -------
    Basis
        The empty string first.
    """
    if min(n_outsides, n_insides) < 1:
        raise ValueError(
            f"a basis needs an outside and an inside; {n_outsides} and {n_insides} were asked for"
        )
    outsides = _beginnings(strings, statistic.anchored_left, n_outsides)
    return Basis(strings.alphabet, outsides, _endings(strings, statistic.anchored_right, n_insides))


def all_occurring(strings: Strings, max_length: int | None = None, statistic: Statistic = STRING) -> Basis:
    """All prefixes and suffixes, or substrings, of the sample (Bailly et al., 2009)."""
    outsides = _beginnings(strings, statistic.anchored_left, None, max_length)
    return Basis(strings.alphabet, outsides, _endings(strings, statistic.anchored_right, None, max_length))


def backwards(strings: Strings) -> Strings:
    """Each string reversed, and the last string first: the flat array read from its end."""
    return Strings(
        strings.alphabet, np.ascontiguousarray(strings.codes[::-1]), strings.n_symbols - strings.offsets[::-1]
    )


def mirrored(strings: Strings) -> Strings:
    """Each string reversed, in the order of the strings."""
    return backwards(strings).select(np.arange(len(strings))[::-1])


def _endings(strings: Strings, anchored: bool, size: int | None, max_length: int | None = None) -> Strings:
    if not anchored:
        return _beginnings(strings, False, size, max_length)
    return mirrored(_beginnings(backwards(strings), True, size, max_length))


def _beginnings(strings: Strings, anchored: bool, size: int | None, max_length: int | None = None) -> Strings:
    """The `size` most frequent strings that begin at the start of a string, or, not anchored, anywhere."""
    levels = list(_grow(strings, anchored, size, max_length))
    counts = np.concatenate([level.counts for level in levels])
    order = np.argsort(-counts, kind="stable")  # levels come by length, each in the order of codes
    return _of_levels(strings.alphabet, [level.codes for level in levels]).select(order[:size])


class _Level(NamedTuple):
    """Strings of one length, in the order of their codes, and how often they occur."""

    codes: Int32s
    counts: Int64s


def _grow(strings: Strings, anchored: bool, size: int | None, max_length: int | None) -> Iterator[_Level]:
    """Levels of length 0, 1, ..; each occurrence of a kept string is a cursor that reads on."""
    n_symbols = max(len(strings.alphabet), 1)
    padded = _with_ends(strings)
    gaps = strings.offsets[:-1] + np.arange(len(strings)) if anchored else np.arange(strings.n_gaps)
    cursors = gaps.astype(np.int32 if len(padded) < 2**31 else np.int64)
    nodes = np.zeros(len(cursors), np.int32)
    level = _Level(np.zeros((1, 0), np.int32), np.array([len(cursors)]))
    found, most = level.counts, np.inf if max_length is None else max_length
    yield level
    while level.codes.shape[1] < most:
        symbols = padded[cursors]
        reading = symbols >= 0
        keys = nodes[reading].astype(np.int64) * n_symbols + symbols[reading]
        keys, counts, position = _tally(keys, len(level.counts) * n_symbols)
        kept = _worth_keeping(counts, found, size)
        if not kept.any():
            return
        codes = np.column_stack([level.codes[keys[kept] // n_symbols], keys[kept] % n_symbols])
        level = _Level(codes.astype(np.int32), counts[kept])
        found = np.concatenate([found, level.counts])
        _refuse_beyond_limit(len(found), codes.size, size)
        yield level
        nodes = np.where(kept, np.cumsum(kept) - 1, -1).astype(np.int32)[position]
        cursors = cursors[reading][nodes >= 0] + 1
        nodes = nodes[nodes >= 0]


def _with_ends(strings: Strings) -> Int32s:
    """The codes with -1 after every string: a cursor stops there, as it does at unknown symbols."""
    return np.insert(strings.codes, strings.offsets[1:], UNKNOWN).astype(np.int32)


def _tally(keys: Int64s, n_keys: int) -> tuple[Int64s, Int64s, Int64s]:
    """Distinct keys in order, their counts, and where among them each key is."""
    if n_keys > 4 * len(keys) + 1000:
        distinct, position, counts = np.unique(keys, return_inverse=True, return_counts=True)
        return distinct, counts, position
    counts = np.bincount(keys, minlength=n_keys)
    met = counts > 0
    return np.flatnonzero(met), counts[met], (np.cumsum(met) - 1)[keys]


def _worth_keeping(counts: Int64s, found: Int64s, size: int | None) -> Flags:
    """Whether a string of the next length may be among the `size` most frequent, or lead to one that is."""
    if size is None:
        return np.ones(len(counts), bool)
    kept = np.zeros(len(counts), bool)
    kept[np.argsort(-counts, kind="stable")[:size]] = True
    if len(found) >= size:
        kept &= counts > np.partition(found, len(found) - size)[len(found) - size]
    return kept


def _refuse_beyond_limit(n_strings: int, n_symbols: int, size: int | None) -> None:
    if size is None and (n_strings > SIZE_LIMIT or n_symbols > 100 * SIZE_LIMIT):
        raise ValueError(
            f"more than {SIZE_LIMIT} strings occur; use a smaller max_length, or the most frequent strings"
        )


def _of_levels(alphabet: Alphabet, levels: list[Int32s]) -> Strings:
    lengths = np.concatenate([np.full(len(codes), codes.shape[1], np.int64) for codes in levels])
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    return Strings(alphabet, np.concatenate([codes.ravel() for codes in levels]), offsets)
