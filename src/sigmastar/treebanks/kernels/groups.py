"""Charts of a plain grammar with few symbols above words, which are dense: the first pass, over all cells.

    inside   f_ij[a] = sum over b, c of T[b, c, a] sum over k of f_ik[b] f_kj[c]
    outside  g_ik[b] += sum over c of X[b, c] f_kj[c],   X[b, c] = sum over a of T[b, c, a] g_ij[a]

and g_kj alike. What stands beside a word is a matrix: candidates of the word are summed before any cell is
looked at. Cells have exponents as in `tree_chart`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sigmastar.core.jit import fast_kernel, part

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Array = NDArray[np.float64]
Bytes = NDArray[np.uint8]

_LOWEST = -(1 << 60)


@fast_kernel
def _cell(i: int, j: int, n: int) -> int:
    w = j - i
    return (w - 1) * n - (w - 1) * (w - 2) // 2 + i


@fast_kernel
def _power(exponent: int) -> float:
    """2^exponent, put together from its bits."""
    bits = (min(max(exponent, -1000), 1000) + 1023) << 52
    return np.int64(bits).view(np.float64)


@part
def _beside_words(
    begin: Longs,
    leaf_symbols: Ints,
    leaf_scores: Array,
    n_leaves: int,
    n_groups: int,
    pair_starts: Ints,
    parent: Ints,
    value: Array,
) -> tuple[Array, Array]:
    """[word, c, a]: the weight of a over the word and c on its right; and [word, b, a], b on its left."""
    n, n_symbols = len(begin) - 1, n_leaves + n_groups
    east, west = np.zeros((n, n_groups, n_groups)), np.zeros((n, n_groups, n_groups))
    for i in range(n):
        for m in range(begin[i], begin[i + 1]):
            leaf = leaf_symbols[m]
            for other in range(n_groups):
                pair = leaf * n_symbols + n_leaves + other
                for at in range(pair_starts[pair], pair_starts[pair + 1]):
                    east[i, other, parent[at] - n_leaves] += leaf_scores[m] * value[at]
                pair = (n_leaves + other) * n_symbols + leaf
                for at in range(pair_starts[pair], pair_starts[pair + 1]):
                    west[i, other, parent[at] - n_leaves] += leaf_scores[m] * value[at]
    return east, west


@part
def _over_two_words(
    i: int,
    begin: Longs,
    leaf_symbols: Ints,
    leaf_scores: Array,
    n_leaves: int,
    n_symbols: int,
    pair_starts: Ints,
    parent: Ints,
    value: Array,
    result: Array,
) -> None:
    for left in range(begin[i], begin[i + 1]):
        for right in range(begin[i + 1], begin[i + 2]):
            pair = leaf_symbols[left] * n_symbols + leaf_symbols[right]
            for at in range(pair_starts[pair], pair_starts[pair + 1]):
                result[parent[at] - n_leaves] += leaf_scores[left] * leaf_scores[right] * value[at]


@fast_kernel
def _scaled(row: Array, scale: int) -> int:
    """Bring the largest of a row near one; the exponent that was taken out, with `scale`."""
    top = 0.0
    for a in range(len(row)):
        top = max(top, row[a])
    if top <= 0.0:
        return _LOWEST
    step = int(np.ceil(np.log2(top)))
    factor = _power(-step)
    for a in range(len(row)):
        row[a] *= factor
    return scale + step


@part
def _inside_cell(
    i: int,
    j: int,
    n: int,
    inner: Array,
    exponents: Longs,
    tensor: Array,
    beside: tuple[Array, Array],
    sums: Array,
) -> None:
    g, cell = tensor.shape[0], _cell(i, j, n)
    mine, after, before = inner[cell], _cell(i + 1, j, n), _cell(i, j - 1, n)
    scale = max(exponents[after], exponents[before])
    for k in range(i + 2, j - 1):
        scale = max(scale, exponents[_cell(i, k, n)] + exponents[_cell(k, j, n)])
    if scale == _LOWEST:
        exponents[cell] = _LOWEST
        return
    first, last = _power(exponents[after] - scale), _power(exponents[before] - scale)
    sums[:] = 0.0
    for k in range(i + 2, j - 1):
        west, east = _cell(i, k, n), _cell(k, j, n)
        exponent = exponents[west] + exponents[east] - scale
        if exponent < -60:
            continue
        weight = _power(exponent)
        for b in range(g):
            left = weight * inner[west, b]
            for c in range(g):
                sums[b, c] += left * inner[east, c]
    for b in range(g):
        left, right = first * inner[after, b], last * inner[before, b]
        for a in range(g):
            mine[a] += left * beside[0][i, b, a] + right * beside[1][j - 1, b, a]
        for c in range(g):
            for a in range(g):
                mine[a] += sums[b, c] * tensor[b, c, a]
    exponents[cell] = _scaled(mine, scale)


@part
def _outside_cell(
    i: int,
    j: int,
    n: int,
    inner: Array,
    outer: Array,
    exponents: Longs,
    tensor: Array,
    beside: tuple[Array, Array],
    above: Array,
) -> None:
    g, cell = tensor.shape[0], _cell(i, j, n)
    mine, after, before = outer[cell], _cell(i + 1, j, n), _cell(i, j - 1, n)
    first, last = _power(exponents[after] - exponents[cell]), _power(exponents[before] - exponents[cell])
    for b in range(g):
        left, right = 0.0, 0.0
        for a in range(g):
            left += beside[0][i, b, a] * mine[a]
            right += beside[1][j - 1, b, a] * mine[a]
        outer[after, b] += first * left
        outer[before, b] += last * right
        for c in range(g):
            flow = 0.0
            for a in range(g):
                flow += tensor[b, c, a] * mine[a]
            above[b, c] = flow
    for k in range(i + 2, j - 1):
        west, east = _cell(i, k, n), _cell(k, j, n)
        weight = _power(exponents[west] + exponents[east] - exponents[cell])
        for b in range(g):
            flow, left = 0.0, weight * inner[west, b]
            for c in range(g):
                flow += above[b, c] * inner[east, c]
                outer[east, c] += above[b, c] * left
            outer[west, b] += weight * flow


@fast_kernel
def probable_groups(
    begin: Longs,
    leaf_symbols: Ints,
    leaf_scores: Array,
    n_leaves: int,
    pair_starts: Ints,
    parent: Ints,
    value: Array,
    tensor: Array,
    roots: Array,
    least: float,
) -> tuple[Bytes, float]:
    """[cell, group]: 1 where a group has a posterior of `least` or more; and log2 of the total.

    Rules are sorted by their children, groups are numbered after leaves; `tensor` [left, right, parent] has
    the rules between groups once more. Words need not have a group. Without a parse the logarithm is -inf.
    """
    n, g = len(begin) - 1, tensor.shape[0]
    n_cells, n_symbols = n * (n + 1) // 2, n_leaves + g
    inner, outer, exponents = np.zeros((n_cells, g)), np.zeros((n_cells, g)), np.zeros(n_cells, np.int64)
    table, square = np.zeros((n_cells, g), np.uint8), np.zeros((g, g))
    beside = _beside_words(begin, leaf_symbols, leaf_scores, n_leaves, g, pair_starts, parent, value)
    for i in range(n - 1):
        row = inner[n + i]
        _over_two_words(
            i, begin, leaf_symbols, leaf_scores, n_leaves, n_symbols, pair_starts, parent, value, row
        )
        exponents[n + i] = _scaled(row, 0)
    for width in range(3, n + 1):
        for i in range(n - width + 1):
            _inside_cell(i, i + width, n, inner, exponents, tensor, beside, square)
    last, total = n_cells - 1, 0.0
    for a in range(g):
        total += roots[n_leaves + a] * inner[last, a]
    if n == 1 or not total > 0.0:
        return table, -np.inf
    for a in range(g):
        outer[last, a] = roots[n_leaves + a] / total
    for width in range(n, 1, -1):
        for i in range(n - width + 1):
            cell, most = _cell(i, i + width, n), 0.0
            for a in range(g):
                posterior = inner[cell, a] * outer[cell, a]
                most = max(most, posterior)
                table[cell, a] = posterior >= least
            if width > 2 and most > 1e-4 * least:
                _outside_cell(i, i + width, n, inner, outer, exponents, tensor, beside, square)
    return table, np.log2(total) + exponents[last]
