"""Subsets of the four words of an attachment: as features, and as counts that back off.

    features    every subset of {verb, noun, preposition, second noun}, none left out (Ratnaparkhi et
                al. 1994: words, pairs, triples, the quadruple)
    backed off  the share of noun attachments among training items that agree in all four words; where
                there are none, in triples with the preposition; then pairs with it; then the
                preposition alone (Collins and Brooks 1995)

Numbers are one word: years and others.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy import sparse

from sigmastar.bilexical.data.quadruples import Quadruples
from sigmastar.core.arrays import Floats

Subset = tuple[int, ...]
Key = tuple[str, ...]

SUBSETS: tuple[Subset, ...] = tuple(subset for size in range(5) for subset in combinations(range(4), size))
LEVELS: tuple[tuple[Subset, ...], ...] = (
    ((0, 1, 2, 3),),
    ((0, 1, 2), (0, 2, 3), (1, 2, 3)),
    ((0, 2), (1, 2), (2, 3)),
    ((2,),),
    ((),),
)
"""The tuples of each level of backing off; all but the last hold the preposition."""

_YEAR, _NUMBER = re.compile(r"(1[89]|20)\d\d"), re.compile(r"[-+]?[\d.,/:]*\d[\d.,/:%]*")


def normalized_word(word: str) -> str:
    """Lower case; years and other numbers become one word each."""
    if _YEAR.fullmatch(word):
        return "<year>"
    return "<number>" if _NUMBER.fullmatch(word) else word.lower()


def keys(rows: Sequence[Key], subset: Subset) -> list[Key]:
    """The words of a subset of places, with the subset in front to tell like words apart."""
    mark = "".join(map(str, subset))
    return [(mark, *(row[place] for place in subset)) for row in rows]


def normalized_rows(quadruples: Quadruples) -> list[Key]:
    """The words of each item, normalized."""
    forms = {word: normalized_word(word) for row in quadruples.rows for word in row}
    return [tuple(forms[word] for word in row) for row in quadruples.rows]


@dataclass(frozen=True, eq=False)
class FeatureTable:
    """Numbers for the features that were met in training."""

    places: dict[Key, int]

    @classmethod
    def of(cls, quadruples: Quadruples) -> FeatureTable:
        rows = normalized_rows(quadruples)
        met = dict.fromkeys(key for subset in SUBSETS for key in keys(rows, subset))
        return cls({key: place for place, key in enumerate(met)})

    def matrix(self, quadruples: Quadruples) -> sparse.csr_array:
        """One row per item, with a one for each feature that it has."""
        words = normalized_rows(quadruples)
        rows, columns = [], []
        for subset in SUBSETS:
            found = [self.places.get(key, -1) for key in keys(words, subset)]
            rows += [at for at, place in enumerate(found) if place >= 0]
            columns += [place for place in found if place >= 0]
        shape = (len(quadruples), len(self.places))
        return sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=shape)


@dataclass(frozen=True, eq=False)
class BackedOffCounts:
    """How often tuples of words attached to the noun, and how often they were met."""

    to_noun: dict[Key, int]
    total: dict[Key, int]

    @classmethod
    def of(cls, quadruples: Quadruples) -> BackedOffCounts:
        to_noun: dict[Key, int] = {}
        total: dict[Key, int] = {}
        rows, answers = normalized_rows(quadruples), quadruples.to_noun.tolist()
        for subset in (subset for level in LEVELS for subset in level):
            for key, noun in zip(keys(rows, subset), answers, strict=True):
                to_noun[key] = to_noun.get(key, 0) + noun
                total[key] = total.get(key, 0) + 1
        return cls(to_noun, total)

    def probabilities(self, quadruples: Quadruples) -> Floats:
        """The plain share of the level that decides, as Collins and Brooks have it; else one half."""
        nouns, totals = self._deciding(quadruples)
        return np.where(totals > 0, nouns / np.maximum(totals, 1), 0.5)

    def log_odds(self, quadruples: Quadruples) -> Floats:
        """As above with half an item added on either side, so that one item is not certainty."""
        nouns, totals = self._deciding(quadruples)
        return np.log((nouns + 0.5) / (totals - nouns + 0.5))

    def _deciding(self, quadruples: Quadruples) -> tuple[Floats, Floats]:
        """Noun attachments and items of the first level that was met, zero where none was."""
        rows = normalized_rows(quadruples)
        nouns, totals = np.zeros(len(rows)), np.zeros(len(rows))
        for level in LEVELS:
            of_noun, of_all = self._sums(rows, level)
            found = (totals == 0) & (of_all > 0)
            nouns[found], totals[found] = of_noun[found], of_all[found]
        return nouns, totals

    def _sums(self, rows: Sequence[Key], level: Sequence[Subset]) -> tuple[Floats, Floats]:
        nouns, totals = np.zeros(len(rows)), np.zeros(len(rows))
        for subset in level:
            found = keys(rows, subset)
            nouns += [self.to_noun.get(key, 0) for key in found]
            totals += [self.total.get(key, 0) for key in found]
        return nouns, totals
