"""How often integer keys occur: sorted distinct keys with their counts, which add up and subtract.

Pairs (major, minor) from small ranges are put into a bucket a major, and the minors of a bucket counted
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


def tally_pairs(major: Keys, minor: Keys, n_major: int, n_minor: int, counts: Keys | None = None) -> Tally:
    """The tally of `major * n_minor + minor`; with `counts`, each pair occurs so often."""
    if n_major > MOST_MAJORS:
        flat = major.astype(np.int64) * n_minor + minor
        keys, totals = tally(flat, None if counts is None else counts.astype(np.int64))
        return keys.astype(_key_type(n_major * n_minor)), _narrow(totals)
    weights = ONCE if counts is None else counts
    starts, order = _buckets(major, n_major)
    return tally_buckets(starts, minor[order], weights[order] if counts is not None else weights, n_minor)


def tally_buckets(starts: Longs, minors: Keys, weights: Keys, n_minor: int) -> Tally:
    """The tally of pairs whose minors stand bucket by bucket; `starts` has the end added."""
    like = np.empty(0, _key_type((len(starts) - 1) * n_minor))
    return _tally_buckets(starts, minors, weights, n_minor, like)


def add(first: Tally, second: Tally) -> Tally:
    keys, counts, other_keys, other_counts = *first, *second
    if counts.sum(dtype=np.int64) + other_counts.sum(dtype=np.int64) >= _FITS:
        counts, other_counts = counts.astype(np.int64), other_counts.astype(np.int64)
    return _merge(keys, counts, other_keys, other_counts)


def subtract(first: Tally, second: Tally) -> Tally:
    """The second must be a part of the first. The keys stay the same, and are shared: some may count zero."""
    keys, counts = first[0], first[1].copy()
    counts[np.searchsorted(keys, second[0])] -= second[1].astype(counts.dtype)
    return keys, counts


def _key_type(n_keys: int) -> type[np.signedinteger[Any]]:
    return np.int32 if n_keys < _FITS else np.int64


def _narrow(counts: Longs) -> Keys:
    return counts.astype(np.int32) if counts.sum() < _FITS else counts


@kernel
def _buckets(major: Keys, n_major: int) -> tuple[Longs, NDArray[np.int32]]:
    """Where the bucket of each major begins (with the end), and the pairs bucket by bucket."""
    starts = np.zeros(n_major + 1, np.int64)
    for value in major:
        starts[value + 1] += 1
    for value in range(n_major):
        starts[value + 1] += starts[value]
    place, order = starts.copy(), np.empty(len(major), np.int32)
    for at in range(len(major)):
        order[place[major[at]]] = at
        place[major[at]] += 1
    return starts, order


@kernel
def _tally_buckets(starts: Longs, minors: Keys, weights: Keys, n_minor: int, like: Keys) -> tuple[Keys, Keys]:
    """Distinct pairs as keys of the type of `like`, and the sums of their weights (one for all, or each)."""
    n_keys = _n_distinct(starts, minors, n_minor)
    keys, counts, n_found = np.empty(n_keys, like.dtype), np.empty(n_keys, weights.dtype), 0
    table, met = np.zeros(n_minor, weights.dtype), np.zeros(n_minor // 64 + 1, np.uint64)
    each = len(weights) == len(minors)
    for major in range(len(starts) - 1):
        if starts[major] == starts[major + 1]:
            continue
        for at in range(starts[major], starts[major + 1]):
            value = np.int64(minors[at])
            table[value] += weights[at] if each else weights[0]
            met[value >> 6] |= np.uint64(1) << np.uint64(value & 63)
        for word in range(len(met)):
            bits = met[word]
            while bits:
                value = 64 * word + np.int64(lowest_bit(bits))
                keys[n_found], counts[n_found] = np.int64(major) * n_minor + value, table[value]
                table[value] = 0
                n_found += 1
                bits &= bits - np.uint64(1)
            met[word] = 0
    return keys, counts


@part
def _n_distinct(starts: Longs, minors: Keys, n_minor: int) -> int:
    seen_in, n_distinct = np.full(n_minor, -1, np.int32), 0
    for major in range(len(starts) - 1):
        for at in range(starts[major], starts[major + 1]):
            n_distinct += seen_in[minors[at]] != major
            seen_in[minors[at]] = major
    return n_distinct


@kernel
def _merge(keys: Keys, counts: Keys, other_keys: Keys, other_counts: Keys) -> tuple[Keys, Keys]:
    """Two tallies as one."""
    here, there, n_merged = 0, 0, 0
    while here < len(keys) and there < len(other_keys):  # how many there are first: no room is wasted
        left, right = keys[here], other_keys[there]
        here, there, n_merged = here + (left <= right), there + (right <= left), n_merged + 1
    n_merged += len(keys) - here + len(other_keys) - there
    merged, totals = np.empty(n_merged, keys.dtype), np.empty(n_merged, counts.dtype)
    here = there = 0
    for at in range(n_merged):
        if there == len(other_keys) or (here < len(keys) and keys[here] < other_keys[there]):
            merged[at], totals[at] = keys[here], counts[here]
            here += 1
        elif here == len(keys) or other_keys[there] < keys[here]:
            merged[at], totals[at] = other_keys[there], other_counts[there]
            there += 1
        else:
            merged[at], totals[at] = keys[here], counts[here] + other_counts[there]
            here, there = here + 1, there + 1
    return merged, totals
