"""The best entries of long rows, without sorting them."""

from __future__ import annotations

import numpy as np

from sigmastar.core.arrays import Array, Floats, Int64s
from sigmastar.core.jit import kernel


@kernel
def top_of_rows(rows: Array, best: Int64s, values: Floats) -> None:
    """The largest entries of each row, best first, ties in the order of columns."""
    k = best.shape[1]
    for row in range(len(rows)):
        for place in range(k):
            best[row, place], values[row, place] = -1, -np.inf
        bound = -np.inf
        for column in range(rows.shape[1]):
            value = rows[row, column]
            if value > bound:
                place = k - 1
                while place > 0 and values[row, place - 1] < value:
                    best[row, place], values[row, place] = best[row, place - 1], values[row, place - 1]
                    place -= 1
                best[row, place], values[row, place] = column, value
                bound = values[row, k - 1]
