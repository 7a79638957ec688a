"""From expected counts to rules: counts shrunk towards products of their margins, divided by their parents.

Tensors are flat, that of rule r beginning at `offsets[r]`, axes (left, right, parent).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sigmastar.core.jit import fast_kernel, part

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Array = NDArray[np.float64]
Reals = NDArray[np.float64] | NDArray[np.float32]


@fast_kernel
def smoothed(
    rules: Ints,
    n_states: Longs,
    offsets: Longs,
    counts: Reals,
    shares: Array,
    share_at: Longs,
    strength: float,
    backing: float,
) -> Reals:
    """Counts mixed with products of their margins, keeping the total of every rule.

        l C + (1 - l) [l mean of pair x single products + (1 - l) triple product]
        l = sqrt(n) / (strength + sqrt(n))

    Margins are shrunk towards `shares`, the distribution of states of each symbol, by `backing` counts.
    """  # fmt: skip
    result = np.zeros_like(counts)
    most = n_states.max()
    px, py, pz = np.zeros(most), np.zeros(most), np.zeros(most)
    yz, yx, zx = np.zeros((most, most)), np.zeros((most, most)), np.zeros((most, most))
    for r in range(len(rules)):
        a, b, c = rules[r]
        x, y, z = px[: n_states[a]], py[: n_states[b]], pz[: n_states[c]]
        mine, mixed = counts[offsets[r] : offsets[r + 1]], result[offsets[r] : offsets[r + 1]]
        total = _margins(mine, x, y, z, yz, yx, zx)
        if total > 0.0:
            _shrunk(x, shares[share_at[a] : share_at[a + 1]], backing, total)
            _shrunk(y, shares[share_at[b] : share_at[b + 1]], backing, total)
            _shrunk(z, shares[share_at[c] : share_at[c + 1]], backing, total)
            mix = np.sqrt(total) / (strength + np.sqrt(total))
            _mixed(mine, x, y, z, yz, yx, zx, mix, total, mixed)
    return result


@part
def _margins(counts: Reals, px: Array, py: Array, pz: Array, yz: Array, yx: Array, zx: Array) -> float:
    """Sums of the counts of one rule over one and over two of its states; the sum of all."""
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


@fast_kernel
def _shrunk(margin: Array, share: Array, backing: float, total: float) -> None:
    norm = 1.0 / (total + backing)
    for x in range(len(margin)):
        margin[x] = (margin[x] + backing * share[x]) * norm


@part
def _mixed(
    counts: Reals,
    px: Array,
    py: Array,
    pz: Array,
    yz: Array,
    yx: Array,
    zx: Array,
    mix: float,
    total: float,
    result: Reals,
) -> None:
    """One rule of `smoothed`, its margins known."""
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
def conditional(
    rules: Ints, n_states: Longs, offsets: Longs, counts: Reals, share_at: Longs
) -> tuple[Reals, Array]:
    """T_r[y, z, x] = P(rule r with y and z | parent in x), and how often each state is a parent."""
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
    rules: Ints,
    n_states: Longs,
    offsets: Longs,
    tensors: Reals,
    state_at: Longs,
    groups: Longs,
    share: Array,
    n_groups: Longs,
    new_offsets: Longs,
) -> Array:
    """Sums over groups of states of children, means over those of parents with the `share` of each state."""
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
