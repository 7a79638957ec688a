"""Strings: a corpus as one flat array of codes plus offsets.

String `i` is `codes[offsets[i]:offsets[i + 1]]`. A string of length L has L + 1 gaps; each gap cuts it into
an outside (the prefix, with the hole at its end) and an inside (the suffix).

A prefix trie holds every distinct prefix of a corpus once, level by level. Inference on a corpus is inference
on its trie: equal prefixes share their forward vectors. Nodes are numbered by (depth, symbol, parent), so
that the nodes of a level that read the same symbol are neighbours, and one matrix product serves them. Node 0
is the empty prefix.
"""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeGuard, cast

import numpy as np
from numpy.typing import ArrayLike

from sigmastar.core.alphabet import UNKNOWN, Alphabet, Symbol
from sigmastar.core.arrays import Floats, Indices, Int32s, Int64s
from sigmastar.core.errors import InputError, UnknownSymbolError
from sigmastar.core.jit import kernel, part

Codes = Int32s
Offsets = Int64s


@dataclass(frozen=True, eq=False)
class Strings:
    """An immutable corpus of strings over one alphabet."""

    alphabet: Alphabet
    codes: Codes
    offsets: Offsets

    @classmethod
    def of(
        cls,
        sequences: Iterable[Iterable[Symbol]] | Strings,
        lengths: Sequence[int] | None = None,
        alphabet: Alphabet | None = None,
        allow_unknown: bool = False,
    ) -> Strings:
        """Code ragged sequences of any hashable symbols.

        With `lengths`, `sequences` is one flat sequence to be cut, as hmmlearn's users have it.
        Without `alphabet` the symbols met become it, sorted where they can be compared. Symbols
        outside a given alphabet are an error, or `UNKNOWN` if `allow_unknown`.

        >>> Strings.of(["ab", "", "b"]).offsets.tolist()
        [0, 2, 2, 3]
        """
        if isinstance(sequences, Strings):
            return sequences.recoded(alphabet, allow_unknown)
        if lengths is None and not isinstance(sequences, (list, tuple)):
            from sigmastar.automata.data import arrow  # few data are columns

            if (column := arrow.arrow_column(sequences)) is not None:
                return arrow.strings_of_column(column, alphabet, allow_unknown)
        if lengths is not None:
            sequences = _cut(_row(sequences), lengths)  # a column array of shape (n, 1) is flat too
        rows = [_row(sequence, number) for number, sequence in enumerate(sequences, 1)]
        offsets = np.zeros(len(rows) + 1, dtype=np.int64)
        np.cumsum([len(row) for row in rows], out=offsets[1:])
        if alphabet is None:
            alphabet = alphabet_of(rows)
        codes = _encode(rows, int(offsets[-1]), alphabet, allow_unknown)
        return cls(alphabet, codes, offsets)

    def recoded(self, alphabet: Alphabet | None, allow_unknown: bool = False) -> Strings:
        """The same strings over another alphabet."""
        if alphabet is None or alphabet == self.alphabet:
            return self
        table = np.array([alphabet.codes.get(s, UNKNOWN) for s in self.alphabet], dtype=np.int32)
        codes = np.where(self.codes >= 0, table[self.codes], np.int32(UNKNOWN)) if len(table) else self.codes
        if not allow_unknown and (codes < 0).any():
            at = int(np.argmax(codes < 0))
            string = int(np.searchsorted(self.offsets, at, side="right"))
            symbol = self.alphabet.symbols[self.codes[at]] if self.codes[at] >= 0 else "?"
            raise _unknown(symbol, string, alphabet)
        return Strings(alphabet, codes, self.offsets)

    @property
    def lengths(self) -> Int64s:
        return np.diff(self.offsets)

    @property
    def n_symbols(self) -> int:
        """How many symbols the corpus holds, repetitions counted."""
        return int(self.offsets[-1])

    @property
    def n_gaps(self) -> int:
        return self.n_symbols + len(self)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, index: int) -> tuple[Symbol, ...]:
        if not -len(self) <= index < len(self):
            raise IndexError(f"string {index} of {len(self)}")
        index %= len(self)
        return self.alphabet.decode(self.codes[self.offsets[index] : self.offsets[index + 1]].tolist())

    def __iter__(self) -> Iterator[tuple[Symbol, ...]]:
        return (self[index] for index in range(len(self)))

    def select(self, indices: Indices | Sequence[int], longest: int | None = None) -> Strings:
        """The strings at `indices`, in that order; or their begins, of so many symbols at most."""
        chosen = np.asarray(indices, dtype=np.int64)
        lengths = self.lengths[chosen] if longest is None else np.minimum(self.lengths[chosen], longest)
        offsets = np.zeros(len(chosen) + 1, dtype=np.int64)
        np.cumsum(lengths, out=offsets[1:])
        is_small = max(self.n_symbols, offsets[-1]) < 1 << 31  # positions take more room than what is there
        positions = np.arange(offsets[-1], dtype=np.int32 if is_small else np.int64)
        positions += np.repeat((self.offsets[chosen] - offsets[:-1]).astype(positions.dtype), lengths)
        return Strings(self.alphabet, self.codes[positions], offsets)

    def repeated(self, times: ArrayLike) -> Strings:
        """Each string as many times as its whole number."""
        counts = np.asarray(times)
        whole = counts.astype(np.int64) if counts.dtype.kind in "biuf" else np.zeros(0, np.int64)
        if counts.shape != (len(self),) or (whole < 0).any() or not np.array_equal(whole, counts):
            raise InputError(f"sample_weight must be {len(self)} whole numbers: how often each string counts")
        return self.select(np.repeat(np.arange(len(self)), whole))

    def pieces(self, n_gaps: int) -> Iterator[Strings]:
        """Runs of whole strings of at most `n_gaps` gaps (but one string at least), symbols not copied."""
        gaps, first = self.offsets + np.arange(len(self) + 1), 0
        while first < len(self):
            end = max(first + 1, int(np.searchsorted(gaps, gaps[first] + n_gaps, side="right")) - 1)
            offsets = self.offsets[first : end + 1]
            yield Strings(self.alphabet, self.codes[offsets[0] : offsets[-1]], offsets - offsets[0])
            first = end

    @property
    def outcomes(self) -> Int64s:
        """What follows each gap, in corpus order: a symbol's code, or `len(alphabet)` for the end."""
        outcomes = np.full(self.n_gaps, len(self.alphabet), dtype=np.int64)
        inner = np.ones(self.n_gaps, dtype=bool)
        inner[self.offsets[1:] + np.arange(len(self))] = False
        outcomes[inner] = self.codes
        return outcomes

    def split(self, held_out: float, rng: np.random.Generator) -> tuple[Strings, Strings]:
        """A random split into (kept, held out); both parts have at least one string if there are two."""
        kept, held = self.split_indices(held_out, rng)
        return self.select(kept), self.select(held)

    def split_indices(self, held_out: float, rng: np.random.Generator) -> tuple[Int64s, Int64s]:
        """The indices of the strings of either part, in order."""
        order = rng.permutation(len(self))
        size = min(max(round(held_out * len(self)), 1), len(self) - 1)
        return np.sort(order[size:]), np.sort(order[:size])


def joined(first: Strings, second: Strings) -> Strings:
    """Two corpora over one alphabet, one after the other."""
    offsets = np.concatenate([first.offsets, second.offsets[1:] + first.offsets[-1]])
    return Strings(first.alphabet, np.concatenate([first.codes, second.codes]), offsets)


def require_strings(strings: Strings, purpose: str = "learn from") -> Strings:
    """Refuse an empty corpus."""
    if len(strings) == 0:
        raise InputError(f"there are no strings to {purpose}")
    return strings


def require_known(strings: Strings) -> Strings:
    """Refuse symbols outside the alphabet: counted by their code, -1, they would pass for others."""
    if strings.codes.min(initial=0) < 0:
        string = int(np.searchsorted(strings.offsets, int(np.argmax(strings.codes < 0)), side="right"))
        raise UnknownSymbolError(
            f"string {string} holds a symbol that is not among the {len(strings.alphabet)} of the alphabet; "
            "leave it out or learn with a larger alphabet"
        )
    return strings


def _row(sequence: Iterable[Any], number: int = 1) -> Sequence[Symbol]:
    if isinstance(sequence, np.ndarray):
        if sequence.ndim == 2 and sequence.shape[1] == 1:
            sequence = sequence[:, 0]
        if sequence.ndim != 1:
            raise InputError(f"a string is a sequence of symbols, not an array of shape {sequence.shape}")
        return sequence.tolist()  # type: ignore[no-any-return]
    if isinstance(sequence, (str, tuple, list)):
        return sequence
    if isinstance(sequence, Mapping):
        raise InputError(
            f"string {number} is a mapping; pass one column of the records, as in fit(X['text'])"
        )
    try:
        return tuple(sequence)
    except TypeError:
        raise InputError(
            f"expected sequences of symbols, got {sequence!r} as string {number}; pass a list of strings, or "
            "(X, lengths)"
        ) from None


def _cut(flat: Sequence[Symbol], lengths: Sequence[int]) -> list[Sequence[Symbol]]:
    ends = np.cumsum(np.asarray(lengths, dtype=np.int64))
    total = int(ends[-1]) if len(ends) else 0
    if total != len(flat):
        raise InputError(f"lengths add up to {total}, but there are {len(flat)} symbols")
    return [flat[end - length : end] for end, length in zip(ends.tolist(), lengths, strict=True)]


def alphabet_of(rows: Sequence[Sequence[Symbol]]) -> Alphabet:
    """The symbols that are met, sorted where they can be compared."""
    try:
        met = dict.fromkeys(itertools.chain.from_iterable(rows))
    except TypeError as problem:
        raise InputError(f"symbols must be hashable: {problem}") from None
    if any(isinstance(symbol, float) and math.isnan(symbol) for symbol in met):
        raise InputError("a symbol is NaN, which equals nothing; leave such strings out or name the gaps")
    if any(type(symbol) in _NUMBERS for symbol in met):
        _refuse_equals(rows)
    try:
        return Alphabet(sorted(met))  # type: ignore[type-var]
    except TypeError:  # symbols that cannot be compared keep the order in which they were met
        return Alphabet(met)


def _refuse_equals(rows: Sequence[Sequence[Symbol]]) -> None:
    """Refuse symbols that differ for those who wrote them, and are one in Python: 1, True and 1.0."""
    if len(_NUMBERS.intersection(map(type, itertools.chain.from_iterable(rows)))) < 2:
        return
    first: dict[Symbol, Symbol] = {}
    for symbol in itertools.chain.from_iterable(rows):
        other = first.setdefault(symbol, symbol)
        if type(other) is not type(symbol) and {type(other), type(symbol)} <= _NUMBERS:
            raise InputError(f"{other!r} and {symbol!r} are equal in Python; write one as {str(symbol)!r}")


def _encode(rows: Sequence[Sequence[Symbol]], total: int, alphabet: Alphabet, allow_unknown: bool) -> Codes:
    table = alphabet.codes
    if allow_unknown:
        lookup = (table.get(symbol, UNKNOWN) for symbol in itertools.chain.from_iterable(rows))
        return np.fromiter(lookup, dtype=np.int32, count=total)
    try:
        return np.fromiter(
            map(table.__getitem__, itertools.chain.from_iterable(rows)), dtype=np.int32, count=total
        )
    except KeyError as missing:
        symbol = missing.args[0]
        string = next(i for i, row in enumerate(rows, 1) if symbol in row)
        raise _unknown(symbol, string, alphabet) from None


def _unknown(symbol: Symbol, string: int, alphabet: Alphabet) -> UnknownSymbolError:
    return UnknownSymbolError(
        f"string {string}: symbol {symbol!r} is not among the {len(alphabet)} symbols of the alphabet"
    )


# From what users have: lists of strings, tuples or arrays, or (X, lengths).

_NUMBERS = frozenset({bool, int, float})
Corpus = Strings | Iterable[Iterable[Symbol]] | os.PathLike[str]
Unknown = Literal["error", "zero", "class"]
UNKNOWNS: tuple[Unknown, ...] = ("error", "zero", "class")


def as_strings(
    sequences: Corpus,
    lengths: Sequence[int] | None = None,
    alphabet: Alphabet | None = None,
    unknown: Unknown = "error",
    remedy: str = "leave such strings out, or set unknown='zero' to give them no probability",
) -> Strings:
    """Code a corpus; what looks like one but is not is refused, with what to pass instead."""
    if unknown not in UNKNOWNS:
        raise ValueError(f"unknown={unknown!r} must be one of {', '.join(UNKNOWNS)}")
    if lengths is None and not isinstance(sequences, Strings):
        sequences = _in_memory(sequences)
        _refuse_lookalikes(sequences)
    try:
        strings = Strings.of(cast(Strings, sequences), lengths, alphabet, unknown != "error")
    except UnknownSymbolError as problem:
        raise UnknownSymbolError(f"{problem}; {remedy}") from None
    if unknown != "class":
        return strings
    from sigmastar.automata.data.rare import in_class  # few models have the class

    return in_class(strings)


def is_corpus(given: object) -> TypeGuard[str | os.PathLike[str]]:
    """Whether something is an open corpus, or the folder of one, as `sigmastar corpus build` makes them."""
    if not isinstance(given, (str, os.PathLike)) or not os.path.isdir(given):
        return False
    from sigmastar.corpus.manifest import is_corpus as has_manifest  # most data are no folders

    return has_manifest(given)


def _in_memory(sequences: Any) -> Any:
    if type(sequences).__name__ == "SplearnArray":  # of scikit-splearn: rows that -1 fills up
        return [row[row >= 0].astype(int).tolist() for row in np.asarray(sequences)]
    if not is_corpus(sequences):
        return sequences
    from sigmastar.automata.data.corpora import read_corpus

    return read_corpus(sequences)


def as_alphabet(alphabet: Alphabet | Iterable[Symbol] | None) -> Alphabet | None:
    return alphabet if alphabet is None or isinstance(alphabet, Alphabet) else Alphabet(alphabet)


def _refuse_lookalikes(sequences: Any) -> None:
    if isinstance(sequences, (str, bytes)):
        raise InputError("X is one string; pass a list of strings, as in [X]")
    if isinstance(sequences, np.ndarray) and sequences.dtype == object and sequences.shape[1:] == (1,):
        raise InputError(f"X is one column, of shape {sequences.shape}; pass it flat, as in fit(X[:, 0])")
    if isinstance(sequences, np.ndarray) and sequences.ndim != 1:
        raise InputError(
            f"X is an array of shape {sequences.shape}; pass a list of strings (X.tolist() if every row is "
            "one), or one flat array of symbols with the lengths of the strings, fit(X, lengths=lengths)"
        )
    if not isinstance(sequences, Iterable):
        raise InputError(f"X is {sequences!r}; pass a list of strings, or (X, lengths)")


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
