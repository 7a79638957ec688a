"""Features of words, from their looks in any script, and of tokens, from what stands near them.

Looks are affixes, shape and parts. Characters are distinguished by their Unicode category alone: capitals,
small letters, letters without case, digits; others stand for themselves. Runs are written once, so
`McDonald-1984` has the shape `XxXx-9`. A symbol is a word, or a word with what is observed beside it (its
part of speech), behind separators.

A template gives a whole number to each token; a number that occurs often enough is a feature. Templates read
words by their codes (-1 for unknown ones), by their classes and by what is observed beside them, up to two
places to each side.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from sigmastar.core.arrays import Int32s, Int64s
from sigmastar.core.word_signatures import signatures

_MARKS = {"Lu": "X", "Lt": "X", "Ll": "x", "Lm": "o", "Lo": "o"}
_MARKS |= {"Nd": "9", "Nl": "9", "No": "9", "Mn": "", "Mc": ""}
SEPARATOR = "\x1f"
OWN = "own:"  # before names of features that users give
LONGEST_SUFFIX, LONGEST_PREFIX = 5, 4


@lru_cache(maxsize=4096)
def _mark(character: str) -> str:
    return _MARKS.get(unicodedata.category(character), character)


def word_shape(word: str) -> str:
    """The classes of its characters, runs written once.

    Parameters
    ----------
    word : str
        In any script.

    Returns
    -------
    str
        X for capitals, x for small letters, o for letters without case, 9 for digits, others as they are.

    Examples
    --------
    >>> word_shape("U.S."), word_shape("1,000"), word_shape("Dogs")
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
    small, look = word.lower(), word_shape(word)
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


LEAST = 2
LARGEST_TABLE = 1 << 21


@dataclass(frozen=True, eq=False)
class View:
    """Codes of tokens below `size`, -1 where they are unknown; and those up to two places away."""

    size: int
    near: dict[int, Int64s]

    @classmethod
    def of(cls, codes: Int64s, size: int, offsets: Int64s) -> View:
        return cls(size, {k: _shifted(codes, offsets, k) for k in (-2, -1, 0, 1, 2)})

    def __getitem__(self, place: int) -> Int64s:
        return self.near[place]


@dataclass(frozen=True, eq=False)
class TokenViews:
    """What templates read: the code, class and likeliest tag of each word, and what is observed."""

    words: View
    classes: View
    guesses: View
    observed: tuple[View, ...] = ()
    raw: tuple[View, ...] = ()  # classes by raw text, three sizes of them or none

    def templates(self) -> list[Int64s]:
        """One column per template; numbers are not negative, and depend on sizes, not on the sentences."""
        return [self._number(template) for template in templates_of(len(self.observed), bool(self.raw))]

    def _view(self, name: str) -> View:
        of_name = {"word": self.words, "class": self.classes, "guess": self.guesses}
        if name.startswith(RAW):
            return self.raw[int(name.removeprefix(RAW))]
        return of_name[name] if name in of_name else self.observed[int(name) - 1]

    def _number(self, template: Template) -> Int64s:
        """One number for what stands at all places of a template."""
        (first, place), *others = template
        number = self._view(first)[place]
        for name, there in others:
            view = self._view(name)
            number = number * (view.size + 3) + view[there]
        return number


Template = tuple[tuple[str, int], ...]
"""What a template reads: of words, classes (also by raw text), guesses or an observed column (from "1"), at
which places."""
RAW = "raw"
_FEW, _SOME, _MANY = (f"{RAW}{k}" for k in range(3))
_OF_RAW: tuple[Template, ...] = (
    ((_FEW, 0),), ((_SOME, 0),), ((_MANY, 0),), ((_SOME, -1),), ((_SOME, 1),),
    ((_FEW, -1), (_FEW, 0)), ((_FEW, 0), (_FEW, 1)),
)  # fmt: skip


def templates_of(n_observed: int, has_raw: bool = False) -> list[Template]:
    """The templates of taggers with so many observed columns, and with classes by raw text."""
    word, kind, guess = "word", "class", "guess"
    found: list[Template] = [
        *(((word, k),) for k in (0, -1, 1, -2, 2)), ((word, -1), (word, 0)), ((word, 0), (word, 1)),
        ((kind, -1),), ((kind, 1),), ((kind, -1), (kind, 0)), ((kind, 0), (kind, 1)),
        *(((guess, k),) for k in (-1, 1, 2, -2)),
        ((guess, -1), (guess, 1)), ((guess, 1), (guess, 2)), ((guess, -2), (guess, -1)),
        tuple((guess, k) for k in (-1, 0, 1)), ((word, 0), (guess, 1)), ((word, 0), (guess, -1)),
    ]  # fmt: skip
    for number in range(1, n_observed + 1):
        seen = str(number)  # alone, in pairs and triples of neighbours, and with words
        found += [
            *(((seen, k),) for k in (-2, -1, 0, 1, 2)), *(((seen, k), (seen, k + 1)) for k in (-2, -1, 0, 1)),
            ((seen, -1), (seen, 1)), *(tuple((seen, k + i) for i in range(3)) for k in (-2, -1, 0)),
            *(((word, 0), (seen, k)) for k in (-1, 0, 1)), ((word, -1), (seen, 0)), ((word, 1), (seen, 0)),
            ((word, 0), (seen, -1), (seen, 0)), ((word, 0), (seen, 0), (seen, 1)),
        ]  # fmt: skip
    return [*found, *_OF_RAW] if has_raw else found


def template_name(template: Template, number: int, names: Mapping[str, Sequence[str]]) -> str:
    """A feature in words: what stands at each place of its template.

    Parameters
    ----------
    template : tuple of pairs
        What is read, and where.
    number : int
        The number that the template gave.
    names : mapping
        The names of words, classes, guesses and observed columns, by what templates call these.

    Examples
    --------
    >>> template_name((("word", -1), ("word", 0)), 3 * (2 + 3) + 0, {"word": ["a", "dog"]})
    'word[-1]=dog word[0]=<edge>'
    """
    parts: list[str] = []
    for place, (view, at) in reversed(list(enumerate(template))):
        number, code = divmod(number, len(names[view]) + 3) if place else (0, number)
        value = ("<edge>", "<unknown>")[code] if code < 2 else names[view][code - 2]
        parts.append(f"{view}[{at}]={value}")
    return " ".join(reversed(parts))


@dataclass(frozen=True, eq=False)
class TemplateFeatures:
    """Sorted numbers of each template that are features; codes run on from template to template."""

    keys: tuple[Int64s, ...]

    @classmethod
    def of(cls, columns: Sequence[Int64s], least: int = LEAST) -> TemplateFeatures:
        kept = []
        for column in columns:
            keys, counts = np.unique(column, return_counts=True)
            kept.append(keys[counts >= least])
        return cls(tuple(kept))

    @property
    def n_features(self) -> int:
        return sum(len(keys) for keys in self.keys)

    def codes(self, columns: Sequence[Int64s]) -> Int32s:
        """The feature of each token in each template, -1 where its number is none; tokens x templates."""
        if len(columns) != len(self.keys):
            raise ValueError(f"features of {len(self.keys)} templates do not fit {len(columns)}")
        found, first = [], 0
        for keys, table, column in zip(self.keys, self.tables, columns, strict=True):
            found.append(
                _looked_up(table, column, first) if table is not None else _sought(keys, column, first)
            )
            first += len(keys)
        return np.column_stack(found).astype(np.int32)

    @cached_property
    def tables(self) -> list[Int32s | None]:
        """Of templates with small numbers, the place of every number, -1 where it is no feature."""
        tables: list[Int32s | None] = []
        for keys in self.keys:
            small = len(keys) and keys[-1] < LARGEST_TABLE
            table = np.full(int(keys[-1]) + 2, -1, dtype=np.int32) if small else None
            if table is not None:
                table[keys] = np.arange(len(keys))
            tables.append(table)
        return tables


def _looked_up(table: Int32s, column: Int64s, first: int) -> Int32s:
    at = table[np.minimum(column, len(table) - 1)]
    return np.where(at >= 0, at + np.int32(first), np.int32(-1))


def _sought(keys: Int64s, column: Int64s, first: int) -> Int64s:
    at = np.minimum(np.searchsorted(keys, column), max(len(keys) - 1, 0))
    known = keys[at] == column if len(keys) else np.zeros(len(column), dtype=bool)
    return np.where(known, at + first, -1)


def frequent_names(rows: Sequence[Sequence[str]], least: int = LEAST) -> tuple[str, ...]:
    """Names that stand in at least so many rows."""
    met = Counter(name for row in rows for name in row)
    return tuple(sorted(name for name, count in met.items() if count >= least))


def joined(codes: Int32s, rows: Int32s, row_starts: Int64s, looks: Int32s) -> tuple[Int64s, Int32s]:
    """Features of tokens by templates, then the looks of their rows, as starts and codes."""
    sizes = np.diff(row_starts)[rows].astype(np.int64)
    width = codes.shape[1]
    starts = np.append(0, np.cumsum(sizes + width))
    flat = np.empty(int(starts[-1]), dtype=np.int32)
    flat[(starts[:-1, None] + np.arange(width)).ravel()] = codes.ravel()
    inner = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    flat[np.repeat(starts[:-1] + width, sizes) + inner] = looks[
        np.repeat(row_starts[:-1][rows], sizes) + inner
    ]
    return starts, flat


def _shifted(column: Int64s, offsets: Int64s, by: int) -> Int64s:
    """The number `by` places on in the same sentence, + 2; 0 beyond the edge, 1 for unknown words."""
    at = np.arange(len(column)) + by
    lengths = np.diff(offsets)
    low, high = np.repeat(offsets[:-1], lengths), np.repeat(offsets[1:], lengths)
    inside: Any = (at >= low) & (at < high)
    return np.where(inside, column[np.clip(at, 0, max(len(column) - 1, 0))] + 2, 0)
