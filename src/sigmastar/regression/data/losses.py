"""What a predicted number costs, given what was observed.

    squared    (z - y)^2 / 2
    logistic   log(1 + exp(-y z))                          y = -1 or 1
    hinge      max(0, 1 - y z), rounded below the corner:  (1 - y z)^2 / 2h for 0 < 1 - y z < h

The rounding (h = 1/2) makes the hinge smooth, as gradient methods need; away from the corner its slope is
that of the hinge.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from sigmastar.core.arrays import Floats

ValueAndSlope = tuple[Floats, Floats]

ROUNDED = 0.5


@dataclass(frozen=True)
class Loss:
    """Values and slopes in the prediction, and how fast the slope changes at most."""

    name: str
    at: Callable[[Floats, Floats], ValueAndSlope]
    curvature: float


def _squared(predicted: Floats, observed: Floats) -> ValueAndSlope:
    error = predicted - observed
    return 0.5 * error**2, error


def _logistic(predicted: Floats, observed: Floats) -> ValueAndSlope:
    margin = observed * predicted
    return np.logaddexp(0.0, -margin), -observed * np.exp(-np.logaddexp(0.0, margin))


def _hinge(predicted: Floats, observed: Floats) -> ValueAndSlope:
    short = np.maximum(1.0 - observed * predicted, 0.0)
    rounded = np.minimum(short, ROUNDED)
    return rounded**2 / (2.0 * ROUNDED) + short - rounded, -observed * rounded / ROUNDED


def _at_least(predicted: Floats, bound: Floats) -> ValueAndSlope:
    """Nothing above the bound, squared below it."""
    short = np.maximum(bound - predicted, 0.0)
    return 0.5 * short**2, -short


SQUARED = Loss("squared", _squared, 1.0)
LOGISTIC = Loss("logistic", _logistic, 0.25)
HINGE = Loss("hinge", _hinge, 1.0 / ROUNDED)
AT_LEAST = Loss("at least", _at_least, 1.0)

LOSSES: Mapping[str, Loss] = {"squared": SQUARED, "logistic": LOGISTIC, "hinge": HINGE}
