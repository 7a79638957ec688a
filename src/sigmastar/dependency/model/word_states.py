"""Hidden states of words: where a word belongs by its tag, its ending and itself.

    point(word) = sum of the points of its features, on the unit sphere;     state = the nearest centre

Features are the tag, the last two and three letters and whether the first is a capital, with the coarse tag;
of known words also the word with and without it. So words that were never seen have a state too.
`learn.word_states` finds points and centres.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from sigmastar.core.arrays import Floats, Int64s
from sigmastar.core.views import directions
from sigmastar.dependency.data.treebank import DependencyTreebank

Item = tuple[str, str, str]
"""Form, coarse tag and tag of a word."""


@dataclass(frozen=True, eq=False)
class WordStates:
    """States of words."""

    features: tuple[str, ...]
    points: Floats  # features x dimensions
    centres: Floats  # states x dimensions

    def __post_init__(self) -> None:
        if self.points.shape != (len(self.features), self.centres.shape[1]) or not len(self.centres):
            raise ValueError(
                f"word states: points of shape {self.points.shape} and centres of shape {self.centres.shape} "
                f"do not fit {len(self.features)} features"
            )

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {feature: number for number, feature in enumerate(self.features)}

    def of(self, treebank: DependencyTreebank) -> Int64s:
        """The state of every word."""
        items = list(zip(treebank.form, treebank.upos, treebank.xpos, strict=True))
        kinds = {item: number for number, item in enumerate(dict.fromkeys(items))}
        points = directions(indicators(kinds, self._numbers) @ self.points)
        states: Int64s = np.argmin((self.centres**2).sum(axis=1) - 2.0 * points @ self.centres.T, axis=1)
        found: Int64s = states[np.fromiter((kinds[item] for item in items), np.int64, len(items))]
        return found


def word_features(form: str, upos: str, xpos: str) -> tuple[str, ...]:
    """The features of a word, known or not."""
    word = form.lower()
    return (
        f"t{upos} {xpos}",
        f"e{word[-3:]} {upos}",
        f"f{word[-2:]} {upos}",
        f"w{word} {upos}",
        f"v{word}",
        f"c{form[:1].isupper():d} {upos}",
    )


def indicators(items: Iterable[Item], numbers: dict[str, int]) -> sparse.csr_array:
    """Items x features: which known features each item has."""
    columns = [[numbers[name] for name in word_features(*item) if name in numbers] for item in items]
    ends = np.cumsum([0, *map(len, columns)])
    flat = np.array([column for row in columns for column in row], dtype=np.int64)
    return sparse.csr_array((np.ones(len(flat)), flat, ends), shape=(len(columns), len(numbers)))
