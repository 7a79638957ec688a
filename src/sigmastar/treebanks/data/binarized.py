"""Binarized treebanks as flat arrays, children before parents.

A phrase with children c1 .. ck becomes k - 1 binary nodes; those between carry an intermediate symbol @X:

    right   X -> c1 @X        @X -> c2 @X        ..  @X -> c(k-1) ck
    left    X -> @X ck        ..                     @X -> c1 c2
    head    children left of the head are split off first, from the outside, then those right of it

`horizontal` is how many of the last generated siblings an intermediate symbol remembers (h), `vertical` 2
adds the label of the parent to the symbols of phrases (v). Taking the intermediate nodes away gives the
phrases back, whatever h and v were.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from sigmastar.core.arrays import Int32s, Int64s
from sigmastar.core.jit import kernel, part
from sigmastar.treebanks.data.phrases import Phrases

LEAF, PHRASE, BETWEEN, OUTWARD = range(4)  # kinds of symbols; OUTWARD: the head has all it has on its right
DIRECTIONS = ("right", "left", "head")


@dataclass(frozen=True)
class Binarization:
    """How phrases become binary."""

    direction: str = "right"
    horizontal: int = 0
    vertical: int = 1

    def __post_init__(self) -> None:
        if self.direction not in DIRECTIONS:
            raise ValueError(
                f"direction={self.direction!r} must be one of {', '.join(map(repr, DIRECTIONS))}"
            )
        if self.horizontal not in (0, 1, 2) or self.vertical not in (1, 2):
            raise ValueError("horizontal must be 0, 1 or 2, and vertical 1 or 2")


@dataclass(frozen=True, eq=False)
class Symbols:
    """What binary nodes are labelled with, in the order of their keys: leaves come first."""

    kind: Int32s
    label: Int32s  # the chain of labels that a leaf or phrase stands for, or that an intermediate is part of
    parent: Int32s  # the label of the parent, where it is remembered, else -1
    siblings: Int32s  # [symbol, 2]: labels remembered, -1 for none

    def __len__(self) -> int:
        return len(self.kind)

    @cached_property
    def n_leaves(self) -> int:
        """How many of the symbols are of leaves; they are the first ones."""
        return int((self.kind == LEAF).sum())

    @cached_property
    def base(self) -> Int32s:
        """The chain that a node of each symbol is in the tree, -1 for intermediate ones."""
        return np.where(self.kind <= PHRASE, self.label, -1).astype(np.int32)

    def numbers(self, labels: tuple[tuple[str, ...], ...]) -> dict[tuple[object, ...], int]:
        """The number of each symbol, by what it is in any treebank."""
        chains = (*labels, ())  # the last one is that of -1
        columns = (self.kind, self.label, self.parent, *self.siblings.T)
        rows = zip(*(column.tolist() for column in columns), strict=True)
        return {(kind, *(chains[label] for label in others)): n for n, (kind, *others) in enumerate(rows)}

    def check(self, n_labels: int, n_leaves: int) -> None:
        """Raise `ValueError` where something is out of range: files may be damaged."""
        n = len(self.kind)
        if (self.label.shape, self.parent.shape, self.siblings.shape) != ((n,), (n,), (n, 2)):
            raise ValueError("symbols must have a kind, a label, a parent and two siblings each")
        if self.kind.min(initial=0) < LEAF or self.kind.max(initial=0) > OUTWARD:
            raise ValueError(f"kinds of symbols must be numbers from {LEAF} to {OUTWARD}")
        if self.n_leaves != n_leaves or (self.kind[: self.n_leaves] != LEAF).any():
            raise ValueError(f"the first {n_leaves} symbols must be those of words, and no others")
        for name, low in (("label", 0), ("parent", -1), ("siblings", -1)):
            numbers = getattr(self, name)
            if numbers.min(initial=0) < low or numbers.max(initial=low) >= n_labels:
                raise ValueError(f"{name} of symbols must be numbers from {low} to {n_labels - 1}")

    def name(self, symbol: int, labels: tuple[tuple[str, ...], ...]) -> str:
        """How a symbol is shown: `@NP|DT`, `S+VP^SBAR`.

        >>> import numpy as np
        >>> one = np.array([2]), np.array([0]), np.array([-1]), np.array([[1, -1]])
        >>> Symbols(*one).name(0, (("NP",), ("DT",)))
        '@NP|DT'
        """
        mark = {LEAF: "", PHRASE: "", BETWEEN: "@", OUTWARD: "@@"}[int(self.kind[symbol])]
        written = mark + "+".join(labels[self.label[symbol]])
        written += "".join(f"|{labels[label][0]}" for label in self.siblings[symbol].tolist() if label >= 0)
        above = int(self.parent[symbol])
        return written if above < 0 else f"{written}^{labels[above][-1]}"


class BinaryNodes(NamedTuple):
    """Binary nodes of all trees, children before parents, as passes over them take them."""

    symbol: Int32s
    left: Int32s
    right: Int32s
    rule: Int32s  # -1 at leaves
    at: Int64s  # where the vector of each node begins, and the end


@dataclass(frozen=True, eq=False)
class BinaryPhrases:
    """Binary nodes of all trees, children before parents, those of one tree together, the root last."""

    phrases: Phrases
    binarization: Binarization
    symbols: Symbols
    symbol: Int32s  # of every node
    left: Int32s
    right: Int32s  # -1 at leaves, like left
    parent: Int32s  # -1 at roots
    begin: Int32s  # the first word, counted in the sentence
    end: Int32s  # the word behind the last
    head: Int32s  # the node of the leaf that is the head
    word: Int32s  # -1 above leaves
    starts: Int64s
    rule: Int32s  # the number of the rule at each node, -1 at leaves
    rules: Int32s  # [rule, 3]: symbols of parent, left and right child; by left, right, parent

    def __len__(self) -> int:
        return len(self.starts) - 1

    @cached_property
    def roots(self) -> Int64s:
        return self.starts[1:] - 1

    def nodes(self, n_states: Int64s) -> BinaryNodes:
        """The nodes as passes over trees take them, with vectors of so many states per symbol."""
        at = np.concatenate([[0], np.cumsum(n_states[self.symbol])])
        return BinaryNodes(self.symbol, self.left, self.right, self.rule, at)


def binarize(
    bank: Phrases, binarization: Binarization, heads: Int32s, symbols: Symbols | None = None
) -> BinaryPhrases:
    """Binary nodes of all phrases; `heads` holds the number, from 0, of the head child of each."""
    direction, radix = DIRECTIONS.index(binarization.direction), len(bank.labels) + 1
    way = _Way(direction, binarization.horizontal, binarization.vertical, radix)
    rows = _Rows(bank.label, bank.parent, bank.word, *bank.children, heads, *_ends(bank.labels))
    folded, ends = _fold(rows, bank.starts, way)
    keys, left, right = folded.keys, folded.left, folded.right
    distinct, symbol = np.unique(keys, return_inverse=True)
    parent = np.full(len(keys), -1, dtype=np.int32)
    inner = np.flatnonzero(left >= 0)
    parent[left[inner]] = parent[right[inner]] = inner
    triples = np.stack([symbol[inner], symbol[left[inner]], symbol[right[inner]]], axis=1).astype(np.int64)
    flat = (triples[:, 1] * len(distinct) + triples[:, 2]) * len(distinct) + triples[:, 0]
    _, first, number = np.unique(flat, return_index=True, return_inverse=True)
    rule = np.full(len(keys), -1, dtype=np.int32)
    rule[inner] = number
    return BinaryPhrases(
        bank,
        binarization,
        _symbols(distinct, len(bank.labels) + 1),
        symbol.astype(np.int32),
        left,
        right,
        parent,
        folded.begin,
        folded.end,
        folded.head,
        folded.word,
        ends,
        rule,
        triples[first].astype(np.int32),
    )


def _ends(labels: tuple[tuple[str, ...], ...]) -> tuple[Int32s, Int32s]:
    """For every chain the number of the chain that is its top label alone, and of its bottom label."""
    table = {chain[0]: number for number, chain in enumerate(labels) if len(chain) == 1}
    tops = [table.get(chain[0], number) for number, chain in enumerate(labels)]
    bottoms = [table.get(chain[-1], number) for number, chain in enumerate(labels)]
    return np.array(tops, dtype=np.int32), np.array(bottoms, dtype=np.int32)


def _symbols(keys: Int64s, radix: int) -> Symbols:
    digits = []
    for _ in range(4):
        digits.append(keys % radix - 1)
        keys = keys // radix
    second, first, parent, label = (digit.astype(np.int32) for digit in digits)
    return Symbols(keys.astype(np.int32), label, parent, np.stack([first, second], axis=1))


class _Rows(NamedTuple):
    """Rows of phrases, the children of each, its head among them, and both ends of every chain of labels."""

    label: Int32s
    parent: Int32s
    word: Int32s
    starts: Int64s
    children: Int32s
    heads: Int32s
    tops: Int32s
    bottoms: Int32s


class _Way(NamedTuple):
    """How to make binary: the number of the direction, what is remembered, and the radix of keys."""

    direction: int
    horizontal: int
    vertical: int
    radix: int


class _Folded(NamedTuple):
    """Binary nodes by the keys of their symbols."""

    keys: Int64s
    left: Int32s
    right: Int32s
    begin: Int32s
    end: Int32s
    head: Int32s
    word: Int32s


@part
def _key(kind: int, label: int, parent: int, siblings: tuple[int, int], radix: int) -> int:
    first, second = siblings
    return (((kind * radix + label + 1) * radix + parent + 1) * radix + first + 1) * radix + second + 1


@kernel
def _count_leaves(word: Int32s, low: int, high: int) -> int:
    n = 0
    for row in range(low, high):
        n += word[row] >= 0
    return n


@part
def _unfinished_key(label: int, above: int, lo: int, hi: int, siblings: Int32s, way: _Way) -> int:
    """The key of a phrase that has its children lo .. hi and grows on: it holds what comes next."""
    kind, step, edge = 2, 1, hi
    if way.direction == 0 or (way.direction == 2 and hi == len(siblings) - 1):
        step, edge = -1, lo
        kind = 3 if way.direction == 2 else 2
    first, second = -1, -1
    if way.horizontal >= 1 and 0 <= edge + step < len(siblings):
        first = int(siblings[edge + step])
    if way.horizontal >= 2 and 0 <= edge + 2 * step < len(siblings):
        second = int(siblings[edge + 2 * step])
    return _key(kind, label, above, (first, second), way.radix)


@part
def _fold_phrase(
    row: int, above: int, rows: _Rows, node_of: Int32s, way: _Way, nodes: _Folded, at: int
) -> int:
    """Append the binary nodes of a phrase, whose children are there; how many nodes there are then."""
    low, k, head = rows.starts[row], rows.starts[row + 1] - rows.starts[row], rows.heads[row]
    children = rows.children[low : low + k]
    siblings = rows.tops[rows.label[children]]
    lo = hi = k - 1 if way.direction == 0 else head if way.direction == 2 else 0
    current = node_of[children[lo]]
    while hi - lo + 1 < k:
        if lo > 0 and (way.direction == 0 or (way.direction == 2 and hi == k - 1)):
            lo -= 1
            nodes.left[at], nodes.right[at] = node_of[children[lo]], current
        else:
            hi += 1
            nodes.left[at], nodes.right[at] = current, node_of[children[hi]]
        nodes.begin[at], nodes.end[at] = nodes.begin[nodes.left[at]], nodes.end[nodes.right[at]]
        nodes.head[at] = nodes.head[node_of[children[min(max(head, lo), hi)]]]
        if hi - lo + 1 == k:
            nodes.keys[at] = _key(1, rows.label[row], above, (-1, -1), way.radix)
        else:
            nodes.keys[at] = _unfinished_key(rows.label[row], above, lo, hi, siblings, way)
        current = at
        at += 1
    node_of[row] = current
    return at


@kernel
def _fold(rows: _Rows, tree_starts: Int64s, way: _Way) -> tuple[_Folded, Int64s]:
    """Binary nodes of all trees, and where those of each tree begin."""
    word = rows.word
    size = 2 * _count_leaves(word, 0, len(word)) - (len(tree_starts) - 1)
    begin, end, head = np.zeros(size, np.int32), np.zeros(size, np.int32), np.zeros(size, np.int32)
    left, right, words = np.full(size, -1, np.int32), np.full(size, -1, np.int32), np.full(size, -1, np.int32)
    nodes = _Folded(np.zeros(size, np.int64), left, right, begin, end, head, words)
    node_of, ends, at = np.zeros(len(word), np.int32), np.zeros(len(tree_starts), np.int64), 0
    for tree in range(len(tree_starts) - 1):
        n = _count_leaves(word, tree_starts[tree], tree_starts[tree + 1])
        for row in range(tree_starts[tree + 1] - 1, tree_starts[tree] - 1, -1):
            above = -1
            if way.vertical == 2 and rows.parent[row] >= 0:
                above = int(rows.bottoms[rows.label[rows.parent[row]]])
            if word[row] >= 0:
                n -= 1
                nodes.keys[at] = _key(0, rows.label[row], -1, (-1, -1), way.radix)
                begin[at], end[at], head[at], words[at] = n, n + 1, at, word[row]
                node_of[row] = at
                at += 1
            else:
                at = _fold_phrase(row, above, rows, node_of, way, nodes, at)
        ends[tree + 1] = at
    return nodes, ends
