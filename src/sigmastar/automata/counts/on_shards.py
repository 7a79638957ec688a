"""Counts on context classes of a corpus on disk: one table per shard, merged in a tree, within a budget.

A step reads symbol a in past r, and c is the class of the future after it. Steps are all that is counted:

    H_a[r, c]                                     counted, shard by shard
    H[r, c'] = sum of H_a[r, c] over follow(c, a) = c',  and stop[r] more where c' is the class of the end

since the future of a gap follows from the symbol after it and the future after that. Where the budget is
spent, rare steps are pruned, and their number is told.
"""

from __future__ import annotations

from functools import partial, reduce
from typing import NamedTuple

import numpy as np

from sigmastar.automata.counts.on_classes import ClassTables, ContextCounts
from sigmastar.automata.data.contexts import ContextTrie
from sigmastar.automata.data.corpora import ShardedStrings
from sigmastar.automata.data.strings import Strings
from sigmastar.core.arrays import Array, Int32s, Int64s
from sigmastar.core.engines import Engine, Here
from sigmastar.core.integer_counts import (
    Keys,
    Tally,
    add,
    first_of,
    key_type,
    pruned,
    take_met,
    tally_pairs,
)
from sigmastar.core.jit import kernel
from sigmastar.core.ledger import Ledger
from sigmastar.core.progress import Progress, silent
from sigmastar.corpus.reading import opened

BUDGET = 1 << 30
_ENTRY = 64  # bytes of an entry while parts are merged
_TABLE_LIMIT = 1 << 24  # cells of a table of classes and symbols
_MOST_ROWS = 1 << 16  # classes of pasts, or of futures: a step is one number of 32 bits
_MOST_GAPS, _LEAST_GAPS = 1 << 24, 1 << 20  # of a task: the larger it is, the less is merged
_GAP = 64  # bytes of a gap while a task counts, and what it gives waits for others
_GAPS_AT_ONCE = 1 << 20

Classes = tuple[ContextTrie, ContextTrie]


class StepCounts(NamedTuple):
    """Steps of some shards: sorted positions (symbol, past, future) with counts, and what was pruned."""

    n_strings: Array
    keys: Keys
    counts: Keys
    ends: Int64s  # how many strings end in each past class
    starts: Int64s  # how many begin in each future class
    lost: Int64s  # how many entries, and how many steps in them, were pruned


def count_shards(
    strings: ShardedStrings,
    classes: Classes,
    engine: Engine | None = None,
    budget: int = BUDGET,
    ledger: Ledger | None = None,
    progress: Progress = silent,
) -> StepCounts:
    """The steps of a corpus on disk."""
    task, parts = partial(_count_part, Place.of(strings), classes, budget), strings.parts(_task_gaps(budget))
    kept = task if ledger is None else ledger.keeping(task, StepCounts, parts)
    where: Engine = Here() if engine is None else engine
    found: StepCounts = where.run(kept, parts, partial(merged, budget=budget), progress)
    return found


def _task_gaps(budget: int) -> int:
    """Of a task that takes no more memory than tables may; it does not depend on the number of workers."""
    return min(max(budget // _GAP, _LEAST_GAPS), _MOST_GAPS)


def _count_part(place: Place, classes: Classes, budget: int, part: tuple[int, int, int]) -> StepCounts:
    return count_steps(place.strings.part(*part), classes, budget)


class Place(NamedTuple):
    """What a worker needs to know of a corpus on disk."""

    folder: str
    digest: str
    class_of: Int32s | None

    @classmethod
    def of(cls, strings: ShardedStrings) -> Place:
        return cls(str(strings.corpus.folder), strings.corpus.manifest.digest, strings.class_of)

    @property
    def strings(self) -> ShardedStrings:
        return ShardedStrings(opened(self.folder, self.digest), self.class_of)


def count_steps(strings: Strings, classes: Classes, budget: int = BUDGET) -> StepCounts:
    """The steps of strings: by tables of classes where they are small, else piece by piece."""
    pasts, futures = classes
    n_rows = max(pasts.n_classes, futures.n_classes)
    small = n_rows * len(strings.alphabet) <= _TABLE_LIMIT and n_rows <= _MOST_ROWS
    if small and pasts.table is not None and futures.table is not None:
        tables = ClassTables(
            pasts.table.astype(np.uint16), futures.table.astype(np.uint16), pasts.start, futures.start
        )
        return _within(_count_by_tables(strings, tables), budget)
    parts = (_of_piece(piece, classes) for piece in strings.pieces(_GAPS_AT_ONCE))
    return reduce(partial(merged, budget=budget), parts)


def _count_by_tables(strings: Strings, tables: ClassTables) -> StepCounts:
    """Steps are put into buckets of symbols, those of a symbol into buckets of pasts, which are counted each
    for itself: what is written to at a time stays near the processor.
    """
    n_pasts, n_futures, n_symbols = len(tables.pasts), len(tables.futures), len(strings.alphabet)
    codes, offsets = np.array(strings.codes, np.int32), np.array(strings.offsets)  # not mapped: one kernel
    edges = np.zeros(n_pasts, np.int64), np.zeros(n_futures, np.int64)
    pairs, starts = np.empty(len(codes), np.uint32), np.zeros(n_symbols + 2, np.int64)
    room = np.empty((2, int(strings.lengths.max(initial=0))), np.uint32)
    _bucket_steps(codes, offsets, tables, starts, pairs, *edges, room)
    del codes
    n_most = min(len(pairs), n_symbols * n_pasts * n_futures)
    found = np.empty(n_most, key_type(n_symbols * n_pasts * n_futures)), np.empty(n_most, np.int32)
    futures = np.empty(int(np.diff(starts[:-1]).max(initial=0)), np.uint16)
    n_found = _tally_steps(starts[:-1], pairs, futures, np.zeros(n_pasts + 2, np.int64), n_futures, found)
    return StepCounts(np.array(len(strings)), *first_of(found, n_found), *edges, np.zeros(2, np.int64))


def _of_piece(strings: Strings, classes: Classes) -> StepCounts:
    counts = ContextCounts.of(strings, *classes)
    return StepCounts(
        np.array(len(strings)),
        counts.slice_keys,
        counts.slice_counts,
        counts.ends,
        counts.starts,
        np.zeros(2, np.int64),
    )


def merged(first: StepCounts, second: StepCounts, budget: int = BUDGET) -> StepCounts:
    """Of two parts, without what the budget has no room for."""
    keys, counts = add((first.keys, first.counts), (second.keys, second.counts))
    rest = (a + b for a, b in zip(first[3:], second[3:], strict=True))
    return _within(StepCounts(first.n_strings + second.n_strings, keys, counts, *rest), budget)


def _within(part: StepCounts, budget: int) -> StepCounts:
    (keys, counts), lost = pruned((part.keys, part.counts), budget // _ENTRY)
    return part._replace(keys=keys, counts=counts, lost=part.lost + lost)


def without(part: StepCounts, other: StepCounts) -> StepCounts:
    """The steps without those of some of their strings; entries that come to zero stay."""
    at = np.minimum(np.searchsorted(part.keys, other.keys), len(part.keys) - 1)
    known = part.keys[at] == other.keys  # all of them, where nothing was pruned
    counts = part.counts.copy()
    counts[at[known]] -= other.counts[known].astype(counts.dtype)
    rest = (part.n_strings - other.n_strings, part.keys, np.maximum(counts, 0))
    return StepCounts(*rest, part.ends - other.ends, part.starts - other.starts, part.lost)


def with_gaps(found: StepCounts, like: Strings, classes: Classes) -> ContextCounts:
    """Gaps follow from steps, and from where strings end."""
    pasts, futures = classes
    n_pasts, n_futures = pasts.n_classes, futures.n_classes
    steps, future = np.divmod(found.keys, n_futures)
    symbol, past = np.divmod(steps, n_pasts)
    del steps
    before = futures.follow(future.astype(np.int32), symbol.astype(np.int32))
    enders = np.flatnonzero(found.ends)
    gaps = tally_pairs(
        np.concatenate([past, enders.astype(past.dtype)]),
        np.concatenate([before, np.full(len(enders), futures.start, np.int32)]),
        n_pasts,
        n_futures,
        np.concatenate([found.counts, found.ends[enders].astype(found.counts.dtype)]),
    )
    steps_found = found.keys, found.counts
    return ContextCounts(
        like, pasts, futures, int(found.n_strings), *gaps, *steps_found, found.ends, found.starts
    )


@kernel
def _bucket_steps(
    codes: Int32s,
    offsets: Int64s,
    tables: ClassTables,
    starts: Int64s,
    pairs: Array,
    ends: Int64s,
    begins: Int64s,
    room: Array,
) -> None:
    """Steps (past, future), as one number each, into `pairs`, symbol by symbol, which begin at `starts`."""
    for at in range(len(codes)):
        starts[codes[at] + 2] += 1
    for symbol in range(2, len(starts)):
        starts[symbol] += starts[symbol - 1]
    n_futures = len(tables.futures)
    for string in range(len(offsets) - 1):
        first, length = offsets[string], offsets[string + 1] - offsets[string]
        past, future = np.int64(tables.past_edge), np.int64(tables.future_edge)
        for at in range(length):  # both ways at once: neither look waits for the other
            room[0, at], room[1, length - 1 - at] = past * n_futures, future
            past = np.int64(tables.pasts[past, codes[first + at]])
            future = np.int64(tables.futures[future, codes[first + length - 1 - at]])
        ends[past] += 1
        begins[future] += 1
        for at in range(length):
            place = starts[codes[first + at] + 1]
            pairs[place] = room[0, at] + room[1, at]
            starts[codes[first + at] + 1] = place + 1


@kernel
def _tally_steps(
    starts: Int64s, pairs: Array, futures: Array, rows: Int64s, n_futures: int, found: Tally
) -> int:
    """The number of distinct steps; `futures` has room for the steps of a symbol, `rows` for all pasts."""
    n_found, n_pasts = 0, len(rows) - 2
    table, met = np.zeros(n_futures, found[1].dtype), np.zeros(n_futures // 64 + 1, np.uint64)
    for symbol in range(len(starts) - 1):
        if starts[symbol] == starts[symbol + 1]:
            continue
        rows[:] = 0
        for at in range(starts[symbol], starts[symbol + 1]):
            rows[pairs[at] // n_futures + 2] += 1
        for past in range(2, len(rows)):
            rows[past] += rows[past - 1]
        for at in range(starts[symbol], starts[symbol + 1]):
            row = np.int64(pairs[at] // n_futures)
            futures[rows[row + 1]] = pairs[at] - row * n_futures
            rows[row + 1] += 1
        for past in range(n_pasts):
            for at in range(rows[past], rows[past + 1]):
                future = np.int64(futures[at])
                table[future] += 1
                met[future >> 6] |= np.uint64(1) << np.uint64(future & 63)
            if rows[past] < rows[past + 1]:
                first = (np.int64(symbol) * n_pasts + past) * n_futures
                n_found = take_met(first, table, met, found, n_found)
    return n_found
