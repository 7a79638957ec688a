"""Outputs of an input under a weighted transducer: marginals given x, minimum Bayes risk, a prefix beam.

With C = (I - sum of A_u over units without input)^-1, the sum over all outputs reads x alone:

    F(i) = sum over units u of x[i-p:i] of F(i-p) C A_u          F(0) = initial
    B(i) = sum over units u of x[i:i+p] of C A_u B(i+p)          B(n) = C final
    mu(i, u | x) = F(i) C A_u B(i+p) / F(n) C final              u reads x[i:i+p]
    mu(i, v | x) = F(i) C A_v B(i) / F(n) C final                how often v, without input, stands at i

Minimum Bayes risk takes the path with the largest sum of p mu(i, u), and units without input where they
are expected more than half a time. Outputs are read symbol by symbol (`kernels.prefix_filter`), which makes a
distribution of any operators: the beam keeps output prefixes, and their probabilities are exact.

Scores, draws and the best outputs are read from a prefix filter.

The beam is over output prefixes, all of one length at a time. A prefix has the probability of all outputs
that begin with it, so none that is below the worst of the outputs wanted can lead to a better one, and the
search ends there.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from sigmastar.automata.data.strings import Strings, joined
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.core.alphabet import Alphabet, Symbol
from sigmastar.core.arrays import Array, Floats, Int32s, Int64s
from sigmastar.core.jit import kernel, part
from sigmastar.core.resources import thread_map
from sigmastar.core.scaling import grown
from sigmastar.transducers.data import Lattice, PairCodes, StringPairs, Units, known_symbols
from sigmastar.transducers.kernels.beam import largest_first
from sigmastar.transducers.kernels.edit_lattice import (
    CellVectors,
    lattice_backward,
    lattice_forward,
)
from sigmastar.transducers.kernels.prefix_filter import (
    Ahead,
    Filter,
    Machine,
    Prefix,
    both_ahead,
    longer_prefix,
    next_shares,
    room_for,
    start_prefix,
)
from sigmastar.transducers.model.aligner import UnitTable, pair_codes
from sigmastar.transducers.model.joint_ngram import Ranking

WORST = 14.0  # nats below the best prefix of a length, or the best output: dropped


@kernel
def log_shares(pairs: PairCodes, reader: Filter) -> Floats:
    """log q(y | x) of every pair; symbols of inputs must be known."""
    logs = np.zeros(len(pairs.x_ends) - 1)
    weights, shares = np.empty((2, reader.n_symbols + 1)), np.empty(reader.n_symbols + 1)
    for number in range(len(logs)):
        xs = pairs.x[pairs.x_ends[number] : pairs.x_ends[number + 1]]
        ahead, prefix, room = both_ahead(xs, reader), room_for(len(xs), reader), room_for(len(xs), reader)
        start_prefix(reader, ahead, prefix)
        next_shares(prefix, reader, ahead, weights, shares)
        for at in range(pairs.y_ends[number], pairs.y_ends[number + 1]):
            share = shares[pairs.y[at]] if pairs.y[at] >= 0 else 0.0
            logs[number] += np.log(share)
            if share == 0.0:
                break
            longer_prefix(prefix, np.int64(pairs.y[at]), reader, ahead, weights, room)  # type: ignore[arg-type]
            prefix, room = room, prefix
            next_shares(prefix, reader, ahead, weights, shares)
        if logs[number] > -np.inf:
            logs[number] += np.log(shares[-1])
    return logs


@kernel
def draw_outputs(x: Int32s, x_ends: Int64s, reader: Filter, uniforms: Floats) -> tuple[Int32s, Int64s]:
    """One output per input, drawn symbol by symbol by a row of random numbers, and cut where the row ends."""
    weights, shares = np.empty((2, reader.n_symbols + 1)), np.empty(reader.n_symbols + 1)
    codes, ends, size = np.empty(1024, np.int32), np.zeros(len(x_ends), np.int64), 0
    for number in range(len(x_ends) - 1):
        xs = x[x_ends[number] : x_ends[number + 1]]
        ahead, prefix, room = both_ahead(xs, reader), room_for(len(xs), reader), room_for(len(xs), reader)
        start_prefix(reader, ahead, prefix)
        for at in range(uniforms.shape[1]):
            next_shares(prefix, reader, ahead, weights, shares)
            drawn = _drawn(shares, uniforms[number, at])
            if drawn == reader.n_symbols:
                break
            codes = grown(codes, size + 1)
            codes[size] = drawn
            size += 1
            longer_prefix(prefix, drawn, reader, ahead, weights, room)
            prefix, room = room, prefix
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


class Live(NamedTuple):
    """Prefixes of one length: columns of either machine, last symbols, logarithms, numbers in the trail."""

    columns: tuple[Floats, Floats]
    recent: Int32s
    logs: Floats
    nodes: Int64s


@part
def _live(beam: int, prefix: Prefix) -> Live:
    (n_columns, n_cells, first), second = prefix.columns[0].shape, prefix.columns[1].shape[2]
    return Live(
        (np.empty((beam, n_columns, n_cells, first)), np.empty((beam, n_columns, n_cells, second))),
        np.empty((beam, n_columns), np.int32),
        np.empty(beam),
        np.empty(beam, np.int64),
    )


@part
def _prefix(live: Live, at: int) -> Prefix:
    return Prefix((live.columns[0][at], live.columns[1][at]), live.recent[at])


@kernel
def _candidates(
    live: Live, n_live: int, reader: Filter, ahead: tuple[Ahead, Ahead], weights: Floats, scores: Floats
) -> None:
    """log q of every prefix with every symbol more, and with the end."""
    shares = np.empty(reader.n_symbols + 1)
    for at in range(n_live):
        next_shares(_prefix(live, at), reader, ahead, weights[at], shares)
        for z in range(len(shares)):
            scores[at, z] = live.logs[at] + np.log(shares[z])


@part
def _bar(found: Floats, n_found: int, n_best: int) -> float:
    """What a prefix must exceed to become one of the best outputs."""
    order = largest_first(found[:n_found])
    return max(found[order[n_best - 1]] if n_found >= n_best else -np.inf, found[order[0]] - WORST)  # type: ignore[no-any-return]


@part
def _searched(xs: Int32s, reader: Filter, beam: int, n_best: int) -> tuple[Int64s, Floats, Int32s, Int32s]:
    """Outputs of one input, in no order: their nodes in a trail of prefixes, and logarithms; the trail.

    The trail has of each prefix the one before it, and its last symbol.
    """
    ahead, width = both_ahead(xs, reader), reader.n_symbols + 1
    prefix = room_for(len(xs), reader)
    live, room, n_live = _live(beam, prefix), _live(beam, prefix), 1
    start_prefix(reader, ahead, _prefix(live, 0))
    live.logs[0], live.nodes[0] = 0.0, 0
    before, symbols, n_nodes = np.full(64, -1, np.int32), np.full(64, -1, np.int32), 1
    nodes, logs, n_found = np.empty(64, np.int64), np.empty(64), 0
    weights, scores = np.empty((beam, 2, width)), np.empty((beam, width))
    for _ in range(4 * (len(xs) + 2) * reader.n_columns):
        _candidates(live, n_live, reader, ahead, weights, scores)
        nodes, logs = grown(nodes, n_found + n_live), grown(logs, n_found + n_live)
        for at in range(n_live):
            nodes[n_found], logs[n_found], n_found = live.nodes[at], scores[at, width - 1], n_found + 1
            scores[at, width - 1] = -np.inf
        flat = scores[:n_live].reshape(n_live * width)
        order, bar, kept = largest_first(flat), _bar(logs, n_found, n_best), 0
        before, symbols = grown(before, n_nodes + beam), grown(symbols, n_nodes + beam)
        while kept < min(beam, len(flat)) and flat[order[kept]] > max(bar, flat[order[0]] - WORST):
            at, symbol = order[kept] // width, order[kept] % width
            before[n_nodes], symbols[n_nodes] = live.nodes[at], symbol
            longer_prefix(_prefix(live, at), symbol, reader, ahead, weights[at], _prefix(room, kept))
            room.logs[kept], room.nodes[kept] = flat[order[kept]], n_nodes
            n_nodes, kept = n_nodes + 1, kept + 1
        live, room, n_live = room, live, kept
        if n_live == 0:
            break
    return nodes[:n_found], logs[:n_found], before, symbols


@kernel
def output_beam(
    x: Int32s, x_ends: Int64s, reader: Filter, beam: int, n_best: int
) -> tuple[Int32s, Int64s, Int64s, Floats]:
    """The best outputs of every input: codes in a row, ends, inputs and log q, best first."""
    n_words = len(x_ends) - 1
    codes, ends, size, n_found = np.empty(1024, np.int32), np.zeros(n_words * n_best + 1, np.int64), 0, 0
    owners, logs = np.empty(n_words * n_best, np.int64), np.empty(n_words * n_best)
    for word in range(n_words):
        nodes, values, before, symbols = _searched(x[x_ends[word] : x_ends[word + 1]], reader, beam, n_best)
        order = largest_first(values)
        for rank in range(min(n_best, len(order))):
            if values[order[rank]] == -np.inf:
                break
            node, begin = nodes[order[rank]], size
            while before[node] >= 0:
                codes = grown(codes, size + 1)
                codes[size] = symbols[node]
                node, size = np.int64(before[node]), size + 1
            for step in range((size - begin) // 2):  # they were found from the last to the first
                low, high = begin + step, size - 1 - step
                codes[low], codes[high] = codes[high], codes[low]
            owners[n_found], logs[n_found], n_found = word, values[order[rank]], n_found + 1
            ends[n_found] = size
    return codes[:size], ends[: n_found + 1], owners[:n_found], logs[:n_found]


Output = tuple[int, ...]

BEAM = 20
_PIECE = 64  # inputs decoded at a time by one thread


@dataclass(frozen=True, eq=False)
class InputMarginals:
    """For every unit that may read a part of an input: where the part begins, the unit, mu(i, u | x)."""

    position: Int64s
    unit: Int64s
    value: Floats


@dataclass(frozen=True, eq=False)
class Decoder:
    """Operators of units made ready to read inputs."""

    units: Units
    automaton: WeightedAutomaton
    backoff: WeightedAutomaton | None = None
    mixing: float = 0.0

    @cached_property
    def filter(self) -> Filter:
        """The operators as kernels read outputs with them."""
        first = self._machine(self.automaton)
        nothing = Machine(np.zeros(1), np.zeros((len(self.units), 1, 1)), np.zeros(1), np.eye(1))
        second = nothing if self.backoff is None else self._machine(self.backoff)
        arrays, n_symbols = self.units.arrays, len(self.units.outputs)
        longest = max(int(arrays.output_lengths.max(initial=1)), 1)
        return Filter(arrays, (first, second), float(self.mixing), n_symbols, longest)

    def _machine(self, automaton: WeightedAutomaton) -> Machine:
        parts = (automaton.initial, automaton.transitions, automaton.final, self._closure_of(automaton))
        return Machine(*(np.ascontiguousarray(part, dtype=np.float64) for part in parts))

    def by_beam(self, inputs: Strings, n_best: int, beam: int) -> list[Ranking]:
        """The best outputs of each input with their probabilities given x."""
        inputs, reader = known_symbols(inputs, self.units.inputs), self.filter

        def decoded(low: int) -> tuple[Array, ...]:
            return output_beam(inputs.codes, inputs.offsets[low : low + _PIECE + 1], reader, beam, n_best)

        rankings: list[Ranking] = [[] for _ in range(len(inputs))]
        lows = range(0, len(inputs), _PIECE)
        for low, (codes, ends, owners, logs) in zip(lows, thread_map(decoded, lows), strict=True):
            outputs = Strings(self.units.outputs, codes, ends)
            for output, owner, log in zip(outputs, owners.tolist(), logs, strict=True):
                rankings[low + owner].append((output, float(np.exp(log))))
        return rankings

    def log_shares(self, pairs: StringPairs) -> Floats:
        """log q(y | x) of each pair; -inf where a symbol is unknown."""
        coded = pairs.recoded(self.units.inputs, self.units.outputs, allow_unknown=True)
        known = known_symbols(coded.inputs, self.units.inputs)
        logs = log_shares(pair_codes(StringPairs(known, coded.outputs)), self.filter)
        return np.where(known.lengths == coded.inputs.lengths, logs, -np.inf)

    def draw(self, inputs: Strings, rng: np.random.Generator, max_length: int) -> Strings:
        """An output for each input."""
        inputs = known_symbols(inputs, self.units.inputs)
        found = Strings(self.units.outputs, np.empty(0, np.int32), np.zeros(1, np.int64))
        for low in range(0, len(inputs), _PIECE):
            offsets = inputs.offsets[low : low + _PIECE + 1]
            uniforms = rng.random((len(offsets) - 1, max_length))
            drawn = draw_outputs(inputs.codes, offsets, self.filter, uniforms)
            found = joined(found, Strings(self.units.outputs, *drawn))
        return found

    def by_least_risk(self, inputs: Strings) -> list[Ranking]:
        """One output per input, by minimum Bayes risk."""
        found = [self._least_risk(row) for row in self._rows(inputs)]
        return [[(self._decoded(output), share)] for output, share in found]

    def marginals(self, inputs: Strings) -> list[InputMarginals]:
        """P(unit u reads x[i:i+p] | x) for each input."""
        return [self._marginals(row) for row in self._rows(inputs)]

    def _rows(self, inputs: Strings) -> list[Int32s]:
        """Codes of each input; symbols that no unit reads are left out."""
        coded = inputs.recoded(self.units.inputs, allow_unknown=True)
        rows = np.split(coded.codes, coded.offsets[1:-1]) if len(coded) else []
        return [np.ascontiguousarray(row[row >= 0]) for row in rows]

    @cached_property
    def _inserts(self) -> Int64s:
        return np.flatnonzero(self.units.arrays.input_lengths == 0)

    @cached_property
    def _closure(self) -> Floats:
        return self._closure_of(self.automaton)

    def _closure_of(self, automaton: WeightedAutomaton) -> Floats:
        inserted = automaton.transitions[self._inserts].sum(axis=0)
        return np.linalg.inv(np.eye(automaton.n_states) - inserted)

    @cached_property
    def _closed(self) -> Floats:
        """C A_u."""
        return np.ascontiguousarray(self._closure @ self.automaton.transitions)

    @cached_property
    def _sides(self) -> tuple[UnitTable, list[Int64s], Floats]:
        """Distinct input sides as a table, their units, and the sums of C A_u over those."""
        units = self.units
        of_side: dict[tuple[Symbol, ...], list[int]] = {}
        for number, unit in enumerate(units.alphabet.symbols):
            if unit[0]:  # type: ignore[index]
                of_side.setdefault(unit[0], []).append(number)  # type: ignore[index]
        sides = Units(Alphabet((side, ()) for side in of_side), units.inputs, Alphabet([]))
        members = [np.array(numbers) for numbers in of_side.values()]
        sums = np.array([self._closed[numbers].sum(axis=0) for numbers in members])
        return UnitTable.of(sides), members, sums.reshape(-1, *self._closure.shape)

    def _lattice(self, xs: Int32s) -> tuple[Lattice, CellVectors, CellVectors]:
        table, _, sums = self._sides
        lattice, ending = table.lattice(xs, np.empty(0, np.int32)), self._closure @ self.automaton.final
        forward = lattice_forward(lattice, self.automaton.initial, sums)
        return lattice, forward, lattice_backward(lattice, sums, ending)

    def _marginals(self, xs: Int32s) -> InputMarginals:
        (edges, shapes), (forward, up), (backward, down) = self._lattice(xs)
        members = self._sides[1]
        total = float(forward[-1, 0] @ self._closure @ self.automaton.final)
        positions, units, values = [], [], []
        for i, _, shape in np.argwhere(edges >= 0).tolist():
            to, numbers = i + int(shapes[shape, 0]), members[edges[i, 0, shape]]
            positions.append(np.full(len(numbers), i))
            units.append(numbers)
            power = float(np.clip(up[i, 0] + down[to, 0] - up[-1, 0], -1100, 1000))
            values.append(forward[i, 0] @ self._closed[numbers] @ backward[to, 0] * 2.0**power)
        for i in range(len(xs) + 1):
            positions.append(np.full(len(self._inserts), i))
            units.append(self._inserts)
            power = float(np.clip(up[i, 0] + down[i, 0] - up[-1, 0], -1100, 1000))
            values.append(forward[i, 0] @ self._closed[self._inserts] @ backward[i, 0] * 2.0**power)
        scale = 1.0 / total if total else 0.0
        return InputMarginals(
            np.concatenate(positions), np.concatenate(units), np.concatenate(values) * scale
        )

    def _least_risk(self, xs: Int32s) -> tuple[Output, float]:
        found, n = self._marginals(xs), len(xs)
        lengths = self.units.arrays.input_lengths[found.unit]
        best, back = np.full(n + 1, -np.inf), [(0, -1)] * (n + 1)
        best[0] = 0.0
        order = np.argsort(found.position, kind="stable")
        for at in order[lengths[order] > 0].tolist():
            i, p = int(found.position[at]), int(lengths[at])
            score = best[i] + p * found.value[at]
            if score > best[i + p]:
                best[i + p], back[i + p] = score, (i, int(found.unit[at]))
        inserted = {
            int(found.position[at]): int(found.unit[at])
            for at in np.flatnonzero((lengths == 0) & (found.value > 0.5)).tolist()
        }
        return self._spelt(back, inserted, n), float(best[n] / max(n, 1)) if np.isfinite(best[n]) else 0.0

    def _spelt(self, back: list[tuple[int, int]], inserted: dict[int, int], n: int) -> Output:
        output: Output = ()
        while True:
            output = (self._output(inserted[n]) if n in inserted else ()) + output
            if n == 0 or back[n][1] < 0:
                return output
            n, unit = back[n]
            output = self._output(unit) + output

    def _output(self, unit: int) -> Output:
        codes = self.units.arrays.output_codes[unit]
        return tuple(codes[codes >= 0].tolist())

    def _decoded(self, output: Output) -> tuple[Symbol, ...]:
        return self.units.outputs.decode(output)
