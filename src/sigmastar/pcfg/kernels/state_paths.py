"""The best path of states of a hidden Markov model: a maximum in place of every sum, in logarithms."""

from __future__ import annotations

import numpy as np

from sigmastar.core.arrays import Floats, Int32s, Int64s
from sigmastar.core.jit import kernel


@kernel
def best_path(codes: Int32s, initial: Floats, moves: Floats, stops: Floats, emissions: Floats) -> Int64s:
    """States of the best path; empty where the string has none. Arguments but the codes are logarithms."""
    length, n_states = len(codes), len(initial)
    if length == 0 or codes.min() < 0:
        return np.empty(0, np.int64)
    scores = initial + emissions[:, codes[0]]
    back = np.zeros((length, n_states), np.int64)
    for t in range(1, length):
        following = np.full(n_states, -np.inf)
        for state in range(n_states):
            for before in range(n_states):
                score = scores[before] + moves[before, state]
                if score > following[state]:
                    following[state] = score
                    back[t, state] = before
        scores = following + emissions[:, codes[t]]
    scores = scores + stops
    path = np.empty(length, np.int64)
    path[-1] = np.argmax(scores)
    if scores[path[-1]] == -np.inf:
        return path[:0]
    for t in range(length - 1, 0, -1):
        path[t - 1] = back[t, path[t]]
    return path
