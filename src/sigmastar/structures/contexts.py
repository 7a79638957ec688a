"""Context classes: disjoint classes of pasts or futures, as nodes of a trie.

The class of a gap is the longest path of the trie that fits what stands beside the gap, read away
from it: backwards for pasts, forwards for futures. The edge of the corpus (START for pasts, END for
futures) is a symbol like any other, coded `len(alphabet)`. Classes of one trie never overlap.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sigmastar.jit import kernel
from sigmastar.structures.strings import Strings
from sigmastar.structures.trie import PrefixTrie

Integers = NDArray[np.int32]
Direction = Literal["past", "future"]


@dataclass(frozen=True, eq=False)
class ContextTrie:
    """Contexts as a trie: node 0 is the empty context, `parent[v] < v`."""

    n_symbols: int
    direction: Direction
    parent: Integers
    symbol: Integers

    @property
    def n_classes(self) -> int:
        return len(self.parent)

    @cached_property
    def depth(self) -> Integers:
        return _depths(self.parent)

    @cached_property
    def children(self) -> tuple[Integers, Integers, Integers]:
        """For each node the range of its children in (symbols, nodes), sorted by symbol."""
        order = np.lexsort((self.symbol, self.parent))[1:] if self.n_classes else np.empty(0, np.int64)
        # node 0 is its own parent and has symbol -1, so it sorts first and is left out
        starts = np.searchsorted(self.parent[order], np.arange(self.n_classes + 1)).astype(np.int32)
        return starts, self.symbol[order], order.astype(np.int32)

    def classify(self, strings: Strings) -> Integers:
        """The class of every gap, in corpus order."""
        first, step = (0, -1) if self.direction == "past" else (1, 1)
        return _classify(with_edges(strings), first, step, strings.n_gaps, *self.children)

    def follow(self, classes: Integers, codes: NDArray[np.signedinteger[Any]]) -> Integers:
        """The class of pasts that follows each class on a symbol.

        Well defined because a stored context without its newest symbol is stored too. Asked pair by
        pair: a table of classes x symbols would take gigabytes for large alphabets.
        """
        return _follow(classes, codes.astype(np.int32), self.parent, self.symbol, self.depth, *self.children)

    @cached_property
    def start(self) -> int:
        """The class of the empty past."""
        root, nothing = np.zeros(1, np.int32), np.zeros(0, np.int32)
        return int(self.classify_prefixes(PrefixTrie(root, root, np.array([0, 1]), nothing))[0])

    def classify_prefixes(self, trie: PrefixTrie) -> Integers:
        """The class of every prefix in a trie (for pasts)."""
        return _classify_prefixes(trie.parent, trie.symbol, self.n_symbols, *self.children)


def with_edges(strings: Strings) -> Integers:
    """The corpus with an edge symbol before each string and at the end: gap g lies before entry g + 1."""
    extended = np.full(strings.n_gaps + 1, len(strings.alphabet), dtype=np.int32)
    inside = np.ones(strings.n_gaps + 1, dtype=bool)
    inside[strings.offsets + np.arange(len(strings) + 1)] = False
    extended[inside] = strings.codes
    return extended


@kernel
def _depths(parent: Integers) -> Integers:
    depth = np.zeros_like(parent)
    for node in range(1, len(parent)):
        depth[node] = depth[parent[node]] + 1
    return depth


@kernel
def _child(node: int, symbol: int, starts: Integers, symbols: Integers, nodes: Integers) -> int:
    low, high = starts[node], starts[node + 1]
    while low < high:
        middle = (low + high) // 2
        if symbols[middle] < symbol:
            low = middle + 1
        else:
            high = middle
    if low < starts[node + 1] and symbols[low] == symbol:
        return int(nodes[low])
    return -1


@kernel
def _classify(
    extended: Integers,
    first: int,
    step: int,
    n_gaps: int,
    starts: Integers,
    symbols: Integers,
    nodes: Integers,
) -> Integers:
    classes = np.zeros(n_gaps, np.int32)
    for gap in range(n_gaps):
        node, at = 0, gap + first
        while True:  # the edge has no children, so the walk never leaves the string
            child = _child(node, extended[at], starts, symbols, nodes)
            if child < 0:
                break
            node = child
            at += step
        classes[gap] = node
    return classes


@kernel
def _classify_prefixes(
    parent: Integers, symbol: Integers, edge: int, starts: Integers, symbols: Integers, nodes: Integers
) -> Integers:
    classes = np.zeros(len(parent), np.int32)
    for prefix in range(len(parent)):
        node, at = 0, prefix
        while True:
            child = _child(node, edge if at == 0 else symbol[at], starts, symbols, nodes)
            if child < 0:
                break
            node = child
            if at == 0:
                break
            at = parent[at]
        classes[prefix] = node
    return classes


@kernel
def _follow(
    classes: Integers,
    codes: Integers,
    parent: Integers,
    symbol: Integers,
    depth: Integers,
    starts: Integers,
    symbols: Integers,
    nodes: Integers,
) -> Integers:
    following = np.zeros(len(classes), np.int32)
    context = np.empty(depth.max() + 1, np.int32)  # read away from the gap: newest symbol first
    for pair in range(len(classes)):
        node, context[0] = classes[pair], codes[pair]
        length = depth[node]
        for k in range(length, 0, -1):
            context[k] = symbol[node]
            node = parent[node]
        found, k = 0, 0
        while k <= length:
            child = _child(found, context[k], starts, symbols, nodes)
            if child < 0:
                break
            found, k = child, k + 1
        following[pair] = found
    return following
