"""Counts shrunk towards coarser estimates.

    p = (counts + s coarse) / (total + s)

`coarse` counts for s observations, s being the strength. Chains go from coarse to fine: each estimate is what
the next one is shrunk towards. The strength may grow with the total: s = b sqrt(total) gives the counts the
weight sqrt(total) / (sqrt(total) + b) (Cohen et al. 2013).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from sigmastar.core.arrays import Array, Floats
from sigmastar.core.jit import part

Axis = int | tuple[int, ...]
Strength = float | Floats
Lift = Callable[[Floats], Floats]


def towards(
    counts: Array, coarse: Array, strength: Strength, axis: Axis = -1, totals: Array | float | None = None
) -> Floats:
    """(counts + strength * coarse) / (totals + strength).

    Parameters
    ----------
    counts
        How often each outcome was observed, or sums over observations.
    coarse
        The estimate that counts for `strength` observations, of a shape that broadcasts to that of `counts`.
    strength
        One number, or one that broadcasts to the totals.
    axis
        The axis, or axes, of the outcomes: along it probabilities sum to one if `coarse` does.
    totals
        The numbers of observations where they are not the sums along `axis`: outcomes that are spread over
        several arrays, ragged rows, means.

    Returns
    -------
    Floats
        The shrunk estimate; `coarse` where total and strength are both zero.

    Examples
    --------
    >>> towards(np.array([3.0, 1.0]), np.array([0.5, 0.5]), 4.0).tolist()
    [0.625, 0.375]
    """
    found = np.asarray(counts, dtype=np.float64).sum(axis=axis, keepdims=True) if totals is None else totals
    whole = np.asarray(found) + np.asarray(strength)
    sums = counts + np.asarray(strength) * coarse
    if np.all(whole > 0):
        return np.asarray(sums / whole)
    return np.where(whole > 0, sums / np.where(whole > 0, whole, 1.0), coarse)


def mean_towards(means: Array, coarse: Array, totals: Array | float, strength: Strength) -> Floats:
    """The same for means, or any estimates, that rest on `totals` observations.

    Parameters
    ----------
    means, coarse
        The estimate from few observations and the one to shrink it towards.
    totals
        The number of observations behind each of `means`, of a shape that broadcasts.
    strength
        How many observations `coarse` counts for.

    Returns
    -------
    Floats
        (1 - w) means + w coarse, w = strength / (totals + strength).
    """
    weight = weight_of_coarse(totals, strength)
    return np.asarray((1.0 - weight) * means + weight * coarse)


def weight_of_coarse(totals: Array | float, strength: Strength) -> Floats:
    """strength / (totals + strength), the share of the coarse estimate; 0 where both are zero."""
    whole = np.asarray(totals, dtype=np.float64) + strength
    return np.asarray(np.asarray(strength, dtype=np.float64) / np.where(whole > 0, whole, 1.0))


@dataclass(frozen=True, eq=False)
class Level:
    """Counts at one level of a chain.

    `lift` brings the estimate of the coarser level to the shape of these counts: see `rows`.
    """

    counts: Floats
    strength: Strength
    lift: Lift = np.asarray


def rows(numbers: Array) -> Lift:
    """The lift that gives row k of the finer level the row `numbers[k]` of the coarser one."""
    return lambda coarse: np.asarray(coarse[numbers])


def chain(coarsest: Floats, levels: Iterable[Level]) -> list[Floats]:
    """Estimates of all levels, from coarse to fine, each shrunk towards the one before it.

    Parameters
    ----------
    coarsest
        What the first level is shrunk towards.
    levels
        From coarse to fine.

    Returns
    -------
    list of Floats
        An estimate per level; the last is the finest.

    Examples
    --------
    >>> by_word, by_class = np.array([[2.0, 0.0], [0.0, 1.0]]), np.array([[2.0, 1.0]])
    >>> uniform = np.full(2, 0.5)
    >>> chain(uniform, [Level(by_class, 1.0), Level(by_word, 2.0, rows(np.array([0, 0])))])[-1].tolist()
    [[0.8125, 0.1875], [0.4166666666666667, 0.5833333333333334]]
    """
    found: list[Floats] = []
    for level in levels:
        coarse = level.lift(found[-1] if found else coarsest)
        found.append(towards(level.counts, coarse, level.strength))
    return found


def normalized(counts: Array, axis: Axis = -1, otherwise: Array | float | None = None) -> Floats:
    """Counts divided by their sums.

    Parameters
    ----------
    counts
        Not negative.
    axis
        The axis, or axes, of the outcomes.
    otherwise
        What stands where the sum is zero; None: outcomes that are all equally probable.

    Returns
    -------
    Floats
        Shares that sum to one along `axis`.
    """
    totals = np.asarray(counts.sum(axis=axis, keepdims=True), dtype=np.float64)
    if otherwise is None:
        otherwise = totals.size / max(counts.size, 1)
    return np.where(totals > 0, counts / np.where(totals > 0, totals, 1.0), otherwise)


@part
def shrink_in_place(counts: Array, coarse: Array, strength: float, total: float) -> None:
    """`towards` of one row inside a kernel."""
    norm = 1.0 / (total + strength)
    for k in range(len(counts)):
        counts[k] = (counts[k] + strength * coarse[k]) * norm
