"""Products with matrices of indicator features that are never made: rows hold a fixed number of entries.

(Phi X)[row]  = sum over templates t of weight[row, t] X[number[row, t]]
(Phi^T Y)[d]  = sum over rows and templates with number[row, t] = d of weight[row, t] Y[row]
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sigmastar.core.jit import fast_kernel, kernel

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


@kernel
def numbered(
    symbol: NDArray[np.int64], codes: NDArray[np.int64], n_symbols: int
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]]:
    """Codes [node, template] numbered from 0 within the symbol of the node; how often each one occurs there.

    And how many numbers each symbol has. A table with open addressing finds codes that were met before.
    """
    n_nodes, n_templates = codes.shape
    bits = 4
    while (1 << bits) < 2 * n_nodes * n_templates:
        bits += 1
    size = np.int64(1) << bits
    owner, place = np.full(size, -1, np.int32), np.zeros((n_nodes, n_templates), np.int32)
    counts, sizes = np.zeros(size, np.int32), np.zeros(n_symbols, np.int64)
    first = np.zeros(size, np.int32)  # the node that brought a code
    number, often = np.zeros((n_nodes, n_templates), np.int32), np.zeros((n_nodes, n_templates), np.int32)
    for node in range(n_nodes):
        for t in range(n_templates):
            mixed = np.uint64(codes[node, t] + 1) * np.uint64(0x9E3779B97F4A7C15)
            mixed ^= np.uint64(symbol[node] * n_templates + t) * np.uint64(0xC4CEB9FE1A85EC53)
            mixed *= np.uint64(0xFF51AFD7ED558CCD)
            at = np.int64(mixed >> np.uint64(64 - bits))
            while owner[at] >= 0:
                other = first[at]
                if owner[at] == t and symbol[other] == symbol[node] and codes[other, t] == codes[node, t]:
                    break
                at = (at + 1) & (size - 1)
            if owner[at] < 0:
                owner[at], first[at] = t, node
                number[node, t] = sizes[symbol[node]]
                sizes[symbol[node]] += 1
            else:
                number[node, t] = number[first[at], t]
            counts[at] += 1
            place[node, t] = at
    for node in range(n_nodes):
        for t in range(n_templates):
            often[node, t] = counts[place[node, t]]
    return number, often, sizes
