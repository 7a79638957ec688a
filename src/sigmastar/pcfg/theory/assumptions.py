"""What the bounds assume of the distribution of derivations (Cohen and Smith, 2012, section 3.1).

    |x| <= |z| <= alpha |x|          derivations as long as their strings, up to a factor
    p(z) <= L r^|z|                  exponential decay
    Lambda(k)^2 r^k <= q^k           with Lambda(k) derivations of length k: p(|z| = k) <= L q^k
    E[psi_e] <= B                    bounded expectations; B = L / (1 - q)^2 will do

Estimated from a sample, q is the decay of the tail of derivation lengths and L the least scale at which
the observed tail is below the curve. The decay r of single derivations cannot be seen in a sample: most
derivations occur once. It is set to q / growth^2, the largest with which Lambda(k)^2 r^k <= q^k holds if
Lambda(k) = growth^k. Whether p(z) <= L r^|z| then holds is not tested: for ambiguous grammars it is a strong
assumption, and the bound from strings stands or falls with it; the one from derivations uses q and L only.

The tail of lengths: frequencies of lengths beyond the most frequent one fall like c alpha^length.

Cohen and Smith (2012), section 3.1 and figure 1: c and alpha minimize the squared error between the
frequencies and the curve, over all lengths above the mode. For a given alpha the best c is a ratio of sums.

Tsybakov's noise condition, and where grammars break it (Cohen and Smith, 2012, section 7.1).

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
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from sigmastar.core.arrays import Floats, Int64s
from sigmastar.pcfg.data.binary_form import BinaryForm
from sigmastar.pcfg.data.events import Derivations
from sigmastar.pcfg.model.probabilistic_grammar import ProbabilisticGrammar, event_moments, expected_events


@dataclass(frozen=True)
class Assumptions:
    """The constants alpha, L, r, q and B."""

    ratio: float
    scale: float
    decay: float
    string_decay: float
    expectation: float

    def __post_init__(self) -> None:
        if not (self.ratio >= 1 and self.scale >= 0 and 0 < self.decay < 1 and 0 < self.string_decay < 1):
            raise ValueError(
                f"{self}: ratio must be at least 1, scale from 0 on, decay and string_decay between 0 and 1"
            )

    def log_derivations(self, length: float) -> float:
        """An upper bound on log Lambda(length), from Lambda(k)^2 r^k <= q^k; at least 0."""
        return max(0.0, length / 2 * math.log(self.string_decay / self.decay))

    def to_dict(self) -> dict[str, Any]:
        return {
            "alpha": self.ratio,
            "L": self.scale,
            "r": self.decay,
            "q": self.string_decay,
            "B": self.expectation,
        }


def estimate_assumptions(model: ProbabilisticGrammar, derivations: Derivations) -> Assumptions:
    """The constants of a sample of derivations, in binary normal form, as the bounds need them."""
    form = BinaryForm(model.events)
    lengths = derivations.sums((form.place + 2).astype(float))
    words = model.strings(derivations).lengths
    rate = geometric_rate(lengths)
    counts = derivations.counts(model.events.n_events) / len(derivations)
    return Assumptions(
        float(max(1.0, (lengths / np.maximum(words, 1)).max())),
        dominating_scale(lengths, rate),
        rate / derivation_growth(model) ** 2,
        rate,
        float(counts.max()),
    )


def geometric_rate(lengths: Floats) -> float:
    """The decay beyond the median, by maximum likelihood of a geometric law of the excess."""
    excess = lengths[lengths > np.median(lengths)] - np.median(lengths)
    mean = float(excess.mean()) if len(excess) else 1.0
    return min(max(1 - 1 / max(mean, 1.0 + 1e-9), 0.01), 1 - 1e-9)


def dominating_scale(lengths: Floats, rate: float) -> float:
    """The least L for which the share of lengths >= k is at most sum_(j >= k) L rate^j, for all k."""
    ordered = np.sort(lengths)
    survival = 1 - np.arange(len(ordered)) / len(ordered)
    logs = np.log(survival) + math.log1p(-rate) - ordered * math.log(rate)
    return float(np.exp(min(logs.max(), 600.0)))


def derivation_growth(model: ProbabilisticGrammar, longest: int = 16) -> float:
    """About how many times more derivations there are for each further event.

    Counted before the normal form, whose derivations are longer: so it is not too small for that.
    """
    logs = log_derivation_counts(model, longest)
    finite = np.flatnonzero(np.isfinite(logs) & (np.arange(len(logs)) > longest // 2))
    if len(finite) < 2:
        return 1.0
    first, last = int(finite[0]), int(finite[-1])
    return float(max(1.0, math.exp((logs[last] - logs[first]) / (last - first))))


def log_derivation_counts(model: ProbabilisticGrammar, longest: int) -> Floats:
    """log Lambda(k) for k = 0 .. longest, of events in the given form; -inf where there are none."""
    system = model.events
    rows = np.split(system.children, system.child_start[1:-1])
    alike = Counter((int(k), *map(int, row)) for k, row in zip(system.owner, rows, strict=True))
    table = np.zeros((system.n_multinomials, longest + 1))  # derivations of k events below one draw
    for _ in range(longest):
        new = np.zeros_like(table)
        for (owner, *children), multiplicity in alike.items():
            product = np.zeros(longest + 1)
            product[1] = multiplicity
            for child in children:
                product = np.convolve(product, table[child])[: longest + 1]
            new[owner] += product
        if np.array_equal(new, table):
            break
        table = new
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(table[system.root]))


@dataclass(frozen=True, eq=False)
class TailFit:
    """f(l) = scale * rate ** l on the tail, and how far the frequencies are from it."""

    scale: float
    rate: float
    squared_error: float
    lengths: Int64s  # of the tail, every one from the mode on to the longest
    frequencies: Floats
    distance: float  # Kolmogorov and Smirnov's, between the tail and the geometric law with this rate
    n_items: int = 0  # in the tail

    @property
    def critical(self) -> float:
        """The distance above which the law is rejected at 5%: 1.36 / sqrt(n), or less for discrete laws."""
        return float(1.36 / np.sqrt(max(self.n_items, 1)))

    def curve(self, lengths: Int64s) -> Floats:
        return np.asarray(self.scale * self.rate ** lengths.astype(float))


def frequencies(lengths: Int64s) -> Floats:
    """The share of each length, from 0 on."""
    counts = np.bincount(np.asarray(lengths, np.int64))
    return np.asarray(counts / counts.sum())


def fit_tail(lengths: Int64s) -> TailFit:
    """Fit c alpha^length to the frequencies of lengths.

    Parameters
    ----------
    lengths
        Of sentences or derivations.

    Returns
    -------
    TailFit
        The curve, and how far the frequencies are from it.
    """
    shares = frequencies(lengths)
    tail = np.arange(int(shares.argmax()) + 1, len(shares))
    if len(tail) < 2:
        raise ValueError(f"{len(tail)} lengths lie above the most frequent one: too few for a tail")
    values = shares[tail]

    def error(rate: float) -> float:
        return float(((values - _scale(values, tail, rate) * rate ** tail.astype(float)) ** 2).sum())

    grid = np.linspace(0.001, 0.9999, 400)  # the error may have several minima
    at = int(np.argmin([error(rate) for rate in grid]))
    around = (float(grid[max(at - 1, 0)]), float(grid[min(at + 1, len(grid) - 1)]))
    rate = float(minimize_scalar(error, bounds=around, method="bounded", options={"xatol": 1e-10}).x)
    n_items = int((np.asarray(lengths) >= tail[0]).sum())
    found = (_scale(values, tail, rate), rate, error(rate), tail, values)
    return TailFit(*found, _distance(values, rate), n_items)


def _scale(values: Floats, tail: Int64s, rate: float) -> float:
    powers = rate ** (tail - tail[0]).astype(float)  # from the start of the tail: no underflow
    return float((values @ powers) / (powers @ powers) * rate ** -float(tail[0]))


def _distance(values: Floats, rate: float) -> float:
    observed = np.cumsum(values) / values.sum()
    return float(np.abs(observed - (1 - rate ** np.arange(1, len(values) + 1))).max())


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
