"""Context classes: disjoint classes of pasts or futures, as nodes of a trie.

The class of a gap is the longest path of the trie that fits what stands beside the gap, read away
from it: backwards for pasts, forwards for futures. The edge of the corpus (START for pasts, END for
futures) is a symbol like any other, coded `len(alphabet)`. Classes of one trie never overlap.

A stored context without its newest symbol is stored too, since it is no rarer. So the class of a gap
follows from that of its neighbour and the symbol between them, and a corpus is classified by a table,
one look per gap:

    follow(v, a) = child(follow(u, a), s)   where v is u extended by s, if a u is stored and has that child
                   follow(u, a)             else

The most frequent contexts of a corpus are found level by level (`grow_contexts`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sigmastar.automata.data.strings import PrefixTrie, Strings, require_known
from sigmastar.core.arrays import Array, Flags, Int32s, Int64s
from sigmastar.core.integer_counts import tally
from sigmastar.core.jit import kernel, part

Direction = Literal["past", "future"]

_TABLE_LIMIT = 1 << 22  # cells; a larger table would not stay near the processor
_SMALL_TABLE = 1 << 18  # cells that are filled in a millisecond
_COUNTING_LIMIT = 1 << 24  # above this many cells children are counted by sorting instead of in a table


@dataclass(frozen=True, eq=False)
class ContextTrie:
    """Contexts as a trie: node 0 is the empty context, `parent[v] < v`."""

    n_symbols: int
    direction: Direction
    parent: Int32s
    symbol: Int32s

    @property
    def n_classes(self) -> int:
        return len(self.parent)

    @cached_property
    def depth(self) -> Int32s:
        depth, above = np.minimum(np.arange(self.n_classes), 1).astype(np.int32), self.parent
        while above.any():  # as many steps again in each round
            depth, above = depth + depth[above], above[above]
        return depth

    @cached_property
    def children(self) -> tuple[Int32s, Int32s, Int32s]:
        """For each node the range of its children in (symbols, nodes), sorted by symbol."""
        order = np.lexsort((self.symbol, self.parent))[1:] if self.n_classes else np.empty(0, np.int64)
        # node 0 is its own parent and has symbol -1, so it sorts first and is left out
        starts = np.searchsorted(self.parent[order], np.arange(self.n_classes + 1)).astype(np.int32)
        return starts, self.symbol[order], order.astype(np.int32)

    @cached_property
    def table(self) -> Int32s | None:
        """The class that follows each class on each symbol; None for a trie that is not as grown ones are."""
        children = np.full((self.n_classes, self.n_symbols + 1), -1, np.int32)
        children[self.parent[1:], self.symbol[1:]] = np.arange(1, self.n_classes)
        table = np.maximum(children[:, :-1], 0)
        without = np.zeros(self.n_classes, np.int32)
        is_closed = _tabulate(self.parent, self.symbol, self.depth, children, without, table)
        return table if is_closed else None

    def table_for(self, codes: NDArray[np.signedinteger[Any]]) -> Int32s | None:
        """The table, where it takes less to make than it saves on these codes, all of them known."""
        small = self.n_classes * self.n_symbols <= max(min(2 * len(codes), _TABLE_LIMIT), _SMALL_TABLE)
        return self.table if small and codes.min(initial=0) >= 0 else None

    def classify(self, strings: Strings) -> Int32s:
        """The class of every gap, in corpus order."""
        table = self.table_for(strings.codes)
        if table is None:
            first, step = (0, -1) if self.direction == "past" else (1, 1)
            return _classify(with_edges(strings), first, step, strings.n_gaps, *self.children)
        reading = _run_forwards if self.direction == "past" else _run_backwards
        return reading(strings.codes, strings.offsets, table, self.start)

    def follow(self, classes: Int32s, codes: NDArray[np.signedinteger[Any]]) -> Int32s:
        """The class of pasts that follows each class on a symbol.

        Well defined because a stored context without its newest symbol is stored too. Asked pair by
        pair: a table of classes x symbols would take gigabytes for large alphabets.
        """
        return _follow(classes, codes.astype(np.int32), self.parent, self.symbol, self.depth, *self.children)

    @cached_property
    def start(self) -> int:
        """The class at the edge: of the empty past, or of the empty future."""
        at = np.flatnonzero((self.parent == 0) & (self.symbol == self.n_symbols))
        return int(at[0]) if len(at) else 0

    def up_to(self, depth: int) -> ContextTrie:
        """The part of the trie that has contexts of at most so many symbols."""
        kept = np.flatnonzero(self.depth <= depth)
        places = np.zeros(self.n_classes, np.int32)
        places[kept] = np.arange(len(kept))
        return ContextTrie(self.n_symbols, self.direction, places[self.parent[kept]], self.symbol[kept])

    def classes_in(self, coarse: ContextTrie) -> Int32s:
        """For each class the one that holds it in a trie that is a part of this one."""
        starts, symbols, nodes = coarse.children
        width, classes = self.n_symbols + 1, np.zeros(self.n_classes, np.int64)
        keys = np.repeat(np.arange(coarse.n_classes), np.diff(starts)) * width + symbols
        keys, nodes = np.append(keys, -1), np.append(nodes, 0)  # what is not found stands there
        for depth in range(1, int(self.depth.max()) + 1):
            level = np.flatnonzero(self.depth == depth)
            found = classes[self.parent[level]]
            key = found * width + self.symbol[level]
            at = np.searchsorted(keys[:-1], key)
            is_stored = (coarse.depth[found] == depth - 1) & (keys[at] == key)
            classes[level] = np.where(is_stored, nodes[at], found)
        return classes.astype(np.int32)

    def classify_prefixes(self, trie: PrefixTrie) -> Int32s:
        """The class of every prefix in a trie (for pasts)."""
        if (table := self.table_for(trie.symbol[1:])) is not None:
            classes = np.full(trie.n_nodes, self.start, np.int32)
            _follow_prefixes(trie.parent, trie.symbol, table, classes)
            return classes
        return _classify_prefixes(trie.parent, trie.symbol, self.n_symbols, *self.children)


def with_edges(strings: Strings) -> Int32s:
    """The corpus with an edge symbol before each string and at the end: gap g lies before entry g + 1."""
    extended = np.full(strings.n_gaps + 1, len(strings.alphabet), dtype=np.int32)
    inside = np.ones(strings.n_gaps + 1, dtype=bool)
    inside[strings.offsets + np.arange(len(strings) + 1)] = False
    extended[inside] = strings.codes
    return extended


@part
def place_in_row(symbol: int, symbols: Int32s, low: int, high: int) -> int:
    """The place of a symbol among sorted ones, from `low` to before `high`; -1 where it is not there."""
    end = high
    while low < high:
        middle = (low + high) // 2
        if symbols[middle] < symbol:
            low = middle + 1
        else:
            high = middle
    return low if low < end and symbols[low] == symbol else -1


@kernel
def child_of(node: int, symbol: int, starts: Array, symbols: Int32s, nodes: Int32s) -> int:
    """The node that a symbol leads to, -1 for none; children of a node stand together, by their symbols."""
    place = place_in_row(symbol, symbols, starts[node], starts[node + 1])
    return int(nodes[place]) if place >= 0 else -1


@kernel
def _tabulate(
    parent: Int32s, symbol: Int32s, depth: Int32s, children: Int32s, without: Int32s, table: Int32s
) -> bool:
    """`follow` into a table, parents first; whether every context is stored without its newest symbol."""
    n_symbols = table.shape[1]
    for node in range(1, len(parent)):
        above = parent[node]
        if above:
            without[node] = children[without[above], symbol[node]]
        if without[node] < 0:
            return False
        for code in range(n_symbols):
            found = table[above, code]
            if depth[found] == depth[above] + 1:
                found = max(found, children[found, symbol[node]])
            table[node, code] = found
    return True


@kernel
def _run_forwards(codes: Int32s, offsets: Int64s, table: Int32s, start: int) -> Int32s:
    classes, gap = np.empty(len(codes) + len(offsets) - 1, np.int32), 0
    for string in range(len(offsets) - 1):
        node = classes[gap] = start
        for at in range(offsets[string], offsets[string + 1]):
            gap += 1
            node = classes[gap] = table[node, codes[at]]
        gap += 1
    return classes


@kernel
def _run_backwards(codes: Int32s, offsets: Int64s, table: Int32s, start: int) -> Int32s:
    classes, gap = np.empty(len(codes) + len(offsets) - 1, np.int32), len(codes) + len(offsets) - 2
    for string in range(len(offsets) - 2, -1, -1):
        node = classes[gap] = start
        for at in range(offsets[string + 1] - 1, offsets[string] - 1, -1):
            gap -= 1
            node = classes[gap] = table[node, codes[at]]
        gap -= 1
    return classes


@kernel
def _follow_prefixes(parent: Int32s, symbol: Int32s, table: Int32s, classes: Int32s) -> None:
    for prefix in range(1, len(parent)):
        classes[prefix] = table[classes[parent[prefix]], symbol[prefix]]


@kernel
def _classify(
    extended: Int32s,
    first: int,
    step: int,
    n_gaps: int,
    starts: Int32s,
    symbols: Int32s,
    nodes: Int32s,
) -> Int32s:
    classes = np.zeros(n_gaps, np.int32)
    for gap in range(n_gaps):
        node, at = 0, gap + first
        while 0 <= at < len(extended):  # the edge has no children, so the walk never leaves the string
            child = child_of(node, extended[at], starts, symbols, nodes)
            if child < 0:
                break
            node = child
            at += step
        classes[gap] = node
    return classes


@kernel
def _classify_prefixes(
    parent: Int32s, symbol: Int32s, edge: int, starts: Int32s, symbols: Int32s, nodes: Int32s
) -> Int32s:
    classes = np.zeros(len(parent), np.int32)
    for prefix in range(len(parent)):
        node, at = 0, prefix
        while True:
            child = child_of(node, edge if at == 0 else symbol[at], starts, symbols, nodes)
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
    classes: Int32s,
    codes: Int32s,
    parent: Int32s,
    symbol: Int32s,
    depth: Int32s,
    starts: Int32s,
    symbols: Int32s,
    nodes: Int32s,
) -> Int32s:
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
            child = child_of(found, context[k], starts, symbols, nodes)
            if child < 0:
                break
            found, k = child, k + 1
        following[pair] = found
    return following


def grow_contexts(
    strings: Strings,
    direction: Direction,
    max_classes: int | None = None,
    min_count: int = 1,
    max_depth: int | None = None,
) -> ContextTrie:
    """The most frequent contexts of a corpus, grown level by level.

    A context is never more frequent than a shorter one inside it, so the `max_classes` most frequent
    form a trie, and one that falls below the current cut can be dropped with all its extensions.
    """
    extended, edge = with_edges(require_known(strings)), len(strings.alphabet)
    first, step = (0, -1) if direction == "past" else (1, 1)
    parents, symbols = [np.zeros(1, np.int32)], [np.full(1, -1, np.int32)]
    counts = [np.array([strings.n_gaps])]
    node_of = np.zeros(strings.n_gaps, np.int32)
    active = np.arange(strings.n_gaps, dtype=np.int32)
    level, threshold, depth = _Level(0, 1, first, edge), min_count, 0
    while len(active) and (max_depth is None or depth < max_depth):
        keys, sizes = _children(extended, active, node_of, level)
        keys, sizes = keys[sizes >= threshold], sizes[sizes >= threshold]
        parents.append((keys // (edge + 1) + level.start).astype(np.int32))
        symbols.append((keys % (edge + 1)).astype(np.int32))
        counts.append(sizes)
        threshold = max(threshold, _cut(counts, max_classes))
        active = _descended(extended, active, node_of, level, keys, sizes >= threshold)
        level, depth = _Level(level.end, level.end + len(keys), level.shift + step, edge), depth + 1
    found = np.concatenate(parents), np.concatenate(symbols), np.concatenate(counts)
    return _most_frequent(edge, direction, *found, max_classes)


class _Level(NamedTuple):
    """Nodes of one depth, how far from a gap the symbol below them stands, and the code of the edge."""

    start: int
    end: int
    shift: int
    edge: int

    @property
    def n_cells(self) -> int:
        return (self.end - self.start) * (self.edge + 1)


def most_frequent(trie: ContextTrie, class_counts: Int64s, max_classes: int) -> ContextTrie:
    """The trie of the most frequent contexts of a trie, given how many gaps lie in each class."""
    if max_classes >= trie.n_classes:
        return trie
    frequencies = class_counts.copy()
    for depth in range(int(trie.depth.max()), 0, -1):  # a context occurs as often as all its extensions
        nodes = np.flatnonzero(trie.depth == depth)
        np.add.at(frequencies, trie.parent[nodes], frequencies[nodes])
    return _most_frequent(trie.n_symbols, trie.direction, trie.parent, trie.symbol, frequencies, max_classes)


def _cut(counts: list[Int64s], max_classes: int | None) -> int:
    """The count that a longer context needs to be among the most frequent: ties go to shorter ones."""
    every = np.concatenate(counts)
    if max_classes is None or len(every) < max_classes:
        return 0
    return int(np.partition(every, len(every) - max_classes)[len(every) - max_classes]) + 1


def _most_frequent(
    edge: int, direction: Direction, parent: Int32s, symbol: Int32s, count: Int64s, max_classes: int | None
) -> ContextTrie:
    depth = ContextTrie(edge, direction, parent, symbol).depth
    order = np.lexsort((depth, -count))[:max_classes]  # ties: shorter contexts first, to keep a trie
    kept = np.sort(order)
    renumber = np.zeros(len(parent), np.int32)
    renumber[kept] = np.arange(len(kept))
    return ContextTrie(edge, direction, renumber[parent[kept]], symbol[kept])


def _children(extended: Int32s, active: Int32s, node_of: Int32s, level: _Level) -> tuple[Int64s, Int64s]:
    """Distinct (node of the level, symbol) keys of the active gaps, sorted, and their counts."""
    if level.n_cells <= _COUNTING_LIMIT:
        table = np.zeros(level.n_cells, np.int64)
        _count_children(extended, active, node_of, level, table)
        keys = np.flatnonzero(table)
        return keys, table[keys]
    nodes = node_of[active].astype(np.int64) - level.start
    return tally(nodes * (level.edge + 1) + extended[active + level.shift])


def _descended(
    extended: Int32s, active: Int32s, node_of: Int32s, level: _Level, keys: Int64s, is_fertile: Flags
) -> Int32s:
    """Move gaps to their kept children; those in a fertile one, the edge not reached, stay active."""
    if level.n_cells <= _COUNTING_LIMIT:
        places = np.full(level.n_cells, -1, dtype=np.int32)
        places[keys] = np.arange(len(keys), dtype=np.int32)
        n_remaining = _descend(extended, active, node_of, level, is_fertile, places)
        return active[:n_remaining]
    symbols = extended[active + level.shift]
    wanted = (node_of[active].astype(np.int64) - level.start) * (level.edge + 1) + symbols
    at = np.searchsorted(keys, wanted)
    is_kept = np.append(keys, -1)[at] == wanted
    node_of[active[is_kept]] = level.end + at[is_kept]
    stays: Flags = is_kept & (symbols != level.edge) & np.append(is_fertile, False)[at]
    return active[stays]


@kernel
def _count_children(extended: Int32s, active: Int32s, node_of: Int32s, level: _Level, table: Int64s) -> None:
    for at in range(len(active)):
        gap = active[at]
        table[(node_of[gap] - level.start) * (level.edge + 1) + extended[gap + level.shift]] += 1


@kernel
def _descend(
    extended: Int32s, active: Int32s, node_of: Int32s, level: _Level, is_fertile: Flags, places: Int32s
) -> int:
    """How many gaps stay active, which are written over `active`; `places` gives the child of each key."""
    n_remaining = 0
    for k in range(len(active)):
        gap = active[k]
        symbol = extended[gap + level.shift]
        at = places[(node_of[gap] - level.start) * (level.edge + 1) + symbol]
        if at >= 0:
            node_of[gap] = level.end + at
            if symbol != level.edge and is_fertile[at]:
                active[n_remaining] = gap
                n_remaining += 1
    return n_remaining
