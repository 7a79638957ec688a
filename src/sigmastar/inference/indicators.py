"""Products with matrices of indicator features that are never made: rows hold a fixed number of entries.

(Phi X)[row]  = sum over templates t of weight[row, t] X[number[row, t]]
(Phi^T Y)[d]  = sum over rows and templates with number[row, t] = d of weight[row, t] Y[row]
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sigmastar.jit import fast_kernel

Array = NDArray[np.float64]


@fast_kernel
def gathered(number: NDArray[np.int32], weight: NDArray[np.float32], matrix: Array) -> Array:
    """Phi X."""
    n, k = number.shape[0], matrix.shape[1]
    result = np.zeros((n, k))
    for row in range(n):
        for t in range(number.shape[1]):
            w = np.float64(weight[row, t])
            if w != 0.0:
                at = number[row, t]
                for j in range(k):
                    result[row, j] += w * matrix[at, j]
    return result


@fast_kernel
def scattered(
    number: NDArray[np.int32], weight: NDArray[np.float32], matrix: Array, n_features: int
) -> Array:
    """Phi^T Y."""
    k = matrix.shape[1]
    result = np.zeros((n_features, k))
    for row in range(number.shape[0]):
        for t in range(number.shape[1]):
            w = np.float64(weight[row, t])
            if w != 0.0:
                at = number[row, t]
                for j in range(k):
                    result[at, j] += w * matrix[row, j]
    return result
