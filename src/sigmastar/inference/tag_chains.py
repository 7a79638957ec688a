"""Chains of candidate tags: marginals, and the best sequences.

Tables are flat over tokens and candidates, and over pairs of candidates of neighbours, as in `refined_tags`.

    p(y) prop. to exp sum_i firsts(i, y_i) + arrows(i, y_{i-1}, y_i)
    MBR: argmax_y sum_i mu(i, y_{i-1}, y_i), the N best by the same recursion (Balle et al. 2014)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sigmastar.jit import kernel

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
        total = 0.0
        for i in range(first, last):
            u, n = token_starts[i], token_starts[i + 1] - token_starts[i]
            peak = firsts[u]
            for b in range(n):
                peak = max(peak, firsts[u + b])
            if i == first:
                for b in range(n):
                    unigrams[u + b] = np.exp(firsts[u + b] - peak)
            else:
                v, m = token_starts[i - 1], token_starts[i] - token_starts[i - 1]
                top = arrows[block_starts[i]]
                for k in range(m * n):
                    top = max(top, arrows[block_starts[i] + k])
                for b in range(n):
                    unigrams[u + b] = 0.0
                for a in range(m):
                    for b in range(n):
                        k = block_starts[i] + a * n + b
                        bigrams[k] = np.exp(arrows[k] - top + firsts[u + b] - peak)  # kept for the way back
                        unigrams[u + b] += unigrams[v + a] * bigrams[k]
                total += top
            mass = 0.0
            for b in range(n):
                mass += unigrams[u + b]
            for b in range(n):
                unigrams[u + b] /= mass
            total += peak + np.log(mass)
        logs[s] = total
        u, n = token_starts[last - 1], token_starts[last] - token_starts[last - 1]
        beta = np.ones(n)
        for i in range(last - 1, first, -1):
            u, n = token_starts[i], token_starts[i + 1] - token_starts[i]
            v, m = token_starts[i - 1], token_starts[i] - token_starts[i - 1]
            earlier, pairs, top = np.zeros(m), 0.0, 0.0
            for a in range(m):
                for b in range(n):
                    k = block_starts[i] + a * n + b
                    value = bigrams[k] * beta[b]
                    earlier[a] += value
                    bigrams[k] = unigrams[v + a] * value
                    pairs += bigrams[k]
                top = max(top, earlier[a])
            for k in range(m * n):
                bigrams[block_starts[i] + k] /= pairs
            for b in range(n):
                mu = 0.0
                for a in range(m):
                    mu += bigrams[block_starts[i] + a * n + b]
                unigrams[u + b] = mu
            beta = earlier / top
        if last - first > 1:
            n = token_starts[first + 2] - token_starts[first + 1]
            for a in range(token_starts[first + 1] - token_starts[first]):
                mu = 0.0
                for b in range(n):
                    mu += bigrams[block_starts[first + 1] + a * n + b]
                unigrams[token_starts[first] + a] = mu


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
