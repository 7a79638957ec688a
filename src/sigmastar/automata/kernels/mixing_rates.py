"""Mixing rates of two predictors by expectation-maximisation, for many cells at once.

    e_c <- (sum over steps i of c of w_i e_c g_i / ((1 - e_c) q_i + e_c g_i) + m prior_c) / (w_c + m)

where q_i and g_i are the probabilities of a step under both, w_i how often it was taken, m the strength.
"""

from __future__ import annotations

import numpy as np

from sigmastar.core.arrays import Floats, Int32s
from sigmastar.core.jit import fast_kernel


@fast_kernel
def climb_rates(
    cells: Int32s,
    weights: Floats,
    first: Floats,
    second: Floats,
    prior: Floats,
    strength: float,
    n_rounds: int,
) -> Floats:
    """The rate of the second predictor in each cell, from its `prior` rate."""
    totals = np.full(len(prior), strength)
    for step in range(len(cells)):
        totals[cells[step]] += weights[step]
    rates = prior.copy()
    for _ in range(n_rounds):
        sums = strength * prior
        for step in range(len(cells)):
            rate = rates[cells[step]]
            share = rate * second[step]
            sums[cells[step]] += weights[step] * share / (share + (1.0 - rate) * first[step])
        rates = sums / totals
    return rates


@fast_kernel
def climb_rate(
    weights: Floats, first: Floats, second: Floats, prior: float, strength: float, n_rounds: int
) -> float:
    """The same for one cell, which a processor can take several steps at a time in."""
    total, rate = strength + weights.sum(), prior
    for _ in range(n_rounds):
        gained = 0.0
        for step in range(len(weights)):
            share = rate * second[step]
            gained += weights[step] * share / (share + (1.0 - rate) * first[step])
        rate = (strength * prior + gained) / total
    return rate


@fast_kernel
def mixed_logs(cells: Int32s, first: Floats, second: Floats, rates: Floats) -> Floats:
    """The log-probability of every step."""
    logs = np.empty(len(cells))
    for step in range(len(cells)):
        rate = rates[cells[step]]
        logs[step] = np.log((1.0 - rate) * first[step] + rate * second[step])
    return logs


@fast_kernel
def mixed_log_likelihood(
    cells: Int32s, weights: Floats, first: Floats, second: Floats, rates: Floats
) -> float:
    total = 0.0
    for step in range(len(cells)):
        rate = rates[cells[step]]
        total += weights[step] * np.log((1.0 - rate) * first[step] + rate * second[step])
    return total
