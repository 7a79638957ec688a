"""The restart filter: next-symbol distributions that are always proper.

At each step the automaton's own prediction, clipped at zero and made to sum to one, is mixed with a
back-off distribution, and the state with the restart state of the current context class r:

    q(y)  = max(s A_y one, 0) / Z
    p(y)  = (1 - e_r) q(y) + e_r g(y | r)
    s'    = [(1 - e_r) s A_y / Z + e_r g(y | r) W_r'] / p(y)         (first term only where q(y) > 0)

so a state that has strayed is pulled back exactly as far as its prediction failed, and the loss per
symbol is at most the back-off model's plus log(1 / e_r). States are rows with `s . one = 1`; one that
has grown beyond `FARTHEST` all the same is replaced by W_r'.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sigmastar.core.arrays import Array, Floats, Int32s, Int64s
from sigmastar.core.jit import fast_kernel, kernel, part

CELLS = 1 << 20  # next-symbol weights held at a time
FARTHEST = 1e100  # what `one` does not see of a state may grow without bound; from here it starts anew


class FilterTrie(NamedTuple):
    """A trie, and what the back-off model says along it: all that does not depend on the automaton."""

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


@kernel
def filter_trie(trie: FilterTrie, weights: FilterWeights, predictions: Array) -> tuple[Floats, Floats]:
    """Filter every prefix of a trie.

    Returns for every node q of its edge (1 for the root) and q of an end there; where the automaton has no
    prediction, g takes its place.
    `predictions`, if it has rows, receives all of q for every node, or zeros where there is none.
    """
    parent, symbol, level_starts, classes, edge_backoff, end_backoff = trie
    initial, transitions, readout, restarts, mixing = weights
    n_nodes = len(parent)
    edge_own, end_own = np.ones(n_nodes), np.zeros(n_nodes)
    states = np.ascontiguousarray(initial).reshape(1, len(initial)).copy()
    columns = np.ascontiguousarray(readout.T)
    for level in range(len(level_starts) - 1):
        first, end = level_starts[level], level_starts[level + 1]
        here = predictions[first:end] if len(predictions) else predictions
        totals = _read_out(states, readout, here)
        for node in range(first, end):
            total = totals[node - first]
            stop_weight = max(_dot(states[node - first], columns[-1]), 0.0)
            end_own[node] = stop_weight / total if total > 0.0 else end_backoff[node]
        if level + 2 == len(level_starts):
            break
        after = level_starts[level + 2]
        following = _move(states, parent[end:after] - first, symbol[end:after], transitions)
        for node in range(end, after):
            row, code = parent[node] - first, symbol[node]
            rate, total, state = mixing[classes[parent[node]]], totals[row], following[node - end]
            weight = max(_dot(states[row], columns[code]), 0.0) if code >= 0 else 0.0
            edge_own[node] = weight / total if total > 0.0 else edge_backoff[node]
            probability = (1.0 - rate) * edge_own[node] + rate * edge_backoff[node]
            if weight > 0.0 and total > 0.0:
                share = rate * edge_backoff[node] / probability
                _pull_back(state, (1.0 - rate) / (total * probability), share, restarts[classes[node]])
            else:
                for k in range(len(state)):
                    state[k] = restarts[classes[node], k]
        states = following
    return edge_own, end_own


@kernel
def sums_along(parent: Int32s, values: Floats) -> Floats:
    """For each node of a trie the sum of the values on the way to it, its own included."""
    sums = values.copy()
    for node in range(1, len(parent)):
        sums[node] += sums[parent[node]]
    return sums


@fast_kernel
def _dot(first: Floats, second: Floats) -> float:
    total = 0.0
    for k in range(len(first)):
        total += first[k] * second[k]
    return total


@part
def _pull_back(state: Floats, factor: float, share: float, restart: Floats) -> None:
    """state <- factor state + share restart, in place; the restart alone if that strays too far."""
    is_near = True
    for k in range(len(state)):
        state[k] = factor * state[k] + share * restart[k]
        is_near &= abs(state[k]) < FARTHEST  # not true of NaN
    if not is_near:
        for k in range(len(state)):
            state[k] = restart[k]


@part
def _read_out(states: Floats, readout: Floats, predictions: Floats) -> Floats:
    """What the clipped weights of all outcomes sum to in each state; q into `predictions` if it has rows.

    A piece of the states at a time: with a large alphabet the weights of a whole level may be too many.
    """
    n_outcomes = readout.shape[1]
    totals, at_once = np.zeros(len(states)), max(1, CELLS // n_outcomes)
    buffer = np.empty((min(at_once, len(states)), n_outcomes), states.dtype)
    for begin in range(0, len(states), at_once):
        some = states[begin : begin + at_once]
        weights = np.dot(some, readout, buffer[: len(some)])
        for row in range(len(some)):
            total = 0.0
            for outcome in range(n_outcomes):
                total += max(weights[row, outcome], 0.0)
            totals[begin + row] = total
            if len(predictions) and total > 0.0:
                for outcome in range(n_outcomes):
                    predictions[begin + row, outcome] = max(weights[row, outcome], 0.0) / total
    return totals


@part
def _move(states: Floats, parents: Int32s, symbols: Int32s, transitions: Floats) -> Floats:
    """The state of each parent times the operator of its symbol; zero for unknown symbols."""
    n_states = states.shape[1]
    moved = np.zeros((len(parents), n_states), states.dtype)
    run = 0
    while run < len(parents):
        stop = run + 1
        while stop < len(parents) and symbols[stop] == symbols[run]:
            stop += 1
        if symbols[run] >= 0:
            gathered = np.empty((stop - run, n_states), states.dtype)
            for child in range(run, stop):
                for state in range(n_states):
                    gathered[child - run, state] = states[parents[child], state]
            np.dot(gathered, transitions[symbols[run]], moved[run:stop])
        run = stop
    return moved
