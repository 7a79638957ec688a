"""Counts of trees on a basis of outsides and insides.

    H[o, i]       = f(o . i)              H_s[o, i1 .. ik] = f(o . s[i1 .. ik])
    root[i]       = f(i)

with f(t) the mean number of places at which t hangs in a tree of the sample (or, where contexts are anchored
at the root, the share of trees that are t). Every node of the sample is met once for each context around
it. Counts are whole numbers: those of shards add up exactly.

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
from scipy import sparse

from sigmastar.core.arrays import Floats, Int64s
from sigmastar.core.blocks import Blocks, Slices, SparseTensor
from sigmastar.core.integer_counts import Tally, add, tally
from sigmastar.core.signature import Operation
from sigmastar.trees.data.ranked import Nodes, RankedAlphabet, RankedTrees
from sigmastar.trees.kernels import (
    Operators,
    context_vectors,
    inside_vectors,
    match_insides,
    match_outsides,
    node_heights,
)

LONGEST_KEY = 2.0**62


@dataclass(frozen=True, eq=False)
class TreeBasis:
    """Closed tables of insides (rank, symbol, left, right) and outsides (side, symbol, outer, sibling).

    The first outside is the bare hole. `side` is 0 below a unary node, 1 for a hole on the left of a binary
    one, 2 on the right.
    """

    alphabet: RankedAlphabet
    insides: Int64s  # [inside, 4]
    outsides: Int64s  # [outside, 4]
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

    def inside_numbers(self, trees: RankedTrees) -> Int64s:
        """The inside at every node, -1 where it is none of the basis."""
        keys, numbers = _sorted_keys(self.insides, self.base)
        return match_insides(trees.nodes, keys, numbers, self.base)

    def outside_numbers(self, trees: RankedTrees, insides: Int64s) -> list[Int64s]:
        """For every height from 0 on the outside of that height around every node, -1 where it is none."""
        keys, numbers = _sorted_keys(self.outsides[1:], self.base)
        hole = np.where(trees.parent < 0, 0, -1) if self.anchored else np.zeros(trees.n_nodes)
        found = [hole.astype(np.int64)]
        for _ in range(self.height):
            found.append(match_outsides(trees.nodes, insides, found[-1], keys, numbers + 1, self.base))
        return found


def _sorted_keys(rows: Int64s, base: int) -> tuple[Int64s, Int64s]:
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
    hole = np.array([[0, -1, -1, -1]], dtype=np.int64)
    basis = TreeBasis(trees.alphabet, insides, hole, anchored)
    return TreeBasis(trees.alphabet, insides, _frequent_outsides(trees, basis, n_outsides, height), anchored)


class _Classes(NamedTuple):
    """Distinct rows, and how often each occurs."""

    rows: Int64s
    counts: Int64s


def _frequent_insides(trees: RankedTrees, size: int) -> Int64s:
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


def _by_height(trees: RankedTrees) -> list[Int64s]:
    heights = node_heights(trees.left, trees.right)
    order = np.argsort(heights, kind="stable")
    return np.split(order, np.cumsum(np.bincount(heights))[:-1])


def _frequent_outsides(trees: RankedTrees, basis: TreeBasis, size: int, height: int) -> Int64s:
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


def _kept(rows: Int64s, counts: Int64s, size: int, references: tuple[int, ...]) -> Int64s:
    """The most frequent rows in their order, with references to what they have become."""
    chosen = np.sort(np.argsort(-counts, kind="stable")[:size])
    new = np.full(len(rows) + 1, -1, np.int64)  # the last is for -1
    new[chosen] = np.arange(len(chosen))
    kept = rows[chosen].copy()
    for column in references:
        kept[:, column] = new[kept[:, column]]
    return kept


_NAMES = ("leaf", "unary", "binary")


@dataclass(frozen=True, eq=False)
class TreeCounts:
    """Nodes of a corpus by the outside around them, and by what they are."""

    basis: TreeBasis
    n_trees: int
    nodes: Tally  # (outside, inside)
    steps: tuple[Tally, Tally, Tally]  # of each rank: (symbol, outside, insides of the children)
    starts: Int64s  # insides counted by the root row
    wholes: Int64s  # insides that are whole trees

    def __add__(self, other: TreeCounts) -> TreeCounts:
        """The counts of both corpora together: exact, in any order."""
        if not self.basis.same_as(other.basis):
            raise ValueError("counts can be added only where the basis is the same")
        first, second, third = (add(a, b) for a, b in zip(self.steps, other.steps, strict=True))
        return TreeCounts(
            self.basis,
            self.n_trees + other.n_trees,
            add(self.nodes, other.nodes),
            (first, second, third),
            self.starts + other.starts,
            self.wholes + other.wholes,
        )

    def blocks(self) -> Blocks:
        """Means over the trees, as blocks from which an automaton is recovered."""
        scale, signature = 1.0 / max(self.n_trees, 1), self.basis.alphabet.signature
        places = np.divmod(self.nodes[0], self.basis.shape[1])
        matrix = sparse.csr_array((self.nodes[1] * scale, places), shape=self.basis.shape)
        slices: dict[Operation, Slices] = {
            op: self._slices(_NAMES.index(str(op.name)), scale) for op in signature.operations
        }
        starts: Floats = self.starts * np.float64(scale)
        return Blocks(signature, {"tree": matrix}, slices, {"tree": starts})

    @property
    def whole_trees(self) -> Floats:
        """The share of trees that are each inside."""
        return np.asarray(self.wholes / np.float64(max(self.n_trees, 1)))

    def _slices(self, rank: int, scale: float) -> SparseTensor:
        n_outsides, n_insides = self.basis.shape
        shape = (len(self.basis.alphabet.ranks[rank]), n_outsides, *[n_insides] * rank)
        keys, counts = self.steps[rank]
        values: Floats = counts * np.float64(scale)
        return SparseTensor.of_keys(shape, keys, values)


def count_trees(trees: RankedTrees, basis: TreeBasis) -> TreeCounts:
    """Read the corpus once; symbols that the alphabet of the basis lacks match nothing."""
    coded = trees.recoded(basis.alphabet, allow_unknown=True)
    insides = basis.inside_numbers(coded)
    around = basis.outside_numbers(coded, insides)
    nodes = [_met(outside, [insides], basis.shape) for outside in around]
    steps = [tally(np.concatenate([_steps(coded, o, insides, r, basis) for o in around])) for r in range(3)]
    return TreeCounts(
        basis,
        len(trees),
        tally(np.concatenate(nodes)),
        (steps[0], steps[1], steps[2]),
        _histogram(insides[around[0] >= 0], basis.shape[1]),
        _histogram(insides[coded.roots], basis.shape[1]),
    )


def _histogram(numbers: Int64s, size: int) -> Int64s:
    return np.bincount(numbers[numbers >= 0], minlength=size).astype(np.int64)


def _met(outside: Int64s, insides: list[Int64s], shape: tuple[int, int]) -> Int64s:
    """Keys of the nodes whose outside and insides are all in the basis."""
    met = (outside >= 0) & np.logical_and.reduce([inside >= 0 for inside in insides])
    keys = np.asarray(outside[met], dtype=np.int64)
    for inside in insides:
        keys = np.asarray(keys * shape[1] + inside[met], dtype=np.int64)
    return keys


def _steps(trees: RankedTrees, outside: Int64s, insides: Int64s, rank: int, basis: TreeBasis) -> Int64s:
    nodes = np.flatnonzero((trees.rank == rank) & (trees.symbol >= 0) & (outside >= 0))
    children = [insides[child[nodes]] for child in (trees.left, trees.right)[:rank]]
    first = np.asarray(trees.symbol[nodes] * np.int64(basis.shape[0]) + outside[nodes], dtype=np.int64)
    return _met(first, children, basis.shape) if children else first


def exact_tree_blocks(basis: TreeBasis, operators: Operators) -> Blocks:
    """The blocks of f(t) = root . inside(t), dense: what counting would give with unlimited data."""
    nodes = Nodes(*(np.ascontiguousarray(column) for column in basis.insides.T.astype(np.int32)))
    mantissas, exponents = inside_vectors(nodes, operators)
    below: Floats = np.ldexp(mantissas, exponents[:, None])
    around = context_vectors(basis.outsides, operators, below)
    root, leaf, unary, binary = operators
    exact = {
        "leaf": np.einsum("oi,xi->xo", around, leaf),
        "unary": np.einsum("oi,xij,aj->xoa", around, unary, below, optimize=True),
        "binary": np.einsum("oi,xijk,aj,bk->xoab", around, binary, below, below, optimize=True),
    }
    signature = basis.alphabet.signature
    slices: dict[Operation, Slices] = {op: exact[str(op.name)] for op in signature.operations}
    return Blocks(signature, {"tree": around @ below.T}, slices, {"tree": below @ root})
