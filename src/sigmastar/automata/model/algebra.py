"""New automata from old: operations on the functions, done on the operators.

    f + g        direct sum of the operators          c f        initial times c
    f g          Kronecker products                   reversed   transposed operators

Automata over different alphabets meet over the union: a function is zero on symbols it does not know.

String, prefix and substring automata of one function, exactly into one another.

    prefix:      f_p(w) = sum over v of f(w v)           final'   = (I - A)^-1 final
    substring:   f_s(w) = sum over u, v of f(u w v)      final'   = (I - A)^-1 final,
                                                         initial' = initial (I - A)^-1

with A the sum of the operators, which themselves stay (Balle, Quattoni and Carreras 2014). `f_s(w)` is
the expected number of occurrences of w. The ways back multiply by I - A.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from functools import reduce

import numpy as np

from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.arrays import Floats


def add(*automata: WeightedAutomaton) -> WeightedAutomaton:
    """The sum of the functions, on the states of all.

    Parameters
    ----------
    *automata : WeightedAutomaton
        One or more functions.

    Returns
    -------
    WeightedAutomaton
        The sum.
    """
    if not automata:
        raise ValueError("a sum of automata needs at least one")
    return reduce(operator.add, automata)


def scale(automaton: WeightedAutomaton, factor: float) -> WeightedAutomaton:
    """The function times a number.

    Parameters
    ----------
    automaton : WeightedAutomaton
        The function.
    factor : float
        The number.

    Returns
    -------
    WeightedAutomaton
        The product.
    """
    return automaton * factor


def difference(first: WeightedAutomaton, second: WeightedAutomaton) -> WeightedAutomaton:
    """The first function minus the second.

    Parameters
    ----------
    first, second : WeightedAutomaton
        The two functions.

    Returns
    -------
    WeightedAutomaton
        The difference, on the states of both.
    """
    return add(first, scale(second, -1.0))


def mixture(automata: Sequence[WeightedAutomaton], weights: Sequence[float]) -> WeightedAutomaton:
    """The average of the functions under `weights`, which must be a distribution.

    Parameters
    ----------
    automata : sequence of WeightedAutomaton
        The functions.
    weights : sequence of float
        A distribution over them.

    Returns
    -------
    WeightedAutomaton
        The average, on the states of all.
    """
    if len(weights) != len(automata):
        raise ValueError(f"{len(weights)} weights for {len(automata)} automata")
    if min(weights, default=0.0) < 0.0 or not np.isclose(sum(weights), 1.0, rtol=0.0, atol=1e-9):
        raise ValueError(f"mixture weights {list(weights)} must be non-negative and sum to 1")
    return add(*(scale(automaton, weight) for automaton, weight in zip(automata, weights, strict=True)))


def hadamard(first: WeightedAutomaton, second: WeightedAutomaton) -> WeightedAutomaton:
    """The product of the values, string by string, on pairs of states.

    Parameters
    ----------
    first, second : WeightedAutomaton
        The two functions.

    Returns
    -------
    WeightedAutomaton
        The product.
    """
    union = Alphabet(dict.fromkeys([*first.alphabet, *second.alphabet]))
    first, second = first.over(union), second.over(union)
    n_states = first.n_states * second.n_states
    transitions = np.einsum("aij,akl->aikjl", first.transitions, second.transitions)
    return WeightedAutomaton(
        first.alphabet,
        np.outer(first.initial, second.initial).ravel(),
        transitions.reshape(-1, n_states, n_states),
        np.outer(first.final, second.final).ravel(),
    )


def reverse(automaton: WeightedAutomaton) -> WeightedAutomaton:
    """The function of the reversed string.

    Parameters
    ----------
    automaton : WeightedAutomaton
        The function.

    Returns
    -------
    WeightedAutomaton
        The function of mirrored strings.
    """
    transposed = automaton.transitions.transpose(0, 2, 1)
    return WeightedAutomaton(automaton.alphabet, automaton.final, transposed, automaton.initial)


def string_to_prefix(automaton: WeightedAutomaton) -> WeightedAutomaton:
    """From f to the sum of f over all strings that begin with w.

    Parameters
    ----------
    automaton : WeightedAutomaton
        The function.

    Returns
    -------
    WeightedAutomaton
        The prefix function.
    """
    return _with_vectors(automaton, automaton.initial, automaton.prefix_final)


def prefix_to_string(automaton: WeightedAutomaton) -> WeightedAutomaton:
    """From a prefix function back to the string function.

    Parameters
    ----------
    automaton : WeightedAutomaton
        The function.

    Returns
    -------
    WeightedAutomaton
        The string function.
    """
    return _with_vectors(automaton, automaton.initial, _one_step_less(automaton) @ automaton.final)


def string_to_substring(automaton: WeightedAutomaton) -> WeightedAutomaton:
    """From f to the expected number of occurrences of w.

    Parameters
    ----------
    automaton : WeightedAutomaton
        The function.

    Returns
    -------
    WeightedAutomaton
        The substring function.
    """
    return _with_vectors(automaton, automaton.suffix_initial, automaton.prefix_final)


def substring_to_string(automaton: WeightedAutomaton) -> WeightedAutomaton:
    """From a substring function back to the string function.

    Parameters
    ----------
    automaton : WeightedAutomaton
        The function.

    Returns
    -------
    WeightedAutomaton
        The string function.
    """
    less = _one_step_less(automaton)
    return _with_vectors(automaton, automaton.initial @ less, less @ automaton.final)


def prefix_to_substring(automaton: WeightedAutomaton) -> WeightedAutomaton:
    """From a prefix function to the substring function.

    Parameters
    ----------
    automaton : WeightedAutomaton
        The function.

    Returns
    -------
    WeightedAutomaton
        The substring function.
    """
    return _with_vectors(automaton, automaton.suffix_initial, automaton.final)


def substring_to_prefix(automaton: WeightedAutomaton) -> WeightedAutomaton:
    """From a substring function to the prefix function.

    Parameters
    ----------
    automaton : WeightedAutomaton
        The function.

    Returns
    -------
    WeightedAutomaton
        The prefix function.
    """
    return _with_vectors(automaton, automaton.initial @ _one_step_less(automaton), automaton.final)


def _one_step_less(automaton: WeightedAutomaton) -> Floats:
    return np.eye(automaton.n_states) - automaton.transition_sum


def _with_vectors(automaton: WeightedAutomaton, initial: Floats, final: Floats) -> WeightedAutomaton:
    return WeightedAutomaton(automaton.alphabet, initial, automaton.transitions, final)
