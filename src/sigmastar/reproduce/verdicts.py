"""When a claim holds: a difference needs a test, and one that no test can tell is open.

    paired    items judged by both sides; the interval of the mean difference by the bootstrap
    slopes    log error against log size, one line per case with a common slope; Student's interval

A verdict is True, False, or None for what the data leave open.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from sigmastar.core.intervals import Estimate, PairedComparison, paired_comparison


def above(gap: Estimate | PairedComparison, least: float = 0.0) -> bool | None:
    """Whether a difference is above `least`: open where its interval holds that."""
    if gap.low > least:
        return True
    return False if gap.high < least else None


def all_of(verdicts: Sequence[bool | None]) -> bool | None:
    """Whether all hold: no, where one does not; open, where none fails and one is open."""
    if not verdicts or any(verdict is False for verdict in verdicts):
        return False if verdicts else None
    return None if any(verdict is None for verdict in verdicts) else True


def gain(first: ArrayLike, second: ArrayLike, rng: np.random.Generator) -> PairedComparison:
    """The mean of first - second over items, larger being better."""
    return paired_comparison(np.asarray(first), np.asarray(second), rng, higher_is_better=True)


def points(gap: Estimate | PairedComparison, scale: float = 100.0) -> str:
    """A difference with its interval, as text."""
    value = gap.value if isinstance(gap, Estimate) else gap.difference
    low, high = scale * gap.low, scale * gap.high
    return f"{scale * value:+.1f} points, 95% interval {low:+.1f} to {high:+.1f}"


@dataclass(frozen=True)
class Slope:
    """A slope in log-log, with the ends of its interval of 95%."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.2f} ({self.low:.2f} to {self.high:.2f})"

    def reaches(self, rate: float) -> bool | None:
        """Whether something falls at least as fast as size^rate, `rate` below 0.

        Yes, where the interval holds or is below the rate; no, where it is above; open, where it does not
        even tell a fall from none.
        """
        if self.high >= 0 and self.low <= rate:
            return None
        return bool(self.low <= rate)


def common_slope(sizes: ArrayLike, errors: ArrayLike) -> Slope:
    """Of log errors (cases x sizes) against log sizes, with a line of its own height for every case."""
    x, y = np.log(np.asarray(sizes, dtype=float)), np.log(np.atleast_2d(np.asarray(errors, dtype=float)))
    known = np.isfinite(y)
    table = np.where(known, y, np.nan)
    shifted = np.where(known, x, np.nan) - np.nanmean(np.where(known, x, np.nan), axis=1, keepdims=True)
    heights = table - np.nanmean(table, axis=1, keepdims=True)
    spread = float(np.nansum(shifted**2))
    value = float(np.nansum(shifted * heights) / spread)
    freedom = int(known.sum()) - len(y) - 1
    if freedom < 1:
        return Slope(value, -np.inf, np.inf)
    noise = float(np.nansum((heights - value * shifted) ** 2)) / freedom
    reach = float(special.stdtrit(freedom, 0.975)) * np.sqrt(noise / spread)
    return Slope(value, value - reach, value + reach)
