"""The states behind a string: the best path, and how probable each state is at each symbol.

    P(q at t | x) = v_t[q] u_t[q] / f(x)       v_t, u_t the forward and backward vectors around symbol t

For a proper automaton these are probabilities. Operators of the spectral method are signed and known up to a
change of basis: their rows still sum to one, but may hold negative shares, and there is no best path.

Best paths go through the states of automata without negative weights (Viterbi).

    best(0, q) = log initial[q],   best(t, q') = max over q of best(t - 1, q) + log A_xt[q, q']
    best path of x1 .. xT:  the maximum over q of best(T, q) + log final[q], followed back

A path has one state before each symbol, which emits it, and one more that stops.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sigmastar.automata.data.strings import Strings
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.core.arrays import Floats, Int32s, Int64s
from sigmastar.core.errors import InputError
from sigmastar.core.jit import kernel


@kernel
def best_paths(
    codes: Int32s, offsets: Int64s, initial: Floats, transitions: Floats, final: Floats
) -> tuple[Int32s, Floats]:
    """The state that emits each symbol, and the log-weight of the path of each string.

    Weights are logarithms. States are -1, and the log-weight -inf, where a string has no path.
    """
    n_strings, n_states = len(offsets) - 1, len(initial)
    states, logs = np.full(len(codes), -1, np.int32), np.full(n_strings, -np.inf)
    longest = 0
    for string in range(n_strings):
        longest = max(longest, offsets[string + 1] - offsets[string])
    back = np.empty((longest + 1, n_states), np.int32)
    scores, following = np.empty(n_states), np.empty(n_states)
    for string in range(n_strings):
        first, length = offsets[string], offsets[string + 1] - offsets[string]
        for state in range(n_states):
            scores[state] = initial[state]
        for t in range(length):
            code = codes[first + t]
            for target in range(n_states):
                following[target], back[t + 1, target] = -np.inf, -1
            if code >= 0:
                for state in range(n_states):
                    if scores[state] == -np.inf:
                        continue
                    for target in range(n_states):
                        score = scores[state] + transitions[code, state, target]
                        if score > following[target]:
                            following[target], back[t + 1, target] = score, state
            scores, following = following, scores
        at = -1
        for state in range(n_states):
            if scores[state] + final[state] > logs[string]:
                logs[string], at = scores[state] + final[state], state
        if at >= 0:
            for t in range(length, 0, -1):
                at = back[t, at]
                states[first + t - 1] = at
    return states, logs


class StatePaths(NamedTuple):
    """The state that emits each symbol, one array per string, and the log-probability of each path."""

    states: list[Int32s]
    log_probabilities: Floats


def best_states(automaton: WeightedAutomaton, strings: Strings) -> StatePaths:
    """The most probable path of each string (Viterbi).

    Parameters
    ----------
    automaton : WeightedAutomaton
        Without negative weights.
    strings : Strings
        Over any alphabet.

    Returns
    -------
    StatePaths
        One state per symbol; -1 where a string has no path.
    """
    if min(weights.min(initial=0.0) for weights in automaton.arrays) < 0.0:
        raise InputError(
            "signed operators have no best path; use predict_proba, or learn a proper automaton "
            "(method='auto', or EMAutomaton)"
        )
    coded = strings.recoded(automaton.alphabet, allow_unknown=True)
    with np.errstate(divide="ignore"):
        logs = [np.log(weights) for weights in automaton.arrays]
    states, found = best_paths(coded.codes, coded.offsets, *logs)
    return StatePaths(np.split(states, coded.offsets[1:-1]) if len(coded) else [], found)


def state_posteriors(automaton: WeightedAutomaton, strings: Strings) -> list[Floats]:
    """The share of each state at each symbol of each string.

    Parameters
    ----------
    automaton : WeightedAutomaton
        Any; shares may be negative where weights are.
    strings : Strings
        Over any alphabet.

    Returns
    -------
    list of arrays
        Symbols x states; rows sum to one, or are zero where f is zero.
    """
    coded = strings.recoded(automaton.alphabet, allow_unknown=True)
    return [
        _posteriors(automaton, coded.codes[begin:end])
        for begin, end in zip(coded.offsets[:-1], coded.offsets[1:], strict=True)
    ]


def _posteriors(automaton: WeightedAutomaton, codes: Int32s) -> Floats:
    forward, backward = automaton.forward(codes), automaton.backward(codes)
    products = (forward.mantissas * backward.mantissas)[: len(codes)]
    totals = products.sum(axis=1, keepdims=True)  # f(x), up to powers of two that cancel
    return np.asarray(products / np.where(totals == 0.0, 1.0, totals))
