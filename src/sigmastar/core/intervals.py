"""How sure a figure is: bootstrap intervals and paired comparison.

The bootstrap draws the items again with replacement and looks at the spread of the statistic
(percentile interval; Efron and Tibshirani 1993). Two models judged on the same items are compared
on the differences item by item, which removes what makes an item hard for both. Two classifiers are compared
by McNemar's test: only items that one of them gets right and the other wrong tell, and under equality each
is a fair coin.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from sigmastar.core.arrays import Floats

Statistic = Callable[[Floats], Floats]

MAX_CELLS = 4_000_000  # resampled values held at a time
N_RESAMPLES = 2000
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Estimate:
    """A figure with the interval that holds it, from `n` items."""

    value: float
    low: float
    high: float
    n: int

    def __str__(self) -> str:
        return f"{self.value:.4g} [{self.low:.4g}, {self.high:.4g}]"


@dataclass(frozen=True)
class PairedComparison:
    """The mean of `a - b`, its interval, and how sure it is that `a` is the better one."""

    difference: float
    low: float
    high: float
    p_better: float  # the share of resamples in which a is better, ties by half
    wins: int
    losses: int
    p_sign: float  # two-sided sign test: how often fair coins would be as one-sided as this


def mean(values: Floats) -> Floats:
    """The mean along the last axis: statistics for `bootstrap` have this form."""
    return np.asarray(values.mean(axis=-1))


def bootstrap(
    values: ArrayLike | Sequence[float],
    rng: np.random.Generator,
    statistic: Statistic = mean,
    n_resamples: int = N_RESAMPLES,
    confidence: float = CONFIDENCE,
) -> Estimate:
    """The statistic of the values with its percentile interval."""
    items = _items(values, "values")
    drawn = _resampled(items, statistic, n_resamples, rng)
    low, high = np.quantile(drawn, _tails(confidence))
    return Estimate(float(statistic(items)), float(low), float(high), len(items))


def normal_interval(value: float, standard_error: float, n: int, confidence: float = CONFIDENCE) -> Estimate:
    """value +- z standard errors, for means of many items."""
    reach = float(special.ndtri(_tails(confidence)[1])) * standard_error
    return Estimate(value, value - reach, value + reach, n)


def ratio_of_sums(
    tops: Floats, bottoms: Floats, rng: np.random.Generator, n_resamples: int = 1000
) -> Estimate:
    """The ratio of two sums over items, such as right words by words of sentences, with its interval."""
    drawn = rng.multinomial(len(tops), np.full(len(tops), 1 / len(tops)), n_resamples)
    totals = drawn @ bottoms
    values = (drawn @ tops) / np.maximum(totals, 1e-300)
    low, high = np.quantile(values[totals > 0] if (totals > 0).any() else np.zeros(1), [0.025, 0.975])
    value = float(tops.sum() / max(bottoms.sum(), 1e-300))
    return Estimate(value, float(low), float(high), int(bottoms.sum()))


def paired_comparison(
    a_values: ArrayLike | Sequence[float],
    b_values: ArrayLike | Sequence[float],
    rng: np.random.Generator,
    higher_is_better: bool = False,
) -> PairedComparison:
    """Compare two models on the same items, by their losses (or gains, if `higher_is_better`)."""
    a, b = _items(a_values, "a_values"), _items(b_values, "b_values")
    if len(a) != len(b):
        raise ValueError(f"a pair needs both values: {len(a)} a_values against {len(b)} b_values")
    differences = a - b
    drawn = _resampled(differences, mean, N_RESAMPLES, rng)
    low, high = np.quantile(drawn, _tails(CONFIDENCE))
    gain = 1.0 if higher_is_better else -1.0
    wins, losses = int((gain * differences > 0).sum()), int((gain * differences < 0).sum())
    p_better = float((gain * drawn > 0).mean() + (drawn == 0).mean() / 2)
    return PairedComparison(
        float(differences.mean()), float(low), float(high), p_better, wins, losses, sign_test(wins, losses)
    )


def sign_test(wins: int, losses: int) -> float:
    """Two-sided exact sign test; ties are left out beforehand."""
    return min(1.0, 2.0 * float(special.bdtr(min(wins, losses), wins + losses, 0.5)))


def _resampled(items: Floats, statistic: Statistic, n_resamples: int, rng: np.random.Generator) -> Floats:
    at_once = max(1, MAX_CELLS // len(items))
    pieces = []
    for first in range(0, n_resamples, at_once):
        size = (min(at_once, n_resamples - first), len(items))
        pieces.append(statistic(items[rng.integers(0, len(items), size)]))
    return np.concatenate(pieces)


def _items(values: ArrayLike | Sequence[float], name: str) -> Floats:
    items = np.asarray(values, dtype=np.float64)
    if items.ndim != 1 or len(items) == 0:
        raise ValueError(f"{name} must be one number per item, at least one; got shape {items.shape}")
    if not np.isfinite(items).all():
        raise ValueError(f"{name} must be finite: {int((~np.isfinite(items)).sum())} of {len(items)} are not")
    return items


def _tails(confidence: float) -> tuple[float, float]:
    if not 0 < confidence < 1:
        raise ValueError(f"confidence={confidence} must lie between 0 and 1, as in 0.95")
    return (1 - confidence) / 2, (1 + confidence) / 2


@dataclass(frozen=True)
class McNemar:
    """How often only the first or only the second was right, and how likely that is by chance."""

    only_first: int
    only_second: int
    p_value: float


def mcnemar(first_right: ArrayLike, second_right: ArrayLike) -> McNemar:
    """Compare two classifiers by whether each item was answered rightly.

    >>> mcnemar([True] * 9 + [False], [False] * 9 + [True]).only_first
    9
    """
    first, second = np.asarray(first_right, dtype=bool), np.asarray(second_right, dtype=bool)
    if first.shape != second.shape or first.ndim != 1:
        raise ValueError(f"both need one answer per item: shapes {first.shape} and {second.shape}")
    only_first, only_second = int((first & ~second).sum()), int((second & ~first).sum())
    return McNemar(only_first, only_second, sign_test(only_first, only_second))
