"""The tail of lengths: frequencies of lengths beyond the most frequent one fall like c alpha^length.

Cohen and Smith (2012), section 3.1 and figure 1: c and alpha minimize the squared error between the
frequencies and the curve, over all lengths above the mode. For a given alpha the best c is a ratio of sums.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar

from sigmastar.core.arrays import Floats, Int64s


@dataclass(frozen=True, eq=False)
class TailFit:
    """f(l) = scale * rate ** l on the tail, and how far the frequencies are from it."""

    scale: float
    rate: float
    squared_error: float
    lengths: Int64s  # of the tail, every one from the mode on to the longest
    frequencies: Floats
    distance: float  # Kolmogorov and Smirnov's, between the tail and the geometric law with this rate
    n_items: int = 0  # in the tail

    @property
    def critical(self) -> float:
        """The distance above which the law is rejected at 5%: 1.36 / sqrt(n), or less for discrete laws."""
        return float(1.36 / np.sqrt(max(self.n_items, 1)))

    def curve(self, lengths: Int64s) -> Floats:
        return np.asarray(self.scale * self.rate ** lengths.astype(float))


def frequencies(lengths: Int64s) -> Floats:
    """The share of each length, from 0 on."""
    counts = np.bincount(np.asarray(lengths, np.int64))
    return np.asarray(counts / counts.sum())


def fit_tail(lengths: Int64s) -> TailFit:
    """Fit c alpha^length to the frequencies of lengths.

    Parameters
    ----------
    lengths
        Of sentences or derivations.

    Returns
    -------
    TailFit
        The curve, and how far the frequencies are from it.
    """
    shares = frequencies(lengths)
    tail = np.arange(int(shares.argmax()) + 1, len(shares))
    if len(tail) < 2:
        raise ValueError(f"{len(tail)} lengths lie above the most frequent one: too few for a tail")
    values = shares[tail]

    def error(rate: float) -> float:
        return float(((values - _scale(values, tail, rate) * rate ** tail.astype(float)) ** 2).sum())

    grid = np.linspace(0.001, 0.9999, 400)  # the error may have several minima
    at = int(np.argmin([error(rate) for rate in grid]))
    around = (float(grid[max(at - 1, 0)]), float(grid[min(at + 1, len(grid) - 1)]))
    rate = float(minimize_scalar(error, bounds=around, method="bounded", options={"xatol": 1e-10}).x)
    n_items = int((np.asarray(lengths) >= tail[0]).sum())
    found = (_scale(values, tail, rate), rate, error(rate), tail, values)
    return TailFit(*found, _distance(values, rate), n_items)


def _scale(values: Floats, tail: Int64s, rate: float) -> float:
    powers = rate ** (tail - tail[0]).astype(float)  # from the start of the tail: no underflow
    return float((values @ powers) / (powers @ powers) * rate ** -float(tail[0]))


def _distance(values: Floats, rate: float) -> float:
    observed = np.cumsum(values) / values.sum()
    return float(np.abs(observed - (1 - rate ** np.arange(1, len(values) + 1))).max())
