"""Bases of trees: which outsides and insides are counted.

An inside is a whole subtree. An outside is a context: a hole, the node above it with the hole's siblings, the
node above that, and so on up to some height; it may begin at the root of a tree or anywhere. A subtree is
never more frequent than its own subtrees, nor a context than what is left of it without the step at the
hole: the most frequent ones form closed tables, in which each entry refers to earlier ones.

Counts of trees on a basis of outsides and insides.

    H[o, i]       = f(o . i)              H_s[o, i1 .. ik] = f(o . s[i1 .. ik])
    root[i]       = f(i)

with f(t) the mean number of places at which t hangs in a tree of the sample (or, where contexts are anchored
at the root, the share of trees that are t). Every node of the sample is met once for each context around
it. Counts are whole numbers: those of shards add up exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy import sparse

from sigmastar.core.alphabet import Operation
from sigmastar.core.arrays import Flags, Floats, Int32s, Int64s
from sigmastar.core.errors import InputError
from sigmastar.core.integer_counts import Tally, add, tally
from sigmastar.core.recover import Blocks, Slices, SparseTensor, project
from sigmastar.trees.data.ranked import Nodes, RankedAlphabet, RankedTrees
from sigmastar.trees.kernels import (
    Operators,
    context_vectors,
    inside_vectors,
    match_insides,
    match_outsides,
    node_heights,
)


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


LONGEST_KEY = 2.0**62


@dataclass(frozen=True, eq=False)
class TreeCounts:
    """Nodes of a corpus by the outside around them, and by what they are."""

    basis: TreeBasis
    n_trees: int
    nodes: Tally  # (outside, inside)
    steps: tuple[Tally, ...]  # of each rank: (symbol, outside, insides of the children)
    starts: Int64s  # insides counted by the root row
    wholes: Int64s  # insides that are whole trees

    def __add__(self, other: TreeCounts) -> TreeCounts:
        """The counts of both corpora together: exact, in any order."""
        if not self.basis.same_as(other.basis):
            raise ValueError("counts can be added only where the basis is the same")
        steps = tuple(add(a, b) for a, b in zip(self.steps, other.steps, strict=True))
        return TreeCounts(
            self.basis,
            self.n_trees + other.n_trees,
            add(self.nodes, other.nodes),
            steps,
            self.starts + other.starts,
            self.wholes + other.wholes,
        )

    def blocks(self) -> Blocks:
        """Means over the trees, as blocks from which an automaton is recovered."""
        scale, signature = 1.0 / max(self.n_trees, 1), self.basis.alphabet.signature
        places = np.divmod(self.nodes[0], self.basis.shape[1])
        matrix = sparse.csr_array((self.nodes[1] * scale, places), shape=self.basis.shape)
        slices: dict[Operation, Slices] = {op: self._slices(op.arity, scale) for op in signature.operations}
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
    _require_keys(basis)
    ranks = range(len(basis.alphabet.ranks))
    steps = [tally(np.concatenate([_steps(coded, o, insides, r, basis) for o in around])) for r in ranks]
    return TreeCounts(
        basis,
        len(trees),
        tally(np.concatenate(nodes)),
        tuple(steps),
        _histogram(insides[around[0] >= 0], basis.shape[1]),
        _histogram(insides[coded.roots], basis.shape[1]),
    )


def _require_keys(basis: TreeBasis) -> None:
    """A symbol, an outside and the insides of all children are one number."""
    n_outsides, n_insides = basis.shape
    for rank, symbols in enumerate(basis.alphabet.ranks):
        if len(symbols) * n_outsides * float(n_insides) ** rank > LONGEST_KEY:
            raise InputError(
                f"nodes with {rank} children over {n_insides} subtrees are too many to be numbered; "
                "count fewer subtrees (n_insides, --insides), or binarize the trees"
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
    children = [insides[trees.child(k)[nodes]] for k in range(rank)]
    first = np.asarray(trees.symbol[nodes] * np.int64(basis.shape[0]) + outside[nodes], dtype=np.int64)
    return _met(first, children, basis.shape) if children else first


def exact_tree_blocks(basis: TreeBasis, operators: Operators) -> Blocks:
    """The blocks of f(t) = root . inside(t), dense: what counting would give with unlimited data."""
    below = _basis_insides(basis, operators)
    around = context_vectors(basis.outsides, operators, below)
    signature, n = basis.alphabet.signature, len(operators.root)
    slices = dict[Operation, Slices]()
    for op in signature.operations:
        low, high = operators.starts[op.arity : op.arity + 2]
        operator = operators.values[low:high].reshape(-1, *[n] * (op.arity + 1))
        slices[op] = project(operator, [around.T, *[below.T] * op.arity])
    return Blocks(signature, {"tree": around @ below.T}, slices, {"tree": below @ operators.root})


def _basis_insides(basis: TreeBasis, operators: Operators) -> Floats:
    """The inside vectors of the table of insides, taken for one large tree."""
    rank, symbol = (np.ascontiguousarray(basis.insides[:, k].astype(np.int32)) for k in range(2))
    used = np.arange(basis.insides.shape[1] - 2) < rank[:, None]
    children = basis.insides[:, 2:][used].astype(np.int32)
    first = np.concatenate([[0], np.cumsum(rank, dtype=np.int64)])
    mantissas, exponents = inside_vectors(Nodes(rank, symbol, first, children), operators)
    return np.asarray(np.ldexp(mantissas, exponents[:, None]))
