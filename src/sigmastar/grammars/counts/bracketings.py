"""Blocks of a weighted grammar from bracketed strings (Bailly et al. 2013, section 3).

    H[<x; z>, y]           = f(x y z with a constituent y)
    H_a[<x; z>]            = f(x a z)
    H_A[<x; z>, y1, y2]    = f(x y1 y2 z with the constituent y1 y2 cut into y1 and y2)
    root[y]                = f(y)

f is a relative frequency. An outside is a pair of strings and an inside is a string: trees below and above a
cut are summed out. The basis holds the most frequent of both, always with every symbol and with <;>.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from operator import add

import numpy as np
from scipy import sparse

from sigmastar.automata.data.strings import Strings, require_strings
from sigmastar.core.alphabet import Alphabet, Symbol, composition_signature
from sigmastar.core.arrays import Int64s
from sigmastar.core.engines import ranges, spread
from sigmastar.core.errors import InputError
from sigmastar.core.recover import Blocks, SparseTensor
from sigmastar.grammars.data.bracketings import Bracketings
from sigmastar.grammars.data.substrings import Substrings

_PIECE = 1 << 18  # symbols that are counted at a time


@dataclass(frozen=True, eq=False)
class SpanBasis:
    """Insides, and outsides as pairs <left; right>; the first outside is the bare hole."""

    insides: Strings
    lefts: Strings
    rights: Strings

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.lefts), len(self.insides)


@dataclass(frozen=True, eq=False)
class _Constituents:
    """Every constituent, single symbols too: its string, place, cut (0 where it has none) and numbers."""

    string: Int64s
    begin: Int64s
    end: Int64s
    cut: Int64s
    inside: Int64s
    left: Int64s  # the substring before it, -1 where it is empty
    right: Int64s


@dataclass(frozen=True, eq=False)
class BracketCounts:
    """Counts on a basis; those of parts of a corpus add up to those of the whole."""

    basis: SpanBasis
    matrix: sparse.csr_array
    words: sparse.csr_array  # symbols x outsides: dense it would not fit, with large vocabularies
    pairs: dict[tuple[int, int, int], float]
    n_strings: int

    def __add__(self, other: BracketCounts) -> BracketCounts:
        pairs = dict(self.pairs)
        for key, count in other.pairs.items():
            pairs[key] = pairs.get(key, 0.0) + count
        matrix = sparse.csr_array(self.matrix + other.matrix)
        words = sparse.csr_array(self.words + other.words)
        return BracketCounts(self.basis, matrix, words, pairs, self.n_strings + other.n_strings)

    def blocks(self) -> Blocks:
        signature = composition_signature(self.basis.insides.alphabet)
        word, compose = signature.operations
        total = max(self.n_strings, 1)
        n_outsides, n_insides = self.basis.shape
        keys = np.array(sorted(self.pairs), dtype=np.int64).reshape(-1, 3).T
        values = np.array([self.pairs[key] for key in sorted(self.pairs)], dtype=float)
        shape = (1, n_outsides, n_insides, n_insides)
        slices = SparseTensor(shape, np.vstack([np.zeros_like(keys[:1]), keys]), values / total)
        matrix = sparse.csr_array(self.matrix / total)
        return Blocks(
            signature,
            {"span": matrix},
            {word: _tensor(self.words, total), compose: slices},
            {"span": matrix[[0]].toarray()[0]},
        )


def _tensor(counts: sparse.csr_array, total: float) -> SparseTensor:
    counts.sort_indices()
    rows = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    return SparseTensor(counts.shape, np.stack([rows, counts.indices.astype(np.int64)]), counts.data / total)


def frequent_spans(brackets: Bracketings, factor: float = 1.0) -> SpanBasis:
    """The share `factor` of all insides and outsides that occur, the most frequent ones."""
    if not 0.0 < factor <= 1.0:
        raise ValueError(f"factor={factor} is not a share; use 0 < factor <= 1")
    strings = require_strings(brackets.strings)
    table, found = _read(brackets, strings)
    insides = _most_frequent(found.inside, factor, np.arange(table.level_starts[1]))
    outsides = _pairs(found.left, found.right, table.n_nodes)
    chosen = _most_frequent(outsides, factor, np.zeros(1, dtype=np.int64))
    lefts, rights = chosen // (table.n_nodes + 1) - 1, chosen % (table.n_nodes + 1) - 1
    return SpanBasis(_strings(table, insides), _strings(table, lefts), _strings(table, rights))


def single_symbols(alphabet: Alphabet) -> SpanBasis:
    """Symbols as insides; the hole and one symbol to its left or right as outsides (section 5.1)."""
    symbols = [[symbol] for symbol in alphabet]
    nothing: list[list[Symbol]] = [[] for _ in symbols]
    return SpanBasis(
        Strings.of(symbols, alphabet=alphabet),
        Strings.of([[], *symbols, *nothing], alphabet=alphabet),
        Strings.of([[], *nothing, *symbols], alphabet=alphabet),
    )


def count_brackets(brackets: Bracketings, basis: SpanBasis) -> BracketCounts:
    """Count constituents, single symbols and cuts on a basis, in pieces. Trees must be binary."""
    if not brackets.is_binary:
        raise InputError(
            "brackets must be binary trees, one span less than symbols; call .binary() to make them so"
        )
    pieces = ranges(brackets.strings.lengths, _PIECE)
    parts = [brackets.select(np.arange(*piece)) for piece in pieces] if len(pieces) > 1 else [brackets]
    found: BracketCounts = spread(partial(_count_piece, basis), parts, add)
    return found


def _count_piece(basis: SpanBasis, brackets: Bracketings) -> BracketCounts:
    table, found = _read(brackets, brackets.strings, basis.insides, basis.lefts, basis.rights)
    n_strings, n_insides = len(brackets), len(basis.insides)
    inside_at = _lookup(table.string_node[n_strings : n_strings + n_insides], table.n_nodes)
    lefts = _node_or_none(table, basis.lefts, n_strings + n_insides)
    rights = _node_or_none(table, basis.rights, n_strings + n_insides + int((basis.lefts.lengths > 0).sum()))
    keys = _pairs(lefts, rights, table.n_nodes)
    order = np.argsort(keys)
    wanted = _pairs(found.left, found.right, table.n_nodes)
    place = np.minimum(np.searchsorted(keys[order], wanted), len(keys) - 1)
    outside = np.where(keys[order][place] == wanted, order[place], -1)
    inside = inside_at[found.inside]
    return BracketCounts(
        basis,
        _matrix(outside, inside, basis.shape),
        _words(outside, found, brackets, basis.shape[0]),
        _cuts(outside, inside_at, found, table),
        n_strings,
    )


def _read(brackets: Bracketings, *corpora: Strings) -> tuple[Substrings, _Constituents]:
    """One table for the substrings of all corpora, and the constituents of the first."""
    joined = _joined([part.select(np.flatnonzero(part.lengths > 0)) for part in corpora])
    table = Substrings.of(joined)
    lengths, offsets = brackets.strings.lengths, brackets.strings.offsets
    singles = np.arange(brackets.strings.n_symbols)
    owner = np.repeat(np.arange(len(brackets)), lengths)
    string = np.concatenate([np.repeat(np.arange(len(brackets)), np.diff(brackets.span_offsets)), owner])
    begin = np.concatenate([brackets.begins, singles - offsets[owner]])
    end = np.concatenate([brackets.ends, singles - offsets[owner] + 1])
    order = np.lexsort((-end, begin, string))
    string, begin, end = string[order], begin[order], end[order]
    # the left child of a constituent is the next narrower one that begins where it begins
    cut = np.where(end - begin > 1, np.append(end[1:], 0), 0)
    first, n = offsets[string], lengths[string]
    left = np.where(begin > 0, table.at(first, np.maximum(begin, 1)), -1)
    right_at = np.where(end < n, first + end, first)
    right = np.where(end < n, table.at(right_at, np.where(end < n, n - end, 1)), -1)
    return table, _Constituents(string, begin, end, cut, table.at(first + begin, end - begin), left, right)


def _joined(parts: list[Strings]) -> Strings:
    codes = np.concatenate([part.codes for part in parts])
    lengths = np.concatenate([part.lengths for part in parts])
    return Strings(parts[0].alphabet, codes, np.append(0, np.cumsum(lengths)).astype(np.int64))


def _pairs(lefts: Int64s, rights: Int64s, n_nodes: int) -> Int64s:
    return (lefts + 1) * (n_nodes + 1) + rights + 1


def _most_frequent(numbers: Int64s, factor: float, always: Int64s) -> Int64s:
    """The share `factor` of the distinct numbers, most frequent first, after those that always stand."""
    values, counts = np.unique(numbers, return_counts=True)
    ordered = values[np.argsort(-counts, kind="stable")]
    rest = ordered[~np.isin(ordered, always)]
    n_more = max(0, int(np.ceil(factor * len(values))) - len(always))
    return np.concatenate([always, rest[:n_more]])


def _strings(table: Substrings, nodes: Int64s) -> Strings:
    """Substrings by their numbers; -1 is the empty string."""
    lengths = np.where(nodes < 0, 0, np.append(table.lengths, 0)[nodes])
    offsets = np.append(0, np.cumsum(lengths)).astype(np.int64)
    firsts = np.append(table.first, 0)[nodes]
    places = np.arange(offsets[-1]) + np.repeat(firsts - offsets[:-1], lengths)
    return Strings(table.strings.alphabet, table.strings.codes[places], offsets)


def _lookup(nodes: Int64s, n_nodes: int) -> Int64s:
    places = np.full(n_nodes, -1, dtype=np.int64)
    places[nodes] = np.arange(len(nodes))
    return places


def _node_or_none(table: Substrings, strings: Strings, first: int) -> Int64s:
    """The numbers of strings that were joined from `first` on, without the empty ones among them."""
    filled = strings.lengths > 0
    nodes = np.full(len(strings), -1, dtype=np.int64)
    nodes[filled] = table.string_node[first : first + int(filled.sum())]
    return nodes


def _matrix(outside: Int64s, inside: Int64s, shape: tuple[int, int]) -> sparse.csr_array:
    both = (outside >= 0) & (inside >= 0)
    return sparse.csr_array(
        sparse.coo_array((np.ones(int(both.sum())), (outside[both], inside[both])), shape)
    )


def _words(outside: Int64s, found: _Constituents, brackets: Bracketings, n_outsides: int) -> sparse.csr_array:
    single = (outside >= 0) & (found.end - found.begin == 1)
    places = brackets.strings.offsets[found.string[single]] + found.begin[single]
    codes = brackets.strings.codes[places].astype(np.int64)
    return _matrix(codes, outside[single], (len(brackets.strings.alphabet), n_outsides))


def _cuts(
    outside: Int64s, inside_at: Int64s, found: _Constituents, table: Substrings
) -> dict[tuple[int, int, int], float]:
    wide = np.flatnonzero((found.cut > 0) & (outside >= 0))
    first = table.strings.offsets[found.string[wide]]
    begin, cut, end = found.begin[wide], found.cut[wide], found.end[wide]
    left = inside_at[table.at(first + begin, cut - begin)]
    right = inside_at[table.at(first + cut, end - cut)]
    both = (left >= 0) & (right >= 0)
    keys, counts = np.unique(np.stack([outside[wide], left, right], axis=1)[both], axis=0, return_counts=True)
    return {(a, b, c): float(n) for (a, b, c), n in zip(keys.tolist(), counts.tolist(), strict=True)}
