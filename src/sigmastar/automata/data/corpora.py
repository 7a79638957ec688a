"""Strings of corpora on disk: whole, where they fit, or some at a time."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sigmastar.automata.data.strings import Strings
from sigmastar.core.alphabet import Alphabet, written_codes
from sigmastar.core.arrays import Indices, Int32s, Int64s
from sigmastar.core.errors import UnknownSymbolError
from sigmastar.core.resources import require_memory
from sigmastar.corpus.reading import Shard, StringCorpus

_FEWER = "learn with --method fast or em, which read corpora shard by shard, or use fewer strings"


@dataclass(frozen=True, eq=False)
class ShardedStrings:
    """A corpus on disk, of which no more than a shard is held at a time; with `class_of`, as classes."""

    corpus: StringCorpus
    class_of: Int32s | None = None

    @cached_property
    def alphabet(self) -> Alphabet:
        if self.class_of is None:
            return self.corpus.alphabet
        return Alphabet(range(int(self.class_of.max()) + 1))

    @property
    def alphabet_like(self) -> Strings:
        """No strings over the alphabet."""
        return Strings(self.alphabet, np.zeros(0, np.int32), np.zeros(1, np.int64))

    def __len__(self) -> int:
        return len(self.corpus)

    @property
    def n_symbols(self) -> int:
        return self.corpus.n_symbols

    @property
    def n_gaps(self) -> int:
        return self.corpus.n_gaps

    @property
    def n_shards(self) -> int:
        return self.corpus.n_shards

    @cached_property
    def firsts(self) -> Int64s:
        """The number of the first string of each shard, with the end added."""
        return np.cumsum([0, *(shard.n_strings for shard in self.corpus.manifest.shards)])

    def shard(self, number: int) -> Strings:
        """The strings of one shard."""
        return self._read(self.corpus.shard(number))

    def parts(self, most_gaps: int) -> list[tuple[int, int, int]]:
        """Shards and ranges of their strings: pieces of work that do not depend on the number of workers."""
        return self.corpus.parts(most_gaps)

    def part(self, number: int, begin: int, end: int, without: Int64s | None = None) -> Strings:
        """Some strings of one shard, one after the other, without those of some numbers of the corpus."""
        found = self._read(self.corpus.part(number, begin, end))
        if without is None:
            return found
        first = int(self.firsts[number]) + begin
        inside = without[(without >= first) & (without < first + len(found))] - first
        return found.select(np.delete(np.arange(len(found)), inside)) if len(inside) else found

    def select(self, indices: Indices | Sequence[int]) -> Strings:
        """Some strings, in rising order of their numbers."""
        chosen, parts = np.asarray(indices, np.int64), list[Strings]()
        edges = np.searchsorted(chosen, self.firsts)
        for number in np.flatnonzero(np.diff(edges)):
            codes, offsets = self.corpus.shard(int(number))
            inside = chosen[edges[number] : edges[number + 1]] - self.firsts[number]
            parts.append(self._read(_taken(Shard(codes, offsets), inside)))
        return _one(self.alphabet, parts)

    def _read(self, shard: Shard) -> Strings:
        codes = shard.codes if self.class_of is None else self.class_of[shard.codes]
        return Strings(self.alphabet, codes.astype(np.int32, copy=False), shard.offsets)

    def whole(self) -> Strings:
        """All strings at once."""
        require_memory(4 * self.n_symbols + 8 * len(self), f"{self.corpus.folder} in memory", _FEWER)
        if self.n_shards == 1:
            return self.shard(0)
        codes, at = np.empty(self.n_symbols, np.int32), 0
        lengths = list[Int64s]()
        for number in range(self.n_shards):
            part = self.corpus.shard(number)
            codes[at : at + len(part.codes)] = self._read(part).codes
            at += len(part.codes)
            lengths.append(np.diff(part.offsets))
        return Strings(self.alphabet, codes, np.concatenate([[0], *lengths]).cumsum())


def read_corpus(
    path: str | os.PathLike[str], alphabet: Alphabet | None = None, allow_unknown: bool = False
) -> Strings:
    """All strings of a corpus, over its own words or over the symbols of an alphabet as they are written."""
    strings = ShardedStrings(StringCorpus.open(path)).whole()
    if alphabet is None:
        return strings
    known = written_codes(alphabet)
    table = np.array([known.get(str(word), -1) for word in strings.alphabet], np.int32)
    if not allow_unknown and (table < 0).any():
        missing = strings.alphabet.symbols[int(np.argmax(table < 0))]
        raise UnknownSymbolError(
            f"symbol {missing!r} is not among the {len(alphabet)} symbols of the alphabet", file=str(path)
        )
    return Strings(alphabet, table[strings.codes] if len(table) else strings.codes, strings.offsets)


def _taken(shard: Shard, numbers: Int64s) -> Shard:
    """Strings of a shard, read where they lie."""
    begins, lengths = shard.offsets[numbers], shard.offsets[numbers + 1] - shard.offsets[numbers]
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    places = np.arange(offsets[-1]) + np.repeat(begins - offsets[:-1], lengths)
    return Shard(shard.codes[places], offsets)


def _one(alphabet: Alphabet, parts: Sequence[Strings]) -> Strings:
    codes = [part.codes for part in parts]
    lengths = [part.lengths for part in parts]
    none = np.zeros(0, np.int32)
    return Strings(
        alphabet, np.concatenate([none, *codes]), np.concatenate([[0], *lengths]).cumsum().astype(np.int64)
    )
