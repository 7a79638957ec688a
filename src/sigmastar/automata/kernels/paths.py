"""Best paths through the states of automata without negative weights (Viterbi).

    best(0, q) = log initial[q],   best(t, q') = max over q of best(t - 1, q) + log A_xt[q, q']
    best path of x1 .. xT:  the maximum over q of best(T, q) + log final[q], followed back

A path has one state before each symbol, which emits it, and one more that stops.
"""

from __future__ import annotations

import numpy as np

from sigmastar.core.arrays import Floats, Int32s, Int64s
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
