"""Adaptive gradient steps on sparse features: parts of compiled kernels.

    squares += g^2,    weights -= rate * g / sqrt(squares)          (Duchi, Hazan and Singer 2011)

Every weight has a step of its own, so that rare features learn as fast as frequent ones. `squares` begin at a
positive number, which bounds the first step. With a negative rate the weights climb instead.

    drift += time * step,     mean of the weights over all times = weights - drift / time
"""

from __future__ import annotations

import numpy as np

from sigmastar.core.arrays import Array, Floats
from sigmastar.core.jit import part


@part
def step(weights: Array, squares: Array, place: int | tuple[int, int], slope: float, rate: float) -> float:
    """One step of one weight, in place.

    Parameters
    ----------
    weights, squares
        Arrays of one shape.
    place
        Where the weight stands: a number, or a pair of row and column for tables.
    slope
        The derivative of the loss.
    rate
        The size of steps; below zero to climb.

    Returns
    -------
    float
        What the weight changed by.
    """
    squares[place] += slope * slope
    change: float = -rate * slope / np.sqrt(squares[place])
    weights[place] += change
    return change


@part
def step_rows(weights: Array, squares: Array, rows: Array, slopes: Array, rate: float, least: float) -> None:
    """A step of some rows of a table, all with the same slopes; those of at most `least` are passed over."""
    for column in range(len(slopes)):
        slope = slopes[column]
        if abs(slope) > least:
            for k in range(len(rows)):
                squares[rows[k], column] += slope * slope
                weights[rows[k], column] -= rate * slope / np.sqrt(squares[rows[k], column])


@part
def averaged_step(
    weights: Array, squares: Array, drift: Array, place: int, slope: float, rate: float, time: float
) -> None:
    """One step of one weight, with the book-keeping for the mean over all times."""
    squares[place] += slope * slope
    change = -rate * slope / np.sqrt(squares[place])
    weights[place] += change
    drift[place] += time * change


def averaged(weights: Floats, drift: Floats, time: float) -> Floats:
    """The mean of the weights over all steps.

    Parameters
    ----------
    weights, drift
        As `averaged_step` left them.
    time
        The number of steps; the first was taken at time 0.

    Returns
    -------
    Floats
        The mean of the weights as they were after each step.
    """
    return np.asarray(weights - drift / time)
