"""Softmax regression on binary features, by passes of AdaGrad over the rows.

    max over W   sum_i sum_t counts[i, t] log softmax(sum_{f in i} W_f + W_constant)[t]  -  penalty / 2 |W|^2

Every feature has a step of its own, so that rare ones learn as fast as frequent ones (Duchi, Hazan and Singer
2011); its share of the penalty is paid wherever it is met.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sigmastar.core.jit import kernel, part

Array = NDArray[np.float64]
Codes = NDArray[np.int32]
Longs = NDArray[np.int64]


@part
def softmax_slope(row: Codes, counts: Array, weights: Array, slope: Array) -> None:
    """What the scores of one row should go down by: its total times the softmax, less its counts."""
    constant, top, mass, total = len(weights) - 1, -np.inf, 0.0, 0.0
    for t in range(len(slope)):
        slope[t] = weights[constant, t]
    for f in row:
        for t in range(len(slope)):
            slope[t] += weights[f, t]
    for t in range(len(slope)):
        top, total = max(top, slope[t]), total + counts[t]
    for t in range(len(slope)):
        slope[t] = np.exp(slope[t] - top)
        mass += slope[t]
    for t in range(len(slope)):
        slope[t] = total * slope[t] / mass - counts[t]


@kernel
def softmax_passes(
    starts: Longs,
    features: Codes,
    counts: Array,
    penalties: Array,
    rate: float,
    n_passes: int,
    weights: Array,
    squares: Array,
) -> None:
    """Change `weights` (features and the constant x classes); rows are taken forwards and back in turn."""
    n, constant = len(counts), len(weights) - 1
    slope = np.zeros(counts.shape[1])
    for number in range(n_passes):
        for step in range(n):
            i = step if number % 2 == 0 else n - 1 - step
            row = features[starts[i] : starts[i + 1]]
            softmax_slope(row, counts[i], weights, slope)
            for j in range(len(row) + 1):
                f = row[j] if j < len(row) else constant
                w, s, penalty = weights[f], squares[f], penalties[f]
                for t in range(len(slope)):
                    g = slope[t] + penalty * w[t]
                    s[t] += g * g
                    w[t] -= rate * g / np.sqrt(s[t])
