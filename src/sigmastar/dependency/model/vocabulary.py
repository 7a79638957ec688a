"""How the words of a treebank become numbers: symbols for automata, coarse tags and words for arcs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import repeat
from typing import Any
from zlib import crc32

import numpy as np

from sigmastar.core.alphabet import Alphabet
from sigmastar.core.arrays import Indices, Int32s, Int64s
from sigmastar.core.stored_parts import (
    Check,
    check_header,
    distinct_texts,
    lists_of_texts,
    one_of,
    text_alphabet,
)
from sigmastar.core.word_classes import WordClasses
from sigmastar.dependency.data.sequences import SYMBOLS
from sigmastar.dependency.data.treebank import DependencyTreebank

N_COARSE = 30
CLASS_SIZE = 1  # which of the sizes of classes arcs read
_HEADER: dict[str, Check] = {
    "symbols": one_of(*SYMBOLS),
    "alphabet": text_alphabet,
    "likeness": lists_of_texts,
    "common": str,
    "coarse": distinct_texts,
    "words": distinct_texts,
}


@dataclass(frozen=True, eq=False)
class Encoded:
    """Sentences in numbers: a symbol for every word, and where asked a row for every word and root."""

    codes: Int32s
    offsets: Int64s
    rows: Int64s | None  # tag, coarse tag, word, ending and class; each sentence has its root first

    @property
    def starts(self) -> Int64s:
        """Where the rows of each sentence begin."""
        return self.offsets + np.arange(len(self.offsets))

    @property
    def squares(self) -> Int64s:
        """Where tables [head, modifier] of each sentence begin, if they lie flat one after the other."""
        return np.concatenate([[0], np.cumsum((np.diff(self.offsets) + 1) ** 2)])

    def arc_places(self, heads: Int32s) -> Int64s:
        """Where the arcs of given trees lie in flat tables [head, modifier]."""
        lengths = np.diff(self.offsets)
        begins, width = (np.repeat(of, lengths) for of in (self.squares[:-1], lengths + 1))
        number = np.arange(len(heads)) - np.repeat(self.offsets[:-1], lengths) + 1
        return begins + width * heads + number

    def part(self, low: int, high: int) -> Encoded:
        """The sentences from low to high."""
        starts = self.starts
        return Encoded(
            self.codes[self.offsets[low] : self.offsets[high]],
            self.offsets[low : high + 1] - self.offsets[low],
            None if self.rows is None else self.rows[starts[low] : starts[high]],
        )

    def select(self, sentences: Indices) -> Encoded:
        """Some sentences, in that order."""
        words, offsets = gathered(self.offsets, sentences)
        rows = None if self.rows is None else self.rows[gathered(self.starts, sentences)[0]]
        return Encoded(self.codes[words], offsets, rows)


def gathered(offsets: Int64s, sentences: Indices) -> tuple[Int64s, Int64s]:
    """The places of the words of some sentences, and where each sentence begins among them."""
    lengths = np.diff(offsets)[sentences]
    ends = np.concatenate([[0], np.cumsum(lengths)])
    return np.repeat(offsets[sentences] - ends[:-1], lengths) + np.arange(ends[-1]), ends


@dataclass(frozen=True)
class Vocabulary:
    """How the words of a treebank become numbers."""

    symbols: str  # which of SYMBOLS
    alphabet: Alphabet
    likeness: Mapping[str, str]  # for each coarse tag the symbol that stands for unknown ones
    common: str  # the symbol for all else
    coarse: Mapping[str, int]
    words: Mapping[str, int]  # empty where words do not count
    classes: WordClasses | None = None  # of words, from raw text

    @property
    def is_coarse(self) -> bool:
        """Whether the symbols are the coarse tags themselves."""
        return all(name == tag for tag, name in self.likeness.items()) and set(self.likeness) == set(
            self.alphabet
        )

    def codes(self, treebank: DependencyTreebank) -> Int32s:
        """The symbol of every word; unknown ones are taken for the most frequent of their coarse tag."""
        table, names = self.alphabet.codes, SYMBOLS[self.symbols](treebank)
        codes = np.fromiter(map(table.get, names, repeat(-1)), np.int32, len(names))
        for at in np.flatnonzero(codes < 0).tolist():
            codes[at] = table[self.likeness.get(treebank.upos[at], self.common)]
        return codes

    def encode(self, treebank: DependencyTreebank, rows: bool = True) -> Encoded:
        codes = self.codes(treebank)
        table = self.rows(treebank, codes) if rows else None
        return Encoded(codes, treebank.sentence_offsets, table)

    def rows(self, treebank: DependencyTreebank, codes: Int32s) -> Int64s:
        """Tag, coarse tag, word, ending and class of every position, each sentence with its root first."""
        n, n_sentences = treebank.n_words, len(treebank)
        rows = np.empty((n + n_sentences, 5), dtype=np.int64)  # one type of number: hashes are compiled once
        rows[:] = (len(self.alphabet), -1 if self.is_coarse else N_COARSE + 1, -1, -1, -1)
        places = word_positions(treebank.sentence_offsets)
        rows[places, 0] = codes
        rows[places, 1] = np.fromiter(map(self.coarse.get, treebank.upos, repeat(N_COARSE)), np.int64, n)
        if self.words:
            kinds = {form: number for number, form in enumerate(dict.fromkeys(treebank.form))}
            of_word = np.fromiter(map(kinds.__getitem__, treebank.form), np.int64, n)
            rows[places, 2:] = self._of_forms(list(kinds))[of_word]
        return rows

    def _of_forms(self, forms: list[str]) -> Int64s:
        """Word, ending and class of distinct forms."""
        table = np.full((len(forms), 3), -1, dtype=np.int64)
        table[:, 0] = [self.words.get(form.lower(), -1) for form in forms]
        table[:, 1] = [ending(form) for form in forms]
        if self.classes is not None:
            table[:, 2] = self.classes.of(forms)[:, CLASS_SIZE]
        return table

    def tags(self, codes: list[int]) -> tuple[list[str], list[str]]:
        """The columns `upos` and `xpos` that symbols stand for; `_` where they do not tell."""
        names = [str(self.alphabet.symbols[code]) for code in codes]
        blank = ["_"] * len(names)
        if self.symbols == "upos":
            return names, blank
        if self.symbols == "xpos":
            return blank, names
        pairs = [name.partition("+") for name in names]
        return [upos for upos, _, _ in pairs], [xpos or upos for upos, _, xpos in pairs]

    def to_header(self) -> dict[str, Any]:
        return {
            "symbols": self.symbols,
            "alphabet": self.alphabet,
            "likeness": [list(pair) for pair in self.likeness.items()],
            "common": self.common,
            "coarse": sorted(self.coarse, key=self.coarse.__getitem__),
            "words": sorted(self.words, key=self.words.__getitem__),
        }

    @classmethod
    def from_header(cls, header: dict[str, Any]) -> Vocabulary:
        check_header(header, _HEADER)
        known = set(header["alphabet"])
        if not {header["common"], *(name for _, name in header["likeness"])} <= known:
            raise ValueError("symbols that stand for unknown ones are not in the alphabet")
        for name, most in (("coarse", N_COARSE), ("words", np.iinfo(np.int32).max)):
            if (n := len(header[name])) > most:
                raise ValueError(f"{name}: {n} entries, which must be {most} at most")
        return cls(
            header["symbols"],
            header["alphabet"],
            dict(header["likeness"]),
            header["common"],
            {tag: number for number, tag in enumerate(header["coarse"])},
            {word: number for number, word in enumerate(header["words"])},
        )


def ending(form: str) -> int:
    """A number for the last letters of a word, the same in all processes."""
    return crc32(form.lower()[-3:].encode()) & 0x7FFFFFFF


def word_positions(offsets: Int64s) -> Int64s:
    """Where the words stand when every sentence has its root before it."""
    return np.arange(offsets[-1]) + np.repeat(np.arange(1, len(offsets)), np.diff(offsets))
