"""Random transducers and pairs drawn from them."""

from __future__ import annotations

import numpy as np

from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.automata.model.generators import make_automaton
from sigmastar.core.alphabet import Alphabet
from sigmastar.transducers.data import Shape, Unit, Units
from sigmastar.transducers.model.weighted_transducer import WeightedTransducer


def make_transducer(
    n_states: int,
    inputs: str,
    outputs: str,
    rng: np.random.Generator,
    *,
    shapes: tuple[Shape, ...] = ((1, 1), (1, 0)),
    n_units: int | None = None,
    density: float = 0.5,
    stop: float = 0.15,
) -> WeightedTransducer:
    """A random proper transducer over characters: a random automaton over alignment units.

    Parameters
    ----------
    n_states : int
        Number of states.
    inputs, outputs : str
        Symbols of either side; every input symbol has at least one unit.
    rng : Generator
        Source of random numbers.
    shapes : tuple of pairs
        Numbers of symbols of either side of units.
    n_units : int or None
        Number of units, drawn from all of the shapes; None: all of them.
    density : float
        Share of moves between states that are possible.
    stop : float
        Probability of the end, about.

    Returns
    -------
    WeightedTransducer
        A distribution over pairs.
    """
    every = [unit for shape in shapes for unit in _units_of(shape, inputs, outputs)]
    if not every:
        raise ValueError(f"there are no units of shapes {shapes!r} over {inputs!r} and {outputs!r}")
    chosen = every
    if n_units is not None and n_units < len(every):
        first = [next(unit for unit in _shuffled(every, rng) if unit[0] == (x,)) for x in inputs]
        rest = [unit for unit in _shuffled(every, rng) if unit not in first]
        chosen = first + rest[: max(n_units - len(first), 0)]
    units = Units(Alphabet(chosen), Alphabet(inputs), Alphabet(outputs))
    automaton = make_automaton(n_states, len(units), rng, density=density, stop=stop)
    parts = (automaton.initial, automaton.transitions, automaton.final)
    return WeightedTransducer(units, WeightedAutomaton(units.alphabet, *parts))


def _units_of(shape: Shape, inputs: str, outputs: str) -> list[Unit]:
    return [(left, right) for left in _words(inputs, shape[0]) for right in _words(outputs, shape[1])]


def _words(symbols: str, length: int) -> list[tuple[str, ...]]:
    words: list[tuple[str, ...]] = [()]
    for _ in range(length):
        words = [(*word, symbol) for word in words for symbol in symbols]
    return words


def _shuffled(units: list[Unit], rng: np.random.Generator) -> list[Unit]:
    return [units[at] for at in rng.permutation(len(units)).tolist()]
