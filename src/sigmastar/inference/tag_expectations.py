"""Expected counts of refined tags when the tags are given: the E-step.

Token i has tag t_i, so only the states of t_i are in play: forward and backward run over those alone,

    alpha_i = (alpha_{i-1} P) o r(x_i, t_i),    E[z -> z'] = sum_i alpha_{i-1}[z] P[z, z'] r_i[z'] beta_i[z']

Row and column Z of the moves are the edge of the sentence.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sigmastar.jit import kernel

Array = NDArray[np.float64]
Codes = NDArray[np.int32]
Longs = NDArray[np.int64]


@kernel
def refined_expectations(
    offsets: Longs,
    low: int,
    high: int,
    tags: Codes,
    pairs: Codes,
    states: Longs,
    moves: Array,
    ratios: Array,
    expected: Array,
    memberships: Array,
) -> float:
    """Add the counts of sentences low..high to `expected` (moves) and `memberships` (pairs x states)."""
    edge, width = moves.shape[0] - 1, ratios.shape[1]
    longest = 1
    for s in range(low, high):
        longest = max(longest, offsets[s + 1] - offsets[s])
    alpha, beta, later, total = np.zeros((longest, width)), np.zeros(width), np.zeros(width), 0.0
    for s in range(low, high):
        first, last = offsets[s], offsets[s + 1]
        if first == last:
            continue
        for i in range(first, last):
            z0, n = states[tags[i]], states[tags[i] + 1] - states[tags[i]]
            row, mass = alpha[i - first], 0.0
            if i == first:
                for j in range(n):
                    row[j] = moves[edge, z0 + j]
            else:
                w0, m = states[tags[i - 1]], states[tags[i - 1] + 1] - states[tags[i - 1]]
                for j in range(n):
                    row[j] = 0.0
                for h in range(m):
                    value, arrow = alpha[i - 1 - first, h], moves[w0 + h, z0 : z0 + n]
                    for j in range(n):
                        row[j] += value * arrow[j]
            for j in range(n):
                row[j] *= ratios[pairs[i], j]
                mass += row[j]
            for j in range(n):
                row[j] /= mass
            total += np.log(mass)
        z0, n = states[tags[last - 1]], states[tags[last - 1] + 1] - states[tags[last - 1]]
        mass = 0.0
        for j in range(n):
            beta[j] = moves[z0 + j, edge]
            mass += alpha[last - 1 - first, j] * beta[j]
        total += np.log(mass)
        for j in range(n):
            beta[j] /= mass
            expected[z0 + j, edge] += alpha[last - 1 - first, j] * beta[j]
        for i in range(last - 1, first - 1, -1):
            z0, n = states[tags[i]], states[tags[i] + 1] - states[tags[i]]
            row, belief = alpha[i - first], memberships[pairs[i]]
            for j in range(n):
                belief[j] += row[j] * beta[j]
            if i == first:
                for j in range(n):
                    expected[edge, z0 + j] += row[j] * beta[j]
                break
            w0, m = states[tags[i - 1]], states[tags[i - 1] + 1] - states[tags[i - 1]]
            mass = 0.0
            for j in range(n):
                later[j] = ratios[pairs[i], j] * beta[j]
            for h in range(m):
                value = 0.0
                for j in range(n):
                    value += moves[w0 + h, z0 + j] * later[j]
                beta[h] = value
                mass += alpha[i - 1 - first, h] * value
            for h in range(m):
                value = alpha[i - 1 - first, h] / mass
                arrow, counted = moves[w0 + h, z0 : z0 + n], expected[w0 + h, z0 : z0 + n]
                for j in range(n):
                    counted[j] += value * arrow[j] * later[j]
                beta[h] /= mass
    return total
