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
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from sigmastar.core.arrays import Floats
from sigmastar.pcfg.data.binary_form import BinaryForm
from sigmastar.pcfg.data.events import Derivations
from sigmastar.pcfg.model.probabilistic_grammar import ProbabilisticGrammar


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
