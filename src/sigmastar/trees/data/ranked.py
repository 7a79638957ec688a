"""Corpora of trees over a ranked alphabet, kept flat: words have rank 0, labels that of their children.

Nodes of all trees stand in one row of arrays, children before parents, so that a pass from the first to
the last node needs no stack and trees may be of any depth. The root of a tree is its last node.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sigmastar.core.alphabet import UNKNOWN, Alphabet, Signature, tree_signature
from sigmastar.core.arrays import Int32s, Int64s
from sigmastar.core.errors import UnknownSymbolError
from sigmastar.trees.data.tree import Tree


@dataclass(frozen=True)
class RankedAlphabet:
    """The symbols of every rank; one name may stand in several ranks."""

    leaves: Alphabet
    unary: Alphabet
    binary: Alphabet
    higher: tuple[Alphabet, ...] = ()  # from rank 3 on

    @classmethod
    def of(cls, ranks: Sequence[Alphabet]) -> RankedAlphabet:
        """From the symbols of rank 0, 1, 2, ..; ranks at the end without symbols are left out."""
        full = [*ranks, *[Alphabet(())] * (3 - len(ranks))]
        while len(full) > 3 and not len(full[-1]):
            full.pop()
        return cls(full[0], full[1], full[2], tuple(full[3:]))

    @property
    def ranks(self) -> tuple[Alphabet, ...]:
        return self.leaves, self.unary, self.binary, *self.higher

    @property
    def signature(self) -> Signature:
        return tree_signature(*self.ranks)


class Nodes(NamedTuple):
    """The nodes of a corpus as kernels take them."""

    rank: Int32s
    symbol: Int32s
    first: Int64s  # where the children of each node begin, and the end
    children: Int32s


@dataclass(frozen=True, eq=False)
class RankedTrees:
    """Node k has `rank[k]` children, one after the other in `children`; tree i ends at `ends[i] - 1`."""

    alphabet: RankedAlphabet
    rank: Int32s
    symbol: Int32s  # the code in the alphabet of its rank, -1 if unknown
    children: Int32s  # of all nodes
    ends: Int64s

    @classmethod
    def of(
        cls, trees: Iterable[Tree | str], alphabet: RankedAlphabet | None = None, allow_unknown: bool = False
    ) -> RankedTrees:
        """Trees with any number of children per node, or lone words; without an alphabet, all symbols met.

        >>> RankedTrees.of([Tree("S", (Tree("A", ("a",)), "b", "c"))]).rank.tolist()
        [0, 1, 0, 0, 3]
        """
        walk = _Walk()
        for tree in trees:
            walk.add(tree)
        found = walk.trees()
        return found if alphabet is None else found.recoded(alphabet, allow_unknown)

    def __len__(self) -> int:
        return len(self.ends)

    @property
    def n_nodes(self) -> int:
        return len(self.rank)

    @cached_property
    def first(self) -> Int64s:
        """Where the children of each node begin, and the end."""
        return np.concatenate([[0], np.cumsum(self.rank, dtype=np.int64)])

    @property
    def nodes(self) -> Nodes:
        return Nodes(self.rank, self.symbol, self.first, self.children)

    @property
    def roots(self) -> Int64s:
        return self.ends - 1

    @cached_property
    def parent(self) -> Int32s:
        """-1 for roots."""
        parent = np.full(self.n_nodes, -1, np.int32)
        parent[self.children] = np.repeat(np.arange(self.n_nodes), self.rank)
        return parent

    @cached_property
    def position(self) -> Int64s:
        """Of each node among the children of its parent, from 0; 0 for roots."""
        position = np.zeros(self.n_nodes, np.int64)
        position[self.children] = np.arange(len(self.children)) - np.repeat(self.first[:-1], self.rank)
        return position

    def child(self, number: int) -> Int32s:
        """The child of each node with that number, from 0; -1 where there are fewer."""
        found = np.full(self.n_nodes, -1, np.int32)
        nodes = np.flatnonzero(self.rank > number)
        found[nodes] = self.children[self.first[nodes] + number]
        return found

    @cached_property
    def left(self) -> Int32s:
        """The first child of each node, -1 for none."""
        return self.child(0)

    @cached_property
    def right(self) -> Int32s:
        """The second child of each node, -1 for none."""
        return self.child(1)

    def recoded(self, alphabet: RankedAlphabet, allow_unknown: bool = False) -> RankedTrees:
        """The same trees with the codes of another alphabet; symbols that it lacks become -1."""
        if alphabet == self.alphabet:
            return self
        symbol = np.full(self.n_nodes, UNKNOWN, np.int32)
        for rank, old in enumerate(self.alphabet.ranks):
            new = alphabet.ranks[rank] if rank < len(alphabet.ranks) else Alphabet(())
            codes = np.array([new.codes.get(name, UNKNOWN) for name in old], dtype=np.int32)
            nodes = np.flatnonzero((self.rank == rank) & (self.symbol >= 0))
            symbol[nodes] = codes[self.symbol[nodes]]
            used = np.unique(self.symbol[nodes])
            missing = [old.symbols[code] for code in used.tolist() if codes[code] < 0]
            if missing and not allow_unknown:
                raise UnknownSymbolError(
                    f"the symbol {missing[0]!r} of rank {rank} is not among the {len(new)} known ones"
                )
        return RankedTrees(alphabet, self.rank, symbol, self.children, self.ends)

    def select(self, numbers: Sequence[int] | NDArray[np.intp]) -> RankedTrees:
        """Some of the trees, in the order given."""
        chosen = np.asarray(numbers, dtype=np.int64)
        begins, stops = np.concatenate([[0], self.ends[:-1]])[chosen], self.ends[chosen]
        nodes, ends = _ranges(begins, stops)
        edges, edge_ends = _ranges(self.first[begins], self.first[stops])
        shift = np.repeat(ends - stops, np.diff(edge_ends, prepend=0))
        children = (self.children[edges] + shift).astype(np.int32)
        return RankedTrees(self.alphabet, self.rank[nodes], self.symbol[nodes], children, ends)

    def tree(self, number: int) -> Tree | str:
        """One tree as an object; a lone word is itself."""
        begin = int(self.ends[number - 1]) if number else 0
        built: list[Tree | str] = []
        for node in range(begin, int(self.ends[number])):
            name = str(self.alphabet.ranks[self.rank[node]].symbols[self.symbol[node]])
            below = [built[c - begin] for c in self.children[self.first[node] : self.first[node + 1]]]
            built.append(Tree(name, tuple(below)) if below else name)
        return built[-1]


def _ranges(begins: Int64s, stops: Int64s) -> tuple[Int64s, Int64s]:
    """begins[0], begins[0] + 1, .. stops[0] - 1, begins[1], ..; and where each range ends among them."""
    sizes = stops - begins
    ends = np.cumsum(sizes)
    found: Int64s = np.arange(int(ends[-1]) if len(ends) else 0) + np.repeat(stops - ends, sizes)
    return found, ends


class _Walk:
    """Nodes of trees as they come, children first."""

    def __init__(self) -> None:
        self.codes: list[dict[str, int]] = [{}, {}, {}]
        self.rank: list[int] = []
        self.symbol: list[int] = []
        self.children: list[int] = []
        self.ends: list[int] = []

    def add(self, tree: Tree | str) -> None:
        order, waiting = list[Tree | str](), list[Tree | str]([tree])
        while waiting:
            node = waiting.pop()
            order.append(node)
            if not isinstance(node, str):
                waiting.extend(node.children)
        done: list[int] = []  # nodes without a parent so far, from left to right
        for node in reversed(order):
            below = [] if isinstance(node, str) else done[len(done) - len(node.children) :]
            del done[len(done) - len(below) :]
            done.append(self._node(node if isinstance(node, str) else node.label, below))
        self.ends.append(len(self.rank))

    def _node(self, name: str, below: list[int]) -> int:
        while len(self.codes) <= len(below):
            self.codes.append({})
        codes = self.codes[len(below)]
        self.rank.append(len(below))
        self.symbol.append(codes.setdefault(name, len(codes)))
        self.children += below
        return len(self.rank) - 1

    def trees(self) -> RankedTrees:
        alphabet = RankedAlphabet.of([Alphabet(codes) for codes in self.codes])
        rank, symbol, children = (
            np.array(x, dtype=np.int32) for x in (self.rank, self.symbol, self.children)
        )
        return RankedTrees(alphabet, rank, symbol, children, np.array(self.ends, dtype=np.int64))
