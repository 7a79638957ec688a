"""Relations of arcs, given the tree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sigmastar.core.alphabet import Alphabet
from sigmastar.core.arrays import Array, Floats, Int32s, Int64s
from sigmastar.dependency.data.treebank import DependencyTreebank
from sigmastar.dependency.kernels.arc_labels import predict_labels
from sigmastar.dependency.model.decoders import is_power_of_two
from sigmastar.dependency.model.vocabulary import Vocabulary, word_positions
from sigmastar.dependency.model.word_states import WordStates


@dataclass(frozen=True, eq=False)
class Labeller:
    """Relations of arcs, from indicators of the words around them."""

    labels: Alphabet
    theta: Floats  # hashed indicators x labels
    marked: bool = False  # whether labels tell of lifted words, to be undone: see `data.pseudo_projective`
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
        numbers = predict_labels(rows, tops, starts, self.theta)[places]
        return [str(self.labels.symbols[number]) for number in numbers.tolist()]


def label_rows(vocabulary: Vocabulary, treebank: DependencyTreebank, states: WordStates | None) -> Int64s:
    """The rows of the vocabulary, each with the hidden state of the word, -1 where there are none."""
    rows = vocabulary.rows(treebank, vocabulary.codes(treebank))
    column = np.full(len(rows), -1, dtype=np.int64)
    if states is not None:
        column[word_positions(treebank.sentence_offsets)] = states.of(treebank)
    return np.column_stack([rows, column])
