"""Expected counts of the moves of head automata on sequences of modifiers: the E-step of all sorts at once.

forward   a_0 = initial,  a_t = a_(t-1) A_x(t) / z_t      backward  b_T = final,  b_(t-1) = A_x(t) b_t / z_t
counts    (start i) a_0 b_0,  (i, x, j) a_(t-1),i A_x,ij b_t,j / z_t,  (stop i) a_T b_T,  over a_T . final
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sigmastar.core.jit import kernel

Array = NDArray[np.float64]
Codes = NDArray[np.int32]
Longs = NDArray[np.int64]


@kernel
def expected_moves(
    codes: Codes, offsets: Longs, counts: Array, sorts: Longs, n_states: Codes, initial: Array,
    operators: Array, final: Array,
) -> tuple[Array, Array, Array, Array]:  # fmt: skip
    """Log-likelihood, starts, moves and stops of every sort, in the shapes of the automata.

    Sequences of no probability count for nothing, and leave -inf in the likelihood of their sort.
    """
    logs = np.zeros(len(n_states))
    starts, stops = np.zeros_like(initial), np.zeros_like(final)
    moves = np.zeros_like(operators)
    longest = 0
    for q in range(len(counts)):
        longest = max(longest, offsets[q + 1] - offsets[q])
    width = initial.shape[1]
    forward, backward = np.zeros((longest + 1, width)), np.zeros((longest + 1, width))
    scales = np.ones(longest + 1)
    for q in range(len(counts)):
        sort, first = sorts[q], offsets[q]
        length, m = offsets[q + 1] - first, n_states[sorts[q]]
        log = 0.0
        for j in range(width):
            forward[0, j] = initial[sort, j]
        for t in range(1, length + 1):
            operator, total = operators[sort, codes[first + t - 1]], 0.0
            for j in range(m):
                value = 0.0
                for i in range(m):
                    value += forward[t - 1, i] * operator[i, j]
                forward[t, j] = value
                total += value
            scales[t] = total if total > 0.0 else 1.0
            log += np.log(total)
            for j in range(m):
                forward[t, j] /= scales[t]
        ending = 0.0
        for j in range(m):
            ending += forward[length, j] * final[sort, j]
        logs[sort] += counts[q] * (log + np.log(ending))
        if not ending > 0.0:
            continue
        share = counts[q] / ending
        for j in range(m):
            backward[length, j] = share * final[sort, j]
            stops[sort, j] += forward[length, j] * backward[length, j]
        for t in range(length, 0, -1):
            code = codes[first + t - 1]
            operator, into = operators[sort, code], moves[sort, code]
            for i in range(m):
                value = 0.0
                for j in range(m):
                    part = operator[i, j] * backward[t, j] / scales[t]
                    into[i, j] += forward[t - 1, i] * part
                    value += part
                backward[t - 1, i] = value
        for j in range(m):
            starts[sort, j] += initial[sort, j] * backward[0, j]
    return logs, starts, moves, stops
