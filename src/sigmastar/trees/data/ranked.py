"""Corpora of trees over a ranked alphabet, kept flat: words have rank 0, labels rank 1 or 2.

Nodes of all trees stand in one row of arrays, children before parents, so that a pass from the first to
the last node needs no stack and trees may be of any depth. The root of a tree is its last node.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sigmastar.core.alphabet import UNKNOWN, Alphabet
from sigmastar.core.errors import InputError, UnknownSymbolError
from sigmastar.core.signature import Signature, tree_signature
from sigmastar.trees.data.tree import Tree

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]


@dataclass(frozen=True)
class RankedAlphabet:
    """The symbols of every rank; one name may stand in several ranks."""

    leaves: Alphabet
    unary: Alphabet
    binary: Alphabet

    @property
    def ranks(self) -> tuple[Alphabet, Alphabet, Alphabet]:
        return self.leaves, self.unary, self.binary

    @property
    def signature(self) -> Signature:
        return tree_signature(self.leaves, self.unary, self.binary)


@dataclass(frozen=True, eq=False)
class RankedTrees:
    """Node k has `rank[k]` children, `left[k]` and `right[k]` (-1 for none); tree i ends at `ends[i] - 1`."""

    alphabet: RankedAlphabet
    rank: Ints
    symbol: Ints  # the code in the alphabet of its rank, -1 if unknown
    left: Ints
    right: Ints
    ends: Longs

    @classmethod
    def of(
        cls, trees: Iterable[Tree | str], alphabet: RankedAlphabet | None = None, allow_unknown: bool = False
    ) -> RankedTrees:
        """Trees with one or two children a node, or lone words; without an alphabet, all symbols that occur.

        >>> RankedTrees.of([Tree("S", (Tree("A", ("a",)), "b"))]).rank.tolist()
        [0, 1, 0, 2]
        """
        walk = _Walk()
        for number, tree in enumerate(trees, 1):
            walk.add(tree, number)
        found = walk.trees()
        return found if alphabet is None else found.recoded(alphabet, allow_unknown)

    def __len__(self) -> int:
        return len(self.ends)

    @property
    def n_nodes(self) -> int:
        return len(self.rank)

    @property
    def roots(self) -> Longs:
        return self.ends - 1

    @cached_property
    def parent(self) -> Ints:
        """-1 for roots."""
        parent = np.full(self.n_nodes, -1, np.int32)
        for child in (self.left, self.right):
            nodes = np.flatnonzero(child >= 0)
            parent[child[nodes]] = nodes
        return parent

    def recoded(self, alphabet: RankedAlphabet, allow_unknown: bool = False) -> RankedTrees:
        """The same trees with the codes of another alphabet; symbols that it lacks become -1."""
        if alphabet == self.alphabet:
            return self
        symbol = np.full(self.n_nodes, UNKNOWN, np.int32)
        for rank, (old, new) in enumerate(zip(self.alphabet.ranks, alphabet.ranks, strict=True)):
            codes = np.array([new.codes.get(name, UNKNOWN) for name in old], dtype=np.int32)
            nodes = np.flatnonzero((self.rank == rank) & (self.symbol >= 0))
            symbol[nodes] = codes[self.symbol[nodes]]
            used = np.unique(self.symbol[nodes])
            missing = [old.symbols[code] for code in used.tolist() if codes[code] < 0]
            if missing and not allow_unknown:
                raise UnknownSymbolError(
                    f"the symbol {missing[0]!r} of rank {rank} is not among the {len(new)} known ones"
                )
        return RankedTrees(alphabet, self.rank, symbol, self.left, self.right, self.ends)

    def select(self, numbers: Sequence[int] | NDArray[np.intp]) -> RankedTrees:
        """Some of the trees, in the order given."""
        chosen = np.asarray(numbers, dtype=np.int64)
        begins = np.concatenate([[0], self.ends[:-1]])[chosen]
        sizes = self.ends[chosen] - begins
        ends = np.cumsum(sizes)
        shift = np.repeat(ends - sizes - begins, sizes)
        nodes = np.arange(int(ends[-1]) if len(ends) else 0) - shift
        left, right = (
            np.where(child[nodes] >= 0, child[nodes] + shift, -1).astype(np.int32)
            for child in (self.left, self.right)
        )
        return RankedTrees(self.alphabet, self.rank[nodes], self.symbol[nodes], left, right, ends)

    def tree(self, number: int) -> Tree | str:
        """One tree as an object; a lone word is itself."""
        begin = int(self.ends[number - 1]) if number else 0
        built: list[Tree | str] = []
        for node in range(begin, int(self.ends[number])):
            name = str(self.alphabet.ranks[self.rank[node]].symbols[self.symbol[node]])
            below = [built[child - begin] for child in (self.left[node], self.right[node]) if child >= 0]
            built.append(Tree(name, tuple(below)) if below else name)
        return built[-1]


class _Walk:
    """Nodes of trees as they come, children first."""

    def __init__(self) -> None:
        self.codes: tuple[dict[str, int], ...] = ({}, {}, {})
        self.rank: list[int] = []
        self.symbol: list[int] = []
        self.left: list[int] = []
        self.right: list[int] = []
        self.ends: list[int] = []

    def add(self, tree: Tree | str, number: int) -> None:
        order, waiting = list[Tree | str](), list[Tree | str]([tree])
        while waiting:
            node = waiting.pop()
            order.append(node)
            if not isinstance(node, str):
                waiting.extend(node.children)
        done: list[int] = []  # nodes without a parent so far, from left to right
        for node in reversed(order):
            below = [] if isinstance(node, str) else done[len(done) - len(node.children) :]
            if len(below) > 2:
                raise InputError(
                    f"tree {number}: {node[0]!r} has {len(below)} children, two at most can be; binarise it"
                )
            del done[len(done) - len(below) :]
            done.append(self._node(node if isinstance(node, str) else node.label, below))
        self.ends.append(len(self.rank))

    def _node(self, name: str, below: list[int]) -> int:
        codes = self.codes[len(below)]
        self.rank.append(len(below))
        self.symbol.append(codes.setdefault(name, len(codes)))
        self.left.append(below[0] if below else -1)
        self.right.append(below[1] if len(below) > 1 else -1)
        return len(self.rank) - 1

    def trees(self) -> RankedTrees:
        alphabet = RankedAlphabet(*(Alphabet(codes) for codes in self.codes))
        rank, symbol, left, right = (
            np.array(x, dtype=np.int32) for x in (self.rank, self.symbol, self.left, self.right)
        )
        return RankedTrees(alphabet, rank, symbol, left, right, np.array(self.ends, dtype=np.int64))
