"""Sparse count tables against low-rank mixtures: the inner loops of the concave stages.

For a table of counts C with non-zero entries (r, c) and a model value v[r, c] = L[r] . R[:, c]

    ratios      C[r, c] / v[r, c]
    left sums   sum over c of ratio[r, c] R[:, c]            one row a left row
    right sums  sum over r of ratio[r, c] L[r]               one column a right column
"""

from __future__ import annotations

import numpy as np

from sigmastar.core.arrays import Floats, Int64s
from sigmastar.core.jit import fast_kernel


@fast_kernel
def mixture_sums(
    rows: Int64s, columns: Int64s, counts: Floats, left: Floats, right: Floats
) -> tuple[Floats, Floats, float]:
    """Left sums, right sums (transposed: columns x n) and the log-likelihood; `right` is columns x n too."""
    n = left.shape[1]
    left_sums, right_sums = np.zeros_like(left), np.zeros_like(right)
    log_likelihood = 0.0
    for entry in range(len(counts)):
        row, column = rows[entry], columns[entry]
        value = 0.0
        for state in range(n):
            value += left[row, state] * right[column, state]
        if value <= 0.0:
            continue
        log_likelihood += counts[entry] * np.log(value)
        ratio = counts[entry] / value
        for state in range(n):
            left_sums[row, state] += ratio * right[column, state]
            right_sums[column, state] += ratio * left[row, state]
    return left_sums, right_sums, log_likelihood


@fast_kernel
def left_sums_only(rows: Int64s, columns: Int64s, counts: Floats, left: Floats, right: Floats) -> Floats:
    """The left sums alone, for one run of entries."""
    n = left.shape[1]
    sums = np.zeros_like(left)
    for entry in range(len(counts)):
        row, column = rows[entry], columns[entry]
        value = 0.0
        for state in range(n):
            value += left[row, state] * right[column, state]
        if value > 0.0:
            ratio = counts[entry] / value
            for state in range(n):
                sums[row, state] += ratio * right[column, state]
    return sums
