"""Automata behind the restart filter: what it mixes in each context class, tuned on held-out strings.

Given the two predictions q and g for every held-out step, the mixing rates are a one-dimensional concave
problem for each group of classes; expectation-maximization solves all at once (`core.mixture`). Each class
is drawn to the rate of its group (classes of like counts), each group to the rate of all, by `STRENGTH`
steps.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sigmastar.automata.counts.ngram_smoothing import NextCounts
from sigmastar.automata.counts.on_classes import ContextCounts
from sigmastar.automata.kernels.filter import FilterTrie
from sigmastar.automata.learn.held_out import HeldOut
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.automata.model.filtered import FilteredAutomaton
from sigmastar.automata.model.ngram import NgramModel
from sigmastar.core.arrays import Floats, Int32s, Int64s
from sigmastar.core.mixture import Cells, Events, groups_of_size, mixed_log_likelihood, rates_by_level

START_RATE = 0.05
STRENGTH = 30.0
_N_GROUPS = 16
_LEAST_RATE = 1e-4


@dataclass(frozen=True, eq=False)
class Steps:
    """Every held-out step: its class, how often it is judged, and both models' probabilities of it."""

    classes: Int32s
    events: Events
    n_strings: float

    @classmethod
    def of(
        cls,
        model: FilteredAutomaton,
        held_out: HeldOut,
        walk: FilterTrie | None = None,
        dtype: type = np.float64,
    ) -> Steps:
        """`walk` is the model's walk on the held-out trie, for callers that have it."""
        walk = walk or model.walk(held_out.trie)
        run = model.run(walk, dtype=dtype)
        ending, parent = held_out.ending, held_out.trie.parent[1:]
        classes = np.concatenate([walk.classes[parent], walk.classes[ending]])
        own = np.concatenate([run.edge_own[1:], run.end_own[ending]])
        backoff = np.concatenate([walk.edge_backoff[1:], walk.end_backoff[ending]])
        return cls(classes, Events(held_out.weights, own, backoff), held_out.n_strings)

    def score(self, rates: Floats) -> float:
        """The log-likelihood per string under other rates, if the states stayed as they are."""
        return float(mixed_log_likelihood(self.classes, self.events, rates)) / self.n_strings

    def fit_rates(self, class_counts: Int64s, n_rounds: int = 40) -> Floats:
        """The most likely mixing rate of each class."""
        levels = [
            Cells(self.classes, len(class_counts), STRENGTH),
            Cells(groups_of_size(class_counts, _N_GROUPS), _N_GROUPS, STRENGTH),
        ]
        rates = rates_by_level(self.events, levels, START_RATE, 1.0, n_rounds)
        return np.clip(rates, _LEAST_RATE, 1.0 - _LEAST_RATE)


def behind_filter(
    automaton: WeightedAutomaton, mass: Floats, backoff: NgramModel, restarts: Floats
) -> FilteredAutomaton:
    """An automaton behind the filter, with one mixing rate for all classes."""
    return FilteredAutomaton(automaton, mass, backoff, restarts, np.full(len(restarts), START_RATE))


def backoff_of(counts: ContextCounts) -> NgramModel:
    """The back-off model of next symbols on the past classes of some counts, smoothed by Witten-Bell."""
    following = NextCounts.of_classes(counts.pasts, *counts.next_symbols())
    return NgramModel.of_counts(counts.strings_like.alphabet, following)


def held_out_score(model: FilteredAutomaton, held_out: HeldOut) -> float:
    """The log-likelihood per string."""
    return Steps.of(model, held_out).score(model.mixing)


def tune_mixing(
    model: FilteredAutomaton, class_counts: Int64s, held_out: HeldOut, n_rounds: int
) -> FilteredAutomaton:
    """Fit the mixing rates; the states depend on them in turn, hence the rounds."""
    walk = model.walk(held_out.trie)
    for _ in range(n_rounds):
        model = model.with_mixing(Steps.of(model, held_out, walk).fit_rates(class_counts))
    return model
