"""Prepositional phrases to attach: verb, noun, preposition, second noun, and where the phrase belongs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

VERB, NOUN = "V", "N"


@dataclass(frozen=True, eq=False)
class Quadruples:
    """Columns of equal length; `to_noun` says whether the phrase attaches to the noun."""

    verb: tuple[str, ...]
    noun: tuple[str, ...]
    preposition: tuple[str, ...]
    second: tuple[str, ...]
    to_noun: NDArray[np.bool_]

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
        return list(zip(self.verb, self.noun, self.preposition, self.second, strict=True))

    @property
    def labels(self) -> list[str]:
        return [NOUN if noun else VERB for noun in self.to_noun.tolist()]

    def select(self, places: Iterable[int]) -> Quadruples:
        at = np.asarray(list(places), dtype=np.int64)
        columns = (self.verb, self.noun, self.preposition, self.second)
        verb, noun, preposition, second = (tuple(column[i] for i in at.tolist()) for column in columns)
        return Quadruples(verb, noun, preposition, second, self.to_noun[at])

    def joined(self, others: Quadruples) -> Quadruples:
        """These and then the others."""
        return Quadruples.of(self.rows + others.rows, self.labels + others.labels)
