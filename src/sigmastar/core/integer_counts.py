"""How often integer keys occur: sorted distinct keys with their counts, which add up and subtract.

Pairs (major, minor) from small ranges are put into one bucket per major, and the minors of a bucket counted
in a table with a bit for each that was met, so that nothing is ever compared. Keys and counts that fit
are held in 32 bits: they are most of what a learner holds.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sigmastar.core.jit import kernel, lowest_bit, part

Keys = NDArray[Any]  # int32, or int64 where they do not fit
Longs = NDArray[np.int64]
Tally = tuple[Keys, Keys]
"""Sorted distinct keys, and the count of each."""

MOST_MAJORS = 1 << 20  # above this many, counting them all takes longer than sorting
_FITS = 1 << 31
_PIECE = 1 << 20  # keys that are counted at a time where their weights are summed
_MANY = 1 << 16  # keys, for which the walk pays what it takes to compile
_SMALL = 1 << 12  # counts that are looked up in a table
ONCE = np.ones(1, np.int32)
"""The weights of pairs that count once each."""


def tally(keys: Longs, counts: Longs | None = None) -> tuple[Longs, Longs]:
    """Sorted distinct keys, and how often (or with what total count) each occurs."""
    if counts is None:
        distinct, numbers = np.unique(keys, return_counts=True)
        return distinct, numbers.astype(np.int64)
    order = np.argsort(keys, kind="stable")
    keys, counts = keys[order], counts[order]
    starts = np.flatnonzero(np.concatenate([keys[:1] == keys[:1], keys[1:] != keys[:-1]]))
    return keys[starts], np.add.reduceat(counts, starts) if len(starts) else counts


def totals(keys: Longs, weights: NDArray[np.float64] | None = None) -> tuple[Longs, NDArray[np.float64]]:
    """Sorted distinct keys, and how often, or with what weight, each occurs; pieces of many may be spread."""
    pieces = [
        (keys[at : at + _PIECE], None if weights is None else weights[at : at + _PIECE])
        for at in range(0, max(len(keys), 1), _PIECE)
    ]
    if len(pieces) == 1:
        return _totals(pieces[0])
    from sigmastar.core.engines import spread  # of few keys nothing is spread

    return spread(_totals, pieces, _both_totals)


def _totals(piece: tuple[Longs, NDArray[np.float64] | None]) -> tuple[Longs, NDArray[np.float64]]:
    keys, weights = piece
    if weights is None:
        found, counts = tally(keys)
        return found, counts.astype(float)
    found, places = np.unique(keys, return_inverse=True)
    return found, np.bincount(places, weights, len(found)).astype(float)


def _both_totals(
    first: tuple[Longs, NDArray[np.float64]], second: tuple[Longs, NDArray[np.float64]]
) -> tuple[Longs, NDArray[np.float64]]:
    keys = np.union1d(first[0], second[0])
    sums = np.zeros(len(keys))
    for some, counts in (first, second):
        sums[np.searchsorted(keys, some)] += counts
    return keys, sums


def tally_pairs(major: Keys, minor: Keys, n_major: int, n_minor: int, counts: Keys | None = None) -> Tally:
    """The tally of `major * n_minor + minor`; with `counts`, each pair occurs so often."""
    if n_major > MOST_MAJORS:
        flat = major.astype(np.int64) * n_minor + minor
        keys, totals = tally(flat, None if counts is None else counts.astype(np.int64))
        return keys.astype(key_type(n_major * n_minor)), _narrow(totals)
    starts, order = np.zeros(n_major + 2, np.int64), np.empty(len(major), np.int32)
    _bucket(major, starts, order)
    weights = ONCE if counts is None else counts[order]
    return tally_buckets(starts[:-1], minor[order].astype(minor_type(n_minor)), weights, n_minor)


def tally_buckets(starts: Longs, minors: Keys, weights: Keys, n_minor: int) -> Tally:
    """The tally of pairs whose minors stand bucket by bucket; `starts` has the end added."""
    seen = np.full(n_minor, -1, np.int32)
    n_distinct = _n_distinct(starts, minors, seen)
    keys = np.empty(n_distinct, key_type((len(starts) - 1) * n_minor))
    counts, table = np.empty(n_distinct, weights.dtype), np.zeros(n_minor, weights.dtype)
    _tally_buckets(starts, minors, weights, table, np.zeros(n_minor // 64 + 1, np.uint64), keys, counts)
    return keys, counts


def add(first: Tally, second: Tally) -> Tally:
    """The tally of both; many keys are met in one walk over the two."""
    keys, counts, other_keys, other_counts = *first, *second
    if counts.sum(dtype=np.int64) + other_counts.sum(dtype=np.int64) >= _FITS:
        counts, other_counts = counts.astype(np.int64), other_counts.astype(np.int64)
    same_types = keys.dtype == other_keys.dtype and counts.dtype == other_counts.dtype
    if same_types and len(keys) + len(other_keys) > _MANY:
        n_most = len(keys) + len(other_keys)
        room = np.empty(n_most, keys.dtype), np.empty(n_most, counts.dtype)
        n_found = _walk((keys, counts), (other_keys, other_counts), room)
        return first_of(room, n_found)
    at = np.searchsorted(keys, other_keys)
    is_new = np.append(keys, -1)[at] != other_keys
    merged = np.insert(keys, at[is_new], other_keys[is_new])
    totals = np.insert(counts, at[is_new], counts.dtype.type(0))
    totals[at + np.cumsum(is_new) - is_new] += other_counts
    return merged, totals


def first_of(room: Tally, n_found: int) -> Tally:
    """The first entries of arrays of one's own, which give the rest of their room back; nothing is copied."""
    for array in room:
        array.resize(n_found, refcheck=False)
    return room


def subtract(first: Tally, second: Tally) -> Tally:
    """The second must be a part of the first. The keys stay the same, and are shared: some may count zero."""
    keys, counts = first[0], first[1].copy()
    counts[np.searchsorted(keys, second[0])] -= second[1].astype(counts.dtype)
    return keys, counts


def pruned(found: Tally, most: int) -> tuple[Tally, Longs]:
    """At most so many keys, and how many keys, and counts of theirs, were dropped: the rarest.

    All keys of one count stay or go: which of them are met first says nothing.
    """
    keys, counts = found
    if len(keys) <= most:
        return found, np.zeros(2, np.int64)
    least = _of_rank(counts, len(keys) - most - 1)  # the most frequent of those that must go
    n_dropped, lost = _dropped(counts, least)
    room = np.empty(len(keys) - n_dropped, keys.dtype), np.empty(len(keys) - n_dropped, counts.dtype)
    _keep_above(found, least, room)
    return room, np.array([n_dropped, lost])


def _of_rank(counts: Keys, rank: int) -> int:
    """The count at a place in their order, from the least; nearly all are small, and looked up."""
    reached = np.cumsum(_of_each_count(counts, np.zeros(_SMALL + 1, np.int64)))
    if reached[-2] > rank:
        return int(np.searchsorted(reached, rank, side="right"))
    return int(np.partition(counts, rank)[rank])


def minor_type(n_minor: int) -> type[np.integer[Any]]:
    """The type that minors are held in."""
    return np.uint16 if n_minor < 1 << 16 else np.int32 if n_minor < _FITS else np.int64


def key_type(n_keys: int) -> type[np.signedinteger[Any]]:
    """The type that keys are held in."""
    return np.int32 if n_keys < _FITS else np.int64


def _narrow(counts: Longs) -> Keys:
    return counts.astype(np.int32) if counts.sum() < _FITS else counts


@kernel
def _bucket(major: Keys, starts: Longs, order: NDArray[np.int32]) -> None:
    """Where the bucket of each major begins (with the end, and one more), and the pairs bucket by bucket."""
    for at in range(len(major)):
        starts[major[at] + 2] += 1
    for value in range(2, len(starts)):
        starts[value] += starts[value - 1]
    for at in range(len(major)):
        order[starts[major[at] + 1]] = at
        starts[major[at] + 1] += 1


@kernel
def _tally_buckets(
    starts: Longs,
    minors: Keys,
    weights: Keys,
    table: Keys,
    met: NDArray[np.uint64],
    keys: Keys,
    counts: Keys,
) -> None:
    """Distinct pairs into `keys`, and the sums of their weights (one for all, or each) into `counts`."""
    n_found, each, n_minor = 0, len(weights) == len(minors), len(table)
    for major in range(len(starts) - 1):
        if starts[major] == starts[major + 1]:
            continue
        for at in range(starts[major], starts[major + 1]):
            value = np.int64(minors[at])
            table[value] += weights[at] if each else weights[0]
            met[value >> 6] |= np.uint64(1) << np.uint64(value & 63)
        n_found = take_met(np.int64(major) * n_minor, table, met, (keys, counts), n_found)


@part
def take_met(first: Any, table: Keys, met: NDArray[np.uint64], found: Tally, n_found: int) -> int:
    """Move the cells of a table that were met behind those found; the key of its first cell is `first`."""
    for word in range(len(met)):
        bits = met[word]
        while bits:
            value = 64 * word + np.int64(lowest_bit(bits))
            found[0][n_found], found[1][n_found] = first + value, table[value]
            table[value] = 0
            n_found += 1
            bits &= bits - np.uint64(1)
        met[word] = 0
    return n_found


@kernel
def _walk(first: Tally, second: Tally, found: Tally) -> int:
    """The number of keys of the sum, which are written with their counts; steps are sums, not branches."""
    (keys, counts), (other_keys, other_counts) = first, second
    at, other, n_found = 0, 0, 0
    while at < len(keys) and other < len(other_keys):
        key, other_key = keys[at], other_keys[other]
        here, there = key <= other_key, other_key <= key
        found[0][n_found] = min(key, other_key)
        found[1][n_found] = counts[at] * here + other_counts[other] * there
        at, other, n_found = at + here, other + there, n_found + 1
    for rest in range(at, len(keys)):
        found[0][n_found], found[1][n_found] = keys[rest], counts[rest]
        n_found += 1
    for rest in range(other, len(other_keys)):
        found[0][n_found], found[1][n_found] = other_keys[rest], other_counts[rest]
        n_found += 1
    return n_found


@kernel
def _of_each_count(counts: Keys, table: Longs) -> Longs:
    """How many keys have each count; the last cell holds all larger ones."""
    most = len(table) - 1
    for at in range(len(counts)):
        table[min(counts[at], most)] += 1
    return table


@kernel
def _dropped(counts: Keys, least: int) -> tuple[int, int]:
    """How many keys count no more than `least`, and how much they count together."""
    n_dropped, lost = 0, 0
    for at in range(len(counts)):
        goes = counts[at] <= least
        n_dropped += goes
        lost += counts[at] * goes
    return n_dropped, lost


@kernel
def _keep_above(found: Tally, least: int, room: Tally) -> None:
    (keys, counts), n_kept = found, 0
    for at in range(len(keys)):
        if counts[at] > least:
            room[0][n_kept], room[1][n_kept] = keys[at], counts[at]
            n_kept += 1


@kernel
def _n_distinct(starts: Longs, minors: Keys, seen: NDArray[np.int32]) -> int:
    """The number of distinct pairs; `seen` holds -1 for each minor."""
    n_distinct = 0
    for major in range(len(starts) - 1):
        for at in range(starts[major], starts[major + 1]):
            n_distinct += seen[minors[at]] != major
            seen[minors[at]] = major
    return n_distinct
