"""How much of a string's weight has a constituent at each span, and the tree that collects the most of it.

    posterior(i, j) = alpha(x[:i]; x[j:]) . beta(x[i:j]) / f(x)
    best(i, j)      = posterior(i, j) + max over k of best(i, k) + best(k, j)         (Goodman 1996)

Weights may be negative, so posteriors need not lie between 0 and 1; the tree is defined all the same.
"""

from __future__ import annotations

import numpy as np

from sigmastar.core.arrays import Floats, Int64s
from sigmastar.core.jit import kernel, part
from sigmastar.core.scaling import LARGEST_POWER, power_of_two
from sigmastar.grammars.kernels.span_vectors import Insides, Spans


@part
def _pull(above: Floats, composition: Floats, pulled: Floats) -> bool:
    """pulled[a, b] = sum over r of above[r] composition[r, a, b]; whether any of `above` is not zero."""
    n, some = len(above), False
    pulled[:] = 0.0
    for r in range(n):
        if above[r] != 0.0:
            some = True
            for a in range(n):
                for b in range(n):
                    pulled[a, b] += above[r] * composition[r, a, b]
    return some


@kernel
def span_posteriors(
    low: int, high: int, spans: Spans, found: Insides, initial: Floats, composition: Floats
) -> Floats:
    """Posteriors [begin, end] of the string at `low:high` of a table of substrings; all 0 where f is 0."""
    numbers, rows, vectors, exponents = spans.numbers, spans.rows, found.vectors, found.exponents
    length, n = high - low, len(initial)
    shares = np.zeros((length + 1, length + 1))
    outside, pulled = np.zeros((length + 1, length + 1, n)), np.empty((n, n))
    total = np.dot(initial, vectors[numbers[rows[low] + length - 1]])
    if total == 0.0:
        return shares
    for r in range(n):
        outside[0, length, r] = initial[r] / total
    for width in range(length, 0, -1):
        for i in range(length - width + 1):
            j = i + width
            node = numbers[rows[low + i] + width - 1]
            above = outside[i, j]
            shares[i, j] = np.dot(above, vectors[node])
            if width == 1 or not _pull(above, composition, pulled):
                continue
            for k in range(i + 1, j):
                left, right = numbers[rows[low + i] + k - i - 1], numbers[rows[low + k] + j - k - 1]
                shift = exponents[left] + exponents[right] - exponents[node]
                if (
                    abs(shift) > LARGEST_POWER
                ):  # next to nothing; or too much, where one of the vectors is zero
                    continue
                scale = power_of_two(shift)
                for a in range(n):
                    for b in range(n):
                        value = scale * pulled[a, b]
                        outside[i, k, a] += value * vectors[right, b]
                        outside[k, j, b] += value * vectors[left, a]
    return shares


@kernel
def best_spans(shares: Floats) -> Int64s:
    """The spans (begin, end) of the binary tree with the largest sum; it branches to the right in a tie."""
    length = shares.shape[0] - 1
    best, cut = np.zeros((length + 1, length + 1)), np.zeros((length + 1, length + 1), dtype=np.int64)
    for width in range(2, length + 1):
        for i in range(length - width + 1):
            j, top = i + width, -np.inf
            for k in range(i + 1, j):
                value = best[i, k] + best[k, j]
                if value > top + 1e-12 or k == i + 1:
                    top, cut[i, j] = value, k
            best[i, j] = shares[i, j] + top
    spans = np.zeros((max(length - 1, 0), 2), dtype=np.int64)
    stack, depth, found = np.zeros((length + 1, 2), dtype=np.int64), 1, 0
    stack[0, 1] = length
    while depth:
        depth -= 1
        i, j = stack[depth]
        if j - i > 1:
            spans[found, 0], spans[found, 1] = i, j
            found += 1
            stack[depth, 0], stack[depth, 1] = cut[i, j], j
            stack[depth + 1, 0], stack[depth + 1, 1] = i, cut[i, j]
            depth += 2
    return spans
