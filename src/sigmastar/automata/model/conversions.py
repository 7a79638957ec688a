"""String, prefix and substring automata of one function, exactly into one another.

    prefix:      f_p(w) = sum over v of f(w v)           final'   = (I - A)^-1 final
    substring:   f_s(w) = sum over u, v of f(u w v)      final'   = (I - A)^-1 final,
                                                         initial' = initial (I - A)^-1

with A the sum of the operators, which themselves stay (Balle, Quattoni and Carreras 2014). `f_s(w)` is
the expected number of occurrences of w. The ways back multiply by I - A.
"""

from __future__ import annotations

import numpy as np

from sigmastar.automata.model.automaton import Array, WeightedAutomaton


def string_to_prefix(automaton: WeightedAutomaton) -> WeightedAutomaton:
    return _with_vectors(automaton, automaton.initial, automaton.prefix_final)


def prefix_to_string(automaton: WeightedAutomaton) -> WeightedAutomaton:
    return _with_vectors(automaton, automaton.initial, _one_step_less(automaton) @ automaton.final)


def string_to_substring(automaton: WeightedAutomaton) -> WeightedAutomaton:
    return _with_vectors(automaton, automaton.suffix_initial, automaton.prefix_final)


def substring_to_string(automaton: WeightedAutomaton) -> WeightedAutomaton:
    less = _one_step_less(automaton)
    return _with_vectors(automaton, automaton.initial @ less, less @ automaton.final)


def prefix_to_substring(automaton: WeightedAutomaton) -> WeightedAutomaton:
    return _with_vectors(automaton, automaton.suffix_initial, automaton.final)


def substring_to_prefix(automaton: WeightedAutomaton) -> WeightedAutomaton:
    return _with_vectors(automaton, automaton.initial @ _one_step_less(automaton), automaton.final)


def _one_step_less(automaton: WeightedAutomaton) -> Array:
    return np.eye(automaton.n_states) - automaton.transition_sum


def _with_vectors(automaton: WeightedAutomaton, initial: Array, final: Array) -> WeightedAutomaton:
    return WeightedAutomaton(automaton.alphabet, initial, automaton.transitions, final)
