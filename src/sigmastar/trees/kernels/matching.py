"""Which of a table of insides hangs below every node of a corpus, and which outsides are around it.

Both tables are closed: an inside is a symbol over earlier insides, an outside is an earlier outside with
one node more around its hole. So a node is looked up by the numbers of its children or of its parent, by
binary search among sorted keys.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sigmastar.core.jit import kernel

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]


@kernel
def pack(first: int, second: int, third: np.int64 | int, fourth: np.int64 | int, base: int) -> int:
    """Four numbers from -1 to base - 2 as one; the first is small."""
    return ((first * base + second + 1) * base + third + 1) * base + fourth + 1  # type: ignore[return-value]


@kernel
def _found(keys: Longs, numbers: Longs, key: int) -> np.int64:
    at = np.searchsorted(keys, key)
    if at < len(keys) and keys[at] == key:
        return np.int64(numbers[at])
    return np.int64(-1)


@kernel
def node_heights(left: Ints, right: Ints) -> Longs:
    """Steps from every node down to its deepest leaf; children stand before parents."""
    heights = np.zeros(len(left), np.int64)
    for node in range(len(left)):
        for child in (left[node], right[node]):
            if child >= 0:
                heights[node] = max(heights[node], heights[child] + 1)
    return heights


@kernel
def match_insides(
    rank: Ints, symbol: Ints, left: Ints, right: Ints, keys: Longs, numbers: Longs, base: int
) -> Longs:
    """The number of the inside at every node, -1 where the table lacks it."""
    found = np.full(len(rank), -1, np.int64)
    for node in range(len(rank)):
        if symbol[node] < 0 or symbol[node] >= base - 1:
            continue
        a = found[left[node]] if left[node] >= 0 else np.int64(-1)
        b = found[right[node]] if right[node] >= 0 else np.int64(-1)
        if (left[node] < 0 or a >= 0) and (right[node] < 0 or b >= 0):
            found[node] = _found(keys, numbers, pack(rank[node], symbol[node], a, b, base))
    return found


@kernel
def match_outsides(
    rank: Ints,
    symbol: Ints,
    left: Ints,
    right: Ints,
    insides: Longs,
    outer: Longs,
    keys: Longs,
    numbers: Longs,
    base: int,
) -> Longs:
    """From the outsides of some height around every node to those one step higher around its children."""
    found = np.full(len(rank), -1, np.int64)
    for node in range(len(rank)):
        a, b = left[node], right[node]
        if rank[node] == 0 or outer[node] < 0 or symbol[node] < 0 or symbol[node] >= base - 1:
            continue
        if rank[node] == 1:
            found[a] = _found(keys, numbers, pack(0, symbol[node], outer[node], -1, base))
            continue
        if insides[b] >= 0:
            found[a] = _found(keys, numbers, pack(1, symbol[node], outer[node], insides[b], base))
        if insides[a] >= 0:
            found[b] = _found(keys, numbers, pack(2, symbol[node], outer[node], insides[a], base))
    return found
