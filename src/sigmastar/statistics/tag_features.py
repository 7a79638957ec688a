"""Features of tokens in their sentence, as codes: what the word looks like, and which words stand near it.

A template gives a whole number to each token; a number that was met often enough is a feature. Templates see
words by their codes (-1 for unknown ones), by their classes and by what is observed beside them, up to two
places to each side.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Longs = NDArray[np.int64]
Codes = NDArray[np.int32]

LEAST = 2


@dataclass(frozen=True, eq=False)
class TokenViews:
    """What templates look at: the code, the class and the likeliest tag of each word, and sentence ends;
    codes of each column that is observed."""

    words: Longs
    classes: Longs
    guesses: Longs
    offsets: Longs
    observed: tuple[Longs, ...] = ()

    def templates(self) -> list[Longs]:
        """A column a template; numbers are not negative."""
        word, kind, guess = (
            {k: _shifted(column, self.offsets, k) for k in (-2, -1, 0, 1, 2)}
            for column in (self.words, self.classes, self.guesses)
        )
        m, q = int(self.words.max(initial=0)) + 4, 1 << 12
        return [
            word[0], word[-1], word[1], word[-2], word[2],
            word[-1] * m + word[0], word[0] * m + word[1],
            kind[-1], kind[1], kind[-1] * q + kind[0], kind[0] * q + kind[1],
            guess[-1], guess[1], guess[2], guess[-2],
            guess[-1] * q + guess[1], guess[1] * q + guess[2], guess[-2] * q + guess[-1],
            (guess[-1] * q + guess[0]) * q + guess[1], word[0] * q + guess[1], word[0] * q + guess[-1],
            *(column for observed in self.observed for column in self._observed_templates(observed, word)),
        ]  # fmt: skip

    def _observed_templates(self, observed: Longs, word: dict[int, Longs]) -> list[Longs]:
        """What is observed, alone, in pairs and triples of neighbours, and with words."""
        seen = {k: _shifted(observed, self.offsets, k) for k in (-2, -1, 0, 1, 2)}
        q = 1 << 12
        pairs = {k: seen[k] * q + seen[k + 1] for k in (-2, -1, 0, 1)}
        return [
            *seen.values(), *pairs.values(), seen[-1] * q + seen[1],
            *(pairs[k] * q + seen[k + 2] for k in (-2, -1, 0)),
            *(word[0] * q + seen[k] for k in (-1, 0, 1)), word[-1] * q + seen[0], word[1] * q + seen[0],
            word[0] * q * q + pairs[-1], word[0] * q * q + pairs[0],
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
        for keys, column in zip(self.keys, columns, strict=True):
            at = np.minimum(np.searchsorted(keys, column), max(len(keys) - 1, 0))
            known = keys[at] == column if len(keys) else np.zeros(len(column), dtype=bool)
            found.append(np.where(known, at + first, -1))
            first += len(keys)
        return np.column_stack(found).astype(np.int32)


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
