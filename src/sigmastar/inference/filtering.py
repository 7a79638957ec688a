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

import numpy as np
from numpy.typing import NDArray

from sigmastar.jit import kernel

Array = NDArray[np.float64]
Integers = NDArray[np.int32]
Longs = NDArray[np.int64]

CELLS = 1 << 20  # next-symbol weights held at a time
FARTHEST = 1e100  # what `one` does not see of a state may grow without bound; from here it starts anew


@kernel
def filter_trie(
    parent: Integers,
    symbol: Integers,
    level_starts: Longs,
    classes: Integers,
    edge_backoff: Array,
    end_backoff: Array,
    initial: Array,
    transitions: Array,
    readout: Array,
    restarts: Array,
    mixing: Array,
    predictions: Array,
) -> tuple[Array, Array, Array, Array]:
    """Filter every prefix of a trie.

    `readout` has a column `A_y one` for each symbol and `final` last; `edge_backoff[v]` is
    g(symbol[v] | class of parent), `end_backoff[v]` g(end | class of v). Returns for every node the
    log-probability of its prefix, the probability that it ends there, and the two posteriors that the
    step came from the back-off model (for its edge, for its end). `predictions`, if it has rows,
    receives q for every node.
    """
    n_nodes = len(parent)
    log_prefix, end_probability = np.zeros(n_nodes), np.zeros(n_nodes)
    edge_restart, end_restart = np.zeros(n_nodes), np.zeros(n_nodes)
    states = np.ascontiguousarray(initial).reshape(1, len(initial)).copy()
    columns = np.ascontiguousarray(readout.T)
    for level in range(len(level_starts) - 1):
        first, end = level_starts[level], level_starts[level + 1]
        rates = mixing[classes[first:end]]
        here = predictions[first:end] if len(predictions) else predictions
        totals = _read_out(states, readout, here)
        for node in range(first, end):
            rate, total = rates[node - first], totals[node - first]
            if total <= 0.0:
                rate = rates[node - first] = 1.0
            stop_weight = max(np.dot(states[node - first], columns[-1]), 0.0)
            from_backoff = rate * end_backoff[node]
            end_probability[node] = from_backoff + (
                (1.0 - rate) * stop_weight / total if total > 0.0 else 0.0
            )
            if end_probability[node] > 0.0:
                end_restart[node] = from_backoff / end_probability[node]
        if level + 2 == len(level_starts):
            break
        after = level_starts[level + 2]
        following = _move(states, parent[end:after] - first, symbol[end:after], transitions)
        for node in range(end, after):
            row, state = parent[node] - first, following[node - end]
            weight = max(np.dot(states[row], columns[symbol[node]]), 0.0) if symbol[node] >= 0 else 0.0
            scale = (1.0 - rates[row]) / totals[row] if weight > 0.0 else 0.0
            from_backoff = rates[row] * edge_backoff[node]
            probability = scale * weight + from_backoff
            edge_restart[node] = from_backoff / probability if probability > 0.0 else 1.0
            state *= scale / probability if probability > 0.0 else 0.0
            state += edge_restart[node] * restarts[classes[node]]
            if not np.abs(state).max() < FARTHEST:
                state[:] = restarts[classes[node]]
            log_prefix[node] = log_prefix[parent[node]] + np.log(probability)
        states = following
    return log_prefix, end_probability, edge_restart, end_restart


@kernel
def _read_out(states: Array, readout: Array, predictions: Array) -> Array:
    """What the clipped weights of all outcomes sum to in each state; q into `predictions` if it has rows.

    A piece of the states at a time: with a large alphabet the weights of a whole level may be too many.
    """
    n_outcomes = readout.shape[1]
    totals, at_once = np.zeros(len(states)), max(1, CELLS // n_outcomes)
    buffer = np.empty((min(at_once, len(states)), n_outcomes))
    for begin in range(0, len(states), at_once):
        some = states[begin : begin + at_once]
        weights = np.dot(some, readout, buffer[: len(some)])
        for row in range(len(some)):
            total = 0.0
            for outcome in range(n_outcomes):
                weights[row, outcome] = max(weights[row, outcome], 0.0)
                total += weights[row, outcome]
            totals[begin + row] = total
            if len(predictions) and total > 0.0:
                for outcome in range(n_outcomes):
                    predictions[begin + row, outcome] = weights[row, outcome] / total
    return totals


@kernel
def _move(states: Array, parents: Integers, symbols: Integers, transitions: Array) -> Array:
    """The state of each parent times the operator of its symbol; zero for unknown symbols."""
    n_states = states.shape[1]
    moved = np.zeros((len(parents), n_states))
    run = 0
    while run < len(parents):
        stop = run + 1
        while stop < len(parents) and symbols[stop] == symbols[run]:
            stop += 1
        if symbols[run] >= 0:
            gathered = np.empty((stop - run, n_states))
            for child in range(run, stop):
                gathered[child - run] = states[parents[child]]
            moved[run:stop] = np.dot(gathered, transitions[symbols[run]])
        run = stop
    return moved
