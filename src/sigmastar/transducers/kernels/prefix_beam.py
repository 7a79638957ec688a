"""Scores, draws and the best outputs of inputs under a prefix filter.

The beam is over output prefixes, all of one length at a time. A prefix has the probability of all outputs
that begin with it, so none that is below the worst of the outputs wanted can lead to a better one, and the
search ends there.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sigmastar.core.arrays import Floats, Int32s, Int64s
from sigmastar.core.jit import kernel, part
from sigmastar.core.scaling import grown
from sigmastar.transducers.kernels.alignment import PairCodes
from sigmastar.transducers.kernels.prefix_filter import (
    Ahead,
    Filter,
    Prefix,
    both_ahead,
    longer_prefix,
    next_shares,
    start_prefix,
)

WORST = 14.0  # nats below the best prefix of a length, or the best output: dropped


@kernel
def log_shares(pairs: PairCodes, reader: Filter) -> Floats:
    """log q(y | x) of every pair; symbols of inputs must be known."""
    logs = np.zeros(len(pairs.x_ends) - 1)
    weights, shares = np.empty((2, reader.n_symbols + 1)), np.empty(reader.n_symbols + 1)
    for number in range(len(logs)):
        xs = pairs.x[pairs.x_ends[number] : pairs.x_ends[number + 1]]
        ahead = both_ahead(xs, reader)
        prefix = start_prefix(len(xs), reader, ahead)
        for at in range(pairs.y_ends[number], pairs.y_ends[number + 1]):
            next_shares(prefix, reader, ahead, weights, shares)
            share = shares[pairs.y[at]] if pairs.y[at] >= 0 else 0.0
            logs[number] += np.log(share)
            if share == 0.0:
                break
            prefix = longer_prefix(prefix, int(pairs.y[at]), reader, ahead, weights)
        if logs[number] > -np.inf:
            next_shares(prefix, reader, ahead, weights, shares)
            logs[number] += np.log(shares[-1])
    return logs


@kernel
def draw_outputs(x: Int32s, x_ends: Int64s, reader: Filter, uniforms: Floats) -> tuple[Int32s, Int64s]:
    """One output per input, drawn symbol by symbol by a row of random numbers, and cut where the row ends."""
    weights, shares = np.empty((2, reader.n_symbols + 1)), np.empty(reader.n_symbols + 1)
    codes, ends, size = np.empty(1024, np.int32), np.zeros(len(x_ends), np.int64), 0
    for number in range(len(x_ends) - 1):
        xs = x[x_ends[number] : x_ends[number + 1]]
        ahead = both_ahead(xs, reader)
        prefix = start_prefix(len(xs), reader, ahead)
        for at in range(uniforms.shape[1]):
            next_shares(prefix, reader, ahead, weights, shares)
            drawn = _drawn(shares, uniforms[number, at])
            if drawn == reader.n_symbols:
                break
            codes = grown(codes, size + 1)
            codes[size] = drawn
            size += 1
            prefix = longer_prefix(prefix, drawn, reader, ahead, weights)
        ends[number + 1] = size
    return codes[:size], ends


@part
def _drawn(shares: Floats, uniform: float) -> int:
    left, last = uniform * shares.sum(), len(shares) - 1
    for z in range(len(shares)):
        left -= shares[z]
        if left < 0.0 and shares[z] > 0.0:
            return z
    return last


class Trail(NamedTuple):
    """Prefixes of all lengths: the one before each, and the last symbol."""

    before: Int32s
    symbols: Int32s


class Live(NamedTuple):
    """Prefixes of one length: columns of either machine, last symbols, logarithms, numbers in the trail."""

    first: Floats
    second: Floats
    recent: Int32s
    logs: Floats
    nodes: Int64s


class Outputs(NamedTuple):
    """Whole outputs: numbers in the trail, and logarithms."""

    nodes: Int64s
    logs: Floats


@part
def _room(beam: int, prefix: Prefix) -> Live:
    n_columns, n_cells, size = prefix.first.shape
    return Live(
        np.empty((beam, n_columns, n_cells, size)),
        np.empty((beam, n_columns, n_cells, prefix.second.shape[2])),
        np.empty((beam, len(prefix.recent)), np.int32),
        np.empty(beam),
        np.empty(beam, np.int64),
    )


@kernel
def _copied(source: Floats, target: Floats) -> None:
    for k in range(source.shape[0]):
        for i in range(source.shape[1]):
            for state in range(source.shape[2]):
                target[k, i, state] = source[k, i, state]


@kernel
def _put(live: Live, at: int, prefix: Prefix, log: float, node: int) -> None:
    _copied(prefix.first, live.first[at])
    _copied(prefix.second, live.second[at])
    for place in range(len(prefix.recent)):
        live.recent[at, place] = prefix.recent[place]
    live.logs[at], live.nodes[at] = log, node


@part
def _candidates(
    live: Live, n_live: int, reader: Filter, ahead: tuple[Ahead, Ahead], weights: Floats, scores: Floats
) -> None:
    """log q of every prefix with every symbol more, and with the end."""
    shares = np.empty(reader.n_symbols + 1)
    for at in range(n_live):
        prefix = Prefix(live.first[at], live.second[at], live.recent[at])
        next_shares(prefix, reader, ahead, weights[at], shares)
        for z in range(len(shares)):
            scores[at, z] = live.logs[at] + np.log(shares[z])


@part
def _bar(found: Floats, n_best: int) -> float:
    """What a prefix must exceed to become one of the best outputs."""
    bar = -np.inf
    if len(found) > 0:
        order = np.argsort(-found)
        bar = max(found[order[n_best - 1]] if len(found) >= n_best else bar, found[order[0]] - WORST)
    return float(bar)


@kernel
def _searched(xs: Int32s, reader: Filter, beam: int, n_best: int) -> tuple[Outputs, Trail]:
    """Outputs of one input, in no order."""
    ahead = both_ahead(xs, reader)
    prefix = start_prefix(len(xs), reader, ahead)
    live, room, n_live = _room(beam, prefix), _room(beam, prefix), 1
    _put(live, 0, prefix, 0.0, 0)
    before, symbols, n_nodes = np.full(64, -1, np.int32), np.full(64, -1, np.int32), 1
    nodes, logs, n_found = np.empty(64, np.int64), np.empty(64), 0
    weights, scores = np.empty((beam, 2, reader.n_symbols + 1)), np.empty((beam, reader.n_symbols + 1))
    for _ in range(4 * (len(xs) + 2) * reader.n_columns):
        _candidates(live, n_live, reader, ahead, weights, scores)
        nodes, logs = grown(nodes, n_found + n_live), grown(logs, n_found + n_live)
        for at in range(n_live):
            nodes[n_found], logs[n_found], n_found = live.nodes[at], scores[at, reader.n_symbols], n_found + 1
            scores[at, reader.n_symbols] = -np.inf
        flat = scores[:n_live].reshape(n_live * (reader.n_symbols + 1))
        order, bar, kept = np.argsort(-flat)[:beam], _bar(logs[:n_found], n_best), 0
        before, symbols = grown(before, n_nodes + beam), grown(symbols, n_nodes + beam)
        for place in order:
            if not flat[place] > max(bar, flat[order[0]] - WORST):
                break
            at, symbol = place // (reader.n_symbols + 1), place % (reader.n_symbols + 1)
            prefix = Prefix(live.first[at], live.second[at], live.recent[at])
            before[n_nodes], symbols[n_nodes] = live.nodes[at], symbol
            longer = longer_prefix(prefix, symbol, reader, ahead, weights[at])
            _put(room, kept, longer, flat[place], n_nodes)
            n_nodes, kept = n_nodes + 1, kept + 1
        live, room, n_live = room, live, kept
        if n_live == 0:
            break
    return Outputs(nodes[:n_found], logs[:n_found]), Trail(before, symbols)


@kernel
def output_beam(
    x: Int32s, x_ends: Int64s, reader: Filter, beam: int, n_best: int
) -> tuple[Int32s, Int64s, Int64s, Floats]:
    """The best outputs of every input: codes in a row, ends, inputs and log q, best first."""
    n_words = len(x_ends) - 1
    codes, ends, size, n_found = np.empty(1024, np.int32), np.zeros(n_words * n_best + 1, np.int64), 0, 0
    owners, logs = np.empty(n_words * n_best, np.int64), np.empty(n_words * n_best)
    for word in range(n_words):
        outputs, trail = _searched(x[x_ends[word] : x_ends[word + 1]], reader, beam, n_best)
        for place in np.argsort(-outputs.logs)[:n_best]:
            if outputs.logs[place] == -np.inf:
                break
            node, begin = outputs.nodes[place], size
            while trail.before[node] >= 0:
                codes = grown(codes, size + 1)
                codes[size] = trail.symbols[node]
                node, size = trail.before[node], size + 1
            for step in range((size - begin) // 2):  # they were found from the last to the first
                low, high = begin + step, size - 1 - step
                codes[low], codes[high] = codes[high], codes[low]
            owners[n_found], logs[n_found], n_found = word, outputs.logs[place], n_found + 1
            ends[n_found] = size
    return codes[:size], ends[: n_found + 1], owners[:n_found], logs[:n_found]
