"""The deterministic approximation of a head automaton."""

from __future__ import annotations

import numpy as np

from sigmastar.automata.data.strings import Strings
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.core.alphabet import Alphabet
from sigmastar.dependency.learn.dfa import approximate_dfa


def test_a_deterministic_automaton_is_found_again() -> None:
    """a leads to the second state, b back: prefixes that end alike are one state."""
    operators = np.zeros((2, 2, 2))
    operators[0, 0, 1], operators[1, 1, 0] = 0.7, 0.4
    truth = WeightedAutomaton(Alphabet("ab"), np.array([1.0, 0.0]), operators, np.array([0.3, 0.6]))
    strings = truth.sample(500, np.random.default_rng(0))
    dfa = approximate_dfa(truth, strings, np.ones(len(strings)), n_clusters=2)
    assert dfa.n_states == 2
    assert {key: target for key, (target, _) in dfa.moves.items()} == {(0, "a"): 1, (1, "b"): 0}
    stop = dfa.stops[1] / (dfa.stops[1] + dfa.moves[1, "b"][1])
    assert abs(stop - 0.6) < 0.05
    assert dfa.to_dot("x").startswith('digraph "x" {')


def test_merging_makes_moves_consistent() -> None:
    rng = np.random.default_rng(3)
    automaton = WeightedAutomaton(
        Alphabet("ab"), rng.random(3), rng.standard_normal((2, 3, 3)), rng.random(3)
    )
    strings = Strings.of(["", "a", "ab", "abb", "ba", "bab", "aab"], alphabet=Alphabet("ab"))
    dfa = approximate_dfa(automaton, strings, np.ones(7), n_clusters=4)
    assert sum(dfa.stops.values()) == 7.0
    assert all(0 <= target < dfa.n_states for target, _ in dfa.moves.values())
