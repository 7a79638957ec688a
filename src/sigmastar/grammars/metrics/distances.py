"""How far a weighted grammar is from frequencies, or from another grammar, on strings that can be listed."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sigmastar.automata.data.strings import Strings
from sigmastar.grammars.data.substrings import distinct_strings
from sigmastar.grammars.model.enumeration import grammar_values_up_to
from sigmastar.grammars.model.grammar import WeightedGrammar

Array = NDArray[np.float64]


class Distances(NamedTuple):
    """Over all strings up to a length."""

    l1: float  # sum of |p - q|
    kl: float  # sum of p log(p / q), both made to sum to one there; infinite where q <= 0 < p
    mass: float  # of p on these strings


def empirical_l1(grammar: WeightedGrammar, strings: Strings) -> float:
    """The sum of |p - f| over the distinct strings of a sample, p their frequencies."""
    distinct, counts = distinct_strings(strings, np.ones(len(strings)))
    return float(np.abs(counts / counts.sum() - grammar.value(distinct)).sum())


def grammar_distances(grammar: WeightedGrammar, truth: WeightedGrammar, max_length: int) -> Distances:
    """L1 and KL between two grammars on every string of up to `max_length` symbols."""
    strings, p = grammar_values_up_to(truth, max_length)
    q = grammar.value(strings)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(p > 0, p * (np.log(p) - np.log(np.maximum(q, 0.0))), 0.0)
    mass, kept = float(p.sum()), float(np.maximum(q, 0.0).sum())
    kl = float(terms.sum() / mass - np.log(mass) + np.log(kept)) if kept > 0.0 else float("inf")
    return Distances(float(np.abs(p - q).sum()), kl, mass)
