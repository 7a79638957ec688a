"""Figure 3 of Bailly et al. (2013): the Dyck language by grammars and automata, for bases of all sizes.

4,000 strings are drawn; L1 to the truth is over all strings of up to seven symbols. The basis factor is the
share of the insides and outsides that occur, the most frequent ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from sigmastar.automata.counts.bases import most_frequent
from sigmastar.automata.data.strings import Strings
from sigmastar.automata.learn.spectral import learn_automaton
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.core.progress import Progress
from sigmastar.grammars.data.bracketings import Bracketings
from sigmastar.grammars.data.substrings import Substrings, distinct_strings
from sigmastar.grammars.learn.completion import CompletionPlan, learn_completion
from sigmastar.grammars.learn.refinement import refine_grammar
from sigmastar.grammars.learn.spectral import learn_spectral_grammar
from sigmastar.grammars.metrics import grammar_distances
from sigmastar.grammars.model.generators import dyck
from sigmastar.grammars.model.grammar import WeightedGrammar
from sigmastar.grammars.model.mass import grammar_values_up_to
from sigmastar.reproduce.bailly2013.corpus import basis_yields
from sigmastar.reproduce.result import Unfinished, timed

N_STRINGS, LONGEST, N_STATES = 4000, 7, 4
N_REFINEMENTS = 4500
COMPLETED = 8  # symbols of the strings that completion and refinement see


class DyckPoint(NamedTuple):
    """One learner with one basis."""

    learner: str
    factor: float
    seed: int
    l1: float
    seconds: float


def dyck_points(
    factors: Sequence[float], n_seeds: int, seed: int, progress: Progress, kept: Unfinished
) -> Iterator[DyckPoint]:
    """Every learner with every basis factor on samples of the language."""
    truth = dyck()
    for number in range(n_seeds):
        drawn = truth.sample_brackets(N_STRINGS, np.random.default_rng([seed, number]))
        yield DyckPoint("the sample itself", 1.0, number, _l1_of_sample(drawn.strings, truth), 0.0)
        for factor in factors:
            progress(f"Dyck, sample {number + 1}, basis factor {factor}", number / n_seeds)
            make = partial(_learned, drawn, truth, factor, number)
            yield from kept.rows(f"Dyck, sample {number}, {factor}", DyckPoint, make)


def _learned(drawn: Bracketings, truth: WeightedGrammar, factor: float, number: int) -> Iterator[DyckPoint]:
    for n_states in (4, 6):
        automaton, seconds = timed(lambda n=n_states: _automaton(drawn.strings, factor, n))  # type: ignore[misc]
        if automaton is not None:
            l1 = _l1_of_automaton(automaton, truth)
            yield DyckPoint(f"WFA, {n_states} states", factor, number, l1, seconds)
    grammar, seconds = timed(lambda: learn_spectral_grammar(drawn, N_STATES, factor))
    l1 = grammar_distances(grammar, truth, LONGEST).l1
    yield DyckPoint("supervised spectral", factor, number, l1, seconds)
    for label, refine in (("unsupervised, nuclear norm", False), ("unsupervised, refined", True)):
        grammar, seconds = timed(lambda r=refine: unsupervised(drawn.strings, factor, r))  # type: ignore[misc]
        l1 = grammar_distances(grammar, truth, LONGEST).l1
        yield DyckPoint(label, factor, number, l1, seconds)


def unsupervised(strings: Strings, factor: float, refine: bool) -> WeightedGrammar:
    """Completion on the strings that a basis generates; refinement sees all up to the same length."""
    short = strings.select(np.flatnonzero(strings.lengths <= COMPLETED))
    distinct, counts = distinct_strings(short)
    sizes = max(1, round(factor * len(distinct))), max(2, round(factor * Substrings.of(distinct).n_nodes))
    kept = basis_yields(distinct, counts, *sizes)
    n = float(len(strings))
    plan = CompletionPlan(COMPLETED, refinement_max_iter=0, n_strings=n)
    start = learn_completion(distinct.select(kept), N_STATES, plan, weights=counts[kept]).grammar
    if not refine:
        return start
    return refine_grammar(start, distinct, counts / n, n, N_REFINEMENTS)


def _l1_of_sample(strings: Strings, truth: WeightedGrammar) -> float:
    every, values = grammar_values_up_to(truth, LONGEST)
    place = {word: number for number, word in enumerate(every)}
    numbers = [place[word] for word in strings if len(word) <= LONGEST]
    return float(np.abs(np.bincount(numbers, minlength=len(every)) / len(strings) - values).sum())


def _automaton(strings: Strings, factor: float, n_states: int) -> WeightedAutomaton | None:
    whole = most_frequent(strings, 2000, 2000)
    size = max(n_states, round(factor * min(whole.shape)))
    try:
        return learn_automaton(strings, most_frequent(strings, size, size), n_states)
    except ValueError:  # a basis too small for so many states
        return None


def _l1_of_automaton(automaton: WeightedAutomaton, truth: WeightedGrammar) -> float:
    every, values = grammar_values_up_to(truth, LONGEST)
    return float(np.abs(automaton.value(every) - values).sum())
