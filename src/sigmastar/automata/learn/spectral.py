"""Automata from strings by the spectral method: count, factorise, recover.

    blocks -> factors -> operators -> string function

on a basis of strings and with string, prefix or substring statistics (Balle, Quattoni and Carreras,
2014). The operators of prefix and substring statistics compute the prefix or substring function; its
string function has the same operators and other vectors at its ends.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sigmastar.automata.counts.bases import PREFIX, STRING, SUBSTRING, Basis, Statistic
from sigmastar.automata.counts.on_basis import StringCounts, count_strings
from sigmastar.automata.data.strings import Strings, require_strings
from sigmastar.automata.model.algebra import prefix_to_string, substring_to_string
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.core.arrays import Floats
from sigmastar.core.blocks import Blocks
from sigmastar.core.factors import Factors, factorize_up_to
from sigmastar.core.rank import (
    RankEvidence,
    Rule,
    best_score,
    choose_rank,
    split_half_noise,
)
from sigmastar.core.recover import factorize_blocks, recover
from sigmastar.core.signature import Sort

Step = Callable[[Blocks], Blocks]
"""Smoothing or weighting, between counting and factorising."""
Scorer = Callable[[WeightedAutomaton, Strings], Floats]
"""A score for each held-out string, larger is better."""

MOST_STATES = 100
"""States tried where no candidates are named."""

TO_STRING: Mapping[Statistic, Callable[[WeightedAutomaton], WeightedAutomaton]] = {
    STRING: lambda automaton: automaton,
    PREFIX: prefix_to_string,
    SUBSTRING: substring_to_string,
}


@dataclass(frozen=True, eq=False)
class SpectralFit:
    """A learnt automaton with the evidence for its number of states."""

    automaton: WeightedAutomaton
    evidence: RankEvidence
    counts: StringCounts


def repaired_log_probability(automaton: WeightedAutomaton, strings: Strings, mix: float = 1e-3) -> Floats:
    """Log-probability from next-symbol distributions, clipped at zero and mixed with the uniform one.

    A proper distribution, so models of any rank compare fairly though their raw values may be negative.
    """
    strings = strings.recoded(automaton.alphabet, allow_unknown=True)
    ends = strings.offsets[1:] + np.arange(len(strings))
    following = strings.outcomes
    distributions = automaton.gap_distributions(strings)
    actual = distributions[np.arange(len(following)), following]
    logs = np.log((1.0 - mix) * np.where(following >= 0, actual, 0.0) + mix / distributions.shape[1])
    return np.diff(np.cumsum(logs)[ends], prepend=0.0)


def learn_automaton(
    strings: Strings,
    basis: Basis,
    n_states: int,
    statistic: Statistic = STRING,
    steps: Sequence[Step] = (),
) -> WeightedAutomaton:
    """The automaton of `n_states` states whose string function fits the counts on `basis`."""
    blocks = prepared(count_strings(require_strings(strings), basis, statistic), steps)
    return string_automaton(blocks, factorize_blocks(blocks, n_states), statistic)


def fit_automaton(
    strings: Strings,
    held_out: Strings,
    basis: Basis,
    statistic: Statistic = STRING,
    steps: Sequence[Step] = (),
    candidates: Sequence[int] | None = None,
    score: Scorer = repaired_log_probability,
    rule: Rule = best_score,
) -> SpectralFit:
    """Learn with the number of states that scores best on held-out strings; one SVD serves all."""
    require_strings(held_out, "choose the number of states by")
    halves = [count_strings(half, basis, statistic) for half in _halves(require_strings(strings))]
    counts = halves[0] + halves[1]
    blocks = prepared(counts, steps)
    factors = factorize_up_to(blocks.matrices["string"], max(candidates or (MOST_STATES,)))

    def learnt(n_states: int) -> WeightedAutomaton:
        return string_automaton(blocks, {"string": factors.leading(n_states)}, statistic)

    def held_out_score(n_states: int) -> Floats:
        try:
            return score(learnt(n_states), held_out)
        except ValueError:  # no next-symbol weights: I - A is singular
            return np.array([-np.inf])

    noise = split_half_noise(*(prepared(half, steps).matrices["string"] for half in halves))
    evidence = choose_rank(factors, held_out_score, candidates, noise, rule)
    return SpectralFit(learnt(evidence.chosen), evidence, counts)


def prepared(counts: StringCounts, steps: Sequence[Step]) -> Blocks:
    """The blocks of counts after smoothing and weighting."""
    blocks = counts.blocks()
    for step in steps:
        blocks = step(blocks)
    return blocks


def string_automaton(
    blocks: Blocks, factors: Mapping[Sort, Factors], statistic: Statistic
) -> WeightedAutomaton:
    """Recover the operators and turn the statistic's function into the string function."""
    if statistic not in TO_STRING:
        raise ValueError(f"there is no way from {statistic.name} statistics to a string function")
    return TO_STRING[statistic](WeightedAutomaton.of_operators(recover(blocks, factors)))


def _halves(strings: Strings) -> tuple[Strings, Strings]:
    """Every other string: two samples of the same source, whatever order the corpus has."""
    return strings.select(np.arange(0, len(strings), 2)), strings.select(np.arange(1, len(strings), 2))
