"""Prefix tries: every distinct prefix of a corpus once, level by level.

Inference on a corpus is inference on its trie: equal prefixes share their forward vectors. Nodes are
numbered by (depth, symbol, parent), so that the nodes of a level that read the same symbol are
neighbours and one matrix product serves them all. Node 0 is the empty prefix.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sigmastar.automata.data.strings import Strings
from sigmastar.core.arrays import Floats, Int32s, Int64s
from sigmastar.core.jit import kernel, part

_DIGIT = 8  # bits that symbols are sorted by at a time


@dataclass(frozen=True, eq=False)
class PrefixTrie:
    """The prefixes of a corpus: `symbol[v]` leads from `parent[v]` to node v."""

    parent: Int32s
    symbol: Int32s
    level_starts: Int64s
    string_node: Int32s  # the node where each string ends

    @classmethod
    def of(cls, strings: Strings) -> PrefixTrie:
        parent, symbol = np.zeros((2, len(strings.codes) + 1), np.int32)
        level_starts = np.zeros(int(strings.lengths.max(initial=0)) + 2, np.int64)
        active, room = np.arange(len(strings)), np.empty(len(strings), np.int64)
        n_symbols, node_of = len(strings.alphabet), np.zeros(len(strings), np.int32)
        nodes = _Nodes(parent, symbol, level_starts, node_of)
        counters = np.empty(1 << min(n_symbols.bit_length(), _DIGIT), np.int64)
        order = _Order(active, room, np.empty(len(strings), np.int32), counters)
        n_nodes = _grow(strings.codes, strings.offsets, nodes, order, n_symbols)
        return cls(parent[:n_nodes].copy(), symbol[:n_nodes].copy(), level_starts, node_of)

    @property
    def n_nodes(self) -> int:
        return len(self.parent)

    def end_counts(self, weights: Floats | None = None) -> Floats:
        """How many strings (or how much weight) end at each node."""
        return np.bincount(self.string_node, weights, minlength=self.n_nodes).astype(np.float64)

    def through_counts(self, weights: Floats | None = None) -> Floats:
        """How many strings (or how much weight) pass through or end at each node."""
        through = self.end_counts(weights)
        sum_to_root(self.parent, through)
        return through


@kernel
def sum_to_root(parent: Int32s, through: Floats) -> None:
    """Add the number of each node to that of its parent, the last nodes first."""
    for node in range(len(parent) - 1, 0, -1):
        through[parent[node]] += through[node]


class _Nodes(NamedTuple):
    parent: Int32s
    symbol: Int32s
    level_starts: Int64s
    node_of: Int32s  # the node that each string has reached


class _Order(NamedTuple):
    strings: Int64s  # those that reach the level, ordered by their node
    room: Int64s
    codes: Int32s  # of the symbol that each string reads at the level
    counters: Int64s  # one per value of a digit


@kernel
def _grow(codes: Int32s, offsets: Int64s, nodes: _Nodes, order: _Order, n_symbols: int) -> int:
    """The number of nodes, which are written into `nodes`."""
    parent, symbol, level_starts, node_of = nodes
    symbol[0], level_starts[1] = -1, 1
    n_nodes, n_active, active, room, code_of = 1, len(node_of), order.strings, order.room, order.codes
    for depth in range(len(level_starts) - 2):
        n_reaching = 0
        for k in range(n_active):
            string = active[k]
            at = offsets[string] + depth
            if at < offsets[string + 1]:
                active[n_reaching], code_of[string] = string, codes[at]
                n_reaching += 1
        n_active, shift = n_reaching, 0
        while n_active > 1 and n_symbols >> shift:  # a stable sort by symbol, one digit at a time
            _sort_by_digit(code_of, shift, active, n_active, room, order.counters)
            active, room, shift = room, active, shift + _DIGIT
        for k in range(n_active):
            string, last = active[k], n_nodes - 1
            code, above = code_of[string], node_of[string]
            if n_nodes == level_starts[depth + 1] or symbol[last] != code or parent[last] != above:
                parent[n_nodes], symbol[n_nodes] = above, code
                n_nodes += 1
            node_of[string] = n_nodes - 1
        level_starts[depth + 2] = n_nodes
    return n_nodes


@part
def _sort_by_digit(
    codes: Int32s, shift: int, strings: Int64s, n: int, room: Int64s, counters: Int64s
) -> None:
    """The first n of `strings` into `room`; unknown symbols, which are -1, come first."""
    mask = len(counters) - 1
    for digit in range(len(counters)):
        counters[digit] = 0
    for k in range(n):
        counters[((codes[strings[k]] + 1) >> shift) & mask] += 1
    total = 0
    for digit in range(len(counters)):
        total, counters[digit] = total + counters[digit], total
    for k in range(n):
        digit = ((codes[strings[k]] + 1) >> shift) & mask
        room[counters[digit]] = strings[k]
        counters[digit] += 1
