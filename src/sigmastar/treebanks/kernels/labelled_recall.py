"""Trees from marginals: the most labels that are right, in expectation (Goodman 1996).

    best(i, j) = max over chains of labels of sum of (mu(label, i, j) - threshold), or 0 for none
                 + max over k of best(i, k) + best(k, j)

Spans may go without a label: they vanish from the tree, so that a phrase has any number of children. A label
is worth having where it is right more often than `threshold`. Chains are lists of names; a label that stands
in one chain twice must have two names there, or one constituent would be counted as two.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sigmastar.core.jit import fast_kernel, part

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Array = NDArray[np.float64]


@part
def _cell(i: int, j: int, n: int) -> int:
    w = j - i
    return (w - 1) * n - (w - 1) * (w - 2) // 2 + i


@fast_kernel
def merged(
    starts: Longs, items: Ints, posteriors: Array, base: Ints, least: float
) -> tuple[Longs, Ints, Array]:
    """Posteriors of chains of labels: items of one cell that stand for the same chain, together."""
    new_starts, labels, values = np.zeros_like(starts), np.zeros(len(items), np.int32), np.zeros(len(items))
    count = 0
    for c in range(len(starts) - 1):
        first = count
        for at in range(starts[c], starts[c + 1]):
            label = base[items[at]]
            if label < 0:
                continue
            place = first
            while place < count and labels[place] != label:
                place += 1
            if place == count:
                labels[count], values[count] = label, 0.0
                count += 1
            values[place] += posteriors[at]
        kept = first
        for place in range(first, count):
            if values[place] >= least:
                labels[kept], values[kept] = labels[place], values[place]
                kept += 1
        count = kept
        new_starts[c + 1] = count
    return new_starts, labels[:count], values[:count]


@fast_kernel
def add_merged(
    starts: Longs, labels: Ints, values: Array, item_starts: Longs, items: Ints, posteriors: Array, base: Ints
) -> None:
    """Add the posteriors of another chart to those of the chains that are there."""
    for c in range(len(starts) - 1):
        for at in range(item_starts[c], item_starts[c + 1]):
            label = base[items[at]]
            if label >= 0:
                for place in range(starts[c], starts[c + 1]):
                    if labels[place] == label:
                        values[place] += posteriors[at]
                        break


@fast_kernel
def allowed_table(
    starts: Longs, labels: Ints, values: Array, least: float, n_labels: int
) -> NDArray[np.uint8]:
    """[cell, label]: 1 where the chain was found with at least that value."""
    table = np.zeros((len(starts) - 1, n_labels), np.uint8)
    for c in range(len(starts) - 1):
        for at in range(starts[c], starts[c + 1]):
            if values[at] >= least:
                table[c, labels[at]] = 1
    return table


@fast_kernel
def decode(
    n: int,
    starts: Longs,
    labels: Ints,
    values: Array,
    chain_starts: Longs,
    chain_labels: Ints,
    n_names: int,
    threshold: float,
) -> tuple[Ints, Array]:
    """Spans of the best tree in preorder, [begin, end, chain], and its score."""
    n_cells = n * (n + 1) // 2
    score, choice = np.zeros(n_cells), np.full(n_cells, -1, np.int32)
    best, split = np.zeros(n_cells), np.zeros(n_cells, np.int32)
    mass = np.zeros(n_names)
    for c in range(n_cells):
        is_leaf, is_root = c < n, c == n_cells - 1
        for at in range(starts[c], starts[c + 1]):
            _spread(labels[at], values[at], chain_starts, chain_labels, mass, is_leaf)
        _choose(
            c,
            is_leaf,
            is_root,
            starts,
            labels,
            values,
            chain_starts,
            chain_labels,
            mass,
            threshold,
            score,
            choice,
        )
        for at in range(starts[c], starts[c + 1]):
            for k in range(chain_starts[labels[at]], chain_starts[labels[at] + 1]):
                mass[chain_labels[k]] = 0.0
    for width in range(1, n + 1):
        for i in range(n - width + 1):
            j, c = i + width, _cell(i, i + width, n)
            most = 0.0 if width == 1 else -np.inf
            for k in range(i + 1, j):
                value = best[_cell(i, k, n)] + best[_cell(k, j, n)]
                if value > most:
                    most, split[c] = value, k
            best[c] = score[c] + most
    spans, count = np.zeros((2 * n, 3), np.int32), 0
    stack, depth = np.zeros((n + 2, 2), np.int32), 1
    stack[0, 0], stack[0, 1] = 0, n
    while depth:
        depth -= 1
        i, j = stack[depth, 0], stack[depth, 1]
        c = _cell(i, j, n)
        if choice[c] >= 0:
            spans[count, 0], spans[count, 1], spans[count, 2] = i, j, choice[c]
            count += 1
        if j - i > 1:
            stack[depth, 0], stack[depth, 1] = split[c], j
            stack[depth + 1, 0], stack[depth + 1, 1] = i, split[c]
            depth += 2
    return spans[:count], best[n_cells - 1 :]


@part
def _spread(
    chain: int, value: float, chain_starts: Longs, chain_labels: Ints, mass: Array, is_leaf: bool
) -> None:
    """Add the value of a chain to each of its labels; the tag of a leaf is not among them."""
    for k in range(chain_starts[chain], chain_starts[chain + 1] - (1 if is_leaf else 0)):
        mass[chain_labels[k]] += value


@part
def _choose(
    c: int,
    is_leaf: bool,
    is_root: bool,
    starts: Longs,
    labels: Ints,
    values: Array,
    chain_starts: Longs,
    chain_labels: Ints,
    mass: Array,
    threshold: float,
    score: Array,
    choice: Ints,
) -> None:
    """The best chain of a cell; leaves and the root must have one."""  # fmt: skip
    tag = -1
    if is_leaf:
        most = -1.0
        for at in range(starts[c], starts[c + 1]):
            mine, total = chain_labels[chain_starts[labels[at] + 1] - 1], 0.0
            for other in range(starts[c], starts[c + 1]):
                if chain_labels[chain_starts[labels[other] + 1] - 1] == mine:
                    total += values[other]
            if total > most:
                most, tag = total, mine
    found, best = -1, 0.0 if not (is_leaf or is_root) else -1e300
    for at in range(starts[c], starts[c + 1]):
        low, high = chain_starts[labels[at]], chain_starts[labels[at] + 1]
        if is_leaf and chain_labels[high - 1] != tag:
            continue
        value = 1e-9 * values[at]
        for k in range(low, high - (1 if is_leaf else 0)):
            value += mass[chain_labels[k]] - threshold
        if value > best:
            best, found = value, at
    if found >= 0:
        score[c], choice[c] = best, labels[found]
