"""Corpora of trees over a ranked alphabet, kept flat: words have rank 0, labels rank 1 or 2.

Nodes of all trees stand in one row of arrays, children before parents, so that a pass from the first to
the last node needs no stack and trees may be of any depth. The root of a tree is its last node.

As a tree of productions, a node is the rule that it is rewritten by:

    (S (NP she) (VP runs))   becomes   TOP -> S [ S -> NP VP [ NP -> she, VP -> runs ] ]

Over productions, a grammar whose non-terminals have hidden states is a weighted tree automaton: two parts fit
together where they share a non-terminal (Balle, Quattoni and Carreras 2014, "Production Parse Trees").
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sigmastar.core.alphabet import UNKNOWN, Alphabet
from sigmastar.core.arrays import Int32s, Int64s
from sigmastar.core.errors import InputError, UnknownSymbolError
from sigmastar.core.signature import Signature, tree_signature
from sigmastar.trees.data.tree import Tree


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


class Nodes(NamedTuple):
    """The nodes of a corpus as kernels take them."""

    rank: Int32s
    symbol: Int32s
    left: Int32s
    right: Int32s


@dataclass(frozen=True, eq=False)
class RankedTrees:
    """Node k has `rank[k]` children, `left[k]` and `right[k]` (-1 for none); tree i ends at `ends[i] - 1`."""

    alphabet: RankedAlphabet
    rank: Int32s
    symbol: Int32s  # the code in the alphabet of its rank, -1 if unknown
    left: Int32s
    right: Int32s
    ends: Int64s

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
    def nodes(self) -> Nodes:
        return Nodes(self.rank, self.symbol, self.left, self.right)

    @property
    def roots(self) -> Int64s:
        return self.ends - 1

    @cached_property
    def parent(self) -> Int32s:
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
                    f"tree {number}: {node[0]!r} has {len(below)} children, two at most can be; binarize it"
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


TOP = "TOP"


def production_trees(
    trees: Iterable[Tree], alphabet: RankedAlphabet | None = None, allow_unknown: bool = False
) -> RankedTrees:
    """Binary trees over tagged words as trees over `(a, x)`, `(a, b, c)` and, on top, `(TOP, a)`.

    Parameters
    ----------
    trees : iterable of Tree
        Binary ones over tagged words.
    alphabet : RankedAlphabet, optional
        The codes to use; those of the productions found if none is given.
    allow_unknown : bool
        Whether productions that `alphabet` lacks become -1; else they are an error.

    Returns
    -------
    RankedTrees
        Productions in place of labels and words.

    Examples
    --------
    >>> found = production_trees([Tree("S", (Tree("A", ("a",)), Tree("B", ("b",))))])
    >>> found.alphabet.binary.symbols, found.alphabet.leaves.symbols
    ((('S', 'A', 'B'),), (('A', 'a'), ('B', 'b')))
    """
    plain = RankedTrees.of(trees)
    _require_form(plain)
    found = _rewritten(plain)
    return found if alphabet is None else found.recoded(alphabet, allow_unknown)


def _require_form(trees: RankedTrees) -> None:
    child_rank = np.where(trees.left >= 0, trees.rank[trees.left], -1)
    right_rank = np.where(trees.right >= 0, trees.rank[trees.right], -1)
    chain = (trees.rank == 1) & (child_rank != 0)
    bare = (trees.rank == 2) & ((child_rank == 0) | (right_rank == 0))
    for wrong, problem, remedy in (
        (chain, "has a single phrase below it", "collapse chains first"),
        (bare, "has a word among two children", "give every word a tag"),
    ):
        if wrong.any():
            node = int(np.flatnonzero(wrong)[0])
            number = int(np.searchsorted(trees.ends, node, side="right")) + 1
            name = trees.alphabet.ranks[trees.rank[node]].symbols[trees.symbol[node]]
            raise InputError(f"tree {number}: {name!r} {problem}; {remedy}")
    if (trees.rank[trees.roots] == 0).any():
        raise InputError("a word without a tag is no tree; write (TAG word)")


def _rewritten(trees: RankedTrees) -> RankedTrees:
    leaves, unary, binary = trees.alphabet.ranks
    names = list(dict.fromkeys([*map(str, unary), *map(str, binary)]))
    codes = {name: code for code, name in enumerate(names)}
    label = np.zeros(trees.n_nodes, np.int64)  # of nodes that are no words
    for arity, symbols in ((1, unary), (2, binary)):
        nodes = np.flatnonzero(trees.rank == arity)
        label[nodes] = np.array([codes[str(name)] for name in symbols] or [0])[trees.symbol[nodes]]
    kept = np.flatnonzero(trees.rank > 0)
    n_before = np.searchsorted(trees.ends, kept, side="right")  # a root more for each tree before
    place = np.zeros(trees.n_nodes, np.int64)
    place[kept] = np.arange(len(kept)) + n_before
    size = len(kept) + len(trees)
    tops = place[trees.roots] + 1
    rank, left, right = np.ones(size, np.int32), np.full(size, -1, np.int32), np.full(size, -1, np.int32)
    tags, phrases = kept[trees.rank[kept] == 1], kept[trees.rank[kept] == 2]
    rank[place[tags]], rank[place[phrases]] = 0, 2
    left[place[phrases]], right[place[phrases]] = place[trees.left[phrases]], place[trees.right[phrases]]
    left[tops] = place[trees.roots]
    symbol, n = np.zeros(size, np.int32), len(names)
    words = trees.symbol[trees.left[tags]]
    symbol[place[tags]], lexical = _coded(label[tags] * len(leaves) + words)
    pairs = label[trees.left[phrases]] * n + label[trees.right[phrases]]
    symbol[place[phrases]], rules = _coded(label[phrases] * n * n + pairs)
    symbol[tops], tops_of = _coded(label[trees.roots])
    alphabet = RankedAlphabet(
        Alphabet((names[key // len(leaves)], leaves.symbols[key % len(leaves)]) for key in lexical.tolist()),
        Alphabet((TOP, names[key]) for key in tops_of.tolist()),
        Alphabet((names[key // (n * n)], names[key // n % n], names[key % n]) for key in rules.tolist()),
    )
    return RankedTrees(
        alphabet, rank, symbol, left, right, np.searchsorted(kept, trees.ends) + np.arange(1, len(trees) + 1)
    )


def _coded(keys: Int64s) -> tuple[NDArray[np.int32], Int64s]:
    distinct, position = np.unique(keys, return_inverse=True)
    return position.astype(np.int32).ravel(), distinct
