"""The most frequent contexts of a corpus, as tries."""

from __future__ import annotations

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
    parents, symbols, counts = (
        [np.zeros(1, np.int32)],
        [np.full(1, -1, np.int32)],
        [np.array([strings.n_gaps])],
    )
    node_of = np.zeros(strings.n_gaps, np.int32)
    active = np.arange(strings.n_gaps, dtype=np.int32)
    level_start, n_nodes, threshold, depth = 0, 1, min_count, 0
    while len(active) and (max_depth is None or depth < max_depth):
        keys, sizes = _children(
            extended, active, node_of, level_start, n_nodes, first + step * depth, edge + 1
        )
        frequent = sizes >= threshold
        keys, sizes = keys[frequent], sizes[frequent]
        parents.append((keys // (edge + 1) + level_start).astype(np.int32))
        symbols.append((keys % (edge + 1)).astype(np.int32))
        counts.append(sizes)
        threshold = max(threshold, _cut(counts, max_classes))
        cells = (n_nodes - level_start) * (edge + 1)
        active = _descend(
            extended,
            active,
            node_of,
            level_start,
            first + step * depth,
            edge,
            keys,
            sizes >= threshold,
            _places(keys, cells),
            n_nodes,
        )
        level_start, n_nodes, depth = n_nodes, n_nodes + len(keys), depth + 1
    return _most_frequent(
        edge, direction, np.concatenate(parents), np.concatenate(symbols), np.concatenate(counts), max_classes
    )


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


def _children(
    extended: Int32s,
    active: Int32s,
    node_of: Int32s,
    level_start: int,
    n_nodes: int,
    shift: int,
    width: int,
) -> tuple[Int64s, Int64s]:
    """Distinct (node of the level, symbol) keys of the active gaps, sorted, and their counts."""
    cells = (n_nodes - level_start) * width
    if cells <= _TABLE_LIMIT:
        table = _count_children(extended, active, node_of, level_start, shift, width, cells)
        keys = np.flatnonzero(table)
        return keys, table[keys]
    return tally((node_of[active].astype(np.int64) - level_start) * width + extended[active + shift])


def _places(keys: Int64s, cells: int) -> Int32s:
    if cells > _TABLE_LIMIT:
        return np.empty(0, np.int32)
    places = np.full(cells, -1, dtype=np.int32)
    places[keys] = np.arange(len(keys), dtype=np.int32)
    return places


@kernel
def _count_children(
    extended: Int32s,
    active: Int32s,
    node_of: Int32s,
    level_start: int,
    shift: int,
    width: int,
    cells: int,
) -> Int64s:
    table = np.zeros(cells, np.int64)
    for gap in active:
        table[(node_of[gap] - level_start) * width + extended[gap + shift]] += 1
    return table


@kernel
def _descend(
    extended: Int32s,
    active: Int32s,
    node_of: Int32s,
    level_start: int,
    shift: int,
    edge: int,
    keys: Int64s,
    is_fertile: Flags,
    places: Int32s,
    first_child: int,
) -> Int32s:
    """Move gaps to their kept children; those in a fertile one, the edge not reached, stay active.

    A child too rare now for any extension of it to be kept is not fertile.
    `places` holds the position of each key among `keys`, or is empty where it would be too large. The
    gaps that stay are written over `active`.
    """
    n_remaining = 0
    for gap in active:
        symbol = extended[gap + shift]
        key = np.int64(node_of[gap] - level_start) * (edge + 1) + symbol
        at = places[key] if len(places) else np.searchsorted(keys, key)
        if 0 <= at < len(keys) and keys[at] == key:
            node_of[gap] = first_child + at
            if symbol != edge and is_fertile[at]:
                active[n_remaining] = gap
                n_remaining += 1
    return active[:n_remaining]
