"""Classes of words, several sizes of them: what raw text tells of words that a treebank is too small for.

Digits are one, and capitals small: what a word looks like, others tell. `core.word_clusters` finds classes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import repeat
from typing import Any, ClassVar

import numpy as np

from sigmastar.core.arrays import Array, Int32s, Int64s
from sigmastar.core.stored_parts import Parts, distinct_texts, integers

_DIGIT = re.compile(r"\d")
N_SIZES = 3
MOST_CLASSES = 1 << 20


def plain(word: str) -> str:
    """A word as classes know it.

    >>> plain("In"), plain("1984")
    ('in', '0000')
    """
    return _DIGIT.sub("0", word.lower())


@dataclass(frozen=True, eq=False)
class WordClasses:
    """Of each word its class at every size, fewest classes first."""

    words: tuple[str, ...]
    numbers: Int32s  # words x sizes

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """How many classes there are."""
        return tuple((self.numbers.max(axis=0, initial=-1) + 1).tolist())

    @cached_property
    def _places(self) -> dict[str, int]:
        return {word: place for place, word in enumerate(self.words)}

    def of(self, words: Sequence[str]) -> Int64s:
        """The classes of words, -1 where they are unknown; words x sizes."""
        places = np.fromiter(map(self._places.get, map(plain, words), repeat(-1)), np.int64, len(words))
        known = places[:, None] >= 0
        return np.where(known, self.numbers[np.maximum(places, 0)], -1).astype(np.int64)

    PARTS: ClassVar[Parts] = Parts(
        header={"words": distinct_texts},
        sizes={"words": "words"},
        arrays={"numbers": integers("words", N_SIZES, least=0, most=MOST_CLASSES - 1, type="int32")},
    )

    def to_parts(self) -> tuple[dict[str, Array], dict[str, Any]]:
        return {"numbers": self.numbers}, {"words": list(self.words)}

    @classmethod
    def from_parts(cls, arrays: dict[str, Array], header: dict[str, Any]) -> WordClasses:
        cls.PARTS.check(arrays, header)
        if not header["words"]:
            raise ValueError("classes of words need words")
        return cls(tuple(header["words"]), arrays["numbers"].astype(np.int32))
