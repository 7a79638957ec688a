"""The spectral method for transducers as the tutorial has it: align, count, factorize, recover.

Alignments come from the EM aligner; operators of units from context classes of the aligned strings, by
the one formula (`core.recover`). The result is a weighted transducer, signed and not smoothed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sigmastar.automata.learn.fast import learn_fast
from sigmastar.transducers.data.string_pairs import StringPairs
from sigmastar.transducers.data.units import SHAPES, Shape
from sigmastar.transducers.learn.aligner import LONG_UNITS, learn_aligner
from sigmastar.transducers.model.weighted_transducer import WeightedTransducer


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
    return WeightedTransducer(aligner.units, learn_fast(strings, rng, n_states).model.automaton)
