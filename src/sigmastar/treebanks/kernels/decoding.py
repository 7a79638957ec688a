"""Trees from marginals: the most labels that are right, in expectation (Goodman 1996).

    best(i, j) = max over chains of labels of sum of (mu(label, i, j) - threshold), or 0 for none
                 + max over k of best(i, k) + best(k, j)

Spans may go without a label: they vanish from the tree, so that a phrase has any number of children. A label
is worth having where it is right more often than `threshold`. Chains are lists of names; a label that stands
in one chain twice must have two names there, or one constituent would be counted as two.

Or, by the max-rule product of Petrov and Klein (2007), the derivation whose rules are all probable, of one
grammar:

    best(item) = max over edges into it of posterior(edge) best(left) best(right),  at leaves its posterior

The posterior of an edge sums over all states, so this is a tree over symbols without them. Scores are
logarithms.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sigmastar.core.arrays import Floats, Int32s, Int64s
from sigmastar.core.jit import fast_kernel, kernel, part
from sigmastar.treebanks.kernels.plain_chart import EdgeChart
from sigmastar.treebanks.kernels.span_features import cell_by_width


class ChainItems(NamedTuple):
    """Chains of labels over cells and their values; those of cell c stand at starts[c] .. starts[c + 1]."""

    starts: Int64s
    labels: Int32s
    values: Floats


class Chains(NamedTuple):
    """The names of the labels of each chain, from the top down, flat."""

    starts: Int64s
    names: Int32s
    n_names: int


@fast_kernel
def merged(starts: Int64s, items: Int32s, posteriors: Floats, base: Int32s, least: float) -> ChainItems:
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
    return ChainItems(new_starts, labels[:count], values[:count])


@fast_kernel
def add_merged(
    chart: ChainItems, item_starts: Int64s, items: Int32s, posteriors: Floats, base: Int32s
) -> None:
    """Add the posteriors of another chart to those of the chains that are there."""
    starts, labels, values = chart
    for c in range(len(starts) - 1):
        for at in range(item_starts[c], item_starts[c + 1]):
            label = base[items[at]]
            if label >= 0:
                for place in range(starts[c], starts[c + 1]):
                    if labels[place] == label:
                        values[place] += posteriors[at]
                        break


@fast_kernel
def allowed_table(chart: ChainItems, least: float, n_labels: int) -> NDArray[np.uint8]:
    """[cell, label]: 1 where the chain was found with at least that value."""
    starts, labels, values = chart
    table = np.zeros((len(starts) - 1, n_labels), np.uint8)
    for c in range(len(starts) - 1):
        for at in range(starts[c], starts[c + 1]):
            if values[at] >= least:
                table[c, labels[at]] = 1
    return table


@fast_kernel
def decode(n: int, chart: ChainItems, chains: Chains, threshold: float) -> tuple[Int32s, Floats]:
    """Spans of the best tree in preorder, [begin, end, chain], and its score: -inf where there is no tree."""
    score, choice = _choices(n, chart, chains, threshold)
    best, split = np.zeros(len(score)), np.zeros(len(score), np.int32)
    for width in range(1, n + 1):
        for i in range(n - width + 1):
            j, c = i + width, cell_by_width(i, i + width, n)
            most = 0.0 if width == 1 else -np.inf
            split[c] = i + 1  # also where nothing is better than nothing: the walk below ends
            for k in range(i + 1, j):
                value = best[cell_by_width(i, k, n)] + best[cell_by_width(k, j, n)]
                if value > most:
                    most, split[c] = value, k
            best[c] = score[c] + most
    spans, count = np.zeros((2 * n, 3), np.int32), 0
    stack, depth = np.zeros((n + 2, 2), np.int32), 1
    stack[0, 0], stack[0, 1] = 0, n
    while depth:
        depth -= 1
        i, j = stack[depth, 0], stack[depth, 1]
        c = cell_by_width(i, j, n)
        if choice[c] >= 0:
            spans[count, 0], spans[count, 1], spans[count, 2] = i, j, choice[c]
            count += 1
        if j - i > 1:
            stack[depth, 0], stack[depth, 1] = split[c], j
            stack[depth + 1, 0], stack[depth + 1, 1] = i, split[c]
            depth += 2
    return spans[:count], best[len(best) - 1 :]


@part
def worths(n: int, chart: ChainItems, chains: Chains, threshold: float) -> Floats:
    """What every chain over every cell adds to a tree; minus infinity for those whose tag is not the best."""
    worth, mass = np.full(len(chart.labels), -np.inf), np.zeros(chains.n_names)
    for c in range(n * (n + 1) // 2):
        end = 1 if c < n else 0  # the tag of a leaf counts for nothing
        for at in range(chart.starts[c], chart.starts[c + 1]):
            chain = chart.labels[at]
            for k in range(chains.starts[chain], chains.starts[chain + 1] - end):
                mass[chains.names[k]] += chart.values[at]
        tag = _best_tag(chart.starts[c], chart.starts[c + 1], chart, chains) if c < n else -1
        for at in range(chart.starts[c], chart.starts[c + 1]):
            low, high = chains.starts[chart.labels[at]], chains.starts[chart.labels[at] + 1]
            if c < n and chains.names[high - 1] != tag:
                continue
            worth[at] = 1e-9 * chart.values[at]
            for k in range(low, high - end):
                worth[at] += mass[chains.names[k]] - threshold
        for at in range(chart.starts[c], chart.starts[c + 1]):
            for k in range(chains.starts[chart.labels[at]], chains.starts[chart.labels[at] + 1]):
                mass[chains.names[k]] = 0.0
    return worth


@part
def _choices(n: int, chart: ChainItems, chains: Chains, threshold: float) -> tuple[Floats, Int32s]:
    """The best chain of every cell, -1 for none, and its score; leaves and the root must have one."""
    n_cells, worth = n * (n + 1) // 2, worths(n, chart, chains, threshold)
    score, choice = np.zeros(n_cells), np.full(n_cells, -1, np.int32)
    for c in range(n_cells):
        best = -1e300 if c < n or c == n_cells - 1 else 0.0
        for at in range(chart.starts[c], chart.starts[c + 1]):
            if worth[at] > best:
                best, score[c], choice[c] = worth[at], worth[at], chart.labels[at]
        if best == -1e300:
            score[c] = -np.inf
    return score, choice


@part
def _best_tag(low: int, high: int, chart: ChainItems, chains: Chains) -> int:
    """The name of the tag whose chains have most in sum."""
    tag, most = -1, -1.0
    for at in range(low, high):
        name, total = chains.names[chains.starts[chart.labels[at] + 1] - 1], 0.0
        for other in range(low, high):
            if chains.names[chains.starts[chart.labels[other] + 1] - 1] == name:
                total += chart.values[other]
        if total > most:
            most, tag = total, name
    return tag


@kernel
def best_rules(
    n: int, graph: EdgeChart, posteriors: Floats, uses: Floats, base: Int32s
) -> tuple[Int32s, float]:
    """Spans of the best tree in preorder, [begin, end, chain], without symbols between; and its score."""
    starts, items, edges = graph
    best, how = np.full(len(items), -np.inf), np.full(len(items), -1, np.int64)
    begin, end = np.zeros(len(items), np.int32), np.zeros(len(items), np.int32)
    cell = 0
    for width in range(1, n + 1):
        for i in range(n - width + 1):
            for at in range(starts[cell], starts[cell + 1]):
                begin[at], end[at] = i, i + width
                if width == 1 and posteriors[at] > 0.0:
                    best[at] = np.log(posteriors[at])
            cell += 1
    for e in range(len(edges)):
        if uses[e] > 0.0:
            score = np.log(uses[e]) + best[edges[e, 1]] + best[edges[e, 2]]
            if score > best[edges[e, 0]]:
                best[edges[e, 0]], how[edges[e, 0]] = score, e
    top, most = -1, -np.inf
    for at in range(starts[cell - 1], starts[cell]):
        if posteriors[at] > 0.0 and base[items[at]] >= 0 and best[at] + np.log(posteriors[at]) > most:
            most, top = best[at] + np.log(posteriors[at]), at
    spans, count = np.zeros((2 * n, 3), np.int32), 0
    stack, depth = np.zeros(2 * n + 2, np.int64), 0
    if top >= 0:
        stack[0], depth = top, 1
    while depth:
        depth -= 1
        item = stack[depth]
        if base[items[item]] >= 0:
            spans[count, 0], spans[count, 1], spans[count, 2] = begin[item], end[item], base[items[item]]
            count += 1
        if how[item] >= 0:
            stack[depth], stack[depth + 1] = edges[how[item], 2], edges[how[item], 1]
            depth += 2
    return spans[:count], most
