"""The n best trees of both ways of decoding (`kernels.decoding`), each of them once.

Of labels, a tree is a set of spans with chains that do not cross; spans without a chain vanish. So that no
tree is counted for each of its binary splits, sequences of phrases are cut behind their first one:

    node(i, j)      = a chain over (i, j), above two phrases or more, or above the word
    sequence(i, j)  = node(i, k), then one phrase or more over (k, j)

Both keep their n best (as Huang and Chiang, 2005, algorithm 1). Of rules, derivations are kept: one tree may
have several, by other symbols between, and is worth as much as its best one.
"""

from __future__ import annotations

import numpy as np

from sigmastar.core.arrays import Floats, Int32s, Int64s
from sigmastar.core.jit import kernel, part
from sigmastar.treebanks.kernels.decoding import ChainItems, Chains, worths
from sigmastar.treebanks.kernels.plain_chart import EdgeChart
from sigmastar.treebanks.kernels.span_features import cell_by_width

_NODE, _ANY, _SEQUENCE = 0, 1, 2


@part
def _insert(worth: Floats, back: Int64s, value: float, a: int, b: int, c: int) -> None:
    """Keep a value among the best, which fall, with where it comes from."""
    place = len(worth) - 1
    if value <= worth[place]:
        return
    while place > 0 and worth[place - 1] < value:
        worth[place] = worth[place - 1]
        for k in range(3):
            back[place, k] = back[place - 1, k]
        place -= 1
    worth[place], back[place, 0], back[place, 1], back[place, 2] = value, a, b, c


@part
def _push(stack: Int64s, depth: int, a: int, b: int, c: int, d: int) -> int:
    """One more on a stack; how many there are."""
    stack[depth, 0], stack[depth, 1], stack[depth, 2], stack[depth, 3] = a, b, c, d
    return depth + 1


@kernel
def best_labellings(
    n: int, chart: ChainItems, chains: Chains, threshold: float, n_best: int
) -> tuple[Int32s, Int64s, Floats]:
    """Spans of the best trees in preorder, [begin, end, chain], where those of each begin, their scores."""
    n_cells, value = n * (n + 1) // 2, worths(n, chart, chains, threshold)
    worth = np.full((3, n_cells, n_best), -np.inf)  # of a node, of either, of a sequence
    back = np.zeros((3, n_cells, n_best, 3), np.int64)
    for width in range(1, n + 1):
        for i in range(n - width + 1):
            c = cell_by_width(i, i + width, n)
            if width == 1:
                worth[_SEQUENCE, c, 0] = 0.0  # a word stands for itself below its chain
            for k in range(i + 1, i + width):
                left, right = cell_by_width(i, k, n), cell_by_width(k, i + width, n)
                for a in range(n_best):
                    for b in range(n_best // (a + 1)):
                        total = worth[_NODE, left, a] + worth[_ANY, right, b]
                        _insert(worth[_SEQUENCE, c], back[_SEQUENCE, c], total, k, a, b)
            for at in range(chart.starts[c], chart.starts[c + 1]):
                for rank in range(n_best):
                    total = value[at] + worth[_SEQUENCE, c, rank]
                    _insert(worth[_NODE, c], back[_NODE, c], total, chart.labels[at], rank, 0)
            for rank in range(n_best):
                _insert(worth[_ANY, c], back[_ANY, c], worth[_NODE, c, rank], _NODE, rank, 0)
                if width > 1:
                    _insert(worth[_ANY, c], back[_ANY, c], worth[_SEQUENCE, c, rank], _SEQUENCE, rank, 0)
    return _labelled(n, worth[_NODE, n_cells - 1], back)


@part
def _labelled(n: int, scores: Floats, back: Int64s) -> tuple[Int32s, Int64s, Floats]:
    """The spans of the trees whose scores are finite, read off backwards."""
    n_found = 0
    while n_found < len(scores) and scores[n_found] > -np.inf:
        n_found += 1
    spans, starts, count = np.zeros((2 * n * n_found, 3), np.int32), np.zeros(n_found + 1, np.int64), 0
    stack = np.zeros((2 * n + 3, 4), np.int64)  # what it is, begin, end, rank
    for rank in range(n_found):
        depth = _push(stack, 0, _NODE, 0, n, rank)
        while depth:
            depth -= 1
            kind, i, j, at = stack[depth, 0], stack[depth, 1], stack[depth, 2], stack[depth, 3]
            a, b, c = back[kind, cell_by_width(i, j, n), at]
            if kind == _SEQUENCE:  # split, rank of its first phrase, rank of what follows
                depth = _push(stack, depth, _ANY, a, j, c)
                depth = _push(stack, depth, _NODE, i, a, b)
            elif kind == _ANY:
                depth = _push(stack, depth, a, i, j, b)
            else:
                spans[count, 0], spans[count, 1], spans[count, 2] = i, j, a
                count += 1
                if j - i > 1:
                    depth = _push(stack, depth, _SEQUENCE, i, j, b)
        starts[rank + 1] = count
    return spans[:count], starts, scores[:n_found]


@kernel
def best_derivations(
    n: int, graph: EdgeChart, posteriors: Floats, uses: Floats, base: Int32s, n_best: int
) -> tuple[Int32s, Int64s, Floats]:
    """The same of derivations by probable rules; two of them may be one tree."""
    starts, items, edges = graph
    worth, back = np.full((len(items), n_best), -np.inf), np.full((len(items), n_best, 3), -1, np.int64)
    for at in range(starts[n]):  # words, the first n cells
        if posteriors[at] > 0.0:
            worth[at, 0] = np.log(posteriors[at])
    for e in range(len(edges)):
        if uses[e] > 0.0:
            top, left, right, log = edges[e, 0], edges[e, 1], edges[e, 2], np.log(uses[e])
            for a in range(n_best):
                for b in range(n_best // (a + 1)):
                    total = log + worth[left, a] + worth[right, b]
                    _insert(worth[top], back[top], total, e, a, b)
    scores, roots = np.full(n_best, -np.inf), np.zeros((n_best, 3), np.int64)
    for at in range(starts[len(starts) - 2], starts[len(starts) - 1]):
        if posteriors[at] > 0.0 and base[items[at]] >= 0:
            for rank in range(n_best):
                _insert(scores, roots, worth[at, rank] + np.log(posteriors[at]), at, rank, 0)
    return _derived(n, graph, base, scores, roots, back)


@part
def _derived(
    n: int, graph: EdgeChart, base: Int32s, scores: Floats, roots: Int64s, back: Int64s
) -> tuple[Int32s, Int64s, Floats]:
    """The spans of derivations, without symbols between."""
    starts, items, edges = graph
    n_found = 0
    while n_found < len(scores) and scores[n_found] > -np.inf:
        n_found += 1
    spans, ends, count = np.zeros((2 * n * n_found, 3), np.int32), np.zeros(n_found + 1, np.int64), 0
    stack = np.zeros((2 * n + 2, 4), np.int64)  # item, rank, begin, end
    widths = np.zeros(len(items), np.int64)
    cell = 0
    for width in range(1, n + 1):
        for _ in range(n - width + 1):
            for at in range(starts[cell], starts[cell + 1]):
                widths[at] = width
            cell += 1
    for number in range(n_found):
        depth = _push(stack, 0, roots[number, 0], roots[number, 1], 0, n)
        while depth:
            depth -= 1
            item, rank, i, j = stack[depth, 0], stack[depth, 1], stack[depth, 2], stack[depth, 3]
            if base[items[item]] >= 0:
                spans[count, 0], spans[count, 1], spans[count, 2] = i, j, base[items[item]]
                count += 1
            edge, a, b = back[item, rank]
            if edge >= 0:
                left, right = edges[edge, 1], edges[edge, 2]
                k = i + widths[left]
                depth = _push(stack, depth, right, b, k, j)
                depth = _push(stack, depth, left, a, i, k)
        ends[number + 1] = count
    return spans[:count], ends, scores[:n_found]


_MOST_DERIVATIONS = 1024  # that are looked at for distinct trees


def distinct_trees(
    n: int, graph: EdgeChart, posteriors: Floats, uses: Floats, base: Int32s, n_best: int
) -> list[tuple[list[list[int]], float]]:
    """The best trees by rules: twice as many derivations are asked for until enough of them are distinct."""
    n_asked = n_best
    while True:
        derived = best_derivations(n, graph, posteriors, uses, base, n_asked)
        trees: dict[str, tuple[list[list[int]], float]] = {}
        for spans, score in cut_trees(*derived):
            trees.setdefault(repr(spans), (spans, score))
        if len(trees) >= n_best or len(derived[2]) < n_asked or n_asked >= _MOST_DERIVATIONS:
            return list(trees.values())[:n_best]
        n_asked *= 2


def cut_trees(spans: Int32s, starts: Int64s, scores: Floats) -> list[tuple[list[list[int]], float]]:
    """The spans of each tree, with its score."""
    return [
        (spans[starts[k] : starts[k + 1]].tolist(), float(score)) for k, score in enumerate(scores.tolist())
    ]
