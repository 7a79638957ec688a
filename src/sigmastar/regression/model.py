"""Functions on strings that are no distributions: numbers, and labels by the sign of automata.

f(x) = initial . A_x1 .. A_xm . final        label(x) = the class whose automaton has the largest value
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sigmastar.automata.data.strings import Strings
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.arrays import Array, Floats
from sigmastar.core.model_reading import Arrays, Header, above, below
from sigmastar.core.notebook import Shown
from sigmastar.core.stored_parts import Parts, lists, tables


@dataclass(frozen=True, eq=False)
class StringFunction(Shown):
    """A number for every string.

    Parameters
    ----------
    automaton : WeightedAutomaton
        Its values are the numbers; they may have any sign.
    """

    automaton: WeightedAutomaton

    @property
    def alphabet(self) -> Alphabet:
        """The symbols of its strings."""
        return self.automaton.alphabet

    def value(self, strings: Strings) -> Floats:
        """The number of each string."""
        return self.automaton.value(strings)

    def to_parts(self) -> tuple[Arrays, Header]:
        return self.automaton.to_parts()

    @classmethod
    def from_parts(cls, arrays: Arrays, header: Header) -> StringFunction:
        return cls(WeightedAutomaton.from_parts(arrays, header))  # the parts are those of the automaton


@dataclass(frozen=True, eq=False)
class StringClassifier(Shown):
    """A label for every string.

    Parameters
    ----------
    classes : tuple
        The labels.
    automata : tuple of WeightedAutomaton
        One for each of several labels; of two labels, one that is positive for the second.
    has_probabilities : bool
        Whether the values are log-odds, as the logistic loss makes them.
    """

    classes: tuple[Any, ...]
    automata: tuple[WeightedAutomaton, ...]
    has_probabilities: bool = False

    def __post_init__(self) -> None:
        if len(self.classes) < 2 or len(self.automata) != (
            1 if len(self.classes) == 2 else len(self.classes)
        ):
            raise ValueError(f"{len(self.automata)} automata do not fit {len(self.classes)} labels")

    @property
    def alphabet(self) -> Alphabet:
        """The symbols of its strings."""
        return self.automata[0].alphabet

    def values(self, strings: Strings) -> Floats:
        """The value of each string: above zero for the second of two labels; else one column per label."""
        columns = np.stack([automaton.value(strings) for automaton in self.automata], axis=1)
        return columns[:, 0] if len(self.automata) == 1 else columns

    def predict(self, strings: Strings) -> Array:
        """The label of each string."""
        values = self.values(strings)
        best = (values > 0).astype(int) if values.ndim == 1 else values.argmax(axis=1)
        return np.asarray(self.classes)[best]  # type: ignore[no-any-return]

    def probabilities(self, strings: Strings) -> Floats:
        """The probability of each label, one column per label: one against the rest, made to sum to one."""
        values = self.values(strings)
        shares = np.exp(-np.logaddexp(0.0, -values))
        if values.ndim == 1:
            return np.stack([1.0 - shares, shares], axis=1)
        return np.asarray(shares / shares.sum(axis=1, keepdims=True))

    PARTS: ClassVar[Parts] = Parts(
        header={"classes": lists, "automata": tables, "has_probabilities": bool}, members="automata"
    )

    def to_parts(self) -> tuple[Arrays, Header]:
        parts = [automaton.to_parts() for automaton in self.automata]
        arrays: Arrays = {}
        for k, (own, _) in enumerate(parts):
            arrays |= above(f"{k}.", own)
        header = {
            "classes": list(self.classes),
            "automata": [header for _, header in parts],
            "has_probabilities": self.has_probabilities,
        }
        return arrays, header

    @classmethod
    def from_parts(cls, arrays: Arrays, header: Header) -> StringClassifier:
        cls.PARTS.check(arrays, header)
        automata = tuple(
            WeightedAutomaton.from_parts(below(f"{k}.", arrays), own)
            for k, own in enumerate(header["automata"])
        )
        return cls(tuple(header["classes"]), automata, bool(header["has_probabilities"]))
