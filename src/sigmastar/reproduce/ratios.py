"""Prediction by an automaton that is no distribution.

    p(a | w) = f(w a ..) / f(w ..),    f(w ..) the weight of all strings that begin with w

With signed operators the weight of a prefix may come out negative, and those of its continuations with
it: in the ratio the common sign cancels. What is negative after that is clipped.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sigmastar.operators.automaton import WeightedAutomaton
from sigmastar.structures.alphabet import Alphabet
from sigmastar.structures.strings import Strings

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RatioModel:
    """An automaton that predicts by ratios; the values of strings are its own."""

    automaton: WeightedAutomaton

    @property
    def alphabet(self) -> Alphabet:
        return self.automaton.alphabet

    def log_probability(self, strings: Strings) -> Array:
        return self.automaton.log_probability(strings)

    def gap_distributions(self, strings: Strings) -> Array:
        """The ratios at every gap, clipped at zero and made to sum to one; uniform where none is positive."""
        weights = self.automaton.gap_weights(strings)  # of a gap, they add up to the weight of its prefix
        signs = np.where(weights.sum(axis=1) < 0.0, -1.0, 1.0)
        clipped = np.maximum(weights * signs[:, None], 0.0)
        clipped[~clipped.any(axis=1)] = 1.0
        return np.asarray(clipped / clipped.sum(axis=1, keepdims=True))

    def sample(self, n_strings: int, rng: np.random.Generator, max_length: int = 10_000) -> Strings:
        return self.automaton.sample(n_strings, rng, max_length)
