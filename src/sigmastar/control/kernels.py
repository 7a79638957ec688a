"""Draws from rows of large matrices, without a copy of the rows."""

from __future__ import annotations

import numpy as np

from sigmastar.core.arrays import Floats, Indices, Int64s
from sigmastar.core.jit import kernel


@kernel
def draw_products(
    matrix: Floats,
    rows: Int64s,
    first: Int64s,
    last: Int64s,
    factors: Floats,
    of_factors: Int64s,
    aims: Floats,
) -> Indices:
    """Column j of `first` to `last`, by matrix[row, j] * factors[of_factors, j], for each row.

    Aims are uniform numbers below one. A column of weight zero is never drawn.
    """
    found = np.zeros(len(rows), np.intp)
    for i in range(len(rows)):
        row, factor, total = rows[i], of_factors[i], 0.0
        for j in range(first[i], last[i]):
            total += matrix[row, j] * factors[factor, j]
        aim, partial = aims[i] * total, 0.0
        for j in range(first[i], last[i]):
            weight = matrix[row, j] * factors[factor, j]
            if weight > 0.0:
                found[i] = j
                partial += weight
                if partial > aim:
                    break
    return found
