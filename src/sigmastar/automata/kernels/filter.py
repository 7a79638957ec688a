"""The restart filter: next-symbol distributions that are always proper.

At each step the automaton's own prediction, clipped at zero and made to sum to one, is mixed with a
back-off distribution, and the state with the restart state of the current context class r:

    q(y)  = max(s A_y one, 0) / Z
    p(y)  = (1 - e_r) q(y) + e_r g(y | r)
    s'    = [(1 - e_r) s A_y / Z + e_r g(y | r) W_r'] / p(y)         (first term only where q(y) > 0)

so a state that has strayed is pulled back exactly as far as its prediction failed, and the loss per
symbol is at most the back-off model's plus log(1 / e_r). States are rows with `s . one = 1`; one that
has grown beyond the limit all the same, on strings unlike those that were learnt from, is replaced by W_r'.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sigmastar.core.arrays import Array, Floats, Int32s, Int64s
from sigmastar.core.jit import fast_kernel, kernel, part

CELLS = 1 << 20  # next-symbol weights held at a time


class FilterTrie(NamedTuple):
    """A trie, and what the back-off model gives along it: all that does not depend on the automaton."""

    parent: Int32s
    symbol: Int32s
    level_starts: Int64s
    classes: Int32s
    edge_backoff: Floats  # g(symbol | class of the parent), for each node
    end_backoff: Floats  # g(end | class), for each node


class FilterWeights(NamedTuple):
    """The automaton, and how it is mixed with the back-off model."""

    initial: Array
    transitions: Array
    readout: Array  # a column `A_y one` for each symbol, and `final` last
    restarts: Array
    mixing: Floats
    limit: float  # of the coordinates of a state: what `one` does not see may grow without bound


class _Room(NamedTuple):
    """What the filter works in: states of two levels, some rows of them, and some weights of outcomes."""

    states: Array
    following: Array
    totals: Floats
    gathered: Array
    weights: Array


def filter_trie(trie: FilterTrie, weights: FilterWeights, predictions: Array) -> tuple[Floats, Floats]:
    """Filter every prefix of a trie.

    Returns for every node q of its edge (1 for the root) and q of an end there; where the automaton has no
    prediction, g takes its place.
    `predictions`, if it has rows, receives all of q for every node, or zeros where there is none.
    """
    own = np.ones(len(trie.parent)), np.zeros(len(trie.parent))
    widest = int(np.diff(trie.level_starts).max())
    (n_states, n_outcomes), dtype = weights.readout.shape, weights.readout.dtype
    room = _Room(
        np.empty((widest, n_states), dtype),
        np.empty((widest, n_states), dtype),
        np.empty(widest),
        np.empty((min(widest, max(1, CELLS // n_states)), n_states), dtype),
        np.empty((min(widest, max(1, CELLS // n_outcomes)), n_outcomes), dtype),
    )
    room.states[0] = weights.initial
    _filter_trie(trie, weights, np.ascontiguousarray(weights.readout.T), room, own, predictions)
    return own


@kernel
def _filter_trie(
    trie: FilterTrie,
    weights: FilterWeights,
    columns: Array,
    room: _Room,
    own: tuple[Floats, Floats],
    predictions: Array,
) -> None:
    level_starts, states, following = trie.level_starts, room.states, room.following
    for level in range(len(level_starts) - 1):
        first, end = level_starts[level], level_starts[level + 1]
        _read_out(states, end - first, weights.readout, room, predictions, first)
        for node in range(first, end):
            total = room.totals[node - first]
            stop_weight = max(_dot(states, node - first, columns, len(columns) - 1), 0.0)
            own[1][node] = stop_weight / total if total > 0.0 else trie.end_backoff[node]
        if level + 2 == len(level_starts):
            break
        _move(
            trie, (first, end, level_starts[level + 2]), weights.transitions, room.gathered, states, following
        )
        for node in range(end, level_starts[level + 2]):
            row, code, rate = (
                trie.parent[node] - first,
                trie.symbol[node],
                weights.mixing[trie.classes[trie.parent[node]]],
            )
            weight = max(_dot(states, row, columns, code), 0.0) if code >= 0 else 0.0
            total, from_backoff = room.totals[row], rate * trie.edge_backoff[node]
            own[0][node] = weight / total if total > 0.0 else trie.edge_backoff[node]
            kept, share = 0.0, 1.0
            if weight > 0.0 and total > 0.0:
                probability = (1.0 - rate) * own[0][node] + from_backoff
                kept, share = (1.0 - rate) / (total * probability), from_backoff / probability
            _pull_back(following, node - end, kept, share, weights, trie.classes[node])
        states, following = following, states


@kernel
def sums_along(parent: Int32s, values: Floats) -> Floats:
    """For each node of a trie the sum of the values on the way to it, its own included."""
    sums = values.copy()
    for node in range(1, len(parent)):
        sums[node] += sums[parent[node]]
    return sums


@fast_kernel
def _dot(first: Array, row: int, second: Array, other: int) -> float:
    total = 0.0
    for k in range(first.shape[1]):
        total += first[row, k] * second[other, k]
    return total


@fast_kernel
def _clipped_sum(weights: Array) -> float:
    total = 0.0
    for outcome in range(len(weights)):
        total += max(weights[outcome], 0.0)
    return total


@part
def _pull_back(
    states: Array, row: int, kept: float, share: float, weights: FilterWeights, restart: int
) -> None:
    """state <- kept state + share restart, in place; the restart alone if that strays too far."""
    restarts, is_near = weights.restarts, True
    for k in range(states.shape[1]):
        states[row, k] = kept * states[row, k] + share * restarts[restart, k]
        is_near &= abs(states[row, k]) < weights.limit  # not true of NaN
    if not is_near:
        for k in range(states.shape[1]):
            states[row, k] = restarts[restart, k]


@part
def _read_out(
    states: Array, n_rows: int, readout: Array, room: _Room, predictions: Array, first: int
) -> None:
    """What the clipped weights of all outcomes sum to in each state; q into `predictions` if it has rows.

    A piece of the states at a time: with a large alphabet the weights of a whole level may be too many.
    """
    n_outcomes, at_once = readout.shape[1], len(room.weights)
    for begin in range(0, n_rows, at_once):
        end = min(begin + at_once, n_rows)
        weights = np.dot(states[begin:end], readout, room.weights[: end - begin])
        for row in range(end - begin):
            total = _clipped_sum(weights[row])
            room.totals[begin + row] = total
            if len(predictions) and total > 0.0:
                for outcome in range(n_outcomes):
                    predictions[first + begin + row, outcome] = max(weights[row, outcome], 0.0) / total


@part
def _move(
    trie: FilterTrie,
    level: tuple[int, int, int],
    transitions: Array,
    gathered: Array,
    states: Array,
    moved: Array,
) -> None:
    """The state of each parent times the operator of its symbol; none for unknown symbols."""
    first, end, after = level
    run = end
    while run < after:
        code, stop = trie.symbol[run], run
        while stop < after and stop < run + len(gathered) and trie.symbol[stop] == code:
            for state in range(states.shape[1]):
                gathered[stop - run, state] = states[trie.parent[stop] - first, state]
            stop += 1
        if code >= 0:
            np.dot(gathered[: stop - run], transitions[code], moved[run - end : stop - end])
        run = stop
