"""How far an automaton is from being a distribution.

Learnt operators are signed: total mass need not be one, strings and next-symbol weights may be
negative. The next-symbol weights at a gap add up to the weight of its prefix; their negative part is
what a repair has to take away.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sigmastar.automata.data.strings import Strings, require_strings
from sigmastar.automata.model.automaton import WeightedAutomaton


@dataclass(frozen=True)
class Diagnosis:
    """Figures of one automaton on one corpus."""

    n_strings: int
    spectral_radius: float
    total_mass: float  # infinite where the spectral radius is one or more
    share_not_positive: float  # of the strings, those with f <= 0
    negative_mass: float  # mean over gaps of the negative share of the sizes of next-symbol weights
    smallest_sum: float  # of next-symbol weights clipped at zero, where the prefix weighs one
    largest_sum: float

    def __str__(self) -> str:
        mass = f"{self.total_mass:.6g}" if np.isfinite(self.total_mass) else "infinite"
        return (
            f"The weight of all strings is {mass} (a distribution has 1) at spectral radius "
            f"{self.spectral_radius:.6g}. Of {self.n_strings} strings {100 * self.share_not_positive:.3g}% "
            f"have no positive value. Along them {100 * self.negative_mass:.3g}% of the next-symbol weight "
            f"is negative; clipped at zero, next-symbol weights sum to between {self.smallest_sum:.6g} and "
            f"{self.largest_sum:.6g} (a distribution has 1)."
        )


def diagnose(automaton: WeightedAutomaton, strings: Strings) -> Diagnosis:
    """Measure total mass, positivity and conditional sums; defined for every automaton.

    Parameters
    ----------
    automaton : WeightedAutomaton
        The function.
    strings : Strings
        Where to look.

    Returns
    -------
    Diagnosis
        The figures.
    """
    require_strings(strings, "diagnose an automaton on")
    weights = automaton.gap_weights(strings)
    weights = weights[(weights != 0.0).any(axis=1)]  # gaps that the automaton cannot reach are no evidence
    clipped = np.maximum(weights, 0.0).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        negative = 1.0 - clipped / np.abs(weights).sum(axis=1)
        sums = clipped / weights.sum(axis=1)
    return Diagnosis(
        n_strings=len(strings),
        spectral_radius=automaton.spectral_radius,
        total_mass=automaton.total_mass() if automaton.spectral_radius < 1.0 else np.inf,
        share_not_positive=float(np.mean(automaton.log_value(strings).sign <= 0)),
        negative_mass=float(negative.mean()) if len(weights) else 0.0,
        smallest_sum=float(np.nanmin(sums, initial=np.inf)) if len(weights) else 0.0,
        largest_sum=float(np.nanmax(sums, initial=-np.inf)) if len(weights) else 0.0,
    )
