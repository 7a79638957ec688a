"""Contraction of sparse tensors with small dense matrices."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sigmastar.jit import kernel

Array = NDArray[np.float64]


@kernel
def contract_groups(
    starts: NDArray[np.int64], index: NDArray[np.int64], matrix: Array, tails: Array
) -> Array:
    """out[g, (a, d)] = sum over rows r of group g of matrix[index[r], a] * tails[r, d]."""
    n_groups, n_states, width = len(starts) - 1, matrix.shape[1], tails.shape[1]
    out = np.zeros((n_groups, n_states * width))
    for group in range(n_groups):
        for row in range(starts[group], starts[group + 1]):
            for state in range(n_states):
                weight = matrix[index[row], state]
                for column in range(width):
                    out[group, state * width + column] += weight * tails[row, column]
    return out
