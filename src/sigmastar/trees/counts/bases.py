"""Bases of trees: which outsides and insides the blocks of a tree function are indexed by.

An inside is a whole subtree. An outside is a context: a hole, the node above it with the hole's sibling, the
node above that, and so on up to some height; it may begin at the root of a tree or anywhere. A subtree is
never more frequent than its own subtrees, nor a context than what is left of it without the step at the
hole: the most frequent ones form closed tables, in which each entry refers to earlier ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sigmastar.trees.data.ranked import RankedAlphabet, RankedTrees
from sigmastar.trees.kernels.matching import match_insides, match_outsides, node_heights

Longs = NDArray[np.int64]

LONGEST_KEY = 2.0**62


@dataclass(frozen=True, eq=False)
class TreeBasis:
    """Closed tables of insides (rank, symbol, left, right) and outsides (side, symbol, outer, sibling).

    The first outside is the bare hole. `side` is 0 below a unary node, 1 for a hole on the left of a binary
    one, 2 on the right.
    """

    alphabet: RankedAlphabet
    insides: Longs  # [inside, 4]
    outsides: Longs  # [outside, 4]
    anchored: bool = False  # whether contexts must begin at the root of a tree

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.outsides), len(self.insides)

    @property
    def base(self) -> int:
        return int(max(*self.shape, *map(len, self.alphabet.ranks))) + 2

    @cached_property
    def height(self) -> int:
        """Steps of the longest context."""
        heights = np.zeros(len(self.outsides), np.int64)
        for row in range(1, len(self.outsides)):
            heights[row] = heights[self.outsides[row, 2]] + 1
        return int(heights.max())

    def same_as(self, other: TreeBasis) -> bool:
        return self is other or (
            self.alphabet == other.alphabet
            and self.anchored == other.anchored
            and np.array_equal(self.insides, other.insides)
            and np.array_equal(self.outsides, other.outsides)
        )

    def inside_numbers(self, trees: RankedTrees) -> Longs:
        """The inside at every node, -1 where it is none of the basis."""
        keys, numbers = _sorted_keys(self.insides, self.base)
        return match_insides(trees.rank, trees.symbol, trees.left, trees.right, keys, numbers, self.base)

    def outside_numbers(self, trees: RankedTrees, insides: Longs) -> list[Longs]:
        """For every height from 0 on the outside of that height around every node, -1 where it is none."""
        keys, numbers = _sorted_keys(self.outsides[1:], self.base)
        hole = np.where(trees.parent < 0, 0, -1) if self.anchored else np.zeros(trees.n_nodes)
        found = [hole.astype(np.int64)]
        for _ in range(self.height):
            arrays = (trees.rank, trees.symbol, trees.left, trees.right, insides, found[-1])
            found.append(match_outsides(*arrays, keys, numbers + 1, self.base))
        return found


def _sorted_keys(rows: Longs, base: int) -> tuple[Longs, Longs]:
    if 3.0 * float(base) ** 3 > LONGEST_KEY:
        raise ValueError(
            "the basis or the alphabet is too large to be numbered; use fewer outsides and insides"
        )
    keys = ((rows[:, 0] * base + rows[:, 1] + 1) * base + rows[:, 2] + 1) * base + rows[:, 3] + 1
    order = np.argsort(keys)
    return keys[order], order.astype(np.int64)


def frequent_trees(
    trees: RankedTrees, n_outsides: int = 500, n_insides: int = 500, height: int = 3, anchored: bool = False
) -> TreeBasis:
    """The most frequent subtrees, and the most frequent contexts of up to `height` steps around nodes."""
    if min(n_outsides, n_insides) < 1 or height < 1:
        raise ValueError("n_outsides, n_insides and height must be at least 1")
    insides = _frequent_insides(trees, n_insides)
    hole = np.array([[0, -1, -1, -1]], dtype=np.int64)
    basis = TreeBasis(trees.alphabet, insides, hole, anchored)
    return TreeBasis(trees.alphabet, insides, _frequent_outsides(trees, basis, n_outsides, height), anchored)


class _Classes(NamedTuple):
    """Distinct rows, and how often each occurs."""

    rows: Longs
    counts: Longs


def _frequent_insides(trees: RankedTrees, size: int) -> Longs:
    """By height: subtrees that are equal have equal symbols over equal subtrees."""
    number = np.full(trees.n_nodes, -1, np.int64)
    classes, n_classes = list[_Classes](), 0
    for nodes in _by_height(trees):
        below = [np.where(child[nodes] >= 0, number[child[nodes]], -1) for child in (trees.left, trees.right)]
        rows = np.stack([trees.rank[nodes], trees.symbol[nodes], *below], axis=1).astype(np.int64)
        distinct, position, counts = np.unique(rows, axis=0, return_inverse=True, return_counts=True)
        number[nodes] = n_classes + position.ravel()
        classes.append(_Classes(distinct, counts))
        n_classes += len(distinct)
    rows, counts = (np.concatenate(parts) for parts in zip(*classes, strict=True))
    return _kept(rows, counts, size, references=(2, 3))


def _by_height(trees: RankedTrees) -> list[Longs]:
    heights = node_heights(trees.left, trees.right)
    order = np.argsort(heights, kind="stable")
    return np.split(order, np.cumsum(np.bincount(heights))[:-1])


def _frequent_outsides(trees: RankedTrees, basis: TreeBasis, size: int, height: int) -> Longs:
    """Contexts grow inward: around a child stands what is around its parent, the parent, and the sibling."""
    insides = basis.inside_numbers(trees)
    children = np.flatnonzero(trees.parent >= 0)
    parent = trees.parent[children]
    other = np.where(trees.left[parent] == children, trees.right[parent], trees.left[parent])
    side = np.where(trees.rank[parent] == 1, 0, np.where(trees.left[parent] == children, 1, 2))
    sibling = np.where(other >= 0, insides[other], -1)
    usable = ((side == 0) | (sibling >= 0)) & (trees.symbol[parent] >= 0)
    outer = basis.outside_numbers(trees, insides)[0]
    classes, n_classes = [_Classes(basis.outsides, np.array([trees.n_nodes * 2]))], 1
    for _ in range(height):
        met = np.flatnonzero(usable & (outer[parent] >= 0))
        if not len(met):
            break
        rows = np.stack([side[met], trees.symbol[parent[met]], outer[parent[met]], sibling[met]], axis=1)
        distinct, position, counts = np.unique(rows, axis=0, return_inverse=True, return_counts=True)
        outer = np.full(trees.n_nodes, -1, np.int64)
        outer[children[met]] = n_classes + position.ravel()
        classes.append(_Classes(distinct.astype(np.int64), counts))
        n_classes += len(distinct)
    rows, counts = (np.concatenate(parts) for parts in zip(*classes, strict=True))
    return _kept(rows, counts, size, references=(2,))


def _kept(rows: Longs, counts: Longs, size: int, references: tuple[int, ...]) -> Longs:
    """The most frequent rows in their order, with references to what they have become."""
    chosen = np.sort(np.argsort(-counts, kind="stable")[:size])
    new = np.full(len(rows) + 1, -1, np.int64)  # the last is for -1
    new[chosen] = np.arange(len(chosen))
    kept = rows[chosen].copy()
    for column in references:
        kept[:, column] = new[kept[:, column]]
    return kept
