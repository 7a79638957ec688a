"""How well predicted numbers agree with true ones."""

from __future__ import annotations

import numpy as np

from sigmastar.core.arrays import Floats


def r_squared(values: Floats, predicted: Floats, weights: Floats | None = None) -> float:
    """The share of the variance of `values` that `predicted` explains.

    Parameters
    ----------
    values, predicted : array
        True and predicted numbers.
    weights : array, optional
        One weight per number.

    Returns
    -------
    float
        1 where all are exact, 0 where the mean would do as well, or where all values are equal.
    """
    error, spread = (values - predicted) ** 2, (values - np.average(values, weights=weights)) ** 2
    total = float(np.average(spread, weights=weights))
    return 1.0 - float(np.average(error, weights=weights)) / total if total else 0.0
