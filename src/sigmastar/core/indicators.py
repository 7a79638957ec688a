"""Views of indicator features: a fixed number of columns per occurrence, or a sparse matrix.

    (X M)[row]    = sum over columns t of weight[row, t] M[number[row, t]]
    (X^T M)[d]    = sum over rows and columns with number[row, t] = d of weight[row, t] M[row]

Two occurrences with the same code in a column share a feature of that column. Codes below zero are none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from sigmastar.core.arrays import Array, Floats, Int32s, Int64s, Singles
from sigmastar.core.jit import fast_kernel, kernel
from sigmastar.core.views import UNDAMPED, Scale

RARE, MANY = 2, 50
"""Features that occur less often than this are left out in groups of more occurrences than that."""


@dataclass(frozen=True, eq=False)
class Indicators:
    """The view of occurrences by the numbers and weights of their features, occurrences x columns."""

    number: Int32s
    weight: Singles
    n_features: int

    def times(self, matrix: Floats) -> Floats:
        return gathered(self.number, self.weight, np.ascontiguousarray(matrix))

    def transposed_times(self, matrix: Floats) -> Floats:
        return scattered(self.number, self.weight, np.ascontiguousarray(matrix), self.n_features)


@dataclass(frozen=True, eq=False)
class GroupedIndicators:
    """Indicators of all groups: features are numbered from 0 within the group of their occurrence."""

    number: Int32s
    weight: Singles
    n_features: Int64s  # of each group

    def of(self, group: int, rows: Int64s) -> Indicators:
        """The view of the occurrences of one group."""
        return Indicators(self.number[rows], self.weight[rows], int(self.n_features[group]))


def grouped_indicators(
    groups: Int64s, codes: Int64s, n_groups: int, damping: float = 5.0
) -> GroupedIndicators:
    """Number the codes within each group, with weights sqrt(total / (count + damping)).

    Parameters
    ----------
    groups
        Of each occurrence, from 0.
    codes
        Occurrences x columns, from -1 up.
    n_groups
        How many groups there are.
    damping
        Added to counts.

    Returns
    -------
    GroupedIndicators
        Rare features, and codes of -1, have a weight of zero.
    """
    if codes.min(initial=-1) < -1:
        raise ValueError("codes of features must be numbers from -1 up")
    number, counts, n_features = numbered(groups, codes, n_groups)
    total = np.bincount(groups, minlength=n_groups).astype(np.float64)[groups][:, None]
    weight = np.sqrt(total / (counts + damping))
    weight[((counts < RARE) & (total > MANY)) | (codes < 0)] = 0.0
    return GroupedIndicators(number, weight.astype(np.float32), n_features)


def indicator_matrix(
    columns: Sequence[Array], weights: Floats | None = None, scale: Scale = UNDAMPED
) -> sparse.csr_array:
    """Columns of codes as a sparse matrix of scaled indicators.

    Parameters
    ----------
    columns
        A code per occurrence each; below zero: none.
    weights
        Of the occurrences; None: all one.
    scale
        From the counts of features to the values of their indicators.

    Returns
    -------
    sparse.csr_array
        Occurrences x features of all columns side by side.
    """
    parts = []
    for column in columns:
        codes, place = np.unique(column, return_inverse=True)
        counts = np.bincount(place, weights, minlength=len(codes)).astype(np.float64)
        values = np.where(codes >= 0, scale(counts), 0.0)
        entries = (values[place], (np.arange(len(column)), place))
        parts.append(sparse.csr_array(entries, (len(column), len(codes))))
    return sparse.csr_array(sparse.hstack(parts))


@fast_kernel
def gathered(number: Int32s, weight: Singles, matrix: Floats) -> Floats:
    """X M."""
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
def scattered(number: Int32s, weight: Singles, matrix: Floats, n_features: int) -> Floats:
    """X^T M."""
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
def numbered(groups: Int64s, codes: Int64s, n_groups: int) -> tuple[Int32s, Int32s, Int64s]:
    """Codes [row, column] numbered from 0 within the group of the row; how often each one occurs there.

    And how many numbers each group has. A table with open addressing finds codes that were met before.
    """
    n_rows, n_columns = codes.shape
    bits = 4
    while (1 << bits) < 2 * n_rows * n_columns:
        bits += 1
    size = np.int64(1) << bits
    owner, place = np.full(size, -1, np.int32), np.zeros((n_rows, n_columns), np.int32)
    counts, sizes = np.zeros(size, np.int32), np.zeros(n_groups, np.int64)
    first = np.zeros(size, np.int32)  # the row that brought a code
    number, often = np.zeros((n_rows, n_columns), np.int32), np.zeros((n_rows, n_columns), np.int32)
    for row in range(n_rows):
        for t in range(n_columns):
            mixed = np.uint64(codes[row, t] + 1) * np.uint64(0x9E3779B97F4A7C15)
            mixed ^= np.uint64(groups[row] * n_columns + t) * np.uint64(0xC4CEB9FE1A85EC53)
            mixed *= np.uint64(0xFF51AFD7ED558CCD)
            at = np.int64(mixed >> np.uint64(64 - bits))
            while owner[at] >= 0:
                other = first[at]
                if owner[at] == t and groups[other] == groups[row] and codes[other, t] == codes[row, t]:
                    break
                at = (at + 1) & (size - 1)
            if owner[at] < 0:
                owner[at], first[at] = t, row
                number[row, t] = sizes[groups[row]]
                sizes[groups[row]] += 1
            else:
                number[row, t] = number[first[at], t]
            counts[at] += 1
            place[row, t] = at
    for row in range(n_rows):
        for t in range(n_columns):
            often[row, t] = counts[place[row, t]]
    return number, often, sizes
