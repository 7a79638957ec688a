"""Counts of trees on a basis of outsides and insides.

    H[o, i]       = f(o . i)              H_s[o, i1 .. ik] = f(o . s[i1 .. ik])
    root[i]       = f(i)

with f(t) the mean number of places at which t hangs in a tree of the sample (or, where contexts are anchored
at the root, the share of trees that are t). Every node of the sample is met once for each context around
it. Counts are whole numbers: those of shards add up exactly.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sigmastar.automata.counts.on_basis import Tally
from sigmastar.core.blocks import Blocks, Slices, SparseTensor
from sigmastar.core.signature import Operation
from sigmastar.trees.counts.bases import TreeBasis
from sigmastar.trees.data.ranked import RankedTrees
from sigmastar.trees.kernels.vectors import context_vectors, inside_vectors

Array = NDArray[np.float64]
Longs = NDArray[np.int64]

_NAMES = ("leaf", "unary", "binary")


@dataclass(frozen=True, eq=False)
class TreeCounts:
    """Nodes of a corpus by the outside around them, and by what they are."""

    basis: TreeBasis
    n_trees: int
    nodes: Tally  # (outside, inside)
    steps: tuple[Tally, Tally, Tally]  # of each rank: (symbol, outside, insides of the children)
    starts: Longs  # insides counted by the root row
    wholes: Longs  # insides that are whole trees

    def __add__(self, other: TreeCounts) -> TreeCounts:
        """The counts of both corpora together: exact, in any order."""
        if not self.basis.same_as(other.basis):
            raise ValueError("counts can be added only where the basis is the same")
        first, second, third = (a.merged(b) for a, b in zip(self.steps, other.steps, strict=True))
        return TreeCounts(
            self.basis,
            self.n_trees + other.n_trees,
            self.nodes.merged(other.nodes),
            (first, second, third),
            self.starts + other.starts,
            self.wholes + other.wholes,
        )

    def blocks(self) -> Blocks:
        """Means over the trees, as blocks from which an automaton is recovered."""
        scale, signature = 1.0 / max(self.n_trees, 1), self.basis.alphabet.signature
        places = np.divmod(self.nodes.keys, self.basis.shape[1])
        matrix = sparse.csr_array((self.nodes.counts * scale, places), shape=self.basis.shape)
        slices: dict[Operation, Slices] = {
            op: self._slices(_NAMES.index(str(op.name)), scale) for op in signature.operations
        }
        starts: Array = self.starts * np.float64(scale)
        return Blocks(signature, {"tree": matrix}, slices, {"tree": starts})

    @property
    def whole_trees(self) -> Array:
        """The share of trees that are each inside."""
        return np.asarray(self.wholes / np.float64(max(self.n_trees, 1)))

    def _slices(self, rank: int, scale: float) -> SparseTensor:
        n_outsides, n_insides = self.basis.shape
        shape = (len(self.basis.alphabet.ranks[rank]), n_outsides, *[n_insides] * rank)
        values: Array = self.steps[rank].counts * np.float64(scale)
        return SparseTensor.of_keys(shape, self.steps[rank].keys, values)


def count_trees(trees: RankedTrees, basis: TreeBasis) -> TreeCounts:
    """Read the corpus once; symbols that the alphabet of the basis lacks match nothing."""
    coded = trees.recoded(basis.alphabet, allow_unknown=True)
    insides = basis.inside_numbers(coded)
    around = basis.outside_numbers(coded, insides)
    nodes = [_met(outside, [insides], basis.shape) for outside in around]
    steps = [
        Tally.of(np.concatenate([_steps(coded, o, insides, r, basis) for o in around])) for r in range(3)
    ]
    return TreeCounts(
        basis,
        len(trees),
        Tally.of(np.concatenate(nodes)),
        (steps[0], steps[1], steps[2]),
        _histogram(insides[around[0] >= 0], basis.shape[1]),
        _histogram(insides[coded.roots], basis.shape[1]),
    )


def _histogram(numbers: Longs, size: int) -> Longs:
    return np.bincount(numbers[numbers >= 0], minlength=size).astype(np.int64)


def _met(outside: Longs, insides: list[Longs], shape: tuple[int, int]) -> Longs:
    """Keys of the nodes whose outside and insides are all in the basis."""
    met = (outside >= 0) & np.logical_and.reduce([inside >= 0 for inside in insides])
    keys = np.asarray(outside[met], dtype=np.int64)
    for inside in insides:
        keys = np.asarray(keys * shape[1] + inside[met], dtype=np.int64)
    return keys


def _steps(trees: RankedTrees, outside: Longs, insides: Longs, rank: int, basis: TreeBasis) -> Longs:
    nodes = np.flatnonzero((trees.rank == rank) & (trees.symbol >= 0) & (outside >= 0))
    children = [insides[child[nodes]] for child in (trees.left, trees.right)[:rank]]
    first = np.asarray(trees.symbol[nodes] * np.int64(basis.shape[0]) + outside[nodes], dtype=np.int64)
    return _met(first, children, basis.shape) if children else first


def exact_tree_blocks(basis: TreeBasis, root: Array, leaf: Array, unary: Array, binary: Array) -> Blocks:
    """The blocks of f(t) = root . inside(t), dense: what counting would give with unlimited data."""
    rank, symbol, left, right = (basis.insides[:, k].astype(np.int32) for k in range(4))
    mantissas, exponents = inside_vectors(rank, symbol, left, right, leaf, unary, binary)
    below: Array = np.ldexp(mantissas, exponents[:, None])
    side, code, outer, sibling = (np.ascontiguousarray(basis.outsides[:, k]) for k in range(4))
    around = context_vectors(outer, code, side, sibling, root, unary, binary, below)
    exact = {
        "leaf": np.einsum("oi,xi->xo", around, leaf),
        "unary": np.einsum("oi,xij,aj->xoa", around, unary, below, optimize=True),
        "binary": np.einsum("oi,xijk,aj,bk->xoab", around, binary, below, below, optimize=True),
    }
    signature = basis.alphabet.signature
    slices: dict[Operation, Slices] = {op: exact[str(op.name)] for op in signature.operations}
    return Blocks(signature, {"tree": around @ below.T}, slices, {"tree": below @ root})
