"""Marginals of weighted finite taggers: signed operators A_x^y, sums over all tags by products of sums.

    alpha_i = alpha_{i-1} sum_b A_{x_i}^b,   mu(i, a) prop. to alpha_{i-1} A_{x_i}^a beta_i
    mu(i, a, b) prop. to alpha_{i-2} A_{x_{i-1}}^a A_{x_i}^b beta_i

Balle, Carreras and Quattoni (2014), "Prediction with WFTaggers". Tables are flat, as in `refined_tags`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sigmastar.jit import kernel

Array = NDArray[np.float64]
Codes = NDArray[np.int32]
Longs = NDArray[np.int64]


@kernel
def signed_marginals(
    offsets: Longs,
    low: int,
    high: int,
    types: Codes,
    starts: Longs,
    token_starts: Longs,
    block_starts: Longs,
    weights: Array,
    operator_of: Codes,
    initial: Array,
    operators: Array,
    final: Array,
    unigrams: Array,
    bigrams: Array,
    logs: Array,
) -> None:
    """The same for signed operators: candidate c of a type acts as weights[c] x operators[operator_of[c]].

    `logs` gets log |normaliser|, NaN where the normaliser is not positive. Marginals are raw: they sum to 1
    over the candidates but can be negative.
    """
    n = len(initial)
    longest = 1
    for s in range(low, high):
        longest = max(longest, offsets[s + 1] - offsets[s])
    widest = 1
    for x in range(len(starts) - 1):
        widest = max(widest, starts[x + 1] - starts[x])
    alpha = np.zeros((longest + 1, n))
    lefts = np.zeros((widest, n))
    rights = np.zeros((widest, n))
    later = np.zeros((widest, n))
    for s in range(low, high):
        first, last = offsets[s], offsets[s + 1]
        if first == last:
            continue
        alpha[0] = initial
        total = 0.0
        for i in range(first, last):
            x, row = types[i], alpha[i - first + 1]
            row[:] = 0.0
            for c in range(starts[x], starts[x + 1]):
                row += weights[c] * (alpha[i - first] @ operators[operator_of[c]])
            scale = np.abs(row).max()
            if scale > 0.0:
                row /= scale
                total += np.log(scale)
        whole = 0.0
        for j in range(n):
            whole += alpha[last - first, j] * final[j]
        logs[s] = total + np.log(whole) if whole > 0.0 else np.nan
        beta = final.copy()
        for i in range(last - 1, first - 1, -1):
            x, mass = types[i], 0.0
            n_here = starts[x + 1] - starts[x]
            sums = np.zeros(n)
            for c in range(starts[x], starts[x + 1]):
                k = c - starts[x]
                rights[k] = weights[c] * (operators[operator_of[c]] @ beta)
                sums += rights[k]
                mu = 0.0
                for j in range(n):
                    mu += alpha[i - first, j] * rights[k, j]
                unigrams[token_starts[i] + k] = mu
                mass += mu
            divisor = mass if mass != 0.0 else 1.0
            for k in range(n_here):
                unigrams[token_starts[i] + k] /= divisor
            if i + 1 < last:
                y, pairs = types[i + 1], 0.0
                n_later = starts[y + 1] - starts[y]
                for c in range(starts[x], starts[x + 1]):
                    k = c - starts[x]
                    lefts[k] = weights[c] * (alpha[i - first] @ operators[operator_of[c]])
                    for d in range(n_later):
                        mu = 0.0
                        for j in range(n):
                            mu += lefts[k, j] * later[d, j]
                        bigrams[block_starts[i + 1] + k * n_later + d] = mu
                        pairs += mu
                divisor = pairs if pairs != 0.0 else 1.0
                for k in range(n_here * n_later):
                    bigrams[block_starts[i + 1] + k] /= divisor
            scale = np.abs(sums).max()
            if scale > 0.0:
                beta = sums / scale
                for k in range(n_here):
                    later[k] = rights[k] / scale
            else:
                beta = sums
                later[:n_here] = rights[:n_here]
