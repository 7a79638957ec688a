"""Clusters of tokens whose points are made of two parts, each looked up by a class.

    point of a token = [left(its past class), right(its future class)]
    |point - centre|^2 = const + A[past class, centre] + B[future class, centre]

so that the nearest centre of a token is the least sum of two rows of tables, and no point is ever made.
"""

from __future__ import annotations

import numpy as np

from sigmastar.core.arrays import Array, Flags, Floats, Int32s
from sigmastar.core.jit import fast_kernel, kernel


@fast_kernel
def least_sums(first: Int32s, second: Int32s, left: Array, right: Array, labels: Int32s) -> int:
    """The column with the least sum of two rows, for each pair of rows; how many labels changed."""
    n, changed = left.shape[1], 0
    sums = np.empty(n, np.float32)
    for pair in range(len(first)):
        a, b = first[pair], second[pair]
        least = np.float32(np.inf)
        for z in range(n):
            sums[z] = left[a, z] + right[b, z]
            least = min(least, sums[z])
        at = 0
        while sums[at] > least:
            at += 1
        changed += labels[pair] != at
        labels[pair] = at
    return changed


@kernel
def add_rows(rows: Int32s, labels: Int32s, weights: Array, table: Array, sums: Floats) -> None:
    """Add to the sum of each label the rows of a table that belong to it, weighted."""
    for at in range(len(rows)):
        row, label, weight = rows[at], labels[at], weights[at]
        for j in range(table.shape[1]):
            sums[label, j] += weight * table[row, j]


@kernel
def count_labels(labels: Int32s, tokens: Int32s, moves: Array, by_word: Array, begins: Flags) -> None:
    """How often each label follows each, and each word has each label."""
    for at in range(len(labels)):
        by_word[tokens[at], labels[at]] += 1
        if not begins[at]:
            moves[labels[at - 1], labels[at]] += 1
