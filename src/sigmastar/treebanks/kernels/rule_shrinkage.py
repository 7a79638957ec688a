"""From expected counts to rules: counts shrunk towards products of their margins, divided by their parents.

Tensors are flat, that of rule r beginning at `offsets[r]`, axes (left, right, parent).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sigmastar.core.arrays import Floats, Int32s, Int64s, Reals
from sigmastar.core.jit import fast_kernel, part
from sigmastar.core.shrinkage import shrink_in_place


class RuleStates(NamedTuple):
    """Rules [parent, left, right], and the numbers of states that decide where things begin."""

    rules: Int32s
    n_states: Int64s  # of each symbol
    state_at: Int64s  # where the states of each symbol begin, and the end
    offsets: Int64s  # where the tensor of each rule begins, and the end


class _Margins(NamedTuple):
    """Sums of the counts of one rule over one and over two of its states."""

    x: Floats
    y: Floats
    z: Floats
    yz: Floats
    yx: Floats
    zx: Floats


@fast_kernel
def smoothed(grammar: RuleStates, counts: Reals, shares: Floats, strength: float, backing: float) -> Reals:
    """Counts mixed with products of their margins, keeping the total of every rule.

        l C + (1 - l) [l mean of pair x single products + (1 - l) triple product]
        l = sqrt(n) / (strength + sqrt(n))

    Margins are shrunk towards `shares`, the distribution of states of each symbol, by `backing` counts.
    """  # fmt: skip
    rules, n_states, at, offsets = grammar
    result = np.zeros_like(counts)
    most = n_states.max()
    singles, pairs = np.zeros((3, most)), np.zeros((3, most, most))
    for r in range(len(rules)):
        a, b, c = rules[r]
        x, y, z = singles[0, : n_states[a]], singles[1, : n_states[b]], singles[2, : n_states[c]]
        margins = _Margins(x, y, z, pairs[0], pairs[1], pairs[2])
        mine, mixed = counts[offsets[r] : offsets[r + 1]], result[offsets[r] : offsets[r + 1]]
        total = _sum_margins(mine, margins)
        if total > 0.0:
            shrink_in_place(x, shares[at[a] : at[a + 1]], backing, total)
            shrink_in_place(y, shares[at[b] : at[b + 1]], backing, total)
            shrink_in_place(z, shares[at[c] : at[c + 1]], backing, total)
            mix = np.sqrt(total) / (strength + np.sqrt(total))
            _mix(mine, margins, mix, total, mixed)
    return result


@part
def _sum_margins(counts: Reals, margins: _Margins) -> float:
    """Fill the margins; the sum of all counts."""
    px, py, pz, yz, yx, zx = margins
    n, low, total = len(px), 0, 0.0
    px[:], py[:], pz[:] = 0.0, 0.0, 0.0
    yx[: len(py), :n], zx[: len(pz), :n] = 0.0, 0.0
    for y in range(len(py)):
        left = yx[y, :n]
        for z in range(len(pz)):
            row, right, here = counts[low : low + n], zx[z, :n], 0.0
            for x in range(n):
                here += row[x]
                left[x] += row[x]
                right[x] += row[x]
            yz[y, z] = here
            py[y] += here
            pz[z] += here
            low += n
        for x in range(n):
            px[x] += left[x]
        total += py[y]
    return total


@part
def _mix(counts: Reals, margins: _Margins, mix: float, total: float, result: Reals) -> None:
    """One rule of `smoothed`, its margins known."""
    px, py, pz, yz, yx, zx = margins
    n, low = len(px), 0
    pairs, triple = (1 - mix) * mix / 3.0, (1 - mix) * (1 - mix) * total
    for y in range(len(py)):
        for z in range(len(pz)):
            row, target, left, right = counts[low : low + n], result[low : low + n], yx[y, :n], zx[z, :n]
            of_x, of_left, of_right = pairs * yz[y, z] + triple * py[y] * pz[z], pairs * pz[z], pairs * py[y]
            for x in range(n):
                target[x] = mix * row[x] + of_x * px[x] + of_left * left[x] + of_right * right[x]
            low += n


@fast_kernel
def conditional(grammar: RuleStates, counts: Reals) -> tuple[Reals, Floats]:
    """T_r[y, z, x] = P(rule r with y and z | parent in x), and how often each state is a parent."""
    rules, n_states, share_at, offsets = grammar
    totals, room = np.zeros(share_at[-1]), np.zeros(n_states.max())
    tensors, norms = np.zeros_like(counts), np.zeros(share_at[-1], counts.dtype)
    for r in range(len(rules)):
        n, base = n_states[rules[r, 0]], share_at[rules[r, 0]]
        sums = room[:n]
        sums[:] = 0.0
        for low in range(offsets[r], offsets[r + 1], n):
            row = counts[low : low + n]
            for x in range(n):
                sums[x] += row[x]
        for x in range(n):
            totals[base + x] += sums[x]
    for state in range(len(totals)):
        if totals[state] > 0.0:
            norms[state] = 1.0 / totals[state]
    for r in range(len(rules)):
        n, base = n_states[rules[r, 0]], share_at[rules[r, 0]]
        norm = norms[base : base + n]
        for low in range(offsets[r], offsets[r + 1], n):
            row, target = counts[low : low + n], tensors[low : low + n]
            for x in range(n):
                target[x] = row[x] * norm[x]
    return tensors, totals


@fast_kernel
def grouped_tensors(
    grammar: RuleStates, tensors: Reals, groups: Int64s, share: Floats, n_groups: Int64s, new_offsets: Int64s
) -> Floats:
    """Sums over groups of states of children, means over those of parents with the `share` of each state."""
    rules, n_states, state_at, offsets = grammar
    result = np.zeros(new_offsets[-1])
    for r in range(len(rules)):
        a, b, c = rules[r]
        n, low = n_states[a], offsets[r]
        onto, weights = groups[state_at[a] : state_at[a + 1]], share[state_at[a] : state_at[a + 1]]
        for y in range(n_states[b]):
            for z in range(n_states[c]):
                pair = groups[state_at[b] + y] * n_groups[c] + groups[state_at[c] + z]
                target = result[new_offsets[r] + pair * n_groups[a] :]
                for x in range(n):
                    target[onto[x]] += weights[x] * tensors[low + x]
                low += n
    return result
