"""Automata behind the restart filter: what it mixes in each context class, tuned on held-out strings.

Given the two predictions q and g for every held-out step, the mixing rates are a one-dimensional concave
problem for each group of classes; expectation-maximization climbs all at once (`core.mixture`). Each class
is drawn to the rate of its group (classes of like counts), each group to the rate of all, by `STRENGTH`
steps. A few rounds leave the rates near `START_RATE` where q and g are nearly alike, as on strings that are
nearly random; solved to the end they say which of the two is better there as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from sigmastar.automata.counts.ngram_smoothing import NextCounts, witten_bell
from sigmastar.automata.counts.on_classes import ContextCounts
from sigmastar.automata.data.contexts import ContextTrie
from sigmastar.automata.kernels.filter import FilterTrie
from sigmastar.automata.learn.held_out import HeldOut
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.automata.model.filtered import FilteredAutomaton
from sigmastar.automata.model.ngram import NgramModel
from sigmastar.core.arrays import Floats, Int32s, Int64s
from sigmastar.core.mixing_rates import Cells, Events, groups_of_size, mixed_log_likelihood, rates_by_level

START_RATE = 0.05
STRENGTH = 30.0
STRENGTHS = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0)
"""Of the smoothing of the back-off model."""
_N_GROUPS = 16
_LEAST_RATE = 1e-4
MOST_RATE = 1.0 - _LEAST_RATE


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

    def with_backoff(self, walk: FilterTrie, held_out: HeldOut) -> Steps:
        """The same steps beside another back-off model, if the states stayed as they are."""
        backoff = np.concatenate([walk.edge_backoff[1:], walk.end_backoff[held_out.ending]])
        return Steps(self.classes, self.events._replace(second=backoff), self.n_strings)

    def score(self, rates: Floats) -> float:
        """The log-likelihood per string under other rates, if the states stayed as they are."""
        return float(mixed_log_likelihood(self.classes, self.events, rates)) / self.n_strings

    def logs(self, rates: Floats) -> Floats:
        """The log-probability of each step, if the states stayed as they are."""
        rate = rates[self.classes]
        return np.asarray(np.log((1.0 - rate) * self.events.first + rate * self.events.second))

    def fit_rates(self, class_counts: Int64s, n_rounds: int | None = 40) -> Floats:
        """The most likely mixing rate of each class, after some rounds or (None) at the end."""
        levels = [
            Cells(self.classes, len(class_counts), STRENGTH),
            Cells(groups_of_size(class_counts, _N_GROUPS), _N_GROUPS, STRENGTH),
        ]
        rates = rates_by_level(self.events, levels, START_RATE, 1.0, n_rounds)
        return np.clip(rates, _LEAST_RATE, MOST_RATE)


def behind_filter(
    automaton: WeightedAutomaton, mass: Floats, backoff: NgramModel, restarts: Floats
) -> FilteredAutomaton:
    """An automaton behind the filter, with one mixing rate for all classes."""
    return FilteredAutomaton(automaton, mass, backoff, restarts, np.full(len(restarts), START_RATE))


def backoff_of(counts: ContextCounts, strength: float = 1.0) -> NgramModel:
    """The back-off model of next symbols on the past classes of some counts, smoothed by Witten-Bell."""
    following = NextCounts.of_classes(counts.pasts, *counts.next_symbols())
    return NgramModel.of_counts(
        counts.strings_like.alphabet, following, partial(witten_bell, strength=strength)
    )


def best_strength(counts: ContextCounts, held_out: HeldOut) -> float:
    """The strength of smoothing by which the back-off model alone is best on held-out strings.

    Strings that are nearly random need far more than what is usual: what follows a rare context is chance.
    """
    following = NextCounts.of_classes(counts.pasts, *counts.next_symbols())
    contexts, outcomes = judged_steps(held_out, counts.pasts, len(counts.strings_like.alphabet))

    def score(strength: float) -> float:
        smoothing = partial(witten_bell, strength=strength)
        model = NgramModel.of_counts(counts.strings_like.alphabet, following, smoothing)
        return float(held_out.weights @ np.log(np.maximum(model.probabilities(contexts, outcomes), 1e-300)))

    best, highest = STRENGTHS[0], score(STRENGTHS[0])
    for strength in STRENGTHS[1:]:  # one hill: most corpora are done after the first step up
        if (found := score(strength)) <= highest:
            break
        best, highest = strength, found
    return best


def judged_steps(held_out: HeldOut, pasts: ContextTrie, end: int) -> tuple[Int32s, Int32s]:
    """The class before each held-out step, and its outcome."""
    classes = pasts.classify_prefixes(held_out.trie)
    contexts = np.concatenate([classes[held_out.trie.parent[1:]], classes[held_out.ending]])
    ends = np.full(len(held_out.ending), end, np.int32)
    return contexts, np.concatenate([held_out.trie.symbol[1:], ends])


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
