"""Marginals of weighted finite taggers: signed operators A_x^y, sums over all tags by products of sums.

    alpha_i = alpha_{i-1} sum_b A_{x_i}^b,   mu(i, a) prop. to alpha_{i-1} A_{x_i}^a beta_i
    mu(i, a, b) prop. to alpha_{i-2} A_{x_{i-1}}^a A_{x_i}^b beta_i

Balle, Carreras and Quattoni (2014), "Prediction with WFTaggers". Tables are flat, as in `refined_tags`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sigmastar.core.jit import kernel, part

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
    n, longest, widest = len(initial), 1, 1
    for s in range(low, high):
        longest = max(longest, offsets[s + 1] - offsets[s])
    for x in range(len(starts) - 1):
        widest = max(widest, starts[x + 1] - starts[x])
    alpha = np.zeros((longest + 1, n))
    rights, later = np.zeros((widest, n)), np.zeros((widest, n))
    for s in range(low, high):
        first, last = offsets[s], offsets[s + 1]
        if first == last:
            continue
        for k in range(n):
            alpha[0, k] = initial[k]
        total = 0.0
        for i in range(first, last):
            total += _forward(types[i], starts, weights, operator_of, operators, alpha, i - first)
        whole = _dot(alpha[last - first], final)
        logs[s] = total + np.log(whole) if whole > 0.0 else np.nan
        beta = final.copy()
        for i in range(last - 1, first - 1, -1):
            x, before = types[i], alpha[i - first]
            here = unigrams[token_starts[i] : token_starts[i] + starts[x + 1] - starts[x]]
            sums = _unigrams(x, starts, weights, operator_of, operators, before, beta, rights, here)
            if i + 1 < last:
                y = types[i + 1]
                n_later = starts[y + 1] - starts[y]
                low_block = block_starts[i + 1]
                pairs = bigrams[low_block : low_block + len(here) * n_later]
                _pairs(x, starts, weights, operator_of, operators, before, later[:n_later], pairs)
            scale = _largest(sums)
            divisor = scale if scale > 0.0 else 1.0
            for j in range(n):
                beta[j] = sums[j] / divisor
                for k in range(len(here)):
                    later[k, j] = rights[k, j] / divisor


@kernel
def _largest(vector: Array) -> float:
    largest = 0.0
    for value in vector:
        largest = max(largest, abs(value))
    return largest


@kernel
def _dot(a: Array, b: Array) -> float:
    total = 0.0
    for j in range(len(a)):
        total += a[j] * b[j]
    return total


@part
def _forward(
    x: int, starts: Longs, weights: Array, operator_of: Codes, operators: Array, alpha: Array, i: int
) -> float:
    """The next forward vector, scaled to a largest entry of one; the logarithm of the scale."""
    row = alpha[i + 1]
    row[:] = 0.0
    for c in range(starts[x], starts[x + 1]):
        moved = alpha[i] @ operators[operator_of[c]]
        for j in range(len(row)):
            row[j] += weights[c] * moved[j]
    scale = _largest(row)
    if scale == 0.0:
        return 0.0
    for j in range(len(row)):
        row[j] /= scale
    return float(np.log(scale))


@part
def _unigrams(
    x: int,
    starts: Longs,
    weights: Array,
    operator_of: Codes,
    operators: Array,
    before: Array,
    beta: Array,
    rights: Array,
    found: Array,
) -> Array:
    """Marginals of the candidates of a token; `rights` gets their backward vectors, the sum is returned."""
    sums, mass = np.zeros(len(beta)), 0.0
    for k in range(len(found)):
        c = starts[x] + k
        right = operators[operator_of[c]] @ beta
        for j in range(len(beta)):
            rights[k, j] = weights[c] * right[j]
            sums[j] += rights[k, j]
        found[k] = _dot(before, rights[k])
        mass += found[k]
    norm = mass if mass != 0.0 else 1.0
    for k in range(len(found)):
        found[k] /= norm
    return sums


@part
def _pairs(
    x: int,
    starts: Longs,
    weights: Array,
    operator_of: Codes,
    operators: Array,
    before: Array,
    later: Array,
    found: Array,
) -> None:
    """Marginals of pairs of candidates, of a token and of the next one with backward vectors `later`."""
    mass, place = 0.0, 0
    for c in range(starts[x], starts[x + 1]):
        left = before @ operators[operator_of[c]]
        for j in range(len(left)):
            left[j] *= weights[c]
        for d in range(len(later)):
            found[place] = _dot(left, later[d])
            mass += found[place]
            place += 1
    norm = mass if mass != 0.0 else 1.0
    for k in range(len(found)):
        found[k] /= norm
