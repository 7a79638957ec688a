"""What can be said of a word from its looks, in any script: affixes, shape, parts.

Characters are told apart by their Unicode category alone: capitals, small letters, letters without case,
digits; others stand for themselves. Runs are written once, so `McDonald-1984` has the shape `XxXx-9`.

A symbol is a word, or a word with what is observed beside it (its part of speech), behind separators.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from functools import lru_cache

from sigmastar.core.word_shapes import signatures

_MARKS = {"Lu": "X", "Lt": "X", "Ll": "x", "Lm": "o", "Lo": "o"}
_MARKS |= {"Nd": "9", "Nl": "9", "No": "9", "Mn": "", "Mc": ""}
SEPARATOR = "\x1f"
LONGEST_SUFFIX, LONGEST_PREFIX = 5, 4


@lru_cache(maxsize=4096)
def _mark(character: str) -> str:
    return _MARKS.get(unicodedata.category(character), character)


def shape(word: str) -> str:
    """The classes of its characters, runs written once.

    >>> shape("U.S."), shape("1,000"), shape("Dogs")
    ('X.X.', '9,9', 'Xx')
    """
    marks, last = [], ""
    for mark in map(_mark, word):
        if mark and mark != last:
            marks.append(mark)
            last = mark
    return "".join(marks)


def word_of(symbol: str) -> str:
    """The word of a symbol."""
    return symbol.partition(SEPARATOR)[0]


@lru_cache(maxsize=8192)
def word_features(symbol: str) -> tuple[str, ...]:
    """Names of what a word has: its affixes, its shape, its parts, what is observed."""
    word, _, observed = symbol.partition(SEPARATOR)
    return (*_looks(word), *_beside(word, observed))


def _beside(word: str, observed: str) -> Iterator[str]:
    if observed:
        small = word.lower()
        yield f"observed={observed}"
        yield f"observed={observed} {small}"
        yield f"observed={observed} -{small[-3:]}"
        for number, value in enumerate(observed.split(SEPARATOR), 1):
            yield f"{number}={value}"


def _looks(word: str) -> Iterator[str]:
    small, look = word.lower(), shape(word)
    yield f"shape={look}"
    yield f"first={look[:2]}"
    yield f"small={small}"
    yield f"long={min(len(word), 8)}"
    for length in range(1, min(LONGEST_SUFFIX, len(word)) + 1):
        yield f"-{small[-length:]}"
        if length == 3:
            yield f"{look[:2]}-{small[-length:]}"
    for length in range(1, min(LONGEST_PREFIX, len(word)) + 1):
        yield f"{small[:length]}-"
    for mark in sorted(set(look)):
        yield f"has={mark}"
    if "-" in small:
        yield f"after={small.rpartition('-')[2]}"


@lru_cache(maxsize=8192)
def word_classes(symbol: str) -> tuple[str, ...]:
    """Classes of words like this one, narrow ones first; the last one, without a name, holds all words."""
    word, _, observed = symbol.partition(SEPARATOR)
    if not observed:
        return (*signatures(word), "")
    return (*(f"{observed} {name}" for name in signatures(word)), observed, "")
