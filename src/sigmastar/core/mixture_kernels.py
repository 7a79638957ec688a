"""Weights of mixed predictors by expectation-maximization: the compiled part of `mixture`.

    e_c <- (sum over events i of c of n_i e_c g_i / ((1 - e_c) q_i + e_c g_i) + m prior_c) / (n_c + m)

where q_i and g_i are the probabilities of an event under both predictors, n_i how often it was met, m the
strength of the prior; and the same for any number of predictors.
"""

from __future__ import annotations

import numpy as np

from sigmastar.core.arrays import Array, Floats, Int32s
from sigmastar.core.jit import fast_kernel


@fast_kernel
def climb_rates(
    cells: Int32s, counts: Floats, first: Array, second: Array, prior: Floats, strength: float, n_rounds: int
) -> Floats:
    """The rate of the second predictor in each cell, from its `prior` rate."""
    totals = np.full(len(prior), strength)
    for event in range(len(cells)):
        totals[cells[event]] += counts[event]
    rates = prior.copy()
    for _ in range(n_rounds):
        sums = strength * prior
        for event in range(len(cells)):
            rate = rates[cells[event]]
            share = rate * second[event]
            sums[cells[event]] += counts[event] * share / (share + (1.0 - rate) * first[event])
        rates = sums / totals
    return rates


@fast_kernel
def climb_rate(
    counts: Floats, first: Array, second: Array, prior: float, strength: float, n_rounds: int
) -> float:
    """The same for one cell, which a processor can take several events at a time in."""
    total, rate = strength + counts.sum(), prior
    for _ in range(n_rounds):
        gained = 0.0
        for event in range(len(counts)):
            share = rate * second[event]
            gained += counts[event] * share / (share + (1.0 - rate) * first[event])
        rate = (strength * prior + gained) / total
    return rate


@fast_kernel
def climb_weights(
    counts: Floats, likelihoods: Floats, prior: Floats, strength: float, n_rounds: int
) -> Floats:
    """The weights of any number of predictors; `likelihoods` are events x predictors."""
    n_events, n = likelihoods.shape
    total, weights, sums = strength + counts.sum(), prior.copy(), np.zeros(n)
    for _ in range(n_rounds):
        for k in range(n):
            sums[k] = strength * prior[k]
        for event in range(n_events):
            mixed = 0.0
            for k in range(n):
                mixed += weights[k] * likelihoods[event, k]
            share = counts[event] / mixed
            for k in range(n):
                sums[k] += share * weights[k] * likelihoods[event, k]
        for k in range(n):
            weights[k] = sums[k] / total
    return weights


@fast_kernel
def mixed_logs(cells: Int32s, first: Array, second: Array, rates: Floats) -> Floats:
    """The log-probability of every event."""
    logs = np.empty(len(cells))
    for event in range(len(cells)):
        rate = rates[cells[event]]
        logs[event] = np.log((1.0 - rate) * first[event] + rate * second[event])
    return logs


@fast_kernel
def mixed_log_likelihood(cells: Int32s, counts: Floats, first: Array, second: Array, rates: Floats) -> float:
    """The log-likelihood of all events."""
    total = 0.0
    for event in range(len(cells)):
        rate = rates[cells[event]]
        total += counts[event] * np.log((1.0 - rate) * first[event] + rate * second[event])
    return total
