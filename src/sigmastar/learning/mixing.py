"""How much a filtered automaton should trust its back-off model, class by class, from held-out data.

Given the two predictions q and g for every held-out step, the mixing rates are a one-dimensional
convex problem for each group of classes; expectation-maximisation solves all at once. Each class is
drawn to the rate of its group (classes of like counts), each group to the rate of all, by `STRENGTH`
pseudo-steps.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sigmastar.learning.holdout import HeldOut
from sigmastar.operators.filtered import FilteredAutomaton

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

START_RATE = 0.05
STRENGTH = 30.0
_N_GROUPS = 16


@dataclass(frozen=True, eq=False)
class Steps:
    """Every held-out step: its class, how often it was taken, and both models' probabilities of it."""

    classes: Integers
    weights: Array
    automaton: Array
    backoff: Array
    n_strings: float
    log_likelihood: float  # a string, under the mixing that was in force

    @classmethod
    def of(cls, model: FilteredAutomaton, held_out: HeldOut) -> Steps:
        run, node_classes = model.run(held_out.trie)
        ending, parent = np.flatnonzero(held_out.ends), held_out.trie.parent[1:]
        classes = np.concatenate([node_classes[parent], node_classes[ending]]).astype(np.int64)
        taken = np.concatenate(
            [np.exp(run.log_prefix[1:] - run.log_prefix[parent]), run.end_probability[ending]]
        )
        restart = np.concatenate([run.edge_restart[1:], run.end_restart[ending]])
        rate = model.mixing[classes]
        total = held_out.ends[ending] @ (run.log_prefix[ending] + np.log(run.end_probability[ending]))
        return cls(
            classes,
            np.concatenate([held_out.through[1:], held_out.ends[ending]]),
            taken * (1.0 - restart) / (1.0 - rate),
            taken * restart / rate,
            held_out.n_strings,
            float(total / held_out.n_strings),
        )

    def score(self, rates: Array) -> float:
        """The log-likelihood a string under other rates of the classes, if the states stayed as they are."""
        mixed = (1.0 - rates[self.classes]) * self.automaton + rates[self.classes] * self.backoff
        return float(self.weights @ np.log(mixed) / self.n_strings)


def tune_mixing(
    model: FilteredAutomaton, class_counts: Integers, held_out: HeldOut, n_rounds: int
) -> FilteredAutomaton:
    """Fit the mixing rates; the states depend on them in turn, hence the rounds."""
    for _ in range(n_rounds):
        model = model.with_mixing(fit_rates(Steps.of(model, held_out), class_counts))
    return model


def fit_rates(steps: Steps, class_counts: Integers, n_rounds: int = 40) -> Array:
    groups = np.minimum(np.log2(np.maximum(class_counts, 1)).astype(np.int64), _N_GROUPS - 1)
    everything = _climb(steps, np.zeros_like(steps.classes), np.full(1, START_RATE), 1.0, n_rounds)
    pooled = _climb(steps, groups[steps.classes], np.full(_N_GROUPS, everything[0]), STRENGTH, n_rounds)
    rates = _climb(steps, steps.classes, pooled[groups], STRENGTH, n_rounds)
    return np.clip(rates, 1e-4, 1.0 - 1e-4)


def _climb(steps: Steps, cells: Integers, prior: Array, strength: float, n_rounds: int) -> Array:
    """EM for the mixing rate of each cell, with `strength` pseudo-steps of its prior rate."""
    rates, totals = prior, np.bincount(cells, steps.weights, len(prior))
    for _ in range(n_rounds):
        backoff = rates[cells] * steps.backoff
        share = backoff / (backoff + (1.0 - rates[cells]) * steps.automaton)
        rates = (np.bincount(cells, steps.weights * share, len(prior)) + strength * prior) / (
            totals + strength
        )
    return rates
