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
    n_nodes, n_states, n_outcomes = len(parent), len(initial), readout.shape[1]
    log_prefix, end_probability = np.zeros(n_nodes), np.zeros(n_nodes)
    edge_restart, end_restart = np.zeros(n_nodes), np.zeros(n_nodes)
    states = np.ascontiguousarray(initial).reshape(1, n_states).copy()
    columns = np.ascontiguousarray(readout.T)
    rows_at_once = max(1, CELLS // n_outcomes)
    buffer = np.empty((min(rows_at_once, n_nodes), n_outcomes))
    for level in range(len(level_starts) - 1):
        first, end = level_starts[level], level_starts[level + 1]
        totals = np.zeros(end - first)
        for begin in range(first, end, rows_at_once):  # all next symbols of a level at once may be too many
            some = states[begin - first : min(begin + rows_at_once, end) - first]
            weights = np.dot(some, readout, buffer[: len(some)])
            for node in range(begin, begin + len(some)):
                row = node - begin
                total = 0.0
                for outcome in range(n_outcomes):
                    weights[row, outcome] = max(weights[row, outcome], 0.0)
                    total += weights[row, outcome]
                rate = mixing[classes[node]] if total > 0.0 else 1.0
                scale = (1.0 - rate) / total if total > 0.0 else 0.0
                from_backoff = rate * end_backoff[node]
                end_probability[node] = scale * weights[row, n_outcomes - 1] + from_backoff
                if end_probability[node] > 0.0:
                    end_restart[node] = from_backoff / end_probability[node]
                if len(predictions) and total > 0.0:
                    for outcome in range(n_outcomes):
                        predictions[node, outcome] = weights[row, outcome] / total
                totals[node - first] = total
        if level + 2 == len(level_starts):
            break
        after = level_starts[level + 2]
        following = np.zeros((after - end, n_states))
        run = end
        while run < after:
            stop = run + 1
            while stop < after and symbol[stop] == symbol[run]:
                stop += 1
            if symbol[run] >= 0:
                gathered = np.empty((stop - run, n_states))
                for node in range(run, stop):
                    gathered[node - run] = states[parent[node] - first]
                moved = np.dot(gathered, transitions[symbol[run]])
                following[run - end : stop - end] = moved
            run = stop
        for node in range(end, after):
            row, state = parent[node] - first, following[node - end]
            weight = max(np.dot(states[row], columns[symbol[node]]), 0.0) if symbol[node] >= 0 else 0.0
            rate = mixing[classes[parent[node]]] if totals[row] > 0.0 else 1.0
            scale = (1.0 - rate) / totals[row] if weight > 0.0 else 0.0
            from_backoff = rate * edge_backoff[node]
            probability = scale * weight + from_backoff
            if probability > 0.0:
                edge_restart[node] = from_backoff / probability
                state *= scale / probability
            else:
                edge_restart[node] = 1.0
                state[:] = 0.0
            state += edge_restart[node] * restarts[classes[node]]
            if not np.abs(state).max() < FARTHEST:
                state[:] = restarts[classes[node]]
            log_prefix[node] = (
                log_prefix[parent[node]] + np.log(probability) if probability > 0.0 else -np.inf
            )
        states = following
    return log_prefix, end_probability, edge_restart, end_restart
