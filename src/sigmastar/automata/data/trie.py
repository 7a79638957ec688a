"""Prefix tries: every distinct prefix of a corpus once, level by level.

Inference on a corpus is inference on its trie: equal prefixes share their forward vectors. Nodes are
numbered by (depth, symbol, parent), so that the nodes of a level that read the same symbol are
neighbours and one matrix product serves them all. Node 0 is the empty prefix.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sigmastar.automata.data.strings import Strings
from sigmastar.core.arrays import Floats, Int32s, Int64s
from sigmastar.core.jit import kernel, part


@dataclass(frozen=True, eq=False)
class PrefixTrie:
    """The prefixes of a corpus: `symbol[v]` leads from `parent[v]` to node v."""

    parent: Int32s
    symbol: Int32s
    level_starts: Int64s
    string_node: Int32s  # the node where each string ends

    @classmethod
    def of(cls, strings: Strings) -> PrefixTrie:
        return cls(*_grow(strings.codes, strings.offsets, len(strings.alphabet)))

    @property
    def n_nodes(self) -> int:
        return len(self.parent)

    def end_counts(self, weights: Floats | None = None) -> Floats:
        """How many strings (or how much weight) end at each node."""
        return np.bincount(self.string_node, weights, minlength=self.n_nodes).astype(np.float64)

    def through_counts(self, weights: Floats | None = None) -> Floats:
        """How many strings (or how much weight) pass through or end at each node."""
        return _accumulate(self.parent, self.end_counts(weights))


@kernel
def _accumulate(parent: Int32s, ends: Floats) -> Floats:
    through = ends.copy()
    for node in range(len(parent) - 1, 0, -1):
        through[parent[node]] += through[node]
    return through


@kernel
def _grow(codes: Int32s, offsets: Int64s, n_symbols: int) -> tuple[Int32s, Int32s, Int64s, Int32s]:
    n_strings = len(offsets) - 1
    capacity = len(codes) + 1
    parent, symbol = np.empty(capacity, np.int32), np.empty(capacity, np.int32)
    parent[0], symbol[0] = 0, -1
    node_of = np.zeros(n_strings, np.int32)
    longest = 0
    for string in range(n_strings):
        longest = max(longest, offsets[string + 1] - offsets[string])
    level_starts = np.empty(longest + 2, np.int64)
    level_starts[0], level_starts[1] = 0, 1
    n_nodes = 1
    active = np.arange(n_strings)  # strings that reach the level, ordered by their node
    for depth in range(longest):
        n_active = 0
        for i in active:
            if offsets[i + 1] - offsets[i] > depth:
                active[n_active] = i
                n_active += 1
        active = _sorted_by_symbol(active[:n_active], codes, offsets, depth, n_symbols)
        for i in active:
            code = codes[offsets[i] + depth]
            last = n_nodes - 1
            if n_nodes == level_starts[depth + 1] or symbol[last] != code or parent[last] != node_of[i]:
                parent[n_nodes], symbol[n_nodes] = node_of[i], code
                n_nodes += 1
            node_of[i] = n_nodes - 1
        level_starts[depth + 2] = n_nodes
    return parent[:n_nodes].copy(), symbol[:n_nodes].copy(), level_starts, node_of


@part
def _sorted_by_symbol(active: Int64s, codes: Int32s, offsets: Int64s, depth: int, n_symbols: int) -> Int64s:
    """Stable sort by the symbol read at `depth`: counting sort, or merge sort for huge alphabets."""
    symbols = np.empty(len(active), np.int64)
    for k in range(len(active)):
        symbols[k] = codes[offsets[active[k]] + depth] + 1  # unknown symbols are -1
    if n_symbols > 4 * len(active):
        return active[np.argsort(symbols, kind="mergesort")]
    position = np.zeros(n_symbols + 2, np.int64)
    for code in symbols:
        position[code + 1] += 1
    for bucket in range(n_symbols + 1):
        position[bucket + 1] += position[bucket]
    ordered = np.empty_like(active)
    for k in range(len(active)):
        ordered[position[symbols[k]]] = active[k]
        position[symbols[k]] += 1
    return ordered
