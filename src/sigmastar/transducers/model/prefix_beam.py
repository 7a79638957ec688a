"""Outputs of an input under a weighted transducer: marginals given x, minimum Bayes risk, a prefix beam.

With C = (I - sum of A_u over units without input)^-1, the sum over all outputs reads x alone:

    F(i) = sum over units u of x[i-p:i] of F(i-p) C A_u          F(0) = initial
    B(i) = sum over units u of x[i:i+p] of C A_u B(i+p)          B(n) = C final
    mu(i, u | x) = F(i) C A_u B(i+p) / F(n) C final              u reads x[i:i+p]
    mu(i, v | x) = F(i) C A_v B(i) / F(n) C final                how often v, without input, stands at i

Minimum Bayes risk takes the path with the largest sum of p mu(i, u), and units without input where they
are expected more than half a time. Outputs are read symbol by symbol (`kernels.prefix_filter`), which makes a
distribution of any operators: the beam keeps output prefixes, and their probabilities are exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sigmastar.automata.data.strings import Strings
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.core.alphabet import Alphabet, Symbol
from sigmastar.core.arrays import Array, Floats, Int32s, Int64s
from sigmastar.core.parallel import thread_map
from sigmastar.transducers.data.string_pairs import StringPairs
from sigmastar.transducers.data.units import Units
from sigmastar.transducers.kernels.edit_lattice import (
    CellVectors,
    Lattice,
    lattice_backward,
    lattice_forward,
)
from sigmastar.transducers.kernels.prefix_beam import draw_outputs, log_shares, output_beam
from sigmastar.transducers.kernels.prefix_filter import Filter, Machine
from sigmastar.transducers.model.aligner import UnitTable, pair_codes
from sigmastar.transducers.model.n_best import Ranking, joined, known_symbols

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
