"""Transducers where there is NumPy alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from sigmastar.automata.data.strings import Strings
from sigmastar.core.alphabet import Symbol
from sigmastar.core.arrays import Floats
from sigmastar.transducers.data import StringPairs
from sigmastar.transducers.model.joint_ngram import Ranking
from sigmastar.transducers.model.transducer import Transducer
from sigmastar.transducers.model.weighted_transducer import WeightedTransducer


class TransducerRuntime:
    """What is asked of transducers."""

    def __init__(self, model: Transducer | WeightedTransducer) -> None:
        self.model = model

    def predict(self, X: Iterable[Iterable[Symbol]]) -> list[tuple[Symbol, ...]]:
        """The best output of each input; empty where there is none."""
        return [ranking[0][0] if ranking else () for ranking in self.predict_nbest(X, 1)]

    def predict_nbest(self, X: Iterable[Iterable[Symbol]], n_best: int = 10) -> list[Ranking]:
        """The best outputs of each input with their probabilities."""
        with np.errstate(all="ignore"):
            return self.model.predict(Strings.of(X), n_best)

    def score_samples(self, X: Iterable[tuple[Sequence[Symbol], Sequence[Symbol]]]) -> Floats:
        """The log-probability of each output given its input."""
        with np.errstate(all="ignore"):
            return self.model.log_conditional(StringPairs.of(X))
