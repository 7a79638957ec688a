"""Prepositional phrases to attach: verb, noun, preposition, second noun, and where the phrase belongs.

    sentence-id verb noun preposition noun V|N         separated by blanks, one per line

is the format of Ratnaparkhi, Reynar and Roukos (1994). The id in front and the answer at the end may be left
out: `verb noun preposition noun` is enough to predict for.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from sigmastar.core.arrays import Flags
from sigmastar.core.errors import InputError
from sigmastar.core.skipping import by_line
from sigmastar.core.text_files import TextPath, display_name, open_text, skips

VERB, NOUN = "V", "N"


@dataclass(frozen=True, eq=False)
class Quadruples:
    """Columns of equal length.

    Parameters
    ----------
    verb, noun, preposition, second : tuple of str
        The words of each item.
    to_noun : array of bool
        Whether the phrase attaches to the noun.
    """

    verb: tuple[str, ...]
    noun: tuple[str, ...]
    preposition: tuple[str, ...]
    second: tuple[str, ...]
    to_noun: Flags

    @classmethod
    def of(cls, quadruples: Iterable[Sequence[str]], labels: Iterable[str] | None = None) -> Quadruples:
        """From (verb, noun, preposition, noun) rows, with labels V or N; without them all count as V."""
        rows = [tuple(row) for row in quadruples]
        for at, row in enumerate(rows):
            if len(row) != 4:
                raise ValueError(f"item {at} has {len(row)} words, not verb, noun, preposition, noun")
        columns = list(zip(*rows, strict=True)) if rows else [(), (), (), ()]
        marks = [VERB] * len(rows) if labels is None else [str(label) for label in labels]
        if len(marks) != len(rows):
            raise ValueError(f"{len(marks)} labels for {len(rows)} items")
        if wrong := sorted(set(marks) - {VERB, NOUN}):
            raise ValueError(f"label {wrong[0]!r} must be {VERB} or {NOUN}")
        to_noun = np.array([mark == NOUN for mark in marks], dtype=bool)
        return cls(columns[0], columns[1], columns[2], columns[3], to_noun)

    def __len__(self) -> int:
        return len(self.verb)

    @property
    def rows(self) -> list[tuple[str, str, str, str]]:
        """The words, item by item."""
        return list(zip(self.verb, self.noun, self.preposition, self.second, strict=True))

    @property
    def labels(self) -> list[str]:
        """V or N of each item."""
        return [NOUN if noun else VERB for noun in self.to_noun.tolist()]

    def select(self, places: Iterable[int]) -> Quadruples:
        """Some items, by their numbers."""
        at = np.asarray(list(places), dtype=np.int64)
        columns = (self.verb, self.noun, self.preposition, self.second)
        verb, noun, preposition, second = (tuple(column[i] for i in at.tolist()) for column in columns)
        return Quadruples(verb, noun, preposition, second, self.to_noun[at])

    def joined(self, others: Quadruples) -> Quadruples:
        """These and then the others."""
        return Quadruples.of(self.rows + others.rows, self.labels + others.labels)


@skips(by_line)
def read_quadruples(path: TextPath, need_labels: bool = True) -> Quadruples:
    """Read quadruples.

    Parameters
    ----------
    path
        The file.
    need_labels
        Refuse items without an answer; else they are taken as V.

    Returns
    -------
    Quadruples
        The items in the order of the file.
    """
    rows, labels = [], []
    for number, line in enumerate(open_text(path), 1):
        cells = line.split()
        if not cells:
            continue
        words, label = _parsed(cells)
        if words is None or (need_labels and label is None):
            raise InputError(
                f"expected 'id verb noun preposition noun V|N', found {len(cells)} words {line[:60]!r}",
                file=display_name(path),
                line=number,
            )
        rows.append(words)
        labels.append(label or VERB)
    if not rows:
        raise InputError("the file holds no quadruples", file=display_name(path))
    return Quadruples.of(rows, labels)


def _parsed(cells: list[str]) -> tuple[list[str] | None, str | None]:
    label = cells[-1] if len(cells) > 4 and cells[-1] in (VERB, NOUN) else None
    words = cells[:-1] if label else cells
    words = words[1:] if len(words) == 5 else words
    return (words, label) if len(words) == 4 else (None, None)
