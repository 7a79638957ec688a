"""Binarised treebanks as flat arrays, children before parents.

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

import numpy as np
from numpy.typing import NDArray

from sigmastar.core.jit import kernel, part
from sigmastar.treebanks.data.phrases import Ints, Longs, Phrases

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

    kind: Ints
    label: Ints  # the chain of labels that a leaf or phrase stands for, or that an intermediate is part of
    parent: Ints  # the label of the parent, where it is remembered, else -1
    siblings: NDArray[np.int32]  # [symbol, 2]: labels remembered, -1 for none

    def __len__(self) -> int:
        return len(self.kind)

    @cached_property
    def n_leaves(self) -> int:
        """How many of the symbols are of leaves; they are the first ones."""
        return int((self.kind == LEAF).sum())

    @cached_property
    def base(self) -> Ints:
        """The chain that a node of each symbol is in the tree, -1 for intermediate ones."""
        return np.where(self.kind <= PHRASE, self.label, -1).astype(np.int32)

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


@dataclass(frozen=True, eq=False)
class BinaryPhrases:
    """Binary nodes of all trees, children before parents, those of one tree together, the root last."""

    phrases: Phrases
    binarization: Binarization
    symbols: Symbols
    symbol: Ints  # of every node
    left: Ints
    right: Ints  # -1 at leaves, like left
    parent: Ints  # -1 at roots
    begin: Ints  # the first word, counted in the sentence
    end: Ints  # the word behind the last
    head: Ints  # the node of the leaf that is the head
    word: Ints  # -1 above leaves
    starts: Longs
    rule: Ints  # the number of the rule at each node, -1 at leaves
    rules: NDArray[np.int32]  # [rule, 3]: symbols of parent, left and right child; by left, right, parent

    def __len__(self) -> int:
        return len(self.starts) - 1

    @cached_property
    def roots(self) -> Longs:
        return self.starts[1:] - 1


def binarize(
    bank: Phrases, binarization: Binarization, heads: Ints, symbols: Symbols | None = None
) -> BinaryPhrases:
    """Binary nodes of all phrases; `heads` says which child of each phrase, from 0, is its head."""
    starts, children = bank.children
    tops, bottoms = _ends(bank.labels)
    keys, left, right, begin, end, head, word, ends = _fold(
        bank.label,
        bank.parent,
        bank.word,
        bank.starts,
        starts,
        children,
        heads,
        tops,
        bottoms,
        DIRECTIONS.index(binarization.direction),
        binarization.horizontal,
        binarization.vertical,
        len(bank.labels) + 1,
    )
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
        begin,
        end,
        head,
        word,
        ends,
        rule,
        triples[first].astype(np.int32),
    )


def _ends(labels: tuple[tuple[str, ...], ...]) -> tuple[Ints, Ints]:
    """For every chain the number of the chain that is its top label alone, and of its bottom label."""
    table = {chain[0]: number for number, chain in enumerate(labels) if len(chain) == 1}
    tops = [table.get(chain[0], number) for number, chain in enumerate(labels)]
    bottoms = [table.get(chain[-1], number) for number, chain in enumerate(labels)]
    return np.array(tops, dtype=np.int32), np.array(bottoms, dtype=np.int32)


def _symbols(keys: Longs, radix: int) -> Symbols:
    digits = []
    for _ in range(4):
        digits.append(keys % radix - 1)
        keys = keys // radix
    second, first, parent, label = (digit.astype(np.int32) for digit in digits)
    return Symbols(keys.astype(np.int32), label, parent, np.stack([first, second], axis=1))


@kernel
def _key(kind: int, label: int, parent: int, first: int, second: int, radix: int) -> int:
    return (((kind * radix + label + 1) * radix + parent + 1) * radix + first + 1) * radix + second + 1


@kernel
def _count_leaves(word: Ints, low: int, high: int) -> int:
    n = 0
    for row in range(low, high):
        n += word[row] >= 0
    return n


@part
def _unfinished_key(
    label: int,
    above: int,
    lo: int,
    hi: int,
    siblings: Ints,
    direction: int,
    horizontal: int,
    radix: int,
) -> int:
    """The key of a phrase that has its children lo .. hi and grows on: it knows what comes next."""
    kind, step, edge = 2, 1, hi
    if direction == 0 or (direction == 2 and hi == len(siblings) - 1):
        step, edge = -1, lo
        kind = 3 if direction == 2 else 2
    first, second = -1, -1
    if horizontal >= 1 and 0 <= edge + step < len(siblings):
        first = int(siblings[edge + step])
    if horizontal >= 2 and 0 <= edge + 2 * step < len(siblings):
        second = int(siblings[edge + 2 * step])
    return _key(kind, label, above, first, second, radix)


@kernel
def _fold(
    label: Ints,
    parent: Ints,
    word: Ints,
    tree_starts: Longs,
    starts: Longs,
    children: Ints,
    heads: Ints,
    tops: Ints,
    bottoms: Ints,
    direction: int,
    horizontal: int,
    vertical: int,
    radix: int,
) -> tuple[Longs, Ints, Ints, Ints, Ints, Ints, Ints, Longs]:
    size = 2 * _count_leaves(word, 0, len(word)) - (len(tree_starts) - 1)
    keys = np.zeros(size, np.int64)
    left, right = np.full(size, -1, np.int32), np.full(size, -1, np.int32)
    begin, end = np.zeros(size, np.int32), np.zeros(size, np.int32)
    head, words = np.zeros(size, np.int32), np.full(size, -1, np.int32)
    node_of = np.zeros(len(label), np.int32)
    ends = np.zeros(len(tree_starts), np.int64)
    at = 0
    for tree in range(len(tree_starts) - 1):
        n = _count_leaves(word, tree_starts[tree], tree_starts[tree + 1])
        for row in range(tree_starts[tree + 1] - 1, tree_starts[tree] - 1, -1):
            above = -1
            if vertical == 2 and parent[row] >= 0:
                above = int(bottoms[label[parent[row]]])
            if word[row] >= 0:
                n -= 1
                keys[at] = _key(0, label[row], -1, -1, -1, radix)
                begin[at], end[at], head[at], words[at] = n, n + 1, at, word[row]
                node_of[row] = at
                at += 1
                continue
            low, k, hp = starts[row], starts[row + 1] - starts[row], heads[row]
            siblings = tops[label[children[low : low + k]]]
            lo = hi = k - 1 if direction == 0 else hp if direction == 2 else 0
            current = node_of[children[low + lo]]
            while hi - lo + 1 < k:
                goes_left = lo > 0 and (direction == 0 or (direction == 2 and hi == k - 1))
                if goes_left:
                    lo -= 1
                    left[at], right[at] = node_of[children[low + lo]], current
                else:
                    hi += 1
                    left[at], right[at] = current, node_of[children[low + hi]]
                begin[at], end[at] = begin[left[at]], end[right[at]]
                head[at] = head[node_of[children[low + min(max(hp, lo), hi)]]]
                if hi - lo + 1 == k:
                    keys[at] = _key(1, label[row], above, -1, -1, radix)
                else:
                    keys[at] = _unfinished_key(
                        label[row], above, lo, hi, siblings, direction, horizontal, radix
                    )
                current = at
                at += 1
            node_of[row] = current
        ends[tree + 1] = at
    return keys, left, right, begin, end, head, words, ends
