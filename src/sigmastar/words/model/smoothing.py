"""Probabilities from expected counts: absolute discounting, from states to groups of states to all of them.

    E(w | z)  = max(N(z, w) - D, 0) / N(z) + (what is left) G(w | group of z)
    G(w | g)  = max(N(g, w) - D', 0) / N(g) + (what is left) p(w)
    T(z' | z) = max(N(z, z') - D, 0) / N(z) + (what is left) R(z' | group of z),   R likewise, to p(z')

Discounts that are larger than most fractional counts keep models sparse, and EM from following noise.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sigmastar.core.arrays import Array, Floats, Int32s
from sigmastar.core.jit import fast_kernel


class Discounts(NamedTuple):
    """What is taken from counts of words and of moves: of a state, and of a group of states."""

    words: float = 0.85
    group_words: float = 0.85
    moves: float = 0.85
    group_moves: float = 0.85


class BackedOff(NamedTuple):
    """What groups give to columns (columns x groups), what is left of a state for its group, and totals."""

    by_group: Array
    left: Floats
    totals: Floats


@fast_kernel
def backed_off(
    counts: Array, groups: Int32s, n_groups: int, discount: float, group_discount: float, floor: Floats
) -> BackedOff:
    """Of counts of columns x states: what the groups of states give, and what is left for them."""
    n_columns, n = counts.shape
    totals, left = np.zeros(n), np.zeros(n)
    sums, spare = np.zeros(n_groups), np.zeros(n_groups)
    by_group = np.zeros((n_columns, n_groups), counts.dtype)
    for w in range(n_columns):
        for z in range(n):
            value = counts[w, z]
            totals[z] += value
            left[z] += min(value, discount)
            by_group[w, groups[z]] += value
        for g in range(n_groups):
            sums[g] += by_group[w, g]
            spare[g] += min(by_group[w, g], group_discount)
    for z in range(n):
        left[z] = left[z] / totals[z] if totals[z] > 0.0 else 1.0
    for g in range(n_groups):
        spare[g] = spare[g] / sums[g] if sums[g] > 0.0 else 1.0
    for w in range(n_columns):
        for g in range(n_groups):
            own = max(by_group[w, g] - group_discount, 0.0)
            by_group[w, g] = spare[g] * floor[w] + (own / sums[g] if own > 0.0 else 0.0)
    return BackedOff(by_group, left, totals)


@fast_kernel
def fill(counts: Array, groups: Int32s, discount: float, back: BackedOff, result: Array) -> None:
    """Columns x states: the probability of each column in each state."""
    by_group, left, totals = back
    n = len(groups)
    inverse = np.zeros(n, counts.dtype)
    for z in range(n):
        inverse[z] = 1.0 / totals[z] if totals[z] > 0.0 else 0.0
    for w in range(counts.shape[0]):
        for z in range(n):
            own = max(counts[w, z] - discount, 0.0)
            result[w, z] = own * inverse[z] + left[z] * by_group[w, groups[z]]
