"""How much of one restart filter to average into another, step by step, by held-out likelihood.

    maximise over w in [0, 1]    sum_i c_i log ((1 - w) p_i + w q_i)

for steps i taken c_i times, p_i and q_i the probabilities under the two filters. The sum is concave in w,
so its slope has one root. One number is fitted: half a nat of the gain, about, is chance, on all
held-out strings together, hence `_CLEARLY`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from sigmastar.learning.holdout import HeldOut
from sigmastar.operators.filtered import FilteredAutomaton

Array = NDArray[np.float64]

_CLEARLY = 2.0  # nats on all held-out strings
_LEAST, _MOST = 0.0, 0.999  # the first stays, so that there is always a proper automaton to look at


@dataclass(frozen=True)
class Averaging:
    """The weight of the second filter, 0 where it brings no clear gain, and the score a string with it."""

    share: float
    score: float


def tune_average(first: FilteredAutomaton, second: FilteredAutomaton, held_out: HeldOut) -> Averaging:
    """The best average of two filters on held-out strings, or the first alone."""
    own, other = held_steps(first, held_out), held_steps(second, held_out)
    share = best_share(own, other, held_out.weights)
    alone, averaged = (
        float(held_out.weights @ np.log(steps)) for steps in (own, (1.0 - share) * own + share * other)
    )
    if averaged < alone + _CLEARLY:
        return Averaging(0.0, alone / held_out.n_strings)
    return Averaging(share, averaged / held_out.n_strings)


def held_steps(model: FilteredAutomaton, held_out: HeldOut) -> Array:
    """The probability of every step of the held-out strings, in the order of their weights."""
    edges, ends = model.step_probabilities(held_out.trie)
    return np.concatenate([edges[1:], ends[held_out.ending]])


def best_share(own: Array, other: Array, weights: Array) -> float:
    """The most likely weight of the second of two predictors, given their probabilities of each step."""
    more = other - own

    def slope(share: float) -> float:
        return float(weights @ (more / (own + share * more)))

    if slope(_LEAST) <= 0.0:
        return _LEAST
    return _MOST if slope(_MOST) >= 0.0 else float(brentq(slope, _LEAST, _MOST, xtol=1e-6))
