"""Weights of predictors that are mixed: one concave problem.

    max over w >= 0, sum w = 1     sum_i c_i log sum_k w_k p_k(i)  +  s sum_k prior_k log w_k

p_k(i) is what predictor k gives to held-out event i, which was met c_i times; the prior counts for s events.
Expectation-maximization climbs it a round at a time (`weights_by_em`); Newton's steps on

    sum_i c_i log (P w)_i + sum_k a_k log w_k - (sum c + sum a) sum_k w_k,     a = s prior,     w >= 0

whose maximum sums to one by itself, solve it (`mixture_weights`). Rates of two predictors in many cells at
once are those of `core.mixing_rates`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sigmastar.core.arrays import Flags, Floats
from sigmastar.core.jit import fast_kernel

_ROUNDS = 100
_CLOSE = 1e-9  # of all events: the slope at which Newton's steps end


def likelihoods_of(logs: Floats) -> tuple[Floats, Flags]:
    """Likelihoods from logarithms, each event scaled by that of its best predictor.

    Parameters
    ----------
    logs
        Predictors x events; -inf where a predictor gives nothing.

    Returns
    -------
    tuple
        Likelihoods of the events that at least one predictor knows, and which events those are. The scale of
        an event has no influence on the weights.
    """
    best = logs.max(axis=0)
    known = np.isfinite(best)
    return np.exp(logs[:, known] - best[known]), np.asarray(known)


def mixture_weights(
    likelihoods: Floats, counts: Floats | None = None, prior: Floats | None = None, strength: float = 0.0
) -> Floats:
    """The best weights, to rounding.

    Parameters
    ----------
    likelihoods
        Predictors x events, on any scale per event; each event has a predictor that gives it something.
    counts
        How often each event was met; None: once.
    prior
        A distribution over the predictors that counts for `strength` events; None: uniform.
    strength
        With 0, predictors that do not help get no weight at all.

    Returns
    -------
    Floats
        A weight per predictor; they sum to one.

    Examples
    --------
    >>> coin = np.array([[0.9, 0.1], [0.5, 0.5]])
    >>> mixture_weights(coin, np.array([7.0, 3.0])).round(6).tolist()
    [0.5, 0.5]
    """
    n_predictors, n_events = likelihoods.shape
    c = np.ones(n_events) if counts is None else np.asarray(counts, dtype=np.float64)
    share = np.full(n_predictors, 1.0 / n_predictors) if prior is None else np.asarray(prior)
    if n_events == 0 or n_predictors == 1:
        return share.copy()
    problem = _Concave(likelihoods, c, strength * share)
    w = np.full(n_predictors, 1.0 / n_predictors)
    for _ in range(_ROUNDS):
        if (moved := problem.improved(w)) is None:
            break
        w = moved
    return np.asarray(w / w.sum())


@dataclass(frozen=True, eq=False)
class _Concave:
    """The problem without the constraint that weights sum to one."""

    likelihoods: Floats
    counts: Floats
    added: Floats  # pseudo-events of the prior

    @property
    def total(self) -> float:
        return float(self.counts.sum() + self.added.sum())

    def value(self, w: Floats) -> float:
        mixed = w @ self.likelihoods
        drawn = self.added > 0
        if (mixed <= 0).any() or (w[drawn] <= 0).any():
            return -np.inf
        logs = self.counts @ np.log(mixed) + self.added[drawn] @ np.log(w[drawn])
        return float(logs - self.total * w.sum())

    def improved(self, w: Floats) -> Floats | None:
        """One projected Newton step (Bertsekas 1982), or None at the maximum."""
        mixed = w @ self.likelihoods
        inverse = np.divide(1.0, w, out=np.zeros_like(w), where=w > 0)
        slope = self.likelihoods @ (self.counts / mixed) + self.added * inverse - self.total
        free = (w > 0) | (slope > 0)
        if np.abs(slope[free]).max(initial=0.0) <= _CLOSE * self.total:
            return None
        scaled = self.likelihoods[free] * (np.sqrt(self.counts) / mixed)
        curvature = scaled @ scaled.T + np.diag((self.added * inverse**2)[free])
        curvature += 1e-12 * np.trace(curvature) * np.eye(len(curvature))
        direction = np.zeros_like(w)
        direction[free] = np.linalg.solve(curvature, slope[free])
        return self._searched(w, direction, slope)

    def _searched(self, w: Floats, direction: Floats, slope: Floats) -> Floats | None:
        before, size = self.value(w), 1.0
        while size > 1e-10:
            moved = np.maximum(w + size * direction, 0.0)
            if self.value(moved) > before + 1e-4 * max(float(slope @ (moved - w)), 0.0):
                return moved
            size /= 2
        return None


def weights_by_em(
    likelihoods: Floats,
    counts: Floats | None = None,
    prior: Floats | None = None,
    strength: float = 0.0,
    n_rounds: int = 50,
) -> Floats:
    """The weights after some rounds of expectation-maximization from the prior.

    Parameters
    ----------
    likelihoods, counts, prior, strength
        As of `mixture_weights`.
    n_rounds
        Few of them stop early, and leave the weights near the prior.

    Returns
    -------
    Floats
        A weight per predictor; they sum to one.
    """
    n_predictors, n_events = likelihoods.shape
    share = np.full(n_predictors, 1.0 / n_predictors) if prior is None else np.asarray(prior, float)
    if n_events == 0:
        return share.copy()
    c = np.ones(n_events) if counts is None else np.asarray(counts, dtype=np.float64)
    return _climb_weights(c, np.ascontiguousarray(likelihoods.T), share, float(strength), n_rounds)


@fast_kernel
def _climb_weights(
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
