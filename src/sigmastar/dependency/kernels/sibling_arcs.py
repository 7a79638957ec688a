"""The ways to come to each modifier: from each sibling that may stand between it and the head, or none."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sigmastar.core.jit import kernel

Array = NDArray[np.float64]
Codes = NDArray[np.int32]
Longs = NDArray[np.int64]


@kernel
def lay_ways(weights: Array, offsets: Longs) -> tuple[Longs, Codes, Longs]:
    """Where the ways of each arc begin; head, sibling (0: none) and modifier of each; where sentences begin.

    Arcs that weigh nothing have none; the others have those of `Ways`. `weights` lies flat.
    """
    starts, at = np.zeros(len(weights), np.int64), np.zeros(len(offsets), np.int64)
    for again in range(2):
        ways = np.empty((at[-1], 3), np.int32)
        total = low = 0
        for q in range(len(offsets) - 1):
            n = offsets[q + 1] - offsets[q] + 1
            for h in range(n):
                for step in (-1, 1):
                    count, e = 0, h + step
                    while 0 < e < n:
                        place = low + h * n + e
                        if weights[place] != 0.0:
                            starts[place] = total
                            if again:
                                number, k = 0, h + step
                                while k != e:
                                    if weights[low + h * n + k] != 0.0:
                                        ways[total + number] = (h, k, e)
                                        number += 1
                                    k += step
                                ways[total + count] = (h, 0, e)
                            count += 1
                            total += count
                        e += step
            low += n * n
            at[q + 1] = total
    return starts, ways, at
