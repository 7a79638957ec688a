"""Charts of a plain grammar with few symbols above words, which are dense: the first pass, over all cells.

    inside   f_ij[a] = sum over b, c of T[b, c, a] sum over k of f_ik[b] f_kj[c]
    outside  g_ik[b] += sum over c of X[b, c] f_kj[c],   X[b, c] = sum over a of T[b, c, a] g_ij[a]

and g_kj alike. What stands beside a word is a matrix: candidates of the word are summed before any cell is
looked at. Cells have exponents as in `plain_chart`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sigmastar.core.arrays import Floats, Int64s
from sigmastar.core.jit import fast_kernel, part
from sigmastar.core.scaling import cell_by_width, power_of_two
from sigmastar.treebanks.kernels.plain_chart import ChartRules, LeafItems

Bytes = NDArray[np.uint8]

_LOWEST = -(1 << 60)


class GroupRules(NamedTuple):
    """Rules of all symbols, groups numbered after leaves; those between groups once more as a tensor."""

    rules: ChartRules
    tensor: Floats  # [left, right, parent]
    n_leaves: int


class _Dense(NamedTuple):
    """Values of groups by cell, and what stands beside words on either side."""

    inner: Floats
    outer: Floats
    exponents: Int64s
    tensor: Floats
    east: Floats  # [word, c, a]: the weight of a over the word and c on its right
    west: Floats  # [word, b, a], b on its left


@part
def _beside_words(leaves: LeafItems, grammar: GroupRules) -> tuple[Floats, Floats]:
    """East and west."""
    n, n_groups, n_leaves = len(leaves.begin) - 1, len(grammar.tensor), grammar.n_leaves
    (pair_starts, parent, value), n_symbols = grammar.rules, n_leaves + n_groups
    east, west = np.zeros((n, n_groups, n_groups)), np.zeros((n, n_groups, n_groups))
    for i in range(n):
        for m in range(leaves.begin[i], leaves.begin[i + 1]):
            leaf, score = leaves.symbols[m], leaves.scores[m]
            for other in range(n_groups):
                pair = leaf * n_symbols + n_leaves + other
                for at in range(pair_starts[pair], pair_starts[pair + 1]):
                    east[i, other, parent[at] - n_leaves] += score * value[at]
                pair = (n_leaves + other) * n_symbols + leaf
                for at in range(pair_starts[pair], pair_starts[pair + 1]):
                    west[i, other, parent[at] - n_leaves] += score * value[at]
    return east, west


@part
def _over_two_words(i: int, leaves: LeafItems, grammar: GroupRules, result: Floats) -> None:
    (pair_starts, parent, value), n_leaves = grammar.rules, grammar.n_leaves
    n_symbols = n_leaves + len(grammar.tensor)
    for left in range(leaves.begin[i], leaves.begin[i + 1]):
        for right in range(leaves.begin[i + 1], leaves.begin[i + 2]):
            pair = leaves.symbols[left] * n_symbols + leaves.symbols[right]
            for at in range(pair_starts[pair], pair_starts[pair + 1]):
                result[parent[at] - n_leaves] += leaves.scores[left] * leaves.scores[right] * value[at]


@fast_kernel
def _scaled(row: Floats, scale: int) -> int:
    """Bring the largest of a row near one; the exponent that was taken out, with `scale`."""
    top = 0.0
    for a in range(len(row)):
        top = max(top, row[a])
    if top <= 0.0:
        return _LOWEST
    step = int(np.ceil(np.log2(top)))
    factor = power_of_two(-step)
    for a in range(len(row)):
        row[a] *= factor
    return scale + step


@part
def _inside_cell(i: int, j: int, n: int, chart: _Dense, sums: Floats) -> None:
    inner, exponents, tensor = chart.inner, chart.exponents, chart.tensor
    g, cell = tensor.shape[0], cell_by_width(i, j, n)
    mine, after, before = inner[cell], cell_by_width(i + 1, j, n), cell_by_width(i, j - 1, n)
    scale = max(exponents[after], exponents[before])
    for k in range(i + 2, j - 1):
        scale = max(scale, exponents[cell_by_width(i, k, n)] + exponents[cell_by_width(k, j, n)])
    if scale == _LOWEST:
        exponents[cell] = _LOWEST
        return
    first, last = power_of_two(exponents[after] - scale), power_of_two(exponents[before] - scale)
    sums[:] = 0.0
    for k in range(i + 2, j - 1):
        west, east = cell_by_width(i, k, n), cell_by_width(k, j, n)
        exponent = exponents[west] + exponents[east] - scale
        if exponent < -60:
            continue
        weight = power_of_two(exponent)
        for b in range(g):
            left = weight * inner[west, b]
            for c in range(g):
                sums[b, c] += left * inner[east, c]
    for b in range(g):
        left, right = first * inner[after, b], last * inner[before, b]
        for a in range(g):
            mine[a] += left * chart.east[i, b, a] + right * chart.west[j - 1, b, a]
        for c in range(g):
            for a in range(g):
                mine[a] += sums[b, c] * tensor[b, c, a]
    exponents[cell] = _scaled(mine, scale)


@part
def _outside_cell(i: int, j: int, n: int, chart: _Dense, above: Floats) -> None:
    inner, outer, exponents, tensor = chart.inner, chart.outer, chart.exponents, chart.tensor
    g, cell = tensor.shape[0], cell_by_width(i, j, n)
    mine, after, before = outer[cell], cell_by_width(i + 1, j, n), cell_by_width(i, j - 1, n)
    first, last = (
        power_of_two(exponents[after] - exponents[cell]),
        power_of_two(exponents[before] - exponents[cell]),
    )
    for b in range(g):
        left, right = 0.0, 0.0
        for a in range(g):
            left += chart.east[i, b, a] * mine[a]
            right += chart.west[j - 1, b, a] * mine[a]
        outer[after, b] += first * left
        outer[before, b] += last * right
        for c in range(g):
            flow = 0.0
            for a in range(g):
                flow += tensor[b, c, a] * mine[a]
            above[b, c] = flow
    for k in range(i + 2, j - 1):
        west, east = cell_by_width(i, k, n), cell_by_width(k, j, n)
        weight = power_of_two(exponents[west] + exponents[east] - exponents[cell])
        for b in range(g):
            flow, left = 0.0, weight * inner[west, b]
            for c in range(g):
                flow += above[b, c] * inner[east, c]
                outer[east, c] += above[b, c] * left
            outer[west, b] += weight * flow


@fast_kernel
def probable_groups(
    leaves: LeafItems, grammar: GroupRules, roots: Floats, least: float
) -> tuple[Bytes, float]:
    """[cell, group]: 1 where a group has a posterior of `least` or more; and log2 of the total.

    Words need not have a group. Without a parse the logarithm is -inf.
    """
    n, g, n_leaves = len(leaves.begin) - 1, len(grammar.tensor), grammar.n_leaves
    n_cells = n * (n + 1) // 2
    inner, outer, exponents = np.zeros((n_cells, g)), np.zeros((n_cells, g)), np.zeros(n_cells, np.int64)
    table, square = np.zeros((n_cells, g), np.uint8), np.zeros((g, g))
    east, west = _beside_words(leaves, grammar)
    chart = _Dense(inner, outer, exponents, grammar.tensor, east, west)
    for i in range(n - 1):
        row = inner[n + i]
        _over_two_words(i, leaves, grammar, row)
        exponents[n + i] = _scaled(row, 0)
    for width in range(3, n + 1):
        for i in range(n - width + 1):
            _inside_cell(i, i + width, n, chart, square)
    last, total = n_cells - 1, 0.0
    for a in range(g):
        total += roots[n_leaves + a] * inner[last, a]
    if n == 1 or not total > 0.0:
        return table, -np.inf
    for a in range(g):
        outer[last, a] = roots[n_leaves + a] / total
    for width in range(n, 1, -1):
        for i in range(n - width + 1):
            cell, most = cell_by_width(i, i + width, n), 0.0
            for a in range(g):
                posterior = inner[cell, a] * outer[cell, a]
                most = max(most, posterior)
                table[cell, a] = posterior >= least
            if width > 2 and most > 1e-4 * least:
                _outside_cell(i, i + width, n, chart, square)
    return table, np.log2(total) + exponents[last]
