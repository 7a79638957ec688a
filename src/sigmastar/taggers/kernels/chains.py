"""Chains of candidate tags: marginals, and the best sequences.

Candidates belong to the type of a word: those of type x are `starts[x]:starts[x + 1]` of `tags`. Tables over
the candidates of tokens, and over pairs of candidates of neighbours, are flat: the candidates of token i
stand from `token_starts[i]` on, the pairs (a before, b at i) from `block_starts[i]` on, row by row.

    p(y) prop. to exp sum_i firsts(i, y_i) + arrows(i, y_{i-1}, y_i)
    MBR: argmax_y sum_i mu(i, y_{i-1}, y_i), the N best by the same recursion (Balle et al. 2014)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sigmastar.core.arrays import Flags, Floats, Int32s, Int64s
from sigmastar.core.jit import kernel, part


class Lattice(NamedTuple):
    """The arrays of a `TagLattice`: sentences, and the candidates of every type of words."""

    offsets: Int64s
    types: Int32s
    starts: Int64s
    tags: Int32s
    token_starts: Int64s
    block_starts: Int64s


class Marginals(NamedTuple):
    """What kernels fill: mu(i, a), mu(i, a, b), and the logarithm of the normalizer of each sentence."""

    unigrams: Floats
    bigrams: Floats
    logs: Floats


class Chain(NamedTuple):
    """What candidates, and pairs of candidates of neighbours, are worth."""

    firsts: Floats
    arrows: Floats


@kernel
def chain_marginals(lattice: Lattice, low: int, high: int, chain: Chain, found: Marginals) -> None:
    """Marginals of sentences low..high of a chain with log-potentials."""
    firsts, arrows, unigrams, bigrams = chain.firsts, chain.arrows, found.unigrams, found.bigrams
    token_starts, block_starts = lattice.token_starts, lattice.block_starts
    for s in range(low, high):
        first, last = lattice.offsets[s], lattice.offsets[s + 1]
        if first == last:
            continue
        u, v = token_starts[first], token_starts[first + 1]
        total = _begin(firsts[u:v], unigrams[u:v])
        for i in range(first + 1, last):
            t, u, v = token_starts[i - 1], token_starts[i], token_starts[i + 1]
            k = block_starts[i]
            m = k + (u - t) * (v - u)
            total += _forward(firsts[u:v], arrows[k:m], unigrams[t:u], unigrams[u:v], bigrams[k:m])
        found.logs[s] = total
        beta = np.ones(token_starts[last] - token_starts[last - 1])
        for i in range(last - 1, first, -1):
            t, u, v = token_starts[i - 1], token_starts[i], token_starts[i + 1]
            k = block_starts[i]
            m = k + (u - t) * (v - u)
            beta = _backward(beta, unigrams[t:u], unigrams[u:v], bigrams[k:m])
        if last - first > 1:
            _sum_later(bigrams[k:m], unigrams[t:u])


@kernel
def _peak(values: Floats) -> float:
    peak = float(values[0])
    for k in range(len(values)):
        peak = max(peak, values[k])
    return peak


@kernel
def _normalized(values: Floats) -> float:
    """The values divided by their sum, in place; the logarithm of the sum."""
    mass = 0.0
    for b in range(len(values)):
        mass += values[b]
    for b in range(len(values)):
        values[b] /= mass
    return float(np.log(mass))


@part
def _begin(firsts: Floats, alpha: Floats) -> float:
    """The forward vector of the first token; the logarithm of its mass."""
    peak = _peak(firsts)
    for b in range(len(firsts)):
        alpha[b] = np.exp(firsts[b] - peak)
    return peak + _normalized(alpha)


@part
def _forward(firsts: Floats, arrows: Floats, before: Floats, alpha: Floats, pairs: Floats) -> float:
    """The next forward vector; `pairs` keeps the potentials for the way back."""
    peak, top, n = _peak(firsts), _peak(arrows), len(firsts)
    for b in range(n):
        alpha[b] = 0.0
    for a in range(len(before)):
        for b in range(n):
            k = a * n + b
            pairs[k] = np.exp(arrows[k] - top + firsts[b] - peak)
            alpha[b] += before[a] * pairs[k]
    return top + peak + _normalized(alpha)


@part
def _backward(beta: Floats, before: Floats, here: Floats, pairs: Floats) -> Floats:
    """Potentials of pairs to marginals, and those of the token; the backward vector of the one before."""
    n, mass, top = len(here), 0.0, 0.0
    earlier = np.zeros(len(before))
    for a in range(len(before)):
        for b in range(n):
            k = a * n + b
            value = pairs[k] * beta[b]
            earlier[a] += value
            pairs[k] = before[a] * value
            mass += pairs[k]
        top = max(top, earlier[a])
    for b in range(n):
        here[b] = 0.0
    for a in range(len(before)):
        for b in range(n):
            pairs[a * n + b] /= mass
            here[b] += pairs[a * n + b]
    return earlier / top


@part
def _sum_later(pairs: Floats, before: Floats) -> None:
    """Marginals of the first token from those of the first pair."""
    n = len(pairs) // len(before)
    for a in range(len(before)):
        before[a] = 0.0
        for b in range(n):
            before[a] += pairs[a * n + b]


@kernel
def pairs_within(token_starts: Int64s, block_starts: Int64s, is_kept: Flags, found: Int64s) -> None:
    """The places of pairs whose both candidates are kept, in order."""
    count = 0
    for i in range(1, len(token_starts) - 1):
        u, n = token_starts[i], token_starts[i + 1] - token_starts[i]
        for a in range((block_starts[i + 1] - block_starts[i]) // n):
            if is_kept[token_starts[i - 1] + a]:
                for b in range(n):
                    if is_kept[u + b]:
                        found[count] = block_starts[i] + a * n + b
                        count += 1


@kernel
def best_sequences(
    lattice: Lattice, low: int, high: int, chain: Chain, found: Int32s, values: Floats
) -> None:
    """The best sequences by the sum of what tokens and pairs of candidates are worth, one per row of `found`.

    `found[k, i]` gets the candidate of token i in the k-th best, -1 where there are not so many;
    `values[k, s]` what it is worth.
    """
    n_best, token_starts = len(found), lattice.token_starts
    for s in range(low, high):
        first, last = lattice.offsets[s], lattice.offsets[s + 1]
        if first == last:
            continue
        widest = 1
        for i in range(first, last):
            widest = max(widest, token_starts[i + 1] - token_starts[i])
        worth = np.full((last - first, widest, n_best), -np.inf)
        back = np.zeros((last - first, widest, n_best), np.int32)
        for b in range(token_starts[first + 1] - token_starts[first]):
            worth[0, b, 0] = chain.firsts[token_starts[first] + b]
        for i in range(first + 1, last):
            _extend(lattice, i, chain, worth[i - 1 - first], worth[i - first], back[i - first])
        ends = worth[last - 1 - first].copy()
        for k in range(n_best):
            values[k, s] = _trace(ends, back, found[k, first:last])


@part
def _extend(lattice: Lattice, i: int, chain: Chain, before: Floats, worth: Floats, back: Int32s) -> None:
    """The best ways to each candidate of token i, from those to the candidates of the one before it."""
    t, u, n_best = lattice.token_starts[i - 1], lattice.token_starts[i], worth.shape[1]
    n = lattice.token_starts[i + 1] - u
    for b in range(n):
        for a in range(u - t):
            gain = chain.arrows[lattice.block_starts[i] + a * n + b] + chain.firsts[u + b]
            for k in range(n_best):
                value = before[a, k] + gain
                if value <= worth[b, n_best - 1]:
                    break
                place = n_best - 1
                while place > 0 and value > worth[b, place - 1]:
                    worth[b, place], back[b, place] = worth[b, place - 1], back[b, place - 1]
                    place -= 1
                worth[b, place], back[b, place] = value, a * n_best + k


@part
def _trace(ends: Floats, back: Int32s, path: Int32s) -> float:
    """Follow the best end that is left, and strike it out; its worth, -inf where none is left."""
    b, rank = 0, 0
    for c in range(ends.shape[0]):
        for r in range(ends.shape[1]):
            if ends[c, r] > ends[b, rank]:
                b, rank = c, r
    value = float(ends[b, rank])
    if value == -np.inf:
        path[:] = -1
        return value
    ends[b, rank] = -np.inf
    for i in range(len(path) - 1, -1, -1):
        path[i] = b
        step = back[i, b, rank]
        b, rank = step // ends.shape[1], step % ends.shape[1]
    return value
