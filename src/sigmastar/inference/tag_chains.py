"""Chains of candidate tags: marginals, the best sequences, and training with a margin.

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


@kernel
def train_margin(
    order: Longs,
    offsets: Longs,
    types: Codes,
    starts: Longs,
    tags: Codes,
    gold: Codes,
    feature_starts: Longs,
    features: Codes,
    rows: Codes,
    columns: Codes,
    cost: float,
    rate: float,
    decay: float,
    dropped: NDArray[np.bool_],
    weights: NDArray[np.float32],
    weight_steps: NDArray[np.float32],
    arrows: Array,
    arrow_steps: Array,
    left: Array,
    right: Array,
    factor_steps: Array,
) -> float:
    """One pass of stochastic gradient descent, AdaGrad steps, over sentences in the order given.

    The loss of a sentence is log sum_y exp(score(y) + cost x wrong tags) - score(gold), the smooth bound of
    the structured hinge. score = sum_i W[features of i] at y_i + B[y_{i-1}, y_i] + L[row] . R[column], rows
    and columns being Hankel classes of candidates; `decay` pulls L and R to zero: the nuclear norm of L R^T.
    """
    n_tags, rank, total = weights.shape[1], left.shape[1], 0.0
    for place in range(len(order)):
        first, last = offsets[order[place]], offsets[order[place] + 1]
        length, widest = last - first, 1
        for i in range(first, last):
            widest = max(widest, starts[types[i] + 1] - starts[types[i]])
        nodes, pairs = np.zeros((length, widest)), np.zeros((length, widest, widest))
        alpha, beta = np.zeros((length, widest)), np.zeros((length, widest))
        shift = 0.0
        for i in range(first, last):
            c0, n, t = starts[types[i]], starts[types[i] + 1] - starts[types[i]], i - first
            for k in range(feature_starts[i], feature_starts[i + 1]):
                if features[k] >= 0 and not dropped[k]:
                    row = weights[features[k]]
                    for b in range(n):
                        nodes[t, b] += row[tags[c0 + b]]
            right_true = 0
            for b in range(n):
                if tags[c0 + b] == gold[i]:
                    right_true = b
                    total -= nodes[t, b]
                else:
                    nodes[t, b] += cost
            before = starts[types[i - 1]] if i > first else 0
            m = starts[types[i - 1] + 1] - before if i > first else 1
            peak = -np.inf
            for a in range(m):
                for b in range(n):
                    if i == first:
                        value = arrows[n_tags, tags[c0 + b]]
                    else:
                        value = arrows[tags[before + a], tags[c0 + b]]
                        r, c = rows[before + a], columns[c0 + b]
                        for k in range(rank):
                            value += left[r, k] * right[c, k]
                    if i == last - 1:
                        value += arrows[tags[c0 + b], n_tags]
                    was = i == first or tags[before + a] == gold[i - 1]
                    if b == right_true and was:
                        total -= value
                    pairs[t, a, b] = value + nodes[t, b]
                    peak = max(peak, pairs[t, a, b])
            mass = 0.0
            for a in range(m):
                for b in range(n):
                    pairs[t, a, b] = np.exp(pairs[t, a, b] - peak)
                    alpha[t, b] += pairs[t, a, b] * (alpha[t - 1, a] if t > 0 else 1.0)
            for b in range(n):
                mass += alpha[t, b]
            for b in range(n):
                alpha[t, b] /= mass
            shift += peak + np.log(mass)
        total += shift
        for b in range(widest):
            beta[length - 1, b] = 1.0
        for i in range(last - 1, first - 1, -1):
            c0, n, t = starts[types[i]], starts[types[i] + 1] - starts[types[i]], i - first
            before = starts[types[i - 1]] if i > first else 0
            m = starts[types[i - 1] + 1] - before if i > first else 1
            whole, top = 0.0, 0.0
            for a in range(m):
                sums = 0.0
                for b in range(n):
                    value = pairs[t, a, b] * beta[t, b]
                    sums += value
                    pairs[t, a, b] = value * (alpha[t - 1, a] if t > 0 else 1.0)
                    whole += pairs[t, a, b]
                if t > 0:
                    beta[t - 1, a] = sums
                    top = max(top, sums)
            if t > 0:
                for a in range(m):
                    beta[t - 1, a] /= top
            for a in range(m):
                was = i == first or tags[before + a] == gold[i - 1]
                for b in range(n):
                    is_gold = tags[c0 + b] == gold[i]
                    g = pairs[t, a, b] / whole - (1.0 if was and is_gold else 0.0)
                    if a == 0:
                        nodes[t, b] = 0.0
                    pairs[t, a, b] = g
                for b in range(n):
                    nodes[t, b] += pairs[t, a, b]
        for i in range(first, last):
            c0, n, t = starts[types[i]], starts[types[i] + 1] - starts[types[i]], i - first
            before = starts[types[i - 1]] if i > first else 0
            m = starts[types[i - 1] + 1] - before if i > first else 1
            for b in range(n):
                g = nodes[t, b]
                if abs(g) < 1e-4:
                    continue
                tag = tags[c0 + b]
                for k in range(feature_starts[i], feature_starts[i + 1]):
                    f = features[k]
                    if f >= 0 and not dropped[k]:
                        weight_steps[f, tag] += g * g
                        weights[f, tag] -= rate * g / np.sqrt(weight_steps[f, tag])
                if i == last - 1:
                    arrow_steps[tag, n_tags] += g * g
                    arrows[tag, n_tags] -= rate * g / np.sqrt(arrow_steps[tag, n_tags])
            for a in range(m):
                s = tags[before + a] if i > first else n_tags
                for b in range(n):
                    g = pairs[t, a, b]
                    if abs(g) < 1e-4:
                        continue
                    tag = tags[c0 + b]
                    arrow_steps[s, tag] += g * g
                    arrows[s, tag] -= rate * g / np.sqrt(arrow_steps[s, tag])
                    if i > first:
                        r, c = rows[before + a], columns[c0 + b]
                        for k in range(rank):
                            u, v = left[r, k], right[c, k]
                            by_left, by_right = g * v + decay * u, g * u + decay * v
                            factor_steps[r, k] += by_left * by_left
                            left[r, k] -= rate * by_left / np.sqrt(factor_steps[r, k])
                            at = left.shape[0] + c
                            factor_steps[at, k] += by_right * by_right
                            right[c, k] -= rate * by_right / np.sqrt(factor_steps[at, k])
    return total
