"""Chains of candidate tags: marginals, and the best sequences.

Tables are flat over tokens and candidates, and over pairs of candidates of neighbours, as in `refined_tags`.

    p(y) prop. to exp sum_i firsts(i, y_i) + arrows(i, y_{i-1}, y_i)
    MBR: argmax_y sum_i mu(i, y_{i-1}, y_i), the N best by the same recursion (Balle et al. 2014)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sigmastar.core.jit import kernel, part

Array = NDArray[np.float64]
Codes = NDArray[np.int32]
Longs = NDArray[np.int64]


@kernel
def chain_marginals(
    offsets: Longs,
    low: int,
    high: int,
    token_starts: Longs,
    block_starts: Longs,
    firsts: Array,
    arrows: Array,
    unigrams: Array,
    bigrams: Array,
    logs: Array,
) -> None:
    """Marginals of chains with log-potentials: `firsts` at tokens (all of them), `arrows` at pairs."""
    for s in range(low, high):
        first, last = offsets[s], offsets[s + 1]
        if first == last:
            continue
        u, v = token_starts[first], token_starts[first + 1]
        total = _begin(firsts[u:v], unigrams[u:v])
        for i in range(first + 1, last):
            t, u, v = token_starts[i - 1], token_starts[i], token_starts[i + 1]
            k = block_starts[i]
            m = k + (u - t) * (v - u)
            total += _forward(firsts[u:v], arrows[k:m], unigrams[t:u], unigrams[u:v], bigrams[k:m])
        logs[s] = total
        beta = np.ones(token_starts[last] - token_starts[last - 1])
        for i in range(last - 1, first, -1):
            t, u, v = token_starts[i - 1], token_starts[i], token_starts[i + 1]
            k = block_starts[i]
            m = k + (u - t) * (v - u)
            beta = _backward(beta, unigrams[t:u], unigrams[u:v], bigrams[k:m])
        if last - first > 1:
            _sum_later(bigrams[k:m], unigrams[t:u])


@kernel
def _peak(values: Array) -> float:
    peak = float(values[0])
    for k in range(len(values)):
        peak = max(peak, values[k])
    return peak


@kernel
def _normalised(values: Array) -> float:
    """The values divided by their sum, in place; the logarithm of the sum."""
    mass = 0.0
    for b in range(len(values)):
        mass += values[b]
    for b in range(len(values)):
        values[b] /= mass
    return float(np.log(mass))


@part
def _begin(firsts: Array, alpha: Array) -> float:
    """The forward vector of the first token; the logarithm of its mass."""
    peak = _peak(firsts)
    for b in range(len(firsts)):
        alpha[b] = np.exp(firsts[b] - peak)
    return peak + _normalised(alpha)


@part
def _forward(firsts: Array, arrows: Array, before: Array, alpha: Array, pairs: Array) -> float:
    """The next forward vector; `pairs` keeps the potentials for the way back."""
    peak, top, n = _peak(firsts), _peak(arrows), len(firsts)
    for b in range(n):
        alpha[b] = 0.0
    for a in range(len(before)):
        for b in range(n):
            k = a * n + b
            pairs[k] = np.exp(arrows[k] - top + firsts[b] - peak)
            alpha[b] += before[a] * pairs[k]
    return top + peak + _normalised(alpha)


@part
def _backward(beta: Array, before: Array, here: Array, pairs: Array) -> Array:
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
def _sum_later(pairs: Array, before: Array) -> None:
    """Marginals of the first token from those of the first pair."""
    n = len(pairs) // len(before)
    for a in range(len(before)):
        before[a] = 0.0
        for b in range(n):
            before[a] += pairs[a * n + b]


@kernel
def pairs_within(token_starts: Longs, block_starts: Longs, is_kept: NDArray[np.bool_], found: Longs) -> None:
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
    offsets: Longs,
    low: int,
    high: int,
    token_starts: Longs,
    block_starts: Longs,
    firsts: Array,
    arrows: Array,
    n_best: int,
    found: Codes,
    values: Array,
) -> None:
    """The n best sequences by the sum of what tokens and pairs of candidates are worth.

    `found[k, i]` gets the candidate of token i in the k-th best, -1 where there are not so many;
    `values[k, s]` what it is worth.
    """
    for s in range(low, high):
        first, last = offsets[s], offsets[s + 1]
        widest = 1
        for i in range(first, last):
            widest = max(widest, token_starts[i + 1] - token_starts[i])
        worth = np.full((last - first, widest, n_best), -np.inf)
        back = np.zeros((last - first, widest, n_best), np.int32)
        for i in range(first, last):
            u, n = token_starts[i], token_starts[i + 1] - token_starts[i]
            for b in range(n):
                if i == first:
                    worth[0, b, 0] = firsts[u + b]
                    continue
                m = token_starts[i] - token_starts[i - 1]
                for a in range(m):
                    gain = arrows[block_starts[i] + a * n + b] + firsts[u + b]
                    for k in range(n_best):
                        value = worth[i - 1 - first, a, k] + gain
                        if value <= worth[i - first, b, n_best - 1]:
                            break
                        place = n_best - 1
                        while place > 0 and value > worth[i - first, b, place - 1]:
                            worth[i - first, b, place] = worth[i - first, b, place - 1]
                            back[i - first, b, place] = back[i - first, b, place - 1]
                            place -= 1
                        worth[i - first, b, place] = value
                        back[i - first, b, place] = a * n_best + k
        if first == last:
            continue
        ends = worth[last - 1 - first].copy()
        for k in range(n_best):
            b, rank = 0, 0
            for c in range(ends.shape[0]):
                for r in range(n_best):
                    if ends[c, r] > ends[b, rank]:
                        b, rank = c, r
            values[k, s] = ends[b, rank]
            if ends[b, rank] == -np.inf:
                for i in range(first, last):
                    found[k, i] = -1
                continue
            ends[b, rank] = -np.inf
            for i in range(last - 1, first - 1, -1):
                found[k, i] = b
                b, rank = back[i - first, b, rank] // n_best, back[i - first, b, rank] % n_best
