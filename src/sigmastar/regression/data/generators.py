"""Functions on strings that are known: the values of a random signed automaton, and which are seen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sigmastar.automata.data.strings import Strings
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.automata.model.distances import values_up_to
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.arrays import Floats, Int64s


@dataclass(frozen=True, eq=False)
class MadeRegression:
    """All strings up to a length with their values, and the numbers of those that are seen."""

    automaton: WeightedAutomaton
    strings: Strings
    values: Floats
    seen: Int64s

    @property
    def seen_strings(self) -> Strings:
        return self.strings.select(self.seen)

    @property
    def seen_values(self) -> Floats:
        return self.values[self.seen]

    def relative_error(self, predicted: Floats) -> float:
        """|predicted - true| / |true| over all strings."""
        return float(np.linalg.norm(predicted - self.values) / np.linalg.norm(self.values))


def make_regression(
    rng: np.random.Generator, n_states: int = 3, n_symbols: int = 2, longest: int = 8, seen: float = 0.15
) -> MadeRegression:
    """Values of an automaton with Gaussian weights, its largest operator of spectral radius one.

    Parameters
    ----------
    rng : Generator
        Source of all random choices.
    n_states, n_symbols : int
        Size of the automaton and of its alphabet.
    longest : int
        All strings of up to so many symbols have a value.
    seen : float
        Share of the values that are seen.

    Returns
    -------
    MadeRegression
        The automaton, the strings, their values, and which are seen.
    """
    transitions = rng.standard_normal((n_symbols, n_states, n_states))
    transitions /= max(np.abs(np.linalg.eigvals(matrix)).max() for matrix in transitions)
    names = Alphabet("abcdefghijklmnopqrstuvwxyz"[:n_symbols])
    initial, final = rng.standard_normal((2, n_states))
    automaton = WeightedAutomaton(names, initial, transitions, final)
    strings, values = values_up_to(automaton, longest)
    chosen = np.sort(rng.choice(len(strings), max(int(seen * len(strings)), 1), replace=False))
    return MadeRegression(automaton, strings, values, chosen)
