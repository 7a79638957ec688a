"""Statistics on disjoint context classes.

At every gap j of the corpus let r(j) be the class of its past and c(j) that of its future. Then

    H[r, c]   = #{j: r(j) = r, c(j) = c}
    H_a[r, c] = #{j: r(j) = r, x_j = a, c(j + 1) = c}
    stop[r]   = #{j at the end of a string: r(j) = r},     root[c] = #{j at a start: c(j) = c} / #strings

are blocks of strings like any other, but their rows and columns do not overlap, so scaling them by
the square root of their counts (canonical correlation) is sound: on overlapping bases it is not.

Gaps and steps are put into buckets by the classes of their pasts. Classes come from tables, one look per gap:
pasts are read forwards, futures backwards a string at a time, so that the classes of a corpus are never held.
A gap goes into the bucket of its past, a step that reads symbol a in past r into bucket a R + r; what is kept
of each is the class of the future after it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from sigmastar.automata.data.contexts import ContextTrie
from sigmastar.automata.data.strings import Strings, require_known
from sigmastar.core.alphabet import string_signature
from sigmastar.core.arrays import Array, Int32s, Int64s
from sigmastar.core.integer_counts import (
    MOST_MAJORS,
    ONCE,
    Keys,
    Tally,
    add,
    minor_type,
    subtract,
    tally,
    tally_buckets,
    tally_pairs,
)
from sigmastar.core.jit import kernel, part
from sigmastar.core.recover import Blocks, FlatTensor


class ClassBuckets(NamedTuple):
    """Where buckets begin (with the end added), the futures in them, and the classes of edges."""

    gap_starts: Int64s
    gap_futures: Array
    step_starts: Int64s
    step_futures: Array
    ends: Int64s  # how many strings end in each past class
    starts: Int64s  # how many begin in each future class


class ClassTables(NamedTuple):
    """The class that follows each class on each symbol, and that at the edge, of pasts and of futures."""

    pasts: Int32s
    futures: Int32s
    past_edge: int
    future_edge: int


def bucket_classes(strings: Strings, tables: ClassTables) -> ClassBuckets:
    """The gaps and steps of a corpus of known symbols."""
    n_pasts, n_futures, of = len(tables.pasts), len(tables.futures), minor_type(len(tables.futures))
    n_steps = len(strings.alphabet) * n_pasts
    found = ClassBuckets(
        np.zeros(n_pasts + 2, np.int64),
        np.empty(strings.n_gaps, of),
        np.zeros(n_steps + 2, np.int64),
        np.empty(len(strings.codes), of),
        np.zeros(n_pasts, np.int64),
        np.zeros(n_futures, np.int64),
    )
    futures = np.empty(int(strings.lengths.max(initial=0)) + 1, of)
    _bucket_classes(strings.codes, strings.offsets, tables, found, futures)
    return found._replace(gap_starts=found.gap_starts[:-1], step_starts=found.step_starts[:-1])


@kernel
def _bucket_classes(
    codes: Int32s, offsets: Int64s, tables: ClassTables, found: ClassBuckets, futures: Array
) -> None:
    """`futures` has room for the classes in a string."""
    gaps, steps, n_pasts = found.gap_starts, found.step_starts, len(tables.pasts)
    _measure(codes, offsets, tables, found)
    for string in range(len(offsets) - 1):
        first, length = offsets[string], offsets[string + 1] - offsets[string]
        future, past = tables.future_edge, tables.past_edge
        futures[length] = future
        for at in range(length - 1, -1, -1):
            future = tables.futures[future, codes[first + at]]
            futures[at] = future
        found.starts[future] += 1
        for at in range(length + 1):
            found.gap_futures[gaps[past + 1]] = futures[at]
            gaps[past + 1] += 1
            if at < length:
                step = codes[first + at] * n_pasts + past
                found.step_futures[steps[step + 1]] = futures[at + 1]
                steps[step + 1] += 1
                past = tables.pasts[past, codes[first + at]]


@part
def _measure(codes: Int32s, offsets: Int64s, tables: ClassTables, found: ClassBuckets) -> None:
    """Where each bucket begins, one place behind its own: filling it then leaves where the next begins."""
    gaps, steps, n_pasts = found.gap_starts, found.step_starts, len(tables.pasts)
    for string in range(len(offsets) - 1):
        past = tables.past_edge
        for at in range(offsets[string], offsets[string + 1]):
            gaps[past + 2] += 1
            steps[codes[at] * n_pasts + past + 2] += 1
            past = tables.pasts[past, codes[at]]
        gaps[past + 2] += 1
        found.ends[past] += 1
    for bucket in range(2, len(gaps)):
        gaps[bucket] += gaps[bucket - 1]
    for bucket in range(2, len(steps)):
        steps[bucket] += steps[bucket - 1]


_GAPS_AT_ONCE = 1 << 19
_TABLE_LIMIT = 1 << 22  # cells of a table of pasts and symbols
_TABLES_LIMIT = 1 << 25  # cells of tables of pasts and futures, one a symbol


@dataclass(frozen=True, eq=False)
class ContextCounts:
    """Counts on a pair of context tries; counts of shards of a corpus add up exactly."""

    strings_like: Strings  # an empty corpus that carries the alphabet
    pasts: ContextTrie
    futures: ContextTrie
    n_strings: int
    keys: Keys  # sorted positions (past, future) with counts
    counts: Keys
    slice_keys: Keys  # sorted positions (symbol, past, future) with counts
    slice_counts: Keys
    ends: Int64s  # how many strings end in each past class
    starts: Int64s  # how many strings begin in each future class

    @classmethod
    def of(cls, strings: Strings, pasts: ContextTrie, futures: ContextTrie) -> ContextCounts:
        """By the tables of both tries in two sweeps over the corpus, or by its gaps piece by piece."""
        n_steps = len(strings.alphabet) * pasts.n_classes
        past_table, future_table = (trie.table_for(require_known(strings).codes) for trie in (pasts, futures))
        if past_table is None or future_table is None or n_steps > MOST_MAJORS:
            parts = (cls._of_piece(piece, pasts, futures) for piece in strings.pieces(_GAPS_AT_ONCE))
            return reduce(cls.__add__, parts)
        width = futures.n_classes
        found = bucket_classes(strings, ClassTables(past_table, future_table, pasts.start, futures.start))
        buckets = (found.gap_starts, found.gap_futures), (found.step_starts, found.step_futures)
        gaps, steps = (tally_buckets(*bucket, ONCE, width) for bucket in buckets)
        return cls(
            _no_strings(strings), pasts, futures, len(strings), *gaps, *steps, found.ends, found.starts
        )

    @classmethod
    def _of_piece(cls, strings: Strings, pasts: ContextTrie, futures: ContextTrie) -> ContextCounts:
        past, future = pasts.classify(strings), futures.classify(strings)
        first_gaps = strings.offsets[:-1] + np.arange(len(strings))
        last_gaps = strings.offsets[1:] + np.arange(len(strings))
        n_pasts, n_futures, n_symbols = pasts.n_classes, futures.n_classes, len(strings.alphabet)
        before = np.delete(past, last_gaps).astype(_narrowest(n_symbols * n_pasts))
        before += strings.codes.astype(before.dtype) * n_pasts
        return cls(
            _no_strings(strings),
            pasts,
            futures,
            len(strings),
            *tally_pairs(past, future, n_pasts, n_futures),
            *tally_pairs(before, np.delete(future, first_gaps), n_symbols * n_pasts, n_futures),
            np.bincount(past[last_gaps], minlength=n_pasts),
            np.bincount(future[first_gaps], minlength=n_futures),
        )

    def __add__(self, other: ContextCounts) -> ContextCounts:
        return self._merged(other, add, 1)

    def __sub__(self, other: ContextCounts) -> ContextCounts:
        """The counts without those of some of their strings; entries that come to zero stay."""
        return self._merged(other, subtract, -1)

    def _merged(
        self, other: ContextCounts, merge: Callable[[Tally, Tally], Tally], sign: int
    ) -> ContextCounts:
        if self.pasts is not other.pasts or self.futures is not other.futures:
            raise ValueError("counts on different context classes cannot be added")
        return ContextCounts(
            self.strings_like,
            self.pasts,
            self.futures,
            self.n_strings + sign * other.n_strings,
            *merge((self.keys, self.counts), (other.keys, other.counts)),
            *merge((self.slice_keys, self.slice_counts), (other.slice_keys, other.slice_counts)),
            self.ends + sign * other.ends,
            self.starts + sign * other.starts,
        )

    def coarsened(self, pasts: ContextTrie, futures: ContextTrie) -> ContextCounts:
        """The counts on coarser classes, whose tries are parts of these."""
        if pasts is self.pasts and futures is self.futures:
            return self
        past, future = self.pasts.classes_in(pasts), self.futures.classes_in(futures)
        n_symbols = len(self.strings_like.alphabet)
        return ContextCounts(
            self.strings_like,
            pasts,
            futures,
            self.n_strings,
            *_coarsened(self.keys, self.counts, past, future, 1),
            *_coarsened(self.slice_keys, self.slice_counts, past, future, n_symbols),
            np.bincount(past, self.ends, pasts.n_classes).astype(np.int64),
            np.bincount(future, self.starts, futures.n_classes).astype(np.int64),
        )

    @property
    def past_counts(self) -> Int64s:
        """How many gaps lie in each past class."""
        return self._margins[0]

    @property
    def future_counts(self) -> Int64s:
        return self._margins[1]

    @cached_property
    def _margins(self) -> tuple[Int64s, Int64s]:
        rows, columns = np.zeros(self.pasts.n_classes, np.int64), np.zeros(self.futures.n_classes, np.int64)
        _add_margins(self.keys, self.counts, rows, columns)
        return rows, columns

    def next_symbols(self) -> tuple[Int64s, Int64s, Int64s]:
        """Sorted (past class, next symbol, count) entries; the end of string is symbol `len(alphabet)`."""
        width = len(self.strings_like.alphabet) + 1
        if width * self.pasts.n_classes <= _TABLE_LIMIT:
            table = np.zeros((self.pasts.n_classes, width), np.int64)
            table[:, -1] = self.ends
            _add_steps(table, self.slice_keys, self.slice_counts, self.futures.n_classes)
            past, symbol = np.nonzero(table)
            return past, symbol, table[past, symbol]
        symbol, past = np.divmod(
            self.slice_keys.astype(np.int64) // self.futures.n_classes, self.pasts.n_classes
        )
        enders = np.flatnonzero(self.ends)
        keys = np.concatenate([past * width + symbol, enders * width + width - 1])
        keys, counts = tally(keys, np.concatenate([self.slice_counts, self.ends[enders]]))
        seen = counts > 0
        return keys[seen] // width, keys[seen] % width, counts[seen]

    def blocks(self) -> Blocks:
        alphabet = self.strings_like.alphabet
        signature = string_signature(alphabet)
        stop, symbol = signature.operations
        shape = (self.pasts.n_classes, self.futures.n_classes)
        row_starts = np.searchsorted(self.keys, np.arange(shape[0] + 1) * shape[1])
        entries = self.counts.astype(float), self.keys % shape[1], row_starts
        matrix = sparse.csr_array(entries, shape=shape)
        slices = FlatTensor((len(alphabet), *shape), self.slice_keys, self.slice_counts, (None,) * 3)
        return Blocks(
            signature,
            {"string": matrix},
            {stop: self.ends[None].astype(float), symbol: slices},
            {"string": self.starts / self.n_strings},
        )


@kernel
def _add_margins(keys: Keys, counts: Keys, rows: Int64s, columns: Int64s) -> None:
    n_columns, row, end = len(columns), 0, len(columns)
    for entry in range(len(keys)):
        while keys[entry] >= end:  # keys are sorted: no division
            row, end = row + 1, end + n_columns
        rows[row] += counts[entry]
        columns[keys[entry] - end] += counts[entry]  # from the end of the row, as negative indices are


@kernel
def _add_steps(table: Int64s, keys: Keys, counts: Keys, n_futures: int) -> None:
    """Add counts of (symbol, past, future) to a table of pasts x symbols."""
    past, symbol, end = 0, 0, n_futures
    for entry in range(len(keys)):
        while keys[entry] >= end:
            past, end = past + 1, end + n_futures
            if past == len(table):
                past, symbol = 0, symbol + 1
        table[past, symbol] += counts[entry]


def _coarsened(keys: Keys, counts: Keys, past: Int32s, future: Int32s, n_symbols: int) -> Tally:
    """A tally of (symbol, past, future) on the classes that take the place of those here."""
    n_pasts, n_futures = int(past.max()) + 1, int(future.max()) + 1
    if n_symbols * n_pasts * n_futures <= _TABLES_LIMIT:
        found, table = (
            (np.empty_like(keys), np.empty_like(counts)),
            np.zeros(n_pasts * n_futures, counts.dtype),
        )
        n_found = _coarse_tally((keys, counts), past, future, n_futures, n_symbols, table, found)
        return found[0][:n_found].copy(), found[1][:n_found].copy()
    steps, following = np.divmod(keys, len(future))
    symbols, steps = np.divmod(steps, len(past))
    return tally_pairs(
        symbols * n_pasts + past[steps], future[following], n_symbols * n_pasts, n_futures, counts
    )


@kernel
def _coarse_tally(
    fine: Tally, past: Int32s, future: Int32s, n_futures: int, n_symbols: int, table: Keys, found: Tally
) -> int:
    """The number of keys found, in a table of the pasts and futures of one symbol at a time."""
    keys, counts = fine
    at, n_found = 0, 0
    begin = 0  # of the row of fine classes, which is (symbol, past)
    for symbol in range(n_symbols):
        for row in range(len(past)):
            while at < len(keys) and keys[at] < begin + len(future):
                table[past[row] * n_futures + future[keys[at] - begin]] += counts[at]
                at += 1
            begin += len(future)
        for cell in range(len(table)):
            if table[cell]:
                found[0][n_found], found[1][n_found] = symbol * len(table) + cell, table[cell]
                table[cell] = 0
                n_found += 1
    return n_found


def _no_strings(strings: Strings) -> Strings:
    return Strings(strings.alphabet, strings.codes[:0], strings.offsets[:1])


def correlation_scaled(counts: ContextCounts) -> Blocks:
    """Blocks scaled so that their singular values are canonical correlations; the first is 1."""
    outside = 1.0 / np.sqrt(np.maximum(counts.past_counts, 1))
    inside = 1.0 / np.sqrt(np.maximum(counts.future_counts, 1))
    return counts.blocks().weighted({"string": outside}, {"string": inside})


def _narrowest(n_values: int) -> type[np.signedinteger[Any]]:
    return np.int32 if n_values < 1 << 31 else np.int64
