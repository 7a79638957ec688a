"""Tsybakov's noise condition, and where grammars break it (Cohen and Smith, 2012, section 7.1).

    dist(p, h) = sqrt(E[(log p/h)^2]) <= C excess(h)^(1 / kappa)      for all h with a small excess risk

    A[e, f] = E[psi_e psi_f] / (E[psi_e] E[psi_f])          positive semi-definite
    v_e = E[psi_e] log(theta*_e / theta_e)                  dist^2 = v^T A v,  excess = sum_e v_e

The counterexample of theorem 5 moves two binomials against each other, by alpha = C epsilon^(1 / kappa).
Its excess risk is of the order of alpha^2, its distance of the order of alpha: so dist / excess^(1 / kappa)
is unbounded for kappa < 2, and the condition fails. For kappa = 2 it holds near p for every grammar whose
A is positive definite, since both sides are quadratic forms of the same small change: the theorem's "any
kappa >= 1" claims too much. Its proof bounds the excess risk with E[psi_(k,1)] in the place of E[psi_(k,2)].
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sigmastar.core.arrays import Floats
from sigmastar.pcfg.model.probabilistic_grammar import ProbabilisticGrammar, event_moments, expected_events


def moment_matrix(model: ProbabilisticGrammar) -> Floats:
    """A_G(theta), exactly; events that never occur are left out by zeros."""
    means = expected_events(model)
    scale = np.divide(1.0, means, out=np.zeros_like(means), where=means > 0)
    return np.asarray(event_moments(model) * np.outer(scale, scale))


def log_ratio_vector(truth: ProbabilisticGrammar, other: ProbabilisticGrammar) -> Floats:
    """v."""
    means = expected_events(truth)
    occurring = means > 0
    ratio = np.zeros_like(means)
    ratio[occurring] = np.log(truth.parameters[occurring]) - np.log(other.parameters[occurring])
    return means * ratio


def distance(truth: ProbabilisticGrammar, other: ProbabilisticGrammar) -> float:
    """sqrt(E[(log p/h)^2]), exactly."""
    v = log_ratio_vector(truth, other)
    return math.sqrt(max(0.0, float(v @ moment_matrix(truth) @ v)))


@dataclass(frozen=True)
class Counterexample:
    """A grammar near the truth: how near in risk, how far in log-probability."""

    excess: float
    distance: float
    ratio: float  # distance / excess^(1 / kappa): unbounded as excess goes to 0 where the condition fails


def counterexample(
    truth: ProbabilisticGrammar, first: int, second: int, shift: float, kappa: float
) -> Counterexample:
    """Move the first events of two binomials by c log(theta*/theta) = shift and -shift.

    Parameters
    ----------
    truth
        The true grammar.
    first, second
        The numbers of two multinomials of two events.
    shift
        How far to move.
    kappa
        The exponent of the condition.

    Returns
    -------
    Counterexample
        How near in risk, how far in log-probability.
    """
    means, parameters = expected_events(truth), truth.parameters.copy()
    for k, direction in ((first, 1.0), (second, -1.0)):
        event = int(truth.events.offsets[k])
        if truth.events.sizes[k] != 2:
            raise ValueError(f"multinomial {k} has {truth.events.sizes[k]} events; the construction needs 2")
        moved = parameters[event] * np.exp(-direction * shift / means[event])
        parameters[event : event + 2] = moved, 1 - moved
    other = truth.with_parameters(parameters)
    excess, far = float(log_ratio_vector(truth, other).sum()), distance(truth, other)
    return Counterexample(excess, far, far / excess ** (1 / kappa))
