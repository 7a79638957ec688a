"""Distances of arcs: how often they are seen, and what they weigh.

    weight(h, e) = table[sort of h towards e, symbol of e, bin of |h - e|]

Positions are as in `eisner`: 0 is the root, whose sort is the last.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sigmastar.core.jit import kernel

Array = NDArray[np.float64]
Codes = NDArray[np.int32]
Longs = NDArray[np.int64]

N_BINS = 7


@kernel
def _bin(distance: int) -> int:
    """1, 2, 3, 4, 5 and 6, 7 to 10, more."""
    if distance <= 4:
        return distance - 1
    return 4 if distance <= 6 else 5 if distance <= 10 else 6


@kernel
def _sort(head: int, end: int, codes: Codes, start: int, root: int) -> int:
    return root if head == 0 else 2 * codes[start + head - 1] + (1 if end > head else 0)


@kernel
def count_distances(codes: Codes, heads: Codes, offsets: Longs, n_symbols: int) -> tuple[Array, Array]:
    """How often each bin is seen between head and modifier, and between two words, [sort, symbol, bin]."""
    root = 2 * n_symbols
    arcs, pairs = np.zeros((root + 1, n_symbols, N_BINS)), np.zeros((root + 1, n_symbols, N_BINS))
    for q in range(len(offsets) - 1):
        start = offsets[q]
        n = offsets[q + 1] - start
        for e in range(1, n + 1):
            symbol = codes[start + e - 1]
            for h in range(n + 1):
                if h == e:
                    continue
                sort, number = _sort(h, e, codes, start, root), _bin(abs(h - e))
                pairs[sort, symbol, number] += 1.0
                if heads[start + e - 1] == h:
                    arcs[sort, symbol, number] += 1.0
    return arcs, pairs


@kernel
def multiply_distances(codes: Codes, offsets: Longs, table: Array, weights: Array, at: Longs) -> None:
    """Multiply the weights of all arcs, which lie flat, each sentence as [head, modifier] from `at` on."""
    root = len(table) - 1
    for q in range(len(offsets) - 1):
        start = offsets[q]
        n = offsets[q + 1] - start
        for h in range(n + 1):
            row = weights[at[q] + h * (n + 1) : at[q] + (h + 1) * (n + 1)]
            for e in range(1, n + 1):
                if h != e:
                    row[e] *= table[_sort(h, e, codes, start, root), codes[start + e - 1], _bin(abs(h - e))]
