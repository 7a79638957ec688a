"""The soft-label divergence of an automaton and its gradient, through the filter, on a trie of prefixes.

    y = s A_a,    q(a) = y . mass,    s' = y / q(a)           forward, down the trie
    Q = s R,      R_a = A_a mass,  R_end = final              what comes next in each state
    L = sum_u w(u) KL(d(u) || Q(u))

    dy = (ds' - mass (ds' . s')) / q(a),   ds += dy A_a^T,   dA_a += s^T dy       backward, up the trie

Below a floor the logarithm goes on as its tangent, so that a prediction that went astray is drawn back.
Nodes of a level that read the same symbol are neighbours: one matrix product serves them all. They are few,
and their products stay in registers (`core.register_products`), for which states that nothing leads to fill
the vectors up. The slopes by operators are added up at the end, over all nodes of a symbol.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from sigmastar.core.arrays import Array, Int32s, Int64s
from sigmastar.core.jit import fast_kernel, multiply, vector_width


class SoftTrie(NamedTuple):
    """Prefixes with what the black box answered, and how much each of them counts."""

    parent: Int32s
    symbol: Int32s
    level_starts: Int64s
    targets: Array  # nodes x outcomes
    weights: Array  # nodes


class FilterArrays(NamedTuple):
    """An automaton for the filter; `readout` has a column `A_a mass` per symbol and `final` last."""

    initial: Array
    transitions: Array
    readout: Array
    mass: Array
    limits: Array  # a state's coordinates are clipped there: a signed automaton may stray
    least: Any  # probability that a state is divided by


class Gradients(NamedTuple):
    """Of the loss, by the arrays of the automaton; the readout is a parameter of its own here."""

    initial: Array
    transitions: Array
    readout: Array


def filter_states(trie: SoftTrie, automaton: FilterArrays) -> Array:
    """The state of every node."""
    wide = _widened(automaton)
    states = np.empty((len(trie.parent), len(wide.initial)), wide.transitions.dtype)
    room = np.empty_like(states)
    _forward(trie, wide, states, np.ones(len(states), states.dtype), room)
    return states[:, : len(automaton.initial)]


def _widened(automaton: FilterArrays) -> FilterArrays:
    """With states that nothing leads to, up to a width that fills vectors."""
    n = len(automaton.initial)
    more = vector_width(n, automaton.transitions.itemsize, few_rows=True) - n
    if not more:
        return automaton
    initial, mass = (np.pad(part, (0, more)) for part in (automaton.initial, automaton.mass))
    transitions = np.pad(automaton.transitions, ((0, 0), (0, more), (0, more)))
    limits = np.pad(automaton.limits, (0, more), constant_values=np.inf)
    readout = np.pad(automaton.readout, ((0, more), (0, 0)))
    return FilterArrays(initial, transitions, readout, mass, limits, automaton.least)


Loss = Callable[[SoftTrie, Array], float]
"""The loss of predictions at the nodes, which are replaced by the slopes of the loss in them."""


def divergence(floor: float, beginnings: float = 1.0) -> Loss:
    """From what was told; the entropy of the answers, on which no automaton depends, is left out.

    Parameters
    ----------
    floor : float
        Predictions below go on as their tangent.
    beginnings : float
        How many times the empty prefix and prefixes of one symbol count: short strings are the likely ones.

    Returns
    -------
    Loss
        The loss.
    """
    return partial(_of_divergence, floor, beginnings)


def _of_divergence(floor: float, beginnings: float, trie: SoftTrie, predictions: Array) -> float:
    weights = trie.weights.copy()
    weights[: trie.level_starts[:3][-1]] *= weights.dtype.type(beginnings)
    return _slopes(trie.targets, weights, predictions, floor)


def soft_gradient(trie: SoftTrie, automaton: FilterArrays, loss: Loss) -> tuple[float, Gradients]:
    """The loss, summed over the nodes by their weights, and its gradients."""
    wide, n = _widened(automaton), len(automaton.initial)
    shape, dtype = (len(trie.parent), len(wide.initial)), wide.transitions.dtype
    states, room = np.empty(shape, dtype), np.empty(shape, dtype)
    divisors = np.ones(len(states), dtype)
    _forward(trie, wide, states, divisors, room)
    predictions = states @ wide.readout
    value = loss(trie, predictions)
    by_readout = states.T @ predictions
    slopes = predictions @ wide.readout.T
    turned = np.ascontiguousarray(wide.transitions.transpose(0, 2, 1))
    _backward(trie, wide._replace(transitions=turned), (states, divisors, slopes), room)
    return value, Gradients(slopes[0, :n].copy(), _moves(trie, states, slopes, automaton), by_readout[:n])


def _moves(trie: SoftTrie, states: Array, slopes: Array, automaton: FilterArrays) -> Array:
    """dA_a, of all nodes that read a."""
    found, n = np.zeros_like(automaton.transitions), len(automaton.initial)
    order = np.argsort(trie.symbol[1:], kind="stable") + 1
    codes, starts = np.unique(trie.symbol[order], return_index=True)
    for code, nodes in zip(codes.tolist(), np.split(order, starts[1:]), strict=True):
        found[code] = (states[trie.parent[nodes]].T @ slopes[nodes])[:n, :n]
    return found


@fast_kernel
def _slopes(targets: Array, weights: Array, predictions: Array, floor: float) -> float:
    """The loss; predictions are replaced by the slopes of the loss in them."""
    total = 0.0
    for node in range(len(targets)):
        for outcome in range(targets.shape[1]):
            target = weights[node] * targets[node, outcome]
            told = predictions[node, outcome]
            if target == 0.0:
                predictions[node, outcome] = 0.0
            elif told > floor:
                total -= target * np.log(told)
                predictions[node, outcome] = -target / told
            else:
                total -= target * (np.log(floor) + (told - floor) / floor)
                predictions[node, outcome] = -target / floor
    return total


@fast_kernel
def _forward(trie: SoftTrie, automaton: FilterArrays, states: Array, divisors: Array, room: Array) -> None:
    n = states.shape[1]
    mass = automaton.mass
    for k in range(n):
        states[0, k] = automaton.initial[k]
    run, end = 1, len(states)
    while run < end:
        stop = _run_end(trie.symbol, trie.level_starts, run)
        for node in range(run, stop):
            above = trie.parent[node]
            for k in range(n):
                room[node - run, k] = states[above, k]
        multiply(room[: stop - run], automaton.transitions[trie.symbol[run]], states[run:stop])
        for node in range(run, stop):
            divisor = mass[0] * states[node, 0]
            for k in range(1, n):
                divisor += mass[k] * states[node, k]
            divisor = max(divisor, automaton.least)
            divisors[node] = divisor
            for k in range(n):
                limit = automaton.limits[k]
                states[node, k] = min(max(states[node, k] / divisor, -limit), limit)
        run = stop


@fast_kernel
def _run_end(symbol: Int32s, level_starts: Int64s, run: int) -> int:
    """Where the nodes of a level that read the same symbol end."""
    level_end = level_starts[np.searchsorted(level_starts, run, side="right")]
    stop = run
    while stop < level_end and symbol[stop] == symbol[run]:
        stop += 1
    return stop


@fast_kernel
def _run_start(symbol: Int32s, level_starts: Int64s, stop: int) -> int:
    """Where the nodes of a level that read the same symbol as the one before `stop` begin."""
    level_start = level_starts[np.searchsorted(level_starts, stop - 1, side="right") - 1]
    run = stop - 1
    while run > level_start and symbol[run - 1] == symbol[stop - 1]:
        run -= 1
    return run


@fast_kernel
def _backward(
    trie: SoftTrie,
    automaton: FilterArrays,
    along: tuple[Array, Array, Array],
    room: Array,
) -> None:
    """States, divisors and slopes; the operators of the automaton are turned, columns for rows."""
    states, divisors, slopes = along
    n, mass, stop = states.shape[1], automaton.mass, len(states)
    while stop > 1:
        run = _run_start(trie.symbol, trie.level_starts, stop)
        for node in range(run, stop):
            along_state = mass[0] * 0
            for k in range(n):
                if abs(states[node, k]) >= automaton.limits[k]:
                    slopes[node, k] = 0
                along_state += slopes[node, k] * states[node, k]
            if divisors[node] <= automaton.least:
                along_state = mass[0] * 0
            for k in range(n):
                slopes[node, k] = (slopes[node, k] - mass[k] * along_state) / divisors[node]
        multiply(slopes[run:stop], automaton.transitions[trie.symbol[run]], room[: stop - run])
        for node in range(run, stop):
            above = trie.parent[node]
            for k in range(n):
                slopes[above, k] += room[node - run, k]
        stop = run
