"""Outputs of an input under a weighted transducer: marginals given x, minimum Bayes risk, a prefix beam.

With C = (I - sum of A_u over units without input)^-1, the sum over all outputs reads x alone:

    F(i) = sum over units u of x[i-p:i] of F(i-p) C A_u          F(0) = initial
    B(i) = sum over units u of x[i:i+p] of C A_u B(i+p)          B(n) = C final
    mu(i, u | x) = F(i) C A_u B(i+p) / F(n) C final              u reads x[i:i+p]
    mu(i, v | x) = F(i) C A_v B(i) / F(n) C final                how often v, without input, stands at i

Minimum Bayes risk takes the path with the largest sum of p mu(i, u), and units without input where they
are expected more than half a time. The beam keeps output prefixes: the state vectors of alignments with
one prefix add up, and v B(i) is exactly what all continuations weigh.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sigmastar.automata.data.strings import Strings
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.core.alphabet import Alphabet, Symbol
from sigmastar.core.arrays import Floats, Int32s, Int64s
from sigmastar.transducers.data.units import Units
from sigmastar.transducers.kernels.edit_lattice import (
    CellVectors,
    Lattice,
    lattice_backward,
    lattice_forward,
)
from sigmastar.transducers.model.aligner import UnitTable
from sigmastar.transducers.model.n_best import Ranking

Output = tuple[int, ...]

BEAM = 20
_INSERTED = 2  # units without input in a row that the beam tries


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

    def by_beam(self, inputs: Strings, n_best: int, beam: int) -> list[Ranking]:
        """The best outputs of each input with their shares of the weight of x."""
        return [
            [(self._decoded(output), share) for output, share in self._beam(row, beam)[:n_best]]
            for row in self._rows(inputs)
        ]

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
        automaton = self.automaton
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

    def _beam(self, xs: Int32s, width: int) -> list[tuple[Output, float]]:
        (edges, shapes), _, (backward, down) = self._lattice(xs)
        members = self._sides[1]
        automaton, rate = self.automaton, -float(down[0, 0]) / max(len(xs), 1)
        at_position: list[dict[Output, Floats]] = [{} for _ in range(len(xs) + 1)]
        at_position[0][()] = automaton.initial
        for i in range(len(xs) + 1):
            kept = self._with_inserted(_best(at_position[i], backward[i, 0], width), backward[i, 0], width)
            at_position[i] = kept
            for shape in np.flatnonzero(edges[i, 0] >= 0).tolist():
                moves, outputs = self._moves(members[edges[i, 0, shape]])
                p = int(shapes[shape, 0])
                _extend(at_position[i + p], kept, moves * 2.0 ** (rate * p), outputs)
        total = float(automaton.initial @ backward[0, 0])  # the tilt, 2^(rate n), is what its exponent lacks
        weights = {output: float(vector @ automaton.final) for output, vector in at_position[-1].items()}
        shares = {output: weight / total if total else 0.0 for output, weight in weights.items()}
        return sorted(shares.items(), key=lambda item: -item[1])

    def _with_inserted(self, kept: dict[Output, Floats], ahead: Floats, width: int) -> dict[Output, Floats]:
        if not len(self._inserts):
            return kept
        every, newest = dict(kept), kept
        for _ in range(_INSERTED):
            following: dict[Output, Floats] = {}
            _extend(following, newest, *self._moves(self._inserts))
            newest = _best(following, ahead, width)
            for output, vector in newest.items():
                every[output] = every[output] + vector if output in every else vector
        return _best(every, ahead, width)

    def _moves(self, numbers: Int64s) -> tuple[Floats, list[Output]]:
        return self.automaton.transitions[numbers], [self._output(unit) for unit in numbers.tolist()]

    def _output(self, unit: int) -> Output:
        codes = self.units.arrays.output_codes[unit]
        return tuple(codes[codes >= 0].tolist())

    def _decoded(self, output: Output) -> tuple[Symbol, ...]:
        return self.units.outputs.decode(output)


def _extend(
    target: dict[Output, Floats], kept: dict[Output, Floats], moves: Floats, outputs: list[Output]
) -> None:
    """Every kept prefix by every unit; vectors that meet in one prefix add up."""
    if not kept:
        return
    vectors = np.einsum("bi,uij->buj", np.array(list(kept.values())), moves)
    for prefix, row in zip(kept, vectors, strict=True):
        for output, vector in zip(outputs, row, strict=True):
            longer = prefix + output
            target[longer] = target[longer] + vector if longer in target else vector


def _best(prefixes: dict[Output, Floats], ahead: Floats, width: int) -> dict[Output, Floats]:
    if len(prefixes) <= width:
        return prefixes
    outputs = list(prefixes)
    scores = np.array(list(prefixes.values())) @ ahead
    return {outputs[at]: prefixes[outputs[at]] for at in np.argsort(-scores, kind="stable")[:width].tolist()}
