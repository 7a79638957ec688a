"""Matching basis elements at the gaps of a corpus: tries walked from their root.

At a gap, the outsides are read backwards from it and the insides forwards. An anchored element must
reach the end of the string that lies on its side, so it is found by one walk from there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sigmastar.automata.counts.bases import backwards, mirrored
from sigmastar.automata.data.strings import Codes, Offsets, Strings
from sigmastar.automata.data.trie import Nodes, PrefixTrie
from sigmastar.core.jit import kernel

Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Matcher:
    """A trie of basis elements on one side of the gaps."""

    anchored: bool
    reversing: bool  # whether elements and strings are read from their ends
    parent: Nodes
    child_starts: Integers  # children of node v: child_starts[v] .. child_starts[v + 1], symbols ascending
    child_symbol: Nodes
    child_node: Nodes
    element: Nodes  # which basis element ends at a node, or -1
    node_of: Nodes

    @classmethod
    def of_outsides(cls, outsides: Strings, anchored: bool) -> Matcher:
        return cls._of(outsides, anchored, reversing=not anchored)

    @classmethod
    def of_insides(cls, insides: Strings, anchored: bool) -> Matcher:
        return cls._of(insides, anchored, reversing=anchored)

    @classmethod
    def _of(cls, elements: Strings, anchored: bool, reversing: bool) -> Matcher:
        trie = PrefixTrie.of(mirrored(elements) if reversing else elements)
        order = np.lexsort((trie.symbol[1:], trie.parent[1:])) + 1
        starts = np.searchsorted(trie.parent[order], np.arange(trie.n_nodes + 1))
        element = np.full(trie.n_nodes, -1, np.int32)
        element[trie.string_node] = np.arange(len(elements), dtype=np.int32)
        if (element >= 0).sum() != len(elements):
            raise ValueError("a basis must hold each outside and each inside once")
        children = order.astype(np.int32)
        return cls(
            anchored, reversing, trie.parent, starts, trie.symbol[order], children, element, trie.string_node
        )

    def longest(self, strings: Strings) -> Nodes:
        """The longest element that matches at each gap, or -1 where none does."""
        read = backwards(strings) if self.reversing else strings
        walk = _walk_strings if self.anchored else _walk_gaps
        found = walk(
            read.codes, read.offsets, self.child_starts, self.child_symbol, self.child_node, self.element
        )
        return found[::-1] if self.reversing else found

    def nesting(self) -> sparse.csr_array:
        """E[c, i] = 1 if i matches wherever c is the longest match."""
        size = len(self.node_of)
        if self.anchored:
            return sparse.eye_array(size, dtype=np.int64).tocsr()
        rows, columns = _nested_pairs(self.parent, self.element, self.node_of)
        return sparse.csr_array((np.ones(len(rows), np.int64), (rows, columns)), shape=(size, size))


@kernel
def _child(node: int, code: int, starts: Integers, symbols: Nodes, children: Nodes) -> int:
    low, high = starts[node], starts[node + 1]
    end = high
    while low < high:
        middle = (low + high) // 2
        if symbols[middle] < code:
            low = middle + 1
        else:
            high = middle
    return int(children[low]) if low < end and symbols[low] == code else -1


@kernel
def _walk_strings(
    codes: Codes, offsets: Offsets, starts: Integers, symbols: Nodes, children: Nodes, element: Nodes
) -> Nodes:
    n_strings = len(offsets) - 1
    found = np.full(len(codes) + n_strings, -1, np.int32)
    for i in range(n_strings):
        node = 0
        found[offsets[i] + i] = element[0]
        for k in range(offsets[i], offsets[i + 1]):
            node = _child(node, codes[k], starts, symbols, children)
            if node < 0:
                break
            found[k + i + 1] = element[node]
    return found


@kernel
def _walk_gaps(
    codes: Codes, offsets: Offsets, starts: Integers, symbols: Nodes, children: Nodes, element: Nodes
) -> Nodes:
    n_strings = len(offsets) - 1
    found = np.full(len(codes) + n_strings, -1, np.int32)
    for i in range(n_strings):
        for gap in range(offsets[i], offsets[i + 1] + 1):
            node, longest = 0, element[0]
            for k in range(gap, offsets[i + 1]):
                node = _child(node, codes[k], starts, symbols, children)
                if node < 0:
                    break
                if element[node] >= 0:
                    longest = element[node]
            found[gap + i] = longest
    return found


@kernel
def _nested_pairs(parent: Nodes, element: Nodes, node_of: Nodes) -> tuple[Integers, Integers]:
    """(longer, shorter) for each element and each element on its way to the root, itself included."""
    rows, columns = [], []
    for longer in range(len(node_of)):
        node = node_of[longer]
        while True:
            if element[node] >= 0:
                rows.append(longer)
                columns.append(element[node])
            if node == 0:
                break
            node = parent[node]
    return np.array(rows, np.int64), np.array(columns, np.int64)
