"""How much a filtered automaton should trust its back-off model, class by class, from held-out data.

Given the two predictions q and g for every held-out step, the mixing rates are a one-dimensional
convex problem for each group of classes; expectation-maximisation solves all at once. Each class is
drawn to the rate of its group (classes of like counts), each group to the rate of all, by `STRENGTH`
pseudo-steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sigmastar.automata.kernels.filter import sums_along
from sigmastar.automata.kernels.mixing_rates import climb_rate, climb_rates, mixed_log_likelihood, mixed_logs
from sigmastar.automata.learn.held_strings import HeldOut
from sigmastar.automata.model.filtered import FilteredAutomaton, Walk
from sigmastar.core.arrays import Floats, Int32s, Int64s

START_RATE = 0.05
STRENGTH = 30.0
_N_GROUPS = 16


@dataclass(frozen=True, eq=False)
class Steps:
    """Every held-out step: its class, how often it was taken, and both models' probabilities of it."""

    classes: Int32s
    weights: Floats
    automaton: Floats
    backoff: Floats
    n_strings: float

    @classmethod
    def of(
        cls,
        model: FilteredAutomaton,
        held_out: HeldOut,
        walk: Walk | None = None,
        dtype: type[np.floating[Any]] = np.float64,
    ) -> Steps:
        """`walk` is the model's walk on the held-out trie, for callers that have it."""
        walk = walk or model.walk(held_out.trie)
        run = model.run(walk, dtype=dtype)
        ending, parent = held_out.ending, held_out.trie.parent[1:]
        classes = np.concatenate([walk.classes[parent], walk.classes[ending]])
        own = np.concatenate([run.edge_own[1:], run.end_own[ending]])
        backoff = np.concatenate([walk.edge_backoff[1:], walk.end_backoff[ending]])
        return cls(classes, held_out.weights, own, backoff, held_out.n_strings)

    def score(self, rates: Floats) -> float:
        """The log-likelihood a string under other rates of the classes, if the states stayed as they are."""
        total = mixed_log_likelihood(self.classes, self.weights, self.automaton, self.backoff, rates)
        return total / self.n_strings

    def string_logs(self, rates: Floats, held_out: HeldOut) -> Floats:
        """The log-probabilities of the distinct held-out strings, if the states stayed as they are."""
        of_steps = mixed_logs(self.classes, self.automaton, self.backoff, rates)
        n_edges, parent = held_out.trie.n_nodes - 1, held_out.trie.parent
        along = sums_along(parent, np.concatenate([[0.0], of_steps[:n_edges]]))
        return np.asarray(along[held_out.ending] + of_steps[n_edges:])


def held_out_score(model: FilteredAutomaton, held_out: HeldOut) -> float:
    """The log-likelihood a string."""
    return Steps.of(model, held_out).score(model.mixing)


def tune_mixing(
    model: FilteredAutomaton, class_counts: Int64s, held_out: HeldOut, n_rounds: int
) -> FilteredAutomaton:
    """Fit the mixing rates; the states depend on them in turn, hence the rounds."""
    walk = model.walk(held_out.trie)
    for _ in range(n_rounds):
        model = model.with_mixing(fit_rates(Steps.of(model, held_out, walk), class_counts))
    return model


def fit_rates(steps: Steps, class_counts: Int64s, n_rounds: int = 40) -> Floats:
    groups = np.minimum(np.log2(np.maximum(class_counts, 1)).astype(np.int32), _N_GROUPS - 1)
    everything = climb_rate(steps.weights, steps.automaton, steps.backoff, START_RATE, 1.0, n_rounds)
    pooled = _climb(steps, groups[steps.classes], np.full(_N_GROUPS, everything), STRENGTH, n_rounds)
    rates = _climb(steps, steps.classes, pooled[groups], STRENGTH, n_rounds)
    return np.clip(rates, 1e-4, 1.0 - 1e-4)


def _climb(steps: Steps, cells: Int32s, prior: Floats, strength: float, n_rounds: int) -> Floats:
    """EM for the mixing rate of each cell, with `strength` pseudo-steps of its prior rate."""
    return climb_rates(cells, steps.weights, steps.automaton, steps.backoff, prior, strength, n_rounds)
