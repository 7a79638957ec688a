"""The spectral method for transducers as the tutorial has it: align, count, factorize, recover.

Alignments come from the EM aligner; operators of units from context classes of the aligned strings, by the
one formula (`core.recover`). The result is a weighted transducer, signed. The bag of units of the aligner, an
automaton of one state, has a small share in the probability of every output symbol: where signed operators go
wrong, it is what is left.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sigmastar.automata.data.strings import Strings
from sigmastar.automata.learn.fast import learn_fast
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.transducers.data.string_pairs import StringPairs
from sigmastar.transducers.data.units import SHAPES, Shape
from sigmastar.transducers.learn.aligner import LONG_UNITS, learn_aligner
from sigmastar.transducers.model.weighted_transducer import WeightedTransducer

MIXING = 0.1


def learn_spectral_transducer(
    pairs: StringPairs,
    rng: np.random.Generator,
    n_states: int | None = None,
    shapes: Sequence[Shape] = SHAPES,
    long_units: float = LONG_UNITS,
) -> WeightedTransducer:
    """Operators of units from aligned pairs; `n_states=None` chooses by held-out likelihood."""
    aligner = learn_aligner(pairs, shapes, long_units=long_units).aligner
    strings = aligner.align(pairs).best()
    automaton = learn_fast(strings, rng, n_states).model.automaton
    return WeightedTransducer(aligner.units, automaton, bag_of_units(strings), MIXING)


def bag_of_units(strings: Strings) -> WeightedAutomaton:
    """An automaton of one state: how often each unit stands in aligned strings, and how often they end."""
    counts = np.bincount(strings.codes, minlength=len(strings.alphabet)) + 0.5
    total = counts.sum() + len(strings)
    moves = (counts / total).reshape(-1, 1, 1)
    return WeightedAutomaton(strings.alphabet, np.ones(1), moves, np.full(1, len(strings) / total))
