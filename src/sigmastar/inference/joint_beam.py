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

from sigmastar.jit import kernel

Array = NDArray[np.float64]
Integers = NDArray[np.int32]
Longs = NDArray[np.int64]

SKIP = -30.0  # log-weight of an input symbol that no unit reads: the last resort
WORST = 14.0  # a hypothesis this far below the best of its position, in nats, is dropped
N_INSERTED = 3  # units without input in a row, at most
_ROOM = 4096  # candidates of a position, before the best are picked


@kernel
def _picked(
    n: int, beam: int, contexts: Integers, hashes: Longs, logs: Array, backs: Integers, units: Integers
) -> int:
    """Add up candidates of one context and output, keep the best `beam`, best first; how many are left."""
    if n == 0:
        return 0
    keys = hashes[:n] ^ (contexts[:n].astype(np.int64) * 0x27D4EB2F165667C5)
    order, kept = np.argsort(keys), 0
    to = np.empty(n, np.int64)  # the best candidate of each key
    sums = np.empty(n)
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
    best = np.argsort(-sums[:kept])[:beam]
    some = to[best]
    new_contexts, new_hashes = contexts[some].copy(), hashes[some].copy()
    new_backs, new_units = backs[some].copy(), units[some].copy()
    floor, left = sums[best[0]] - WORST, 0
    for place in range(len(best)):
        if sums[best[place]] < floor:
            break
        contexts[place], hashes[place], logs[place] = (
            new_contexts[place],
            new_hashes[place],
            sums[best[place]],
        )
        backs[place], units[place] = new_backs[place], new_units[place]
        left += 1
    return left


@kernel
def _fill(
    node: int,
    outcomes: Array,
    following: Integers,
    touched: Integers,
    base: Array,
    base_next: Integers,
    parent: Integers,
    row_starts: Longs,
    row_outcomes: Integers,
    own: Array,
    backoff: Array,
    row_next: Integers,
) -> tuple[int, float]:
    """p(. | node) less the share of the empty context: how many outcomes were touched, and that share."""
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
    n_words, n_units, end = len(x_ends) - 1, len(input_lengths), len(input_lengths)
    outcomes, following = np.zeros(n_units + 1), np.full(n_units + 1, -1, np.int32)
    touched = np.empty(n_units + 1, np.int32)
    n_inputs = len(first_starts) - 2
    inserts = first_units[first_starts[n_inputs] : first_starts[n_inputs + 1]]
    rounds = 1 + (N_INSERTED if len(inserts) else 0)
    longest = 1
    for unit in range(n_units):
        longest = max(longest, input_lengths[unit])
    room = max(_ROOM, 2 * beam + n_units + 1)

    paths, n_path = np.empty(1024, np.int32), 0
    ends, owners = np.zeros(n_words * n_best + 1, np.int64), np.empty(n_words * n_best, np.int64)
    weights, found = np.empty(n_words * n_best), 0
    width = longest + 2  # buckets: positions i .. i + longest in turn, and one for units without input
    c_context, c_hash = np.empty((width, room), np.int32), np.empty((width, room), np.int64)
    c_log, c_back = np.empty((width, room)), np.empty((width, room), np.int32)
    c_unit, c_size = np.empty((width, room), np.int32), np.zeros(width, np.int64)
    for word in range(n_words):
        xs = x[x_ends[word] : x_ends[word + 1]]
        n = len(xs)
        most = (n + 1) * rounds * beam
        h_back, h_unit = np.empty(most, np.int32), np.empty(most, np.int32)
        f_hyp, f_log = np.empty(rounds * beam, np.int64), np.empty(rounds * beam)
        n_hyps, n_final = 0, 0
        c_size[:] = 0
        c_context[0, 0], c_hash[0, 0], c_log[0, 0], c_back[0, 0], c_unit[0, 0] = start, 17, 0.0, -1, -1
        c_size[0] = 1
        for i in range(n + 1):
            source = i % (longest + 1)
            for turn in range(rounds):
                size = _picked(
                    c_size[source],
                    beam,
                    c_context[source],
                    c_hash[source],
                    c_log[source],
                    c_back[source],
                    c_unit[source],
                )
                spare = longest + 1
                c_size[spare] = 0
                for hyp in range(size):
                    name, log, hashed = n_hyps + hyp, c_log[source, hyp], c_hash[source, hyp]
                    h_back[name], h_unit[name] = c_back[source, hyp], c_unit[source, hyp]
                    n_touched, weight = _fill(
                        c_context[source, hyp],
                        outcomes,
                        following,
                        touched,
                        base,
                        base_next,
                        parent,
                        row_starts,
                        row_outcomes,
                        own,
                        backoff,
                        row_next,
                    )
                    if i == n:
                        f_hyp[n_final] = name
                        f_log[n_final] = log + np.log(outcomes[end] + weight * base[end])
                        n_final += 1
                    for kind in range(2):
                        if kind == 0 and (i == n or xs[i] < 0):
                            continue
                        if kind == 1 and turn + 1 == rounds:
                            continue
                        symbol = xs[i] if kind == 0 else n_inputs
                        for place in range(first_starts[symbol], first_starts[symbol + 1]):
                            unit = first_units[place]
                            p = input_lengths[unit]
                            if i + p > n or (p > 1 and not _reads(xs, i, input_codes[unit], p)):
                                continue
                            target = spare if p == 0 else (i + p) % (longest + 1)
                            at = c_size[target]
                            if at == room:
                                at = _picked(
                                    at,
                                    beam,
                                    c_context[target],
                                    c_hash[target],
                                    c_log[target],
                                    c_back[target],
                                    c_unit[target],
                                )
                            c_context[target, at] = (
                                following[unit] if following[unit] >= 0 else base_next[unit]
                            )
                            c_log[target, at] = log + np.log(outcomes[unit] + weight * base[unit])
                            code = hashed
                            for symbol_at in range(output_lengths[unit]):
                                code = (code + output_codes[unit, symbol_at] + 1) * 0x5851F42D4C957F2D
                                code ^= code >> 29
                            c_hash[target, at] = code
                            c_back[target, at], c_unit[target, at] = name, unit
                            c_size[target] = at + 1
                    if i < n and turn == 0:
                        target = (i + 1) % (longest + 1)
                        at = c_size[target]
                        if at < room:
                            c_context[target, at], c_hash[target, at] = c_context[source, hyp], hashed
                            c_log[target, at], c_back[target, at] = log + SKIP, name
                            c_unit[target, at], c_size[target] = -1, at + 1
                    for place in range(n_touched):
                        outcomes[touched[place]], following[touched[place]] = 0.0, -1
                n_hyps += size
                c_size[source] = 0
                if turn + 1 < rounds:  # what was inserted here is looked at next
                    held = c_size[spare]
                    c_context[source, :held], c_hash[source, :held] = (
                        c_context[spare, :held],
                        c_hash[spare, :held],
                    )
                    c_log[source, :held], c_back[source, :held] = c_log[spare, :held], c_back[spare, :held]
                    c_unit[source, :held], c_size[source] = c_unit[spare, :held], held
            c_size[source] = 0
        for place in np.argsort(-f_log[:n_final])[:n_best]:
            hyp, begin = f_hyp[place], n_path
            while hyp >= 0:
                if h_unit[hyp] >= 0:
                    if n_path == len(paths):
                        paths = np.append(paths, np.empty(len(paths), np.int32))
                    paths[n_path] = h_unit[hyp]
                    n_path += 1
                hyp = h_back[hyp]
            paths[begin:n_path] = paths[begin:n_path][::-1].copy()
            owners[found], weights[found] = word, f_log[place]
            found += 1
            ends[found] = n_path
    return paths[:n_path], ends[: found + 1], owners[:found], weights[:found]


@kernel
def _reads(xs: Integers, i: int, codes: Integers, length: int) -> bool:
    same = True
    for place in range(length):
        same = same and xs[i + place] == codes[place]
    return same
