"""The most frequent contexts of a corpus, as tries."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sigmastar.automata.data.contexts import ContextTrie, Direction, with_edges
from sigmastar.automata.data.strings import Strings, require_known
from sigmastar.core.arrays import Flags, Int32s, Int64s
from sigmastar.core.integer_counts import tally
from sigmastar.core.jit import kernel

_TABLE_LIMIT = 1 << 24  # above this many cells children are counted by sorting instead of in a table


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
    if level.n_cells <= _TABLE_LIMIT:
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
    if level.n_cells <= _TABLE_LIMIT:
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
