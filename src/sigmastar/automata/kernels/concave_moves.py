"""Ratios of counts to what factors give them, and what they expect of moves: the updates of `convex`.

    ratio[r, c]   = C[r, c] / (left[r] . right[c])
    expected[a]   = T_a o W^T (C_a / (W T_a K)) K^T,     over the entries of the slice C_a alone

Only rows with entries are ever multiplied: with a large alphabet a symbol stands after few pasts.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sigmastar.core.arrays import Floats, Int64s
from sigmastar.core.jit import fast_kernel, kernel


class SliceEntries(NamedTuple):
    """The entries of all slices C_a, sorted by symbol, row and column."""

    symbols: Int64s  # those that occur
    symbol_starts: Int64s  # where the runs of each begin, with the end added
    run_rows: Int64s  # a run is all entries of one symbol and row
    run_starts: Int64s  # where its entries begin, with the end added
    columns: Int64s
    values: Floats


@fast_kernel
def ratio_sums(
    rows: Int64s, columns: Int64s, counts: Floats, left: Floats, right: Floats
) -> tuple[Floats, Floats]:
    """Of ratio = counts / left[r] . right[c]: sums over c of ratio right[c], and over r of ratio left[r]."""
    n = left.shape[1]
    left_sums, right_sums = np.zeros_like(left), np.zeros_like(right)
    for entry in range(len(counts)):
        row, column = rows[entry], columns[entry]
        value = 0.0
        for state in range(n):
            value += left[row, state] * right[column, state]
        if value > 0.0:
            ratio = counts[entry] / value
            for state in range(n):
                left_sums[row, state] += ratio * right[column, state]
                right_sums[column, state] += ratio * left[row, state]
    return left_sums, right_sums


@kernel
def expected_moves(entries: SliceEntries, mixes: Floats, moves: Floats, emissions: Floats) -> Floats:
    """How often each move is expected under mixes W, moves T and emissions K; symbols x n x n."""
    expected, shape = np.zeros_like(moves), mixes.shape
    before, after, sums = np.empty(shape), np.empty(shape), np.empty(shape)
    for k in range(len(entries.symbols)):
        symbol, first, end = entries.symbols[k], entries.symbol_starts[k], entries.symbol_starts[k + 1]
        met = slice(0, end - first)
        for run in range(first, end):
            for state in range(shape[1]):
                before[run - first, state] = mixes[entries.run_rows[run], state]
        np.dot(before[met], moves[symbol], after[met])
        _sum_ratios(entries, first, after[met], emissions, sums[met])
        np.dot(before[met].T, sums[met], expected[symbol])
        for state in range(shape[1]):
            for target in range(shape[1]):
                expected[symbol, state, target] *= moves[symbol, state, target]
    return expected


@fast_kernel
def _sum_ratios(entries: SliceEntries, first: int, left: Floats, right: Floats, sums: Floats) -> None:
    """The sums over columns of ratio right[c], for runs from `first` on."""
    n = left.shape[1]
    for row in range(len(left)):
        for state in range(n):
            sums[row, state] = 0.0
        for entry in range(entries.run_starts[first + row], entries.run_starts[first + row + 1]):
            column, value = entries.columns[entry], 0.0
            for state in range(n):
                value += left[row, state] * right[column, state]
            if value > 0.0:
                ratio = entries.values[entry] / value
                for state in range(n):
                    sums[row, state] += ratio * right[column, state]
