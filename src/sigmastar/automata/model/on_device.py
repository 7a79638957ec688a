"""Models of strings whose sums are on a device: what is probable, and what comes next.

A model that can work there has a method `on`, which gives a `TensorSequence`. Strings with symbols that the
model does not know, and whatever else is asked, are answered by the model itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sigmastar.automata.data.strings import Strings
from sigmastar.automata.model.sequence import SequenceModel, next_distribution
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.arrays import Floats, Int32s, Int64s

if TYPE_CHECKING:
    from sigmastar.automata.model.automaton import WeightedAutomaton

Coded = Callable[[Int32s, Int64s], Floats]
"""From codes and offsets of strings to an array with a row per string."""


@dataclass(frozen=True, eq=False)
class TensorSequence:
    """A model of strings with its work on a device.

    Parameters
    ----------
    model : SequenceModel
        The model.
    logs : callable
        Natural logarithms of strings that the model knows all symbols of.
    following : callable
        What comes after each of them: prefixes by symbols and the end.
    is_stream : bool
        Whether strings are read one after the other, so that one unknown symbol concerns all of them.
    """

    model: SequenceModel
    logs: Coded
    following: Coded
    is_stream: bool = False

    @property
    def alphabet(self) -> Alphabet:
        return self.model.alphabet

    def log_probability(self, strings: Strings) -> Floats:
        """Natural log-probability of each string; -inf where it has none."""
        known, is_known = self._known(strings)
        if self.is_stream and not is_known.all():
            return self.model.log_probability(strings)
        found = np.full(len(strings), -np.inf)
        if is_known.any():
            found[is_known] = self.logs(known.codes, known.offsets)
        return found

    def next_distribution(self, prefixes: Strings) -> Floats:
        """What comes after each prefix, the end last."""
        known, is_known = self._known(prefixes)
        found = np.empty((len(prefixes), len(self.alphabet) + 1))
        if is_known.any():
            found[is_known] = self.following(known.codes, known.offsets)
        if not is_known.all():
            found[~is_known] = next_distribution(self.model, prefixes.select(np.flatnonzero(~is_known)))
        return found

    def _known(self, strings: Strings) -> tuple[Strings, Any]:
        """The strings without unknown symbols, over the alphabet of the model, and which these are."""
        coded = strings.recoded(self.alphabet, allow_unknown=True)
        unknown = np.concatenate([[0], np.cumsum((coded.codes < 0) | (coded.codes >= len(self.alphabet)))])
        is_known = np.diff(unknown[coded.offsets]) == 0
        return (coded if is_known.all() else coded.select(np.flatnonzero(is_known))), is_known

    def gap_distributions(self, strings: Strings) -> Floats:
        """What comes next at every gap of every string, as the model itself has it."""
        return self.model.gap_distributions(strings)

    def sample(self, n_strings: int, rng: np.random.Generator, max_length: int = 10_000) -> Strings:
        """Strings drawn from the model itself."""
        return self.model.sample(n_strings, rng, max_length)


def automaton_on(automaton: WeightedAutomaton, device: str, precision: str) -> TensorSequence:
    """A weighted automaton on a device."""
    from sigmastar.automata.gpu.weighted import TorchAutomaton
    from sigmastar.automata.model.automaton import as_distributions

    there = TorchAutomaton(*automaton.arrays, device=device, precision=precision)

    def logs(codes: Int32s, offsets: Int64s) -> Floats:
        sizes, signs = there.log_value(codes, offsets)
        return np.where(signs > 0, sizes, -np.inf)

    def following(codes: Int32s, offsets: Int64s) -> Floats:
        weights = there.vectors(codes, offsets) @ automaton.next_weights
        return as_distributions(weights, by_ratio=automaton.spectral_radius < 1.0)

    return TensorSequence(automaton, logs, following)
