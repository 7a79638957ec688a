"""Running text in blocks: a corpus of any size passes through.

Text is a list of files with one tokenized sentence per line, of corpora on disk, of sentences as strings with
blanks between the words, or of sentences as lists of words. It passes twice: once for the frequencies, once
for the counts. Of corpora on disk words are never spelled out: their codes are counted.
"""

from __future__ import annotations

import os
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from operator import add
from typing import NamedTuple

import numpy as np

from sigmastar.core.arrays import Int32s, Int64s
from sigmastar.core.engines import is_spread, spread
from sigmastar.core.errors import InputError
from sigmastar.core.text_files import display_name, text_blocks
from sigmastar.corpus.manifest import is_corpus
from sigmastar.corpus.reading import Shard, StringCorpus, opened

Text = Sequence["str | os.PathLike[str] | Sequence[str] | _Part"]
"""Files or corpora (`Path`), sentences (strings), or lists of words; all of one kind, or mixed."""
CodedBlock = tuple[Int32s, Int64s]
"""Codes of words, and where sentences begin and end."""
_SENTENCES = 10_000  # per block
_GAPS = 1 << 22  # of a part of a corpus


class _Part(NamedTuple):
    """Some strings of a corpus on disk."""

    folder: str
    digest: str
    place: tuple[int, int, int]

    @classmethod
    def all_of(cls, folder: str | os.PathLike[str]) -> list[_Part]:
        corpus = StringCorpus.open(folder)
        digest = corpus.manifest.digest
        return [cls(os.fspath(folder), digest, place) for place in corpus.parts(_GAPS)]

    @property
    def strings(self) -> Shard:
        return opened(self.folder, self.digest).part(*self.place)

    def words(self, lower_case: bool) -> list[str]:
        """The vocabulary as it is counted; words that differ by their case may be the same then."""
        spelled = map(str, opened(self.folder, self.digest).alphabet)
        return [word.lower() if lower_case else word for word in spelled]


class _Outside(dict[str, int]):
    """Codes of words; of all others -1."""

    def __missing__(self, word: str) -> int:
        return -1


def word_frequencies(text: Text, lower_case: bool = True) -> Counter[str]:
    """How often each word occurs."""
    found: Counter[str] = spread(
        partial(_frequencies, lower_case), pieces_of(text) if is_spread() else [text], add
    )
    if not found:
        names = ", ".join(display_name(item) for item in text if isinstance(item, os.PathLike)) or None
        raise InputError("there are no words; give text with one tokenized sentence per line", file=names)
    return found


def _frequencies(lower_case: bool, text: Text) -> Counter[str]:
    found: Counter[str] = Counter()
    for lines in _blocks(text):
        if isinstance(lines, _Part):
            words = lines.words(lower_case)
            counts = np.bincount(lines.strings.codes, minlength=len(words))
            for at in np.flatnonzero(counts).tolist():
                found[words[at]] += int(counts[at])
            continue
        block = " ".join(lines)
        found.update((block.lower() if lower_case else block).split())
    return found


def pieces_of(text: Text) -> list[Text]:
    """Pieces of work: each file or part of a corpus, and some thousands of sentences together."""
    files = [part for item in text if isinstance(item, os.PathLike) for part in _parts_of(item)]
    others = [item for item in text if not isinstance(item, os.PathLike)]
    parts = [others[at : at + _SENTENCES] for at in range(0, len(others), _SENTENCES)]
    return [*([file] for file in files), *parts] or [text]


def _parts_of(item: os.PathLike[str]) -> Sequence[os.PathLike[str] | _Part]:
    return _Part.all_of(item) if is_corpus(item) else [item]


def coded_blocks(text: Text, codes: Mapping[str, int], lower_case: bool = True) -> Iterator[CodedBlock]:
    """The sentences in codes, block by block; words without a code get -1."""
    look_up = _Outside(codes).__getitem__
    for lines in _blocks(text):
        if isinstance(lines, _Part):
            table = np.array(list(map(look_up, lines.words(lower_case))), np.int32)
            yield table[lines.strings.codes], lines.strings.offsets
            continue
        yield _coded([line.lower() for line in lines] if lower_case else lines, look_up)


def _blocks(text: Text) -> Iterator[list[str] | _Part]:
    """Lines of text: those of files as they are read, sentences some thousands together; parts of corpora."""
    held: list[str] = []
    for item in text:
        if isinstance(item, _Part):
            yield item
            continue
        if isinstance(item, os.PathLike):
            if is_corpus(item):
                yield from _Part.all_of(item)
                continue
            if os.fspath(item) == "-":
                raise InputError(
                    "text is read twice, which a pipe cannot; write it to a file first", file="-"
                )
            yield from (lines for _, lines in text_blocks(item))
            continue
        held.append(item if isinstance(item, str) else " ".join(item))
        if len(held) == _SENTENCES:
            yield held
            held = []
    if held:
        yield held


def _coded(lines: list[str], look_up: Callable[[str], int]) -> CodedBlock:
    flat, ends = array("i"), array("q", [0])
    for line in lines:
        flat.extend(map(look_up, line.split()))
        ends.append(len(flat))
    codes = np.frombuffer(flat, dtype=np.int32) if flat else np.zeros(0, dtype=np.int32)
    return codes, np.frombuffer(ends, dtype=np.int64)
