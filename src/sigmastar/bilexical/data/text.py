"""Running text in blocks: a corpus of any size passes through.

Text is a list of files with one tokenized sentence per line, of sentences as strings with blanks between the
words, or of sentences as lists of words. It passes twice: once for the frequencies, once for the counts.
"""

from __future__ import annotations

import os
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from operator import add

import numpy as np

from sigmastar.core.arrays import Int32s, Int64s
from sigmastar.core.engines import is_spread, spread
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
        block = " ".join(lines)
        found.update((block.lower() if lower_case else block).split())
    return found


def pieces_of(text: Text) -> list[Text]:
    """Pieces of work: each file, and some thousands of sentences together."""
    files = [item for item in text if isinstance(item, os.PathLike)]
    others = [item for item in text if not isinstance(item, os.PathLike)]
    parts = [others[at : at + _SENTENCES] for at in range(0, len(others), _SENTENCES)]
    return [*([file] for file in files), *parts] or [text]


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
