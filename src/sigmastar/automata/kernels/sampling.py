"""Drawing strings from automata by inversion of cumulative tables.

A proper automaton is walked state by state: each state has one table over its moves (symbol, next
state) and the stop. A signed automaton has no states to walk: its next symbol is drawn from the
weights `forward(w) . next_weights`, as ratios to the weight of w where that is finite, clipped at zero;
where none is positive, uniformly.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sigmastar.core.arrays import Floats, Int32s, Int64s
from sigmastar.core.jit import kernel, part
from sigmastar.core.scaling import grown


class MoveTables(NamedTuple):
    """The moves of state q are `starts[q]:starts[q + 1]`; symbol -1 is the stop."""

    starts: Int64s
    cumulative: Floats
    symbol: Int32s
    target: Int64s

    @classmethod
    def of(cls, transitions: Floats, final: Floats) -> MoveTables:
        """Only moves of positive weight are kept, so that sparse automata have short tables."""
        n_states = len(final)
        source, symbol, target = np.nonzero(transitions.transpose(1, 0, 2) > 0)
        stopping = np.flatnonzero(final > 0)
        weights = np.concatenate([transitions[symbol, source, target], final[stopping]])
        source = np.concatenate([source, stopping])
        order = np.argsort(source, kind="stable")
        starts = np.searchsorted(source[order], np.arange(n_states + 1)).astype(np.int64)
        symbols = np.concatenate([symbol, np.full(len(stopping), -1)])[order].astype(np.int32)
        targets = np.concatenate([target, np.zeros(len(stopping), np.int64)])[order]
        return cls(starts, running_sums(weights[order], starts), symbols, targets)


@kernel
def running_sums(weights: Floats, starts: Int64s) -> Floats:
    """Running sums that begin anew at each of `starts`."""
    sums = np.empty_like(weights)
    for row in range(len(starts) - 1):
        total = 0.0
        for k in range(starts[row], starts[row + 1]):
            total += weights[k]
            sums[k] = total
    return sums


@kernel
def invert(cumulative: Floats, first: int, end: int, uniform: float) -> int:
    """The position in first..end-1 of the part of a cumulative table that `uniform` falls into."""
    aim = uniform * cumulative[end - 1]
    low, high = first, end - 1
    while low < high:
        middle = (low + high) // 2
        if cumulative[middle] > aim:
            high = middle
        else:
            low = middle + 1
    return low


@kernel
def walk_states(
    start_table: Floats, tables: MoveTables, n_strings: int, rng: np.random.Generator, max_length: int
) -> tuple[Int32s, Int64s]:
    """Codes and offsets of strings read off random walks; `start_table` is cumulative over the states."""
    starts, cumulative, symbol, target = tables
    codes, offsets = np.empty(max(16 * n_strings, 16), np.int32), np.zeros(n_strings + 1, np.int64)
    n_codes = 0
    for i in range(n_strings):
        state = invert(start_table, 0, len(start_table), rng.random())
        limit = n_codes + max_length
        while n_codes < limit and starts[state] < starts[state + 1]:
            move = invert(cumulative, starts[state], starts[state + 1], rng.random())
            if symbol[move] < 0:
                break
            codes = grown(codes, n_codes + 1)
            codes[n_codes] = symbol[move]
            n_codes += 1
            state = target[move]
        offsets[i + 1] = n_codes
    return codes[:n_codes].copy(), offsets


@kernel
def draw_symbols(
    initial: Floats,
    transitions: Floats,
    next_weights: Floats,
    by_ratio: bool,
    n_strings: int,
    rng: np.random.Generator,
    max_length: int,
) -> tuple[Int32s, Int64s]:
    """Codes and offsets of strings drawn symbol by symbol; the last column of `next_weights` is the stop."""
    n_moves = next_weights.shape[1]
    codes, offsets = np.empty(max(16 * n_strings, 16), np.int32), np.zeros(n_strings + 1, np.int64)
    n_codes = 0
    for i in range(n_strings):
        vector = initial.copy()
        limit = n_codes + max_length
        while n_codes < limit:
            move = invert(_clipped_sums(vector, next_weights, by_ratio), 0, n_moves, rng.random())
            if move == n_moves - 1:
                break
            codes = grown(codes, n_codes + 1)
            codes[n_codes] = move
            n_codes += 1
            vector = _advance(vector, transitions[move])
        offsets[i + 1] = n_codes
    return codes[:n_codes].copy(), offsets


@part
def _clipped_sums(vector: Floats, next_weights: Floats, by_ratio: bool) -> Floats:
    n_states, n_moves = next_weights.shape
    sums = np.zeros(n_moves)
    for state in range(n_states):
        for move in range(n_moves):
            sums[move] += vector[state] * next_weights[state, move]
    sign = (
        -1.0 if by_ratio and sums.sum() < 0.0 else 1.0
    )  # of the prefix: in the ratio to its weight it cancels
    total = 0.0
    for move in range(n_moves):
        total += max(sign * sums[move], 0.0)
        sums[move] = total
    if total <= 0.0:
        for move in range(n_moves):
            sums[move] = move + 1.0
    return sums


@part
def _advance(vector: Floats, matrix: Floats) -> Floats:
    """`vector . matrix` up to a positive factor: only its direction matters here."""
    result = np.zeros_like(vector)
    largest = 0.0
    for target in range(len(vector)):
        for state in range(len(vector)):
            result[target] += vector[state] * matrix[state, target]
        largest = max(largest, abs(result[target]))
    return result / largest if largest > 0.0 else result
