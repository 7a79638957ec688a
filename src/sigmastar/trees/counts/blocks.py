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
from scipy import sparse

from sigmastar.core.arrays import Floats, Int64s
from sigmastar.core.blocks import Blocks, Slices, SparseTensor
from sigmastar.core.errors import InputError
from sigmastar.core.integer_counts import Tally, add, tally
from sigmastar.core.recover import project
from sigmastar.core.signature import Operation
from sigmastar.trees.counts.basis import TreeBasis
from sigmastar.trees.data.ranked import Nodes, RankedTrees
from sigmastar.trees.kernels.vectors import Operators, context_vectors, inside_vectors

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
