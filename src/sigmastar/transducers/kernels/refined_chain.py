"""Kernels of Markov chains over symbols that are refined into substates.

    p(a1 .. aT) = sum over z of prod_t p(a_t, z_t | a_t-1, z_t-1),      a_0 = start, a_T+1 = end

Moves are stored where the pair of symbols was seen, a block of substates x substates for each; elsewhere
    p(b, z' | a, z) = spare[a, z] p(b | a) p(z' | b).
A position knows the number of its pair of symbols, or -1, and then p(b | a).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sigmastar.core.jit import kernel, part

Array = NDArray[np.float64]
Integers = NDArray[np.int32]
Longs = NDArray[np.int64]


@part
def _move(
    state: Array,
    a: int,
    b: int,
    pair: int,
    bigram: float,
    firsts: Longs,
    block_starts: Longs,
    blocks: Array,
    spare: Array,
    shares: Array,
    result: Array,
) -> None:
    """One step forward from the substates of `a` to those of `b`."""
    ka, kb = firsts[a + 1] - firsts[a], firsts[b + 1] - firsts[b]
    for to in range(kb):
        result[to] = 0.0
    if pair >= 0:
        at = block_starts[pair]
        for of in range(ka):
            for to in range(kb):
                result[to] += state[of] * blocks[at + of * kb + to]
    else:
        left = 0.0
        for of in range(ka):
            left += state[of] * spare[firsts[a] + of]
        for to in range(kb):
            result[to] = left * bigram * shares[firsts[b] + to]


@kernel
def chain_probabilities(
    symbols: Integers,
    ends: Longs,
    pairs: Longs,
    bigrams: Array,
    firsts: Longs,
    block_starts: Longs,
    blocks: Array,
    spare: Array,
    shares: Array,
) -> Array:
    """p(next symbol | symbols so far) at every position but the ends, where it is one.

    `symbols` has the start before and the end after each string.
    """
    widest = 1
    for a in range(len(firsts) - 1):
        widest = max(widest, firsts[a + 1] - firsts[a])
    now, then, steps = np.empty(widest), np.empty(widest), np.ones(len(symbols))
    for string in range(len(ends) - 1):
        now[0] = 1.0
        for at in range(ends[string], ends[string + 1] - 1):
            a, b = symbols[at], symbols[at + 1]
            pair, bigram = pairs[at], bigrams[at]
            _move(now, a, b, pair, bigram, firsts, block_starts, blocks, spare, shares, then)
            total, kb = 0.0, firsts[b + 1] - firsts[b]
            for z in range(kb):
                total += then[z]
            steps[at] = total
            for z in range(kb):
                now[z] = then[z] / total if total > 0.0 else 0.0
    return steps


@kernel
def chain_expectations(
    symbols: Integers, ends: Longs, pairs: Longs, firsts: Longs, block_starts: Longs, blocks: Array
) -> tuple[Array, float]:
    """Expected counts of moves of substates, in blocks, and the log-likelihood; all pairs are known."""
    counts, log = np.zeros(len(blocks)), 0.0
    widest, longest = 1, 0
    for a in range(len(firsts) - 1):
        widest = max(widest, firsts[a + 1] - firsts[a])
    for string in range(len(ends) - 1):
        longest = max(longest, ends[string + 1] - ends[string])
    before, scale = np.zeros((longest, widest)), np.zeros(longest)
    after, earlier = np.zeros(widest), np.zeros(widest)
    for string in range(len(ends) - 1):
        first, n = ends[string], ends[string + 1] - ends[string]
        before[0, 0] = 1.0
        for t in range(n - 1):
            a, b = symbols[first + t], symbols[first + t + 1]
            ka, kb = firsts[a + 1] - firsts[a], firsts[b + 1] - firsts[b]
            at, total = block_starts[pairs[first + t]], 0.0
            for to in range(kb):
                before[t + 1, to] = 0.0
            for of in range(ka):
                for to in range(kb):
                    before[t + 1, to] += before[t, of] * blocks[at + of * kb + to]
            for to in range(kb):
                total += before[t + 1, to]
            scale[t + 1] = total
            log += np.log(total)
            for to in range(kb):
                before[t + 1, to] /= total
        after[0] = 1.0
        for t in range(n - 2, -1, -1):
            a, b = symbols[first + t], symbols[first + t + 1]
            ka, kb = firsts[a + 1] - firsts[a], firsts[b + 1] - firsts[b]
            at = block_starts[pairs[first + t]]
            for of in range(ka):
                earlier[of] = 0.0
                for to in range(kb):
                    weight = blocks[at + of * kb + to] * after[to] / scale[t + 1]
                    counts[at + of * kb + to] += before[t, of] * weight
                    earlier[of] += weight
            for of in range(ka):
                after[of] = earlier[of]
    return counts, log
