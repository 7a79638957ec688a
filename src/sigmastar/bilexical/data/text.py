"""Running text in blocks: a corpus of any size passes through.

Text is a list of files with one tokenized sentence per line, of sentences as strings with blanks between the
words, or of sentences as lists of words. It passes twice: once for the frequencies, once for the counts.
"""

from __future__ import annotations

import os
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from sigmastar.core.arrays import Int32s, Int64s
from sigmastar.core.errors import InputError
from sigmastar.core.text_files import display_name, text_blocks

Text = Sequence[str | os.PathLike[str] | Sequence[str]]
"""Files (`Path`), sentences (strings), or lists of words; all of one kind, or mixed."""
CodedBlock = tuple[Int32s, Int64s]
"""Codes of words, and where sentences begin and end."""
_SENTENCES = 10_000  # per block


class _Outside(dict[str, int]):
    """Codes of words; of all others -1."""

    def __missing__(self, word: str) -> int:
        return -1


def word_frequencies(text: Text, lower_case: bool = True) -> Counter[str]:
    """How often each word occurs."""
    found: Counter[str] = Counter()
    for lines in _blocks(text):
        block = " ".join(lines)
        found.update((block.lower() if lower_case else block).split())
    if not found:
        names = ", ".join(display_name(item) for item in text if isinstance(item, os.PathLike)) or None
        raise InputError("there are no words; give text with one tokenized sentence per line", file=names)
    return found


def coded_blocks(text: Text, codes: Mapping[str, int], lower_case: bool = True) -> Iterator[CodedBlock]:
    """The sentences in codes, block by block; words without a code get -1."""
    look_up = _Outside(codes).__getitem__
    for lines in _blocks(text):
        yield _coded([line.lower() for line in lines] if lower_case else lines, look_up)


def _blocks(text: Text) -> Iterator[list[str]]:
    """Lines of text: those of files as they are read, sentences some thousands together."""
    held: list[str] = []
    for item in text:
        if isinstance(item, os.PathLike):
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
