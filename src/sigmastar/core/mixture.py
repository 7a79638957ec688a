"""Weights of predictors that are mixed: one concave problem.

    max over w >= 0, sum w = 1     sum_i c_i log sum_k w_k p_k(i)  +  s sum_k prior_k log w_k

p_k(i) is what predictor k gives to held-out event i, which was met c_i times; the prior counts for s events.
Newton's steps solve it (`mixture_weights`) without the constraint that weights sum to one:

    max over w >= 0     sum_i c_i log (P w)_i + sum_k a_k log w_k - (sum c + sum a) sum_k w_k,     a = s prior

Two predictors that are mixed at rates of their own in cells of events are one such problem per cell. Each
cell is drawn to the rate of its group, each group to that of the next (`rates_by_level`):

    e_c <- (sum over events i of c of n_i e_c g_i / ((1 - e_c) q_i + e_c g_i) + m prior_c) / (n_c + m)

where q_i and g_i are the probabilities of an event under both predictors, n_i how often it was met, m the
strength of the prior. Where the predictors are nearly alike these rounds hardly move; Newton's steps go to
the end (`best_rates`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sigmastar.core.arrays import Array, Flags, Floats, Int32s
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


_LEAST = 1e-9  # a rate of exactly 0 or 1 has no slope
_STEPS = 20  # of Newton's, or halvings, towards a rate


class Events(NamedTuple):
    """Held-out events: how often each was met, and what two predictors give to it."""

    counts: Floats
    first: Array
    second: Array


def share_by_em(events: Events, prior: float, strength: float, n_rounds: int) -> float:
    """The weight of the second predictor after EM from `prior`, which counts for `strength` events."""
    return float(_climb_rate(events, float(events.counts.sum()), prior, strength, n_rounds))


@dataclass(frozen=True, eq=False)
class Cells:
    """One level of cells with rates of their own."""

    of_finer: Int32s  # the cell that holds each cell of the level below, or each event
    n_cells: int
    strength: float  # events that the rate of the coarser level counts for


def rates_by_level(
    events: Events, levels: Sequence[Cells], start: float, strength: float = 1.0, n_rounds: int | None = 40
) -> Floats:
    """The rate of the second predictor in every cell, each drawn to that of the coarser cell that holds it.

    Parameters
    ----------
    events
        What the two predictors give to held-out events.
    levels
        From the finest, whose `of_finer` gives the cell of each event, to the coarsest.
    start
        The rate of everything is drawn to it by `strength` events.
    strength
        Of `start`.
    n_rounds
        Of EM, at every level; None: to the end.

    Returns
    -------
    Floats
        The rates of the finest cells.
    """
    cells = [levels[0].of_finer]
    for level in levels[1:]:
        cells.append(level.of_finer[cells[-1]])
    if n_rounds is None:
        everything = float(best_rates(np.zeros_like(cells[0]), events, np.array([start]), strength)[0])
    else:
        everything = share_by_em(events, start, strength, n_rounds)
    rates = np.full(levels[-1].n_cells, everything)
    for number in range(len(levels) - 1, -1, -1):
        level = levels[number]
        prior = rates if number == len(levels) - 1 else rates[levels[number + 1].of_finer]
        given = cells[number], events, prior, level.strength
        rates = best_rates(*given) if n_rounds is None else climb_rates(*given, n_rounds)
    return rates


def best_rates(cells: Int32s, events: Events, prior: Floats, strength: float) -> Floats:
    """The rate of the second predictor in each cell where EM from its `prior` rate would end."""
    rates: Floats = np.clip(prior, _LEAST, 1.0 - _LEAST)
    _find_rates(cells, events, (strength * rates, strength - strength * rates), rates, np.ones(len(rates)))
    return rates


def climb_rates(cells: Int32s, events: Events, prior: Floats, strength: float, n_rounds: int) -> Floats:
    """The rate of the second predictor in each cell, from its `prior` rate."""
    rates, totals = prior.copy(), np.full(len(prior), strength)
    totals += np.bincount(cells, events.counts, len(prior))
    _climb_rates(cells, events, strength * prior, totals, np.empty(len(prior)), rates, n_rounds)
    return rates


def groups_of_size(class_counts: Array, n_groups: int = 16) -> Int32s:
    """Cells of like counts form a group: the whole part of the binary logarithm."""
    return np.minimum(np.log2(np.maximum(class_counts, 1)).astype(np.int32), n_groups - 1).astype(np.int32)


@fast_kernel
def _climb_rates(
    cells: Int32s, events: Events, added: Floats, totals: Floats, sums: Floats, rates: Floats, n_rounds: int
) -> None:
    counts, first, second = events
    for _ in range(n_rounds):
        for cell in range(len(sums)):
            sums[cell] = added[cell]
        for event in range(len(cells)):
            rate = rates[cells[event]]
            share = rate * second[event]
            sums[cells[event]] += counts[event] * share / (share + (1.0 - rate) * first[event])
        for cell in range(len(sums)):
            rates[cell] = sums[cell] / totals[cell]


@fast_kernel
def _find_rates(
    cells: Int32s, events: Events, added: tuple[Floats, Floats], rates: Floats, above: Floats
) -> None:
    """Newton's steps where they stay between the bounds that slopes have shown so far, else the middle."""
    counts, first, second = events
    below, slopes, bends = np.zeros(len(rates)), np.empty(len(rates)), np.empty(len(rates))
    for _ in range(_STEPS):
        for cell in range(len(rates)):
            rate, more, less = rates[cell], added[0][cell], added[1][cell]
            slopes[cell] = more / rate - less / (1.0 - rate)
            bends[cell] = more / rate**2 + less / (1.0 - rate) ** 2
        for event in range(len(cells)):
            rate, gap = rates[cells[event]], second[event] - first[event]
            part = gap / (first[event] + rate * gap)
            slopes[cells[event]] += counts[event] * part
            bends[cells[event]] += counts[event] * part * part
        for cell in range(len(rates)):
            if slopes[cell] > 0.0:
                below[cell] = rates[cell]
            else:
                above[cell] = rates[cell]
            moved = rates[cell] + slopes[cell] / max(bends[cell], 1e-300)
            if not below[cell] < moved < above[cell]:
                moved = 0.5 * (below[cell] + above[cell])
            rates[cell] = moved


@fast_kernel
def _climb_rate(events: Events, n_events: float, prior: float, strength: float, n_rounds: int) -> float:
    """The same for one cell, which a processor can take several events at a time in."""
    counts, first, second = events
    rate = prior
    for _ in range(n_rounds):
        gained = 0.0
        for event in range(len(counts)):
            share = rate * second[event]
            gained += counts[event] * share / (share + (1.0 - rate) * first[event])
        rate = (strength * prior + gained) / (strength + n_events)
    return rate


@fast_kernel
def mixed_log_likelihood(cells: Int32s, events: Events, rates: Floats) -> float:
    """The log-likelihood of all events, mixed at the rates of their cells."""
    counts, first, second = events
    total = 0.0
    for event in range(len(cells)):
        rate = rates[cells[event]]
        total += counts[event] * np.log((1.0 - rate) * first[event] + rate * second[event])
    return total
