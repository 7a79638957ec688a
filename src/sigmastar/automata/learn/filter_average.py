"""How much of one restart filter to average into another, step by step, by held-out likelihood.

    maximise over w in [0, 1]    sum_i c_i log ((1 - w) p_i + w q_i)

for steps i taken c_i times, p_i and q_i the probabilities under the two filters. The sum is concave in w,
so its slope has one root. Mixing rates flatter the strings that they were tuned on, and the more so the
more classes a filter has; so each half of the held-out strings is judged with rates tuned on the other.
One number is fitted: half a nat of the gain, about, is chance, on all strings together, hence `_CLEARLY`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from sigmastar.automata.data.strings import Strings
from sigmastar.automata.learn.held_strings import HeldOut
from sigmastar.automata.learn.mixing import tune_mixing
from sigmastar.automata.model.filtered import FilteredAutomaton
from sigmastar.core.arrays import Floats, Int64s

_CLEARLY = 2.0  # nats on all held-out strings
_LEAST, _MOST = 0.0, 0.999  # the first stays, so that there is always a proper automaton to look at


@dataclass(frozen=True, eq=False)
class Candidate:
    """A filter with its rates tuned on held-out strings, and how often its classes were counted."""

    model: FilteredAutomaton
    class_counts: Int64s


@dataclass(frozen=True)
class Averaging:
    """The weight of the second filter, 0 where it brings no clear gain, and the score a string with it."""

    share: float
    score: float


def tune_average(first: Candidate, second: Candidate, held: Strings) -> Averaging:
    """The best average of two filters on held-out strings, or the first alone."""
    halves = [held.select(np.arange(len(held))[at::2]) for at in (0, 1)] if len(held) > 1 else [held, held]
    judged = [HeldOut.of(half) for half in halves]
    own, other = (np.concatenate(_cross_steps(candidate, judged)) for candidate in (first, second))
    weights = np.concatenate([half.weights for half in judged])
    share = best_share(own, other, weights)
    if weights @ np.log1p(share * (other / own - 1.0)) < _CLEARLY:
        share = 0.0
    return Averaging(share, _score(first, second, share, HeldOut.of(held)))


def _cross_steps(candidate: Candidate, halves: list[HeldOut]) -> list[Floats]:
    """The steps of each half under the rates that the other one asks for."""
    pairs = zip(halves, reversed(halves), strict=True)
    model, counts = candidate.model, candidate.class_counts
    return [held_steps(tune_mixing(model, counts, used, 2), judged) for judged, used in pairs]


def _score(first: Candidate, second: Candidate, share: float, held_out: HeldOut) -> float:
    steps = (1.0 - share) * held_steps(first.model, held_out) + share * held_steps(second.model, held_out)
    return float(held_out.weights @ np.log(steps)) / held_out.n_strings


def held_steps(model: FilteredAutomaton, held_out: HeldOut) -> Floats:
    """The probability of every step of the held-out strings, in the order of their weights."""
    edges, ends = model.step_probabilities(held_out.trie)
    return np.concatenate([edges[1:], ends[held_out.ending]])


def best_share(own: Floats, other: Floats, weights: Floats) -> float:
    """The most likely weight of the second of two predictors, given their probabilities of each step."""
    more = other - own

    def slope(share: float) -> float:
        return float(weights @ (more / (own + share * more)))

    if slope(_LEAST) <= 0.0:
        return _LEAST
    return _MOST if slope(_MOST) >= 0.0 else float(brentq(slope, _LEAST, _MOST, xtol=1e-6))
