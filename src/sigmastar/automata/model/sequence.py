"""What every probabilistic model of strings can do, whatever it is inside."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from sigmastar.automata.data.strings import Strings
from sigmastar.core.alphabet import Alphabet

Array = NDArray[np.float64]


@runtime_checkable
class SequenceModel(Protocol):
    """A distribution on strings over `alphabet`, read from left to right."""

    @property
    def alphabet(self) -> Alphabet: ...

    def log_probability(self, strings: Strings) -> Array:
        """Natural log-probability of each string; -inf where it has none."""
        ...

    def gap_distributions(self, strings: Strings) -> Array:
        """What comes next at every gap of every string: gaps x (symbols + 1), the end of string last.

        Gaps are in corpus order: a string of length L has L + 1 of them. Memory grows with the
        number of gaps times the alphabet: pass long corpora in pieces.
        """
        ...

    def sample(self, n_strings: int, rng: np.random.Generator, max_length: int = 10_000) -> Strings:
        """Draw strings; one that reaches `max_length` is cut there."""
        ...


def next_distribution(model: SequenceModel, prefixes: Strings) -> Array:
    """What comes after each prefix: prefixes x (symbols + 1), the end of string last."""
    last_gaps = prefixes.offsets[1:] + np.arange(len(prefixes))
    return np.asarray(model.gap_distributions(prefixes)[last_gaps])
