"""Relations of arcs, given the tree.

Hidden states of words tell where a word belongs by its tag, its ending and itself.

    point(word) = sum of the points of its features, on the unit sphere;     state = the nearest centre

Features are the tag, the last two and three letters and whether the first is a capital, with the coarse tag;
of known words also the word with and without it. So words that were never seen have a state too.
`learn.arcs` finds points and centres.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from sigmastar.core.alphabet import Alphabet
from sigmastar.core.arrays import Array, Floats, Int32s, Int64s
from sigmastar.core.views import directions
from sigmastar.dependency.data.treebank import DependencyTreebank
from sigmastar.dependency.kernels.arc_labels import predict_labels
from sigmastar.dependency.model.decoders import is_power_of_two
from sigmastar.dependency.model.vocabulary import Vocabulary, word_positions

ROOT = "root"  # in Universal Dependencies, the label of words without a head and of no others
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
    columns = [
        [at for name in word_features(*item) if (at := numbers.get(name)) is not None] for item in items
    ]
    ends = np.cumsum([0, *map(len, columns)])
    flat = np.array([column for row in columns for column in row], dtype=np.int64)
    return sparse.csr_array((np.ones(len(flat)), flat, ends), shape=(len(columns), len(numbers)))


@dataclass(frozen=True, eq=False)
class Labeller:
    """Relations of arcs, from indicators of the words around them."""

    labels: Alphabet
    theta: Floats  # hashed indicators x labels
    marked: bool = False  # whether labels tell of lifted words, to be undone: see `data.projectivity`
    states: WordStates | None = None  # of words, where words count

    def __post_init__(self) -> None:
        shape = self.theta.shape
        if len(shape) != 2 or not is_power_of_two(shape[0]) or shape[1] != len(self.labels) or not shape[1]:
            raise ValueError(f"label_weights of shape {shape} do not fit {len(self.labels)} labels")

    @property
    def word_features(self) -> list[str]:
        """The names of what states of words are found by."""
        return [] if self.states is None else list(self.states.features)

    def to_arrays(self) -> dict[str, Floats | None]:
        """What model files keep."""
        tables: dict[str, Floats | None] = {"label_weights": self.theta}
        if self.states is not None:
            tables |= {"word_points": self.states.points, "word_centres": self.states.centres}
        return tables

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array], header: Mapping[str, Any]) -> Labeller | None:
        """The labeller of a model file, where there is one."""
        if "label_weights" not in arrays:
            return None
        states, features = None, tuple(header.get("word_features", ()))
        if features:
            points, centres = (arrays[f"word_{name}"].astype(np.float64) for name in ("points", "centres"))
            states = WordStates(features, points, centres)
        theta = arrays["label_weights"].astype(np.float64)
        return cls(header["labels"], theta, bool(header.get("marked", False)), states)

    def label(self, vocabulary: Vocabulary, treebank: DependencyTreebank, heads: Int32s) -> list[str]:
        """The label of every word under given heads."""
        rows = label_rows(vocabulary, treebank, self.states)
        places = word_positions(treebank.sentence_offsets)
        tops = np.zeros(len(rows), dtype=np.int32)
        tops[places] = heads
        starts = treebank.sentence_offsets + np.arange(len(treebank) + 1)
        root = self.labels.codes.get(ROOT, -1) if len(self.labels) > 1 else -1
        numbers = predict_labels(rows, tops, starts, self.theta, root)[places]
        return [str(self.labels.symbols[number]) for number in numbers.tolist()]


def label_rows(vocabulary: Vocabulary, treebank: DependencyTreebank, states: WordStates | None) -> Int64s:
    """The rows of the vocabulary, each with the hidden state of the word, -1 where there are none."""
    rows = vocabulary.rows(treebank, vocabulary.codes(treebank))
    column = np.full(len(rows), -1, dtype=np.int64)
    if states is not None:
        column[word_positions(treebank.sentence_offsets)] = states.of(treebank)
    return np.column_stack([rows[:, :4], column])
