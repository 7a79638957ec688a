"""Relations of arcs, given the tree."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sigmastar.core.alphabet import Alphabet
from sigmastar.core.arrays import Floats, Int32s
from sigmastar.dependency.data.treebank import DependencyTreebank
from sigmastar.dependency.kernels.arc_labels import predict_labels
from sigmastar.dependency.model.decoders import is_power_of_two
from sigmastar.dependency.model.vocabulary import Vocabulary, word_positions


@dataclass(frozen=True, eq=False)
class Labeller:
    """Relations of arcs, from indicators of the words around them."""

    labels: Alphabet
    theta: Floats  # hashed indicators x labels
    marked: bool = False  # whether labels tell of lifted words, to be undone: see `data.pseudo_projective`

    def __post_init__(self) -> None:
        shape = self.theta.shape
        if len(shape) != 2 or not is_power_of_two(shape[0]) or shape[1] != len(self.labels) or not shape[1]:
            raise ValueError(f"label_weights of shape {shape} do not fit {len(self.labels)} labels")

    def label(self, vocabulary: Vocabulary, treebank: DependencyTreebank, heads: Int32s) -> list[str]:
        """The label of every word under given heads."""
        rows = vocabulary.rows(treebank, vocabulary.codes(treebank))
        places = word_positions(treebank.sentence_offsets)
        tops = np.zeros(len(rows), dtype=np.int32)
        tops[places] = heads
        starts = treebank.sentence_offsets + np.arange(len(treebank) + 1)
        numbers = predict_labels(rows, tops, starts, self.theta)[places]
        return [str(self.labels.symbols[number]) for number in numbers.tolist()]
