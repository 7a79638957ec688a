"""Features of tokens in their sentence, as codes: what the word looks like, and which words stand near it.

A template gives a whole number to each token; a number that was met often enough is a feature. Templates see
words by their codes (-1 for unknown ones), by their classes and by what is observed beside them, up to two
places to each side.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

Longs = NDArray[np.int64]
Codes = NDArray[np.int32]

LEAST = 2
LARGEST_TABLE = 1 << 21


@dataclass(frozen=True, eq=False)
class View:
    """Codes of tokens below `size`, -1 where they are unknown; and these up to two places away."""

    size: int
    near: dict[int, Longs]

    @classmethod
    def of(cls, codes: Longs, size: int, offsets: Longs) -> View:
        return cls(size, {k: _shifted(codes, offsets, k) for k in (-2, -1, 0, 1, 2)})

    def __getitem__(self, place: int) -> Longs:
        return self.near[place]

    def pair(self, place: int, other: View, there: int) -> Longs:
        """One number for what stands at both places; it hangs on sizes, not on the sentences at hand."""
        return self[place] * (other.size + 3) + other[there]

    def triple(self, place: int) -> Longs:
        """One number for three neighbours, from `place` on."""
        return (self[place] * (self.size + 3) + self[place + 1]) * (self.size + 3) + self[place + 2]


@dataclass(frozen=True, eq=False)
class TokenViews:
    """What templates look at: the code, class and likeliest tag of each word, and what is observed."""

    words: View
    classes: View
    guesses: View
    observed: tuple[View, ...] = ()

    def templates(self) -> list[Longs]:
        """A column a template; numbers are not negative."""
        word, kind, guess = self.words, self.classes, self.guesses
        return [
            word[0], word[-1], word[1], word[-2], word[2], word.pair(-1, word, 0), word.pair(0, word, 1),
            kind[-1], kind[1], kind.pair(-1, kind, 0), kind.pair(0, kind, 1),
            guess[-1], guess[1], guess[2], guess[-2],
            guess.pair(-1, guess, 1), guess.pair(1, guess, 2), guess.pair(-2, guess, -1),
            guess.triple(-1), word.pair(0, guess, 1), word.pair(0, guess, -1),
            *(column for seen in self.observed for column in self._observed_templates(seen)),
        ]  # fmt: skip

    def _observed_templates(self, seen: View) -> list[Longs]:
        """What is observed, alone, in pairs and triples of neighbours, and with words."""
        word, q = self.words, seen.size + 3
        return [
            *seen.near.values(), *(seen.pair(k, seen, k + 1) for k in (-2, -1, 0, 1)), seen.pair(-1, seen, 1),
            *(seen.triple(k) for k in (-2, -1, 0)),
            *(word.pair(0, seen, k) for k in (-1, 0, 1)), word.pair(-1, seen, 0), word.pair(1, seen, 0),
            word.pair(0, seen, -1) * q + seen[0], word.pair(0, seen, 0) * q + seen[1],
        ]  # fmt: skip


@dataclass(frozen=True, eq=False)
class TemplateFeatures:
    """Sorted numbers of each template that are features; codes run on from template to template."""

    keys: tuple[Longs, ...]

    @classmethod
    def of(cls, columns: Sequence[Longs], least: int = LEAST) -> TemplateFeatures:
        kept = []
        for column in columns:
            keys, counts = np.unique(column, return_counts=True)
            kept.append(keys[counts >= least])
        return cls(tuple(kept))

    @property
    def n_features(self) -> int:
        return sum(len(keys) for keys in self.keys)

    def codes(self, columns: Sequence[Longs]) -> Codes:
        """The feature of each token in each template, -1 where its number is none; tokens x templates."""
        found, first = [], 0
        for keys, table, column in zip(self.keys, self.tables, columns, strict=True):
            found.append(
                _looked_up(table, column, first) if table is not None else _sought(keys, column, first)
            )
            first += len(keys)
        return np.column_stack(found).astype(np.int32)

    @cached_property
    def tables(self) -> list[Codes | None]:
        """Of templates with small numbers, the place of every number, -1 where it is no feature."""
        tables: list[Codes | None] = []
        for keys in self.keys:
            small = len(keys) and keys[-1] < LARGEST_TABLE
            table = np.full(int(keys[-1]) + 2, -1, dtype=np.int32) if small else None
            if table is not None:
                table[keys] = np.arange(len(keys))
            tables.append(table)
        return tables


def _looked_up(table: Codes, column: Longs, first: int) -> Codes:
    at = table[np.minimum(column, len(table) - 1)]
    return np.where(at >= 0, at + np.int32(first), np.int32(-1))


def _sought(keys: Longs, column: Longs, first: int) -> Longs:
    at = np.minimum(np.searchsorted(keys, column), max(len(keys) - 1, 0))
    known = keys[at] == column if len(keys) else np.zeros(len(column), dtype=bool)
    return np.where(known, at + first, -1)


def frequent_names(rows: Sequence[Sequence[str]], least: int = LEAST) -> tuple[str, ...]:
    """Names that stand in at least so many rows."""
    met = Counter(name for row in rows for name in row)
    return tuple(sorted(name for name, count in met.items() if count >= least))


def joined(codes: Codes, rows: Codes, row_starts: Longs, looks: Codes) -> tuple[Longs, Codes]:
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


def _shifted(column: Longs, offsets: Longs, by: int) -> Longs:
    """The number `by` places on in the same sentence, + 2; 0 beyond the edge, 1 for unknown words."""
    at = np.arange(len(column)) + by
    lengths = np.diff(offsets)
    low, high = np.repeat(offsets[:-1], lengths), np.repeat(offsets[1:], lengths)
    inside: Any = (at >= low) & (at < high)
    return np.where(inside, column[np.clip(at, 0, max(len(column) - 1, 0))] + 2, 0)
