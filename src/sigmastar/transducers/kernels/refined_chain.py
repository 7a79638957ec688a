"""Kernels of Markov chains over symbols that are refined into substates.

    p(a1 .. aT) = sum over z of prod_t p(a_t, z_t | a_t-1, z_t-1),      a_0 = start, a_T+1 = end

Moves are stored where the pair of symbols was seen, a block of substates x substates for each; elsewhere
    p(b, z' | a, z) = spare[a, z] p(b | a) p(z' | b).
A position knows the number of its pair of symbols, or -1, and then p(b | a).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sigmastar.core.arrays import Floats, Int32s, Int64s
from sigmastar.core.jit import kernel, part


class ChainText(NamedTuple):
    """Strings in a row, each between two edges; where each begins and ends; pairs of neighbours."""

    symbols: Int32s
    ends: Int64s
    pairs: Int64s  # the block of each symbol with the next, -1 where there is none
    bigrams: Floats  # p(next symbol | symbol), looked at where there is no block


class ChainArrays(NamedTuple):
    """Substates firsts[a] .. firsts[a + 1] of symbol a, and the moves between them."""

    firsts: Int64s
    block_starts: Int64s
    blocks: Floats
    spare: Floats
    shares: Floats


@part
def _widest(firsts: Int64s) -> int:
    widest = 1
    for a in range(len(firsts) - 1):
        widest = max(widest, firsts[a + 1] - firsts[a])
    return widest


@part
def _move(now: Floats, then: Floats, text: ChainText, at: int, chain: ChainArrays) -> float:
    """One step forward from position `at`, normalized; the sum before that."""
    a, b = text.symbols[at], text.symbols[at + 1]
    ka, kb = chain.firsts[a + 1] - chain.firsts[a], chain.firsts[b + 1] - chain.firsts[b]
    total, left = 0.0, 0.0
    for to in range(kb):
        then[to] = 0.0
    for of in range(ka):
        if text.pairs[at] >= 0:
            row = chain.block_starts[text.pairs[at]] + of * kb
            for to in range(kb):
                then[to] += now[of] * chain.blocks[row + to]
        else:
            left += now[of] * chain.spare[chain.firsts[a] + of]
    for to in range(kb):
        if text.pairs[at] < 0:
            then[to] = left * text.bigrams[at] * chain.shares[chain.firsts[b] + to]
        total += then[to]
    for to in range(kb):
        then[to] = then[to] / total if total > 0.0 else 0.0
    return total


@kernel
def chain_probabilities(text: ChainText, chain: ChainArrays) -> Floats:
    """p(next symbol | symbols so far) at every position but the ends, where it is one."""
    widest = _widest(chain.firsts)
    now, then, steps = np.empty(widest), np.empty(widest), np.ones(len(text.symbols))
    for string in range(len(text.ends) - 1):
        now[0] = 1.0
        for at in range(text.ends[string], text.ends[string + 1] - 1):
            steps[at] = _move(now, then, text, at, chain)
            now, then = then, now
    return steps


@kernel
def chain_expectations(text: ChainText, chain: ChainArrays) -> tuple[Floats, float]:
    """Expected counts of moves of substates, in blocks, and the log-likelihood; all pairs have blocks."""
    counts, log, longest = np.zeros(len(chain.blocks)), 0.0, 0
    for string in range(len(text.ends) - 1):
        longest = max(longest, text.ends[string + 1] - text.ends[string])
    before, scale = np.zeros((longest, _widest(chain.firsts))), np.zeros(longest)
    for string in range(len(text.ends) - 1):
        first, last = text.ends[string], text.ends[string + 1] - 1
        before[0, 0] = 1.0
        for at in range(first, last):
            scale[at - first] = _move(before[at - first], before[at - first + 1], text, at, chain)
            log += np.log(scale[at - first])
        _add_expected(text, first, last, chain, before, scale, counts)
    return counts, log


@kernel
def _add_expected(
    text: ChainText, first: int, last: int, chain: ChainArrays, before: Floats, scale: Floats, counts: Floats
) -> None:
    """Add the expected moves of one string."""
    after, earlier = np.zeros(before.shape[1]), np.zeros(before.shape[1])
    after[0] = 1.0
    for at in range(last - 1, first - 1, -1):
        a, b = text.symbols[at], text.symbols[at + 1]
        kb = chain.firsts[b + 1] - chain.firsts[b]
        for of in range(chain.firsts[a + 1] - chain.firsts[a]):
            earlier[of], row = 0.0, chain.block_starts[text.pairs[at]] + of * kb
            for to in range(kb):
                weight = chain.blocks[row + to] * after[to] / scale[at - first]
                counts[row + to] += before[at - first, of] * weight
                earlier[of] += weight
        after, earlier = earlier, after
