"""Outputs of an input under a joint n-gram of alignment units: a beam over input positions.

A hypothesis at position i is (context, output so far): its weight is the sum over the alignments of
x[:i] that lead there. Hypotheses of one output in different contexts stay apart until their contexts
meet; at the end the caller adds up what spells the same output. Outputs are told apart by a 64-bit hash.

A context is a node of the back-off trie. `row_next[at]` is the context that follows on entry `at` of its
rows; an outcome that a context has not seen is followed as in its parent, where it is looked for next.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sigmastar.core.jit import kernel, part

Array = NDArray[np.float64]
Integers = NDArray[np.int32]
Longs = NDArray[np.int64]
Buckets = tuple[Integers, Longs, Array, Integers, Integers, Longs]
"""Candidates by bucket: context, hash of the output, log-weight, hypothesis before, unit; and how many."""
Trie = tuple[Integers, Longs, Integers, Array, Array, Integers]
"""Of contexts: parents; where rows start; their outcomes, own weights; back-off weights; what follows."""

SKIP = -30.0  # log-weight of an input symbol that no unit reads: the last resort
WORST = 14.0  # a hypothesis this far below the best of its position, in nats, is dropped
N_INSERTED = 3  # units without input in a row, at most
_ROOM = 4096  # candidates of a position, before the best are picked


@kernel
def _picked(bucket: int, beam: int, buckets: Buckets) -> int:
    """Add up candidates of one context and output, keep the best `beam`, best first; how many are left."""
    contexts, hashes, logs = buckets[0][bucket], buckets[1][bucket], buckets[2][bucket]
    backs, units, n = buckets[3][bucket], buckets[4][bucket], buckets[5][bucket]
    if n == 0:
        return 0
    keys, to, sums = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n)
    for at in range(n):
        keys[at] = hashes[at] ^ (np.int64(contexts[at]) * 0x27D4EB2F165667C5)
    order, kept = np.argsort(keys), 0  # `to`: the best candidate of each key, and `sums` that of all
    for place in range(n):
        at = order[place]
        if kept and keys[to[kept - 1]] == keys[at]:
            high = max(sums[kept - 1], logs[at])
            sums[kept - 1] = high + np.log(np.exp(sums[kept - 1] - high) + np.exp(logs[at] - high))
            if logs[at] > logs[to[kept - 1]]:
                to[kept - 1] = at
        else:
            to[kept], sums[kept] = at, logs[at]
            kept += 1
    best, left = np.argsort(-sums[:kept])[:beam], 0
    floor = sums[best[0]] - WORST
    while left < len(best) and sums[best[left]] >= floor:
        left += 1
    codes, whole = np.empty(left, np.int64), np.empty((left, 3), np.int32)
    for place in range(left):
        at = to[best[place]]
        codes[place] = hashes[at]
        whole[place, 0], whole[place, 1], whole[place, 2] = contexts[at], backs[at], units[at]
    for place in range(left):
        hashes[place], logs[place] = codes[place], sums[best[place]]
        contexts[place], backs[place], units[place] = whole[place, 0], whole[place, 1], whole[place, 2]
    buckets[5][bucket] = left
    return left


@part
def _begin(context: int, buckets: Buckets) -> None:
    """The empty output, as the only candidate."""
    contexts, hashes, logs, backs, units, sizes = buckets
    sizes[:] = 0
    contexts[0, 0], hashes[0, 0], logs[0, 0], backs[0, 0], units[0, 0] = context, 17, 0.0, -1, -1
    sizes[0] = 1


@part
def _push(
    bucket: int, context: int, code: int, log: float, back: int, unit: int, beam: int, buckets: Buckets
) -> None:
    """A candidate into a bucket; a full one is cut to its best first."""
    contexts, hashes, logs, backs, units, sizes = buckets
    at = sizes[bucket]
    if at == contexts.shape[1]:
        at = _picked(bucket, beam, buckets)
    contexts[bucket, at], hashes[bucket, at], logs[bucket, at] = context, code, log
    backs[bucket, at], units[bucket, at] = back, unit
    sizes[bucket] = at + 1


@part
def _moved(source: int, target: int, buckets: Buckets) -> None:
    """All candidates of a bucket into another, which is empty."""
    contexts, hashes, logs, backs, units, sizes = buckets
    n = sizes[source]
    for at in range(n):
        contexts[target, at], hashes[target, at] = contexts[source, at], hashes[source, at]
        logs[target, at], backs[target, at] = logs[source, at], backs[source, at]
        units[target, at] = units[source, at]
    sizes[target], sizes[source] = n, 0


@part
def _fill(
    node: int, outcomes: Array, following: Integers, touched: Integers, trie: Trie
) -> tuple[int, float]:
    """p(. | node) less the share of the empty context: how many outcomes were touched, and that share."""
    parent, row_starts, row_outcomes, own, backoff, row_next = trie
    n_touched, weight = 0, 1.0
    while node > 0:
        for at in range(row_starts[node], row_starts[node + 1]):
            outcome = row_outcomes[at]
            if following[outcome] < 0:
                following[outcome] = row_next[at]
                touched[n_touched] = outcome
                n_touched += 1
            outcomes[outcome] += weight * own[at]
        weight *= backoff[node]
        node = parent[node]
    return n_touched, weight


@part
def _longer(code: int, symbols: Integers, length: int) -> int:
    """The hash of an output with some symbols more."""
    for place in range(length):
        code = (code + symbols[place] + 1) * 0x5851F42D4C957F2D
        code ^= code >> 29
    return code


@part
def _reads(xs: Integers, i: int, codes: Integers, length: int) -> bool:
    same = i + length <= len(xs)
    for place in range(length):
        same = same and xs[i + place] == codes[place]
    return same


@part
def _buckets(n_buckets: int, room: int) -> Buckets:
    shape = (n_buckets, room)
    return (
        np.empty(shape, np.int32),
        np.empty(shape, np.int64),
        np.empty(shape),
        np.empty(shape, np.int32),
        np.empty(shape, np.int32),
        np.zeros(n_buckets, np.int64),
    )


@part
def _traced(hyp: int, backs: Integers, units: Integers, paths: Integers, n_path: int) -> tuple[Integers, int]:
    """The units that led to a hypothesis, in order behind those that `paths` holds."""
    begin = n_path
    while hyp >= 0:
        if units[hyp] >= 0:
            if n_path == len(paths):
                more = np.empty(2 * n_path, np.int32)
                for at in range(n_path):
                    more[at] = paths[at]
                paths = more
            paths[n_path] = units[hyp]
            n_path += 1
        hyp = backs[hyp]
    for step in range((n_path - begin) // 2):  # they were found from the last to the first
        low, high = begin + step, n_path - 1 - step
        paths[low], paths[high] = paths[high], paths[low]
    return paths, n_path


@kernel
def joint_beam(
    x: Integers,
    x_ends: Longs,
    beam: int,
    n_best: int,
    input_codes: Integers,
    output_codes: Integers,
    input_lengths: Integers,
    output_lengths: Integers,
    first_starts: Longs,
    first_units: Integers,
    start: int,
    base: Array,
    base_next: Integers,
    parent: Integers,
    row_starts: Longs,
    row_outcomes: Integers,
    own: Array,
    backoff: Array,
    row_next: Integers,
) -> tuple[Integers, Longs, Longs, Array]:
    """The best paths of units for every input: their units in a row, ends, inputs and log-weights."""
    trie = (parent, row_starts, row_outcomes, own, backoff, row_next)
    n_words, end, n_inputs = len(x_ends) - 1, len(input_lengths), len(first_starts) - 2
    outcomes, following = np.zeros(end + 1), np.full(end + 1, -1, np.int32)
    touched = np.empty(end + 1, np.int32)
    rounds = 1 + (N_INSERTED if first_starts[n_inputs + 1] > first_starts[n_inputs] else 0)
    cycle = 2
    for length in input_lengths:
        cycle = max(cycle, length + 1)  # buckets: positions in turn, and one for units without input
    buckets, spare = _buckets(cycle + 1, max(_ROOM, 2 * beam + end + 1)), cycle
    paths, n_path = np.empty(1024, np.int32), 0
    ends, owners = np.zeros(n_words * n_best + 1, np.int64), np.empty(n_words * n_best, np.int64)
    weights, found = np.empty(n_words * n_best), 0
    for word in range(n_words):
        xs = x[x_ends[word] : x_ends[word + 1]]
        most = (len(xs) + 1) * rounds * beam
        backs, units = np.empty(most, np.int32), np.empty(most, np.int32)
        finals, final_logs = np.empty(rounds * beam, np.int64), np.empty(rounds * beam)
        n_hyps, n_final = 0, 0
        _begin(start, buckets)
        for i in range(len(xs) + 1):
            source = i % cycle
            for turn in range(rounds):
                for hyp in range(_picked(source, beam, buckets)):
                    context, code = buckets[0][source, hyp], buckets[1][source, hyp]
                    log = buckets[2][source, hyp]
                    backs[n_hyps], units[n_hyps] = buckets[3][source, hyp], buckets[4][source, hyp]
                    n_touched, weight = _fill(context, outcomes, following, touched, trie)
                    if i == len(xs):
                        finals[n_final] = n_hyps
                        final_logs[n_final] = log + np.log(outcomes[end] + weight * base[end])
                        n_final += 1
                    elif turn == 0:
                        _push((i + 1) % cycle, context, code, log + SKIP, n_hyps, -1, beam, buckets)
                    for symbol in (xs[i] if i < len(xs) else -1, n_inputs if turn + 1 < rounds else -1):
                        if symbol < 0:
                            continue
                        for place in range(first_starts[symbol], first_starts[symbol + 1]):
                            unit = first_units[place]
                            p = input_lengths[unit]
                            if not _reads(xs, i, input_codes[unit], p):
                                continue
                            after = following[unit] if following[unit] >= 0 else base_next[unit]
                            step = np.log(outcomes[unit] + weight * base[unit])
                            longer = _longer(code, output_codes[unit], output_lengths[unit])
                            bucket = (i + p) % cycle if p else spare
                            _push(bucket, after, longer, log + step, n_hyps, unit, beam, buckets)
                    for place in range(n_touched):
                        outcomes[touched[place]], following[touched[place]] = 0.0, -1
                    n_hyps += 1
                buckets[5][source] = 0
                _moved(spare, source, buckets)  # what was inserted here is looked at next
            buckets[5][source] = 0
        for place in np.argsort(-final_logs[:n_final])[:n_best]:
            paths, n_path = _traced(finals[place], backs, units, paths, n_path)
            owners[found], weights[found] = word, final_logs[place]
            found += 1
            ends[found] = n_path
    return paths[:n_path], ends[: found + 1], owners[:found], weights[:found]
