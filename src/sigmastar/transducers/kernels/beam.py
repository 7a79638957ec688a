"""Outputs of an input under a joint n-gram of alignment units: a beam over input positions.

A hypothesis at position i is (context, output so far): its weight is the sum over the alignments of
x[:i] that lead there. Hypotheses of one output in different contexts stay apart until their contexts
meet; at the end the caller adds up what spells the same output. Outputs are identified by a 64-bit hash.
Candidates of a position lie in its bucket until the position is reached, and the best of them become
hypotheses. Units without input lead to a bucket of their own, which is looked at next.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sigmastar.core.arrays import Floats, Int32s, Int64s
from sigmastar.core.jit import kernel, part
from sigmastar.core.scaling import grown
from sigmastar.transducers.data import UnitArrays

SKIP = -30.0  # log-weight of an input symbol that no unit reads: the last resort
WORST = 14.0  # a hypothesis this far below the best of its position, in nats, is dropped
N_INSERTED = 3  # units without input in a row, at most
_ROOM = 4096  # candidates of a position, before the best are picked


class NgramTables(NamedTuple):
    """A back-off n-gram: a trie of contexts, and the outcomes seen in each context.

    `row_next[at]` is the context that follows on entry `at` of the rows; an outcome that a context has not
    seen is followed as in its parent, where it is looked for next.
    """

    start: int
    base: Floats  # p(. | nothing), that of the end last
    base_next: Int32s  # the context after each unit where nothing longer is known
    parent: Int32s
    row_starts: Int64s
    outcomes: Int32s
    own: Floats
    backoff: Floats
    row_next: Int32s


class Buckets(NamedTuple):
    """Candidates by bucket: positions in turn, then one for units without input, and one to sort in."""

    marks: Int32s  # bucket x place x (context, the hypothesis before, unit)
    hashes: Int64s  # of the output
    logs: Floats
    sizes: Int64s


class Row(NamedTuple):
    """p(. | context) of all units, less the share of the empty context."""

    outcomes: Floats
    following: Int32s  # the context after each unit, -1 where only the empty context has it
    touched: Int32s  # the units that have an entry


class Search(NamedTuple):
    """What a search reads, and its work space."""

    units: UnitArrays
    ngram: NgramTables
    beam: int
    buckets: Buckets
    row: Row


class Hypotheses(NamedTuple):
    """All hypotheses of an input: the one before each, its unit; and those that read all of the input."""

    backs: Int32s
    units: Int32s
    finals: Int64s
    logs: Floats


@part
def reads(xs: Int32s, i: int, codes: Int32s, length: int) -> bool:
    """Whether a unit reads an input from position i on."""
    same = i + length <= len(xs)
    for place in range(length):
        same = same and xs[i + place] == codes[place]
    return same


@part
def _search(units: UnitArrays, ngram: NgramTables, beam: int) -> Search:
    n_units, n_buckets = len(units.input_lengths), 4
    for length in units.input_lengths:
        n_buckets = max(n_buckets, length + 3)
    shape = (n_buckets, max(_ROOM, 2 * beam + n_units + 1))
    buckets = Buckets(
        np.empty((*shape, 3), np.int32),
        np.empty(shape, np.int64),
        np.empty(shape),
        np.zeros(n_buckets, np.int64),
    )
    row = Row(np.zeros(n_units + 1), np.full(n_units + 1, -1, np.int32), np.empty(n_units + 1, np.int32))
    return Search(units, ngram, beam, buckets, row)


@kernel
def largest_first(values: Floats) -> Int64s:
    """The places of numbers in the order of their sizes; a sort by merging compiles fast."""
    n, width = len(values), 1
    order, other = np.empty(n, np.int64), np.empty(n, np.int64)
    for place in range(n):
        order[place] = place
    while width < n:
        for low in range(0, n, 2 * width):
            left, right = low, min(low + width, n)
            middle, high = right, min(low + 2 * width, n)
            for place in range(low, high):
                if left < middle and (right == high or values[order[left]] >= values[order[right]]):
                    other[place] = order[left]
                    left += 1
                else:
                    other[place] = order[right]
                    right += 1
        order, other = other, order
        width *= 2
    return order


@part
def _merged(bucket: int, buckets: Buckets, best: Int64s, sums: Floats) -> int:
    """Add up candidates of one context and output: the best of each, and the sum; how many are left."""
    logs, n, kept, size = buckets.logs[bucket], len(best), 0, 16
    while size < 2 * n:
        size *= 2
    keys, table = np.empty(n, np.int64), np.zeros(size, np.int64)  # numbers of those kept, from 1
    for at in range(n):
        key = buckets.hashes[bucket, at] ^ (np.int64(buckets.marks[bucket, at, 0]) * 0x27D4EB2F165667C5)
        slot = (key ^ (key >> 32)) & (size - 1)
        while table[slot] > 0 and keys[table[slot] - 1] != key:
            slot = (slot + 1) & (size - 1)
        same = table[slot] - 1
        if same < 0:
            best[kept], sums[kept], keys[kept] = at, logs[at], key
            kept += 1
            table[slot] = kept
        else:
            high = max(sums[same], logs[at])
            sums[same] = high + np.log(np.exp(sums[same] - high) + np.exp(logs[at] - high))
            if logs[at] > logs[best[same]]:
                best[same] = at
    return kept


@part
def _copy(source: int, at: int, target: int, place: int, buckets: Buckets) -> None:
    for mark in range(3):
        buckets.marks[target, place, mark] = buckets.marks[source, at, mark]
    buckets.hashes[target, place] = buckets.hashes[source, at]


@kernel
def _picked(bucket: int, beam: int, buckets: Buckets) -> int:
    """Add up candidates, keep the best `beam` of them, best first; how many are left."""
    n, left, sorting = buckets.sizes[bucket], 0, len(buckets.sizes) - 1
    if n == 0:
        return 0
    best, sums = np.empty(n, np.int64), np.empty(n)
    order = largest_first(sums[: _merged(bucket, buckets, best, sums)])
    floor = sums[order[0]] - WORST
    while left < min(beam, len(order)) and sums[order[left]] >= floor:
        _copy(bucket, best[order[left]], sorting, left, buckets)
        left += 1
    for place in range(left):
        _copy(sorting, place, bucket, place, buckets)
        buckets.logs[bucket, place] = sums[order[place]]
    buckets.sizes[bucket] = left
    return left


@kernel
def _push(
    buckets: Buckets, beam: int, bucket: int, context: int, code: int, log: float, back: int, unit: int
) -> None:
    """A candidate into a bucket; a full one is cut to its best first."""
    at = buckets.sizes[bucket]
    if at == buckets.hashes.shape[1]:
        at = _picked(bucket, beam, buckets)
    buckets.marks[bucket, at, 0], buckets.marks[bucket, at, 1] = context, back
    buckets.marks[bucket, at, 2], buckets.hashes[bucket, at], buckets.logs[bucket, at] = unit, code, log
    buckets.sizes[bucket] = at + 1


@part
def _moved(source: int, target: int, buckets: Buckets) -> None:
    """All candidates of a bucket into another, in place of what it held."""
    n = buckets.sizes[source]
    for at in range(n):
        _copy(source, at, target, at, buckets)
        buckets.logs[target, at] = buckets.logs[source, at]
    buckets.sizes[target], buckets.sizes[source] = n, 0


@part
def _fill(node: int, ngram: NgramTables, row: Row) -> tuple[int, float]:
    """Write the row of a context: how many units were touched, and the share of the empty context."""
    n_touched, weight = 0, 1.0
    while node > 0:
        for at in range(ngram.row_starts[node], ngram.row_starts[node + 1]):
            outcome = ngram.outcomes[at]
            if row.following[outcome] < 0:
                row.following[outcome] = ngram.row_next[at]
                row.touched[n_touched] = outcome
                n_touched += 1
            row.outcomes[outcome] += weight * ngram.own[at]
        weight *= ngram.backoff[node]
        node = ngram.parent[node]
    return n_touched, weight


@part
def _longer(code: int, symbols: Int32s, length: int) -> int:
    """The hash of an output with some symbols more."""
    for place in range(length):
        code = (code + symbols[place] + 1) * 0x5851F42D4C957F2D
        code ^= code >> 29
    return code


@part
def _extend(
    search: Search, xs: Int32s, i: int, symbol: int, weight: float, source: tuple[int, int], number: int
) -> None:
    """Candidates that make a hypothesis longer by a unit whose input begins with `symbol`."""
    units, ngram, buckets, row = search.units, search.ngram, search.buckets, search.row
    code, log = buckets.hashes[source], buckets.logs[source]
    spare = len(buckets.sizes) - 2
    for place in range(units.first_starts[symbol], units.first_starts[symbol + 1]):
        unit: Any = np.int64(units.first_units[place])  # all pushes are of the same types: one is compiled
        p: Any = np.int64(units.input_lengths[unit])
        if not reads(xs, i, units.input_codes[unit], p):
            continue
        after: Any = np.int64(row.following[unit] if row.following[unit] >= 0 else ngram.base_next[unit])
        reached = log + np.log(row.outcomes[unit] + weight * ngram.base[unit])
        longer = _longer(code, units.output_codes[unit], units.output_lengths[unit])
        _push(buckets, search.beam, (i + p) % spare if p else spare, after, longer, reached, number, unit)


@part
def _decoded(search: Search, xs: Int32s) -> Hypotheses:
    """All hypotheses of an input."""
    units, ngram, buckets, row = search.units, search.ngram, search.buckets, search.row
    n, end, cycle = len(xs), len(row.outcomes) - 1, len(buckets.sizes) - 2
    n_inputs = len(units.first_starts) - 2
    rounds = 1 + (N_INSERTED if units.first_starts[n_inputs + 1] > units.first_starts[n_inputs] else 0)
    most, n_hyps, n_final = (n + 1) * rounds * search.beam, 0, 0
    backs, chosen = np.empty(most, np.int32), np.empty(most, np.int32)
    finals, logs = np.empty(rounds * search.beam, np.int64), np.empty(rounds * search.beam)
    for bucket in range(len(buckets.sizes)):
        buckets.sizes[bucket] = 0
    context: Any
    _push(buckets, search.beam, 0, ngram.start, 17, 0.0, -1, -1)
    for i in range(n + 1):
        for turn in range(rounds):
            for at in range(_picked(i % cycle, search.beam, buckets)):
                source = (i % cycle, at)
                marks = buckets.marks[source]
                context, backs[n_hyps], chosen[n_hyps] = np.int64(marks[0]), marks[1], marks[2]
                code, log = buckets.hashes[source], buckets.logs[source]
                n_touched, weight = _fill(context, ngram, row)
                if i == n:
                    finals[n_final] = n_hyps
                    logs[n_final] = log + np.log(row.outcomes[end] + weight * ngram.base[end])
                    n_final += 1
                elif turn == 0:
                    _push(buckets, search.beam, (i + 1) % cycle, context, code, log + SKIP, n_hyps, -1)
                for symbol in (xs[i] if i < n else -1, n_inputs if turn + 1 < rounds else -1):
                    if symbol >= 0:
                        _extend(search, xs, i, symbol, weight, source, n_hyps)
                for place in range(n_touched):
                    row.outcomes[row.touched[place]], row.following[row.touched[place]] = 0.0, -1
                n_hyps += 1
            _moved(cycle, i % cycle, buckets)  # what was inserted here is looked at next
        buckets.sizes[i % cycle] = 0
    return Hypotheses(backs, chosen, finals[:n_final], logs[:n_final])


@part
def _traced(hyp: int, found: Hypotheses, paths: Int32s, n_path: int) -> tuple[Int32s, int]:
    """The units that led to a hypothesis, in order behind those that `paths` holds."""
    begin = n_path
    while hyp >= 0:
        if found.units[hyp] >= 0:
            paths = grown(paths, n_path + 1)
            paths[n_path] = found.units[hyp]
            n_path += 1
        hyp = found.backs[hyp]
    for step in range((n_path - begin) // 2):  # they were found from the last to the first
        low, high = begin + step, n_path - 1 - step
        paths[low], paths[high] = paths[high], paths[low]
    return paths, n_path


@kernel
def joint_beam(
    x: Int32s, x_ends: Int64s, beam: int, n_best: int, units: UnitArrays, ngram: NgramTables
) -> tuple[Int32s, Int64s, Int64s, Floats]:
    """The best paths of units for every input: their units in a row, ends, inputs and log-weights."""
    n_words, search = len(x_ends) - 1, _search(units, ngram, beam)
    paths, n_path, n_found = np.empty(1024, np.int32), 0, 0
    ends, owners = np.zeros(n_words * n_best + 1, np.int64), np.empty(n_words * n_best, np.int64)
    weights = np.empty(n_words * n_best)
    for word in range(n_words):
        found = _decoded(search, x[x_ends[word] : x_ends[word + 1]])
        order = largest_first(found.logs)
        for rank in range(min(n_best, len(order))):
            paths, n_path = _traced(found.finals[order[rank]], found, paths, n_path)
            owners[n_found], weights[n_found] = word, found.logs[order[rank]]
            n_found += 1
            ends[n_found] = n_path
    return paths[:n_path], ends[: n_found + 1], owners[:n_found], weights[:n_found]
