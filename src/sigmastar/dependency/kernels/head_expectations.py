"""Expected counts of the moves of head automata on sequences of modifiers: the E-step of all sorts at once.

forward   a_0 = initial,  a_t = a_(t-1) A_x(t) / z_t      backward  b_T = final,  b_(t-1) = A_x(t) b_t / z_t
counts    (start i) a_0 b_0,  (i, x, j) a_(t-1),i A_x,ij b_t,j / z_t,  (stop i) a_T b_T,  over a_T . final
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sigmastar.core.arrays import Floats, Int32s, Int64s
from sigmastar.core.jit import kernel, part
from sigmastar.dependency.kernels.charts import Automata


class Moves(NamedTuple):
    """Expected counts, in the shapes of the automata."""

    starts: Floats  # sorts x states
    moves: Floats  # sorts x symbols x states x states
    stops: Floats  # sorts x states


class _Room(NamedTuple):
    forward: Floats  # places x states
    backward: Floats
    scales: Floats  # places


@part
def _forward(codes: Int32s, sort: int, automata: Automata, room: _Room) -> tuple[float, float]:
    """Fill the forward vectors; the logarithm of their scales, and the weight of ending."""
    forward, m, log = room.forward, automata.n_states[sort], 0.0
    for j in range(m):
        forward[0, j] = automata.initial[sort, j]
    for t in range(1, len(codes) + 1):
        operator, total = automata.operators[sort, codes[t - 1]], 0.0
        for j in range(m):
            value = 0.0
            for i in range(m):
                value += forward[t - 1, i] * operator[i, j]
            forward[t, j] = value
            total += value
        room.scales[t] = total if total > 0.0 else 1.0
        log += np.log(total)
        for j in range(m):
            forward[t, j] /= room.scales[t]
    ending = 0.0
    for j in range(m):
        ending += forward[len(codes), j] * automata.final[sort, j]
    return log, ending


@part
def _backward(codes: Int32s, share: float, sort: int, automata: Automata, room: _Room, found: Moves) -> None:
    """Fill the backward vectors, and add the expected counts of one sequence."""
    forward, backward, m, length = room.forward, room.backward, automata.n_states[sort], len(codes)
    for j in range(m):
        backward[length, j] = share * automata.final[sort, j]
        found.stops[sort, j] += forward[length, j] * backward[length, j]
    for t in range(length, 0, -1):
        code = codes[t - 1]
        operator, into = automata.operators[sort, code], found.moves[sort, code]
        for i in range(m):
            value = 0.0
            for j in range(m):
                piece = operator[i, j] * backward[t, j] / room.scales[t]
                into[i, j] += forward[t - 1, i] * piece
                value += piece
            backward[t - 1, i] = value
    for j in range(m):
        found.starts[sort, j] += automata.initial[sort, j] * backward[0, j]


@kernel
def expected_moves(
    codes: Int32s, offsets: Int64s, counts: Floats, sorts: Int64s, automata: Automata
) -> tuple[Floats, Moves]:
    """The log-likelihood of every sort, and the expected counts.

    Sequences of no probability count for nothing, and leave -inf in the likelihood of their sort.
    """
    logs = np.zeros(len(automata.n_states))
    found = Moves(
        np.zeros_like(automata.initial), np.zeros_like(automata.operators), np.zeros_like(automata.final)
    )
    longest = 0
    for q in range(len(counts)):
        longest = max(longest, offsets[q + 1] - offsets[q])
    width = automata.initial.shape[1]
    room = _Room(np.zeros((longest + 1, width)), np.zeros((longest + 1, width)), np.ones(longest + 1))
    for q in range(len(counts)):
        sequence = codes[offsets[q] : offsets[q + 1]]
        log, ending = _forward(sequence, sorts[q], automata, room)
        logs[sorts[q]] += counts[q] * (log + np.log(ending))
        if ending > 0.0:
            _backward(sequence, counts[q] / ending, sorts[q], automata, room, found)
    return logs, found
