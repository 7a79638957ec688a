"""Contraction of sparse tensors with small dense matrices."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sigmastar.core.jit import kernel

Array = NDArray[np.float64]

WIDE = 8  # from here on a product of matrices is worth its call


@kernel
def contract_groups(
    starts: NDArray[np.int64], index: NDArray[np.int64], matrix: Array, tails: Array
) -> Array:
    """out[g, (a, d)] = sum over rows r of group g of matrix[index[r], a] * tails[r, d]."""
    n_groups, n_states, width = len(starts) - 1, matrix.shape[1], tails.shape[1]
    out = np.zeros((n_groups, n_states * width))
    for group in range(n_groups):
        if width >= WIDE and starts[group + 1] - starts[group] >= WIDE:
            rows = slice(starts[group], starts[group + 1])
            product = np.dot(matrix[index[rows]].T, tails[rows])
            for state in range(n_states):
                for column in range(width):
                    out[group, state * width + column] = product[state, column]
            continue
        if width == 1:
            for row in range(starts[group], starts[group + 1]):
                weight, at = tails[row, 0], index[row]
                for state in range(n_states):
                    out[group, state] += weight * matrix[at, state]
            continue
        for row in range(starts[group], starts[group + 1]):
            for state in range(n_states):
                weight = matrix[index[row], state]
                for column in range(width):
                    out[group, state * width + column] += weight * tails[row, column]
    return out
