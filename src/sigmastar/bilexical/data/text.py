"""Running text, one tokenised sentence a line, in blocks: a corpus of any size passes through."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from sigmastar.core.errors import InputError
from sigmastar.core.text_files import TextPath, display_name, text_blocks

Block = tuple[NDArray[np.int32], NDArray[np.int64]]
"""Codes of words, and where sentences begin and end."""


class _Outside(dict[str, int]):
    """Codes of words; of all others -1."""

    def __missing__(self, word: str) -> int:
        return -1


def word_frequencies(paths: Sequence[TextPath], lower_case: bool = True) -> Counter[str]:
    """How often each word occurs."""
    found: Counter[str] = Counter()
    for path in paths:
        if str(path) == "-":
            raise InputError("text is read twice, which a pipe cannot; write it to a file first", file="-")
        for _, lines in text_blocks(path):
            text = " ".join(lines)
            found.update((text.lower() if lower_case else text).split())
    if not found:
        names = ", ".join(display_name(path) for path in paths)
        raise InputError("there are no words; give text with one tokenised sentence a line", file=names)
    return found


def coded_blocks(
    paths: Sequence[TextPath], codes: Mapping[str, int], lower_case: bool = True
) -> Iterator[Block]:
    """The sentences in codes, block by block; words without a code get -1."""
    look_up = _Outside(codes).__getitem__
    for path in paths:
        for _, lines in text_blocks(path):
            yield _coded([line.lower() for line in lines] if lower_case else lines, look_up)


def _coded(lines: list[str], look_up: Callable[[str], int]) -> Block:
    flat, ends = array("i"), array("q", [0])
    for line in lines:
        flat.extend(map(look_up, line.split()))
        ends.append(len(flat))
    codes = np.frombuffer(flat, dtype=np.int32) if flat else np.zeros(0, dtype=np.int32)
    return codes, np.frombuffer(ends, dtype=np.int64)
