"""Entries of a matrix that is held as a product of two thin ones, and sums over groups of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sigmastar.core.jit import kernel

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


@kernel
def product_entries(left: Array, right: Array, rows: Indices, columns: Indices) -> Array:
    """(left @ right.T)[rows, columns] without the product."""
    values = np.zeros(len(rows))
    for entry in range(len(rows)):
        total = 0.0
        for k in range(left.shape[1]):
            total += left[rows[entry], k] * right[columns[entry], k]
        values[entry] = total
    return values
