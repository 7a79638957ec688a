"""Bases of trees: which outsides and insides are counted.

An inside is a whole subtree. An outside is a context: a hole, the node above it with the hole's siblings, the
node above that, and so on up to some height; it may begin at the root of a tree or anywhere. A subtree is
never more frequent than its own subtrees, nor a context than what is left of it without the step at the
hole: the most frequent ones form closed tables, in which each entry refers to earlier ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from sigmastar.core.arrays import Flags, Int32s, Int64s
from sigmastar.trees.data.ranked import RankedAlphabet, RankedTrees
from sigmastar.trees.kernels.matching import match_insides, match_outsides, node_heights


@dataclass(frozen=True, eq=False)
class TreeBasis:
    """Closed tables of insides (rank, symbol, children ..) and outsides (side, symbol, outer, siblings ..).

    The first outside is the bare hole. `side` is k (k - 1) / 2 + i for a hole that is child i, from 0, of a
    node with k children: 0 below a unary node, 1 on the left of a binary one, 2 on the right, 3 for the first
    of three children. Columns that a row does not need hold -1.
    """

    alphabet: RankedAlphabet
    insides: Int64s  # [inside, 2 + largest rank]
    outsides: Int64s  # [outside, 2 + largest rank]
    anchored: bool = False  # whether contexts must begin at the root of a tree

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.outsides), len(self.insides)

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

    def inside_numbers(self, trees: RankedTrees) -> Int64s:
        """The inside at every node, -1 where it is none of the basis."""
        return match_insides(trees.nodes, *_sorted_rows(self.insides))

    def outside_numbers(self, trees: RankedTrees, insides: Int64s) -> list[Int64s]:
        """For every height from 0 on the outside of that height around every node, -1 where it is none."""
        table, numbers = _sorted_rows(self.outsides[1:])
        hole = np.where(trees.parent < 0, 0, -1) if self.anchored else np.zeros(trees.n_nodes)
        found = [hole.astype(np.int64)]
        for _ in range(self.height):
            found.append(match_outsides(trees.nodes, insides, found[-1], table, numbers + 1))
        return found


def _sorted_rows(rows: Int64s) -> tuple[Int64s, Int64s]:
    """Rows in lexicographic order, and the number of each."""
    order = np.lexsort(rows.T[::-1]).astype(np.int64)
    return np.ascontiguousarray(rows[order]), order


def frequent_trees(
    trees: RankedTrees, n_outsides: int = 500, n_insides: int = 500, height: int = 3, anchored: bool = False
) -> TreeBasis:
    """The most frequent subtrees, and the most frequent contexts of up to `height` steps around nodes.

    Parameters
    ----------
    trees : RankedTrees
        The sample.
    n_outsides : int
        Contexts, at most.
    n_insides : int
        Subtrees, at most.
    height : int
        Steps of a context, at most.
    anchored : bool
        Whether contexts must begin at the root of a tree.

    Returns
    -------
    TreeBasis
        Closed tables of subtrees and contexts.
    """
    if min(n_outsides, n_insides) < 1 or height < 1:
        raise ValueError("n_outsides, n_insides and height must be at least 1")
    insides = _frequent_insides(trees, n_insides)
    hole = np.full((1, insides.shape[1]), -1, dtype=np.int64)
    hole[0, 0] = 0
    basis = TreeBasis(trees.alphabet, insides, hole, anchored)
    return TreeBasis(trees.alphabet, insides, _frequent_outsides(trees, basis, n_outsides, height), anchored)


class _Classes(NamedTuple):
    """Distinct rows, and how often each occurs."""

    rows: Int64s
    counts: Int64s


def _frequent_insides(trees: RankedTrees, size: int) -> Int64s:
    """By height: subtrees that are equal have equal symbols over equal subtrees.

    A subtree of height `size` has as many others below it, none of which is rarer: it is not looked at.
    """
    number, n_ranks = np.full(trees.n_nodes + 1, -1, np.int64), len(trees.alphabet.ranks)  # -1 for no child
    children = [trees.child(k) for k in range(n_ranks - 1)]
    classes, n_classes = list[_Classes](), 0
    for nodes in _by_height(trees)[:size]:
        below = [number[child[nodes]] for child in children]
        rows = np.stack([trees.rank[nodes], trees.symbol[nodes], *below], axis=1).astype(np.int64)
        distinct, position, counts = np.unique(rows, axis=0, return_inverse=True, return_counts=True)
        number[nodes] = n_classes + position.ravel()
        classes.append(_Classes(distinct, counts))
        n_classes += len(distinct)
    rows, counts = (np.concatenate(parts) for parts in zip(*classes, strict=True))
    return _kept(rows, counts, size, references=range(2, n_ranks + 1))


def _by_height(trees: RankedTrees) -> list[Int64s]:
    heights = node_heights(trees.nodes)
    order = np.argsort(heights, kind="stable")
    return np.split(order, np.cumsum(np.bincount(heights))[:-1])


def _frequent_outsides(trees: RankedTrees, basis: TreeBasis, size: int, height: int) -> Int64s:
    """Contexts grow inward: around a child stands what is around its parent, the parent, and the siblings."""
    insides = basis.inside_numbers(trees)
    children = np.flatnonzero(trees.parent >= 0)
    parent, position = trees.parent[children], trees.position[children]
    rank = trees.rank[parent].astype(np.int64)
    side = rank * (rank - 1) // 2 + position
    siblings, usable = _siblings(trees, insides, parent, position)
    outer = basis.outside_numbers(trees, insides)[0]
    classes, n_classes = [_Classes(basis.outsides, np.array([trees.n_nodes * 2]))], 1
    for _ in range(height):
        met = np.flatnonzero(usable & (outer[parent] >= 0))
        if not len(met):
            break
        step = [side[met], trees.symbol[parent[met]], outer[parent[met]]]
        rows = np.column_stack([*step, siblings[met]])
        distinct, position, counts = np.unique(rows, axis=0, return_inverse=True, return_counts=True)
        outer = np.full(trees.n_nodes, -1, np.int64)
        outer[children[met]] = n_classes + position.ravel()
        classes.append(_Classes(distinct.astype(np.int64), counts))
        n_classes += len(distinct)
    rows, counts = (np.concatenate(parts) for parts in zip(*classes, strict=True))
    return _kept(rows, counts, size, references=[2])


def _siblings(trees: RankedTrees, insides: Int64s, parent: Int32s, position: Int64s) -> tuple[Int64s, Flags]:
    """The insides beside each child, -1 for none; and whether all of them, and the parent, are known."""
    n_columns = len(trees.alphabet.ranks) - 2
    found = np.full((len(parent), n_columns), -1, np.int64)
    usable = trees.symbol[parent] >= 0
    for column in range(n_columns):
        rows = np.flatnonzero(trees.rank[parent] > column + 1)
        number = column + (position[rows] <= column)
        found[rows, column] = insides[trees.children[trees.first[parent[rows]] + number]]
        usable[rows] &= found[rows, column] >= 0
    return found, usable


def _kept(rows: Int64s, counts: Int64s, size: int, references: Sequence[int]) -> Int64s:
    """The most frequent rows in their order, with references to what they have become."""
    chosen = np.sort(np.argsort(-counts, kind="stable")[:size])
    new = np.full(len(rows) + 1, -1, np.int64)  # the last is for -1
    new[chosen] = np.arange(len(chosen))
    kept = rows[chosen].copy()
    for column in references:
        kept[:, column] = new[kept[:, column]]
    return kept
