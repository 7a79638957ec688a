"""Counts of strings on a basis.

    H[o, i]         = f(o i)       H_a[o, i] = f(o a i)
    H_stop[o]       = f(o)         root[i]   = f(i)

with f the mean of a statistic over the sample. Of all basis outsides that end at a gap each is a
suffix of the longest one, and of all insides that begin there each is a prefix of the longest. So the
corpus is read once for the pair (longest outside, longest inside) of each gap, and

    H = E_o^T N E_i,   N[r, c] = gaps with the pair (r, c),
                       E_o[r, o] = 1 if o is a suffix of r,   E_i[c, i] = 1 if i is a prefix of c

An outside anchored at the start of its string matches at one gap only: there E is the identity. The
counts N are whole numbers: those of shards add up exactly.

Matching basis elements at the gaps of a corpus: tries walked from their root.

At a gap, the outsides are read backwards from it and the insides forwards. An anchored element must
reach the end of the string that lies on its side, so it is found by one walk from there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import sparse

from sigmastar.automata.counts.bases import STRING, Basis, Statistic, backwards, mirrored
from sigmastar.automata.data.contexts import child_of
from sigmastar.automata.data.strings import PrefixTrie, Strings
from sigmastar.core.alphabet import Operation, string_signature
from sigmastar.core.arrays import Int32s, Int64s
from sigmastar.core.jit import kernel
from sigmastar.core.recover import Blocks, Slices, SparseTensor

GAPS_AT_ONCE = 2_000_000
"""The corpus is read in pieces of about this many gaps, so that memory stays below a corpus or two."""


class Tally(NamedTuple):
    """Whole numbers by key; keys are distinct and sorted."""

    keys: Int64s
    counts: Int64s

    @classmethod
    def of(cls, keys: Int64s) -> Tally:
        return cls(*np.unique(keys, return_counts=True))

    def merged(self, other: Tally) -> Tally:
        keys, position = np.unique(np.concatenate([self.keys, other.keys]), return_inverse=True)
        counts = np.zeros(len(keys), np.int64)
        np.add.at(counts, position, np.concatenate([self.counts, other.counts]))
        return Tally(keys, counts)


@dataclass(frozen=True, eq=False)
class StringCounts:
    """Gaps and steps of a corpus by the longest outsides and insides of a basis around them."""

    basis: Basis
    statistic: Statistic
    n_strings: int
    gaps: Tally  # (outside, inside)
    steps: Tally  # (symbol, outside, inside)
    ends: Int64s  # outsides counted by `stop`
    starts: Int64s  # insides counted by the root row

    def __add__(self, other: StringCounts) -> StringCounts:
        """The counts of both corpora together: exact, in any order."""
        if not (self.basis.same_as(other.basis) and self.statistic == other.statistic):
            raise ValueError("counts can be added only where basis and statistic are the same")
        return StringCounts(
            self.basis,
            self.statistic,
            self.n_strings + other.n_strings,
            self.gaps.merged(other.gaps),
            self.steps.merged(other.steps),
            self.ends + other.ends,
            self.starts + other.starts,
        )

    def blocks(self) -> Blocks:
        """Means over the strings, as blocks from which an automaton is recovered."""
        signature = string_signature(self.basis.alphabet)
        stop, symbol = signature.operations
        scale = 1.0 / max(self.n_strings, 1)
        outsides, insides = (matcher.nesting() for matcher in _matchers(self.basis, self.statistic))
        matrix = (outsides.T @ _matrix(self.gaps, self.basis.shape) @ insides).tocsr() * scale
        ends, starts = outsides.T @ self.ends * scale, insides.T @ self.starts * scale
        slices: dict[Operation, Slices] = {
            stop: ends[None, :],
            symbol: self._slices(outsides, insides, scale),
        }
        return Blocks(signature, {"string": matrix}, slices, {"string": starts})

    def _slices(self, outsides: sparse.csr_array, insides: sparse.csr_array, scale: float) -> SparseTensor:
        """E_o^T N_a E_i for every symbol a that occurs, with one row per (symbol, longest outside) met."""
        n_outsides, n_insides = self.basis.shape
        rows, position = np.unique(self.steps.keys // n_insides, return_inverse=True)
        shape = (len(rows), n_insides)
        steps = sparse.csr_array((self.steps.counts, (position, self.steps.keys % n_insides)), shape=shape)
        nested = outsides[rows % n_outsides].tocoo()
        targets = rows[nested.row] // n_outsides * n_outsides + nested.col
        met, target = np.unique(targets, return_inverse=True)
        spread = sparse.csr_array((nested.data, (target, nested.row)), shape=(len(met), len(rows)))
        product = (spread @ steps @ insides).tocsr()
        product.sort_indices()
        rows_of = np.repeat(met, np.diff(product.indptr))
        keys = rows_of * n_insides + product.indices
        return SparseTensor.of_keys(
            (len(self.basis.alphabet), n_outsides, n_insides), keys, product.data * scale
        )


def count_strings(strings: Strings, basis: Basis, statistic: Statistic = STRING) -> StringCounts:
    """Count a statistic of a corpus on a basis, reading it once.

    Symbols outside the alphabet of the basis match nothing.

    Parameters
    ----------
    strings : Strings
        The corpus.
    basis : Basis
        Outsides and insides.
    statistic : Statistic
        What is counted: `STRING`, `PREFIX` or `SUBSTRING`.

    Returns
    -------
    StringCounts
        Counts that can be added to others on the same basis.
    """
    outsides, insides = _matchers(basis, statistic)
    total = _nothing(basis, statistic)
    for piece in strings.recoded(basis.alphabet, allow_unknown=True).pieces(GAPS_AT_ONCE):
        total += _count(piece, outsides.longest(piece), insides.longest(piece), basis, statistic)
    return total


def _matchers(basis: Basis, statistic: Statistic) -> tuple[Matcher, Matcher]:
    return (
        Matcher.of_outsides(basis.outsides, statistic.anchored_left),
        Matcher.of_insides(basis.insides, statistic.anchored_right),
    )


def _count(
    strings: Strings, before: Int32s, after: Int32s, basis: Basis, statistic: Statistic
) -> StringCounts:
    """Tally the gaps, given the longest outside before and the longest inside after each (-1: none)."""
    n_outsides, n_insides = basis.shape
    last = strings.offsets[1:] + np.arange(len(strings))
    first = strings.offsets[:-1] + np.arange(len(strings))
    inner = np.delete(np.arange(len(before)), last)  # gaps with a symbol after them, in corpus order
    rows = strings.codes.astype(np.int64) * n_outsides + before[inner]
    columns = after[inner + 1]
    met = (strings.codes >= 0) & (before[inner] >= 0) & (columns >= 0)
    both = (before >= 0) & (after >= 0)
    return StringCounts(
        basis,
        statistic,
        len(strings),
        Tally.of(before[both].astype(np.int64) * n_insides + after[both]),
        Tally.of(rows[met] * n_insides + columns[met]),
        _histogram(before[last] if statistic.anchored_right else before, n_outsides),
        _histogram(after[first] if statistic.anchored_left else after, n_insides),
    )


def _histogram(classes: Int32s, size: int) -> Int64s:
    return np.bincount(classes[classes >= 0], minlength=size).astype(np.int64)


def _nothing(basis: Basis, statistic: Statistic) -> StringCounts:
    empty = Tally(np.zeros(0, np.int64), np.zeros(0, np.int64))
    ends, starts = (np.zeros(size, np.int64) for size in basis.shape)
    return StringCounts(basis, statistic, 0, empty, empty, ends, starts)


def _matrix(tally: Tally, shape: tuple[int, int]) -> sparse.csr_array:
    return sparse.csr_array((tally.counts, np.divmod(tally.keys, shape[1])), shape=shape)


@dataclass(frozen=True, eq=False)
class Matcher:
    """A trie of basis elements on one side of the gaps."""

    anchored: bool
    reversing: bool  # whether elements and strings are read from their ends
    parent: Int32s
    child_starts: Int64s  # children of node v: child_starts[v] .. child_starts[v + 1], symbols ascending
    child_symbol: Int32s
    child_node: Int32s
    element: Int32s  # which basis element ends at a node, or -1
    node_of: Int32s

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

    def longest(self, strings: Strings) -> Int32s:
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
def _walk_strings(
    codes: Int32s, offsets: Int64s, starts: Int64s, symbols: Int32s, children: Int32s, element: Int32s
) -> Int32s:
    n_strings = len(offsets) - 1
    found = np.full(len(codes) + n_strings, -1, np.int32)
    for i in range(n_strings):
        node = 0
        found[offsets[i] + i] = element[0]
        for k in range(offsets[i], offsets[i + 1]):
            node = child_of(node, codes[k], starts, symbols, children)
            if node < 0:
                break
            found[k + i + 1] = element[node]
    return found


@kernel
def _walk_gaps(
    codes: Int32s, offsets: Int64s, starts: Int64s, symbols: Int32s, children: Int32s, element: Int32s
) -> Int32s:
    n_strings = len(offsets) - 1
    found = np.full(len(codes) + n_strings, -1, np.int32)
    for i in range(n_strings):
        for gap in range(offsets[i], offsets[i + 1] + 1):
            node, longest = 0, element[0]
            for k in range(gap, offsets[i + 1]):
                node = child_of(node, codes[k], starts, symbols, children)
                if node < 0:
                    break
                if element[node] >= 0:
                    longest = element[node]
            found[gap + i] = longest
    return found


@kernel
def _nested_pairs(parent: Int32s, element: Int32s, node_of: Int32s) -> tuple[Int64s, Int64s]:
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
