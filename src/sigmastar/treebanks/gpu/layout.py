"""How the nodes of a treebank are laid out for a device: by height, and by rule."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from sigmastar.core.arrays import Int32s, Int64s

_USED = 0.85  # of the nodes of a group of rules are nodes, and not what makes their rows of one length


class TreeArrays(NamedTuple):
    """Binary nodes of all trees, children before parents, the root of each tree last."""

    starts: Int64s  # of the trees, and the end
    symbol: Int32s
    left: Int32s
    right: Int32s
    rule: Int32s  # -1 at leaves


def heights(trees: TreeArrays) -> Int64s:
    """Of all nodes above the leaves of the longest way down."""
    inner = np.flatnonzero(trees.rule >= 0)
    left, right, found = trees.left[inner], trees.right[inner], np.zeros(len(trees.rule), dtype=np.int64)
    while True:
        grown = 1 + np.maximum(found[left], found[right])
        if np.array_equal(grown, found[inner]):
            return found
        found[inner] = grown


def places(begins: Int64s, sizes: Int64s) -> Int64s:
    """begin[0], begin[0] + 1, .. for so many numbers each."""
    ends = np.cumsum(sizes)
    found: Int64s = np.arange(int(ends[-1])) + np.repeat(begins - (ends - sizes), sizes)
    return found


def tensor_places(sizes: Int64s, m: int) -> Int64s:
    """Where the numbers of flat tensors, [left, right, parent], stand in those of m states everywhere."""
    above, left, right = sizes.T
    of_left = places(np.arange(len(sizes)) * m, left)  # rule, left state
    rows = places(of_left * m, np.repeat(right, left))
    return places(rows * m, np.repeat(above, left * right))


def groups(rule: Int32s) -> Iterator[tuple[Int64s, Int64s]]:
    """Rules of about as many nodes, and the nodes of each, -1 where there are less."""
    nodes = np.flatnonzero(rule >= 0)
    nodes = nodes[np.argsort(rule[nodes], kind="stable")]
    counts = np.bincount(rule[nodes])
    starts, order = np.cumsum(counts) - counts, np.argsort(-counts, kind="stable")
    order, at = order[counts[order] > 0], 0
    while at < len(order):
        width = int(counts[order[at]])
        filled = np.cumsum(counts[order[at:]]) / (width * np.arange(1, len(order) - at + 1))
        rules = np.sort(order[at : at + int(np.flatnonzero(filled >= _USED)[-1]) + 1])
        at += len(rules)
        within = np.arange(width) < counts[rules, None]
        at_nodes = np.minimum(starts[rules, None] + np.arange(width), len(nodes) - 1)
        yield rules, np.where(within, nodes[at_nodes], -1)
