"""Statistics on disjoint context classes.

At every gap j of the corpus let r(j) be the class of its past and c(j) that of its future. Then

    H[r, c]   = #{j: r(j) = r, c(j) = c}
    H_a[r, c] = #{j: r(j) = r, x_j = a, c(j + 1) = c}
    stop[r]   = #{j at the end of a string: r(j) = r},     root[c] = #{j at a start: c(j) = c} / #strings

are blocks of strings like any other, but their rows and columns do not overlap, so scaling them by
the square root of their counts (canonical correlation) is sound: on overlapping bases it is not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sigmastar.jit import kernel
from sigmastar.statistics.blocks import Blocks, SparseTensor
from sigmastar.structures.contexts import ContextTrie, Direction, with_edges
from sigmastar.structures.signature import string_signature
from sigmastar.structures.strings import Strings, require_known

Keys = NDArray[np.int64]
Integers = NDArray[np.int32]

_GAPS_AT_ONCE = 1 << 18
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
            _places(keys, cells),
            n_nodes,
        )
        level_start, n_nodes, depth = n_nodes, n_nodes + len(keys), depth + 1
    return _most_frequent(
        edge, direction, np.concatenate(parents), np.concatenate(symbols), np.concatenate(counts), max_classes
    )


@dataclass(frozen=True, eq=False)
class ContextCounts:
    """Counts on a pair of context tries; counts of shards of a corpus add up exactly."""

    strings_like: Strings  # an empty corpus that carries the alphabet
    pasts: ContextTrie
    futures: ContextTrie
    n_strings: int
    keys: Keys  # sorted positions (past, future) with counts
    counts: Keys
    slice_keys: Keys  # sorted positions (symbol, past, future) with counts
    slice_counts: Keys
    ends: Keys  # how many strings end in each past class
    starts: Keys  # how many strings begin in each future class

    @classmethod
    def of(cls, strings: Strings, pasts: ContextTrie, futures: ContextTrie) -> ContextCounts:
        """Counted piece by piece, so that the classes of all gaps are never held at once."""
        pieces = iter(strings.pieces(_GAPS_AT_ONCE))
        first = cls._of_piece(next(pieces, strings), pasts, futures)
        return sum((cls._of_piece(piece, pasts, futures) for piece in pieces), start=first)

    @classmethod
    def _of_piece(cls, strings: Strings, pasts: ContextTrie, futures: ContextTrie) -> ContextCounts:
        past, future = pasts.classify(require_known(strings)), futures.classify(strings)
        first_gaps = strings.offsets[:-1] + np.arange(len(strings))
        last_gaps = strings.offsets[1:] + np.arange(len(strings))
        pairs = past.astype(np.int64) * futures.n_classes + future
        inner = np.ones(strings.n_gaps, dtype=bool)
        inner[last_gaps] = False
        gaps = np.flatnonzero(inner)
        area = pasts.n_classes * futures.n_classes
        triples = strings.codes.astype(np.int64) * area + past[gaps].astype(np.int64) * futures.n_classes
        triples += future[gaps + 1]
        return cls(
            Strings(strings.alphabet, strings.codes[:0], strings.offsets[:1]),
            pasts,
            futures,
            len(strings),
            *tally(pairs),
            *tally(triples),
            np.bincount(past[last_gaps], minlength=pasts.n_classes),
            np.bincount(future[first_gaps], minlength=futures.n_classes),
        )

    def __add__(self, other: ContextCounts) -> ContextCounts:
        if self.pasts is not other.pasts or self.futures is not other.futures:
            raise ValueError("counts on different context classes cannot be added")
        return ContextCounts(
            self.strings_like,
            self.pasts,
            self.futures,
            self.n_strings + other.n_strings,
            *_merge(self.keys, self.counts, other.keys, other.counts),
            *_merge(self.slice_keys, self.slice_counts, other.slice_keys, other.slice_counts),
            self.ends + other.ends,
            self.starts + other.starts,
        )

    @property
    def past_counts(self) -> Keys:
        """How many gaps lie in each past class."""
        return np.bincount(self.keys // self.futures.n_classes, self.counts, self.pasts.n_classes).astype(
            np.int64
        )

    @property
    def future_counts(self) -> Keys:
        return np.bincount(self.keys % self.futures.n_classes, self.counts, self.futures.n_classes).astype(
            np.int64
        )

    def next_symbols(self) -> tuple[Keys, Keys, Keys]:
        """Sorted (past class, next symbol, count) entries; the end of string is symbol `len(alphabet)`."""
        width = len(self.strings_like.alphabet) + 1
        past = self.slice_keys // self.futures.n_classes % self.pasts.n_classes
        symbol = self.slice_keys // (self.futures.n_classes * self.pasts.n_classes)
        enders = np.flatnonzero(self.ends)
        keys = np.concatenate([past * width + symbol, enders * width + width - 1])
        keys, counts = tally(keys, np.concatenate([self.slice_counts, self.ends[enders]]))
        return keys // width, keys % width, counts

    def blocks(self) -> Blocks:
        alphabet = self.strings_like.alphabet
        signature = string_signature(alphabet)
        stop, symbol = signature.operations
        shape = (self.pasts.n_classes, self.futures.n_classes)
        matrix = sparse.csr_array((self.counts.astype(float), np.divmod(self.keys, shape[1])), shape=shape)
        slices = SparseTensor.of_keys(
            (len(alphabet), *shape), self.slice_keys, self.slice_counts.astype(float)
        )
        return Blocks(
            signature,
            {"string": matrix},
            {stop: self.ends[None].astype(float), symbol: slices},
            {"string": self.starts / self.n_strings},
        )


def correlation_scaled(counts: ContextCounts) -> Blocks:
    """Blocks scaled so that their singular values are canonical correlations; the first is 1."""
    outside = 1.0 / np.sqrt(np.maximum(counts.past_counts, 1))
    inside = 1.0 / np.sqrt(np.maximum(counts.future_counts, 1))
    return counts.blocks().weighted({"string": outside}, {"string": inside})


def tally(keys: Keys, counts: Keys | None = None) -> tuple[Keys, Keys]:
    """Sorted distinct keys, and how often (or with what total count) each occurs."""
    if counts is None:
        distinct, numbers = np.unique(keys, return_counts=True)
        return distinct, numbers.astype(np.int64)
    order = np.argsort(keys, kind="stable")
    keys, counts = keys[order], counts[order]
    starts = np.flatnonzero(np.concatenate([keys[:1] == keys[:1], keys[1:] != keys[:-1]]))
    return keys[starts], np.add.reduceat(counts, starts) if len(starts) else counts


def _merge(keys: Keys, counts: Keys, other_keys: Keys, other_counts: Keys) -> tuple[Keys, Keys]:
    return tally(np.concatenate([keys, other_keys]), np.concatenate([counts, other_counts]))


def _cut(counts: list[Keys], max_classes: int | None) -> int:
    """The count that a longer context needs to be among the most frequent: ties go to shorter ones."""
    every = np.concatenate(counts)
    if max_classes is None or len(every) < max_classes:
        return 0
    return int(np.partition(every, len(every) - max_classes)[len(every) - max_classes]) + 1


def _most_frequent(
    edge: int, direction: Direction, parent: Integers, symbol: Integers, count: Keys, max_classes: int | None
) -> ContextTrie:
    depth = ContextTrie(edge, direction, parent, symbol).depth
    order = np.lexsort((depth, -count))[:max_classes]  # ties: shorter contexts first, to keep a trie
    kept = np.sort(order)
    renumber = np.zeros(len(parent), np.int32)
    renumber[kept] = np.arange(len(kept))
    return ContextTrie(edge, direction, renumber[parent[kept]], symbol[kept])


def _children(
    extended: Integers,
    active: Integers,
    node_of: Integers,
    level_start: int,
    n_nodes: int,
    shift: int,
    width: int,
) -> tuple[Keys, Keys]:
    """Distinct (node of the level, symbol) keys of the active gaps, sorted, and their counts."""
    cells = (n_nodes - level_start) * width
    if cells <= _TABLE_LIMIT:
        table = _count_children(extended, active, node_of, level_start, shift, width, cells)
        keys = np.flatnonzero(table)
        return keys, table[keys]
    return tally((node_of[active].astype(np.int64) - level_start) * width + extended[active + shift])


def _places(keys: Keys, cells: int) -> Integers:
    if cells > _TABLE_LIMIT:
        return np.empty(0, np.int32)
    places = np.full(cells, -1, dtype=np.int32)
    places[keys] = np.arange(len(keys), dtype=np.int32)
    return places


@kernel
def _count_children(
    extended: Integers,
    active: Integers,
    node_of: Integers,
    level_start: int,
    shift: int,
    width: int,
    cells: int,
) -> Keys:
    table = np.zeros(cells, np.int64)
    for gap in active:
        table[(node_of[gap] - level_start) * width + extended[gap + shift]] += 1
    return table


@kernel
def _descend(
    extended: Integers,
    active: Integers,
    node_of: Integers,
    level_start: int,
    shift: int,
    edge: int,
    keys: Keys,
    places: Integers,
    first_child: int,
) -> Integers:
    """Move gaps to their kept children; those that moved and did not reach the edge stay active.

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
            if symbol != edge:
                active[n_remaining] = gap
                n_remaining += 1
    return active[:n_remaining]
