"""Weighted transducers: operators A_u for alignment units u = x:y, epsilon on either side.

    f(u1 .. uT)  = initial . A_u1 ... A_uT . final                a weighted automaton over units
    g(x, y)      = sum over the alignments of (x, y) of f          the edit lattice, exactly

Marginals, decoding by minimum Bayes risk and by a beam over output prefixes need only these sums
(Balle, Quattoni and Carreras 2014, "Finite State Transducers"); weights may have any sign.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sigmastar.automata.data.strings import Strings
from sigmastar.automata.model.automaton import SignedLog, WeightedAutomaton
from sigmastar.core.operator_model import OperatorModel
from sigmastar.transducers.data.string_pairs import StringPairs
from sigmastar.transducers.data.units import Units
from sigmastar.transducers.kernels.edit_lattice import lattice_backward, lattice_forward, lattice_marginals
from sigmastar.transducers.model.aligner import UnitTable, units_from_header, units_to_header

Array = NDArray[np.float64]
Integers = NDArray[np.int32]
Longs = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class EdgeMarginals:
    """The share of alignments through each edge: `values[i, j, shape]` for unit `units[i, j, shape]`."""

    units: Longs
    shapes: Longs
    values: Array


@dataclass(frozen=True, eq=False)
class WeightedTransducer:
    """A weighted automaton whose symbols are units."""

    units: Units
    automaton: WeightedAutomaton

    def __post_init__(self) -> None:
        if self.automaton.alphabet != self.units.alphabet:
            raise ValueError("the automaton of a transducer must be over its units")

    @classmethod
    def of_operators(cls, model: OperatorModel) -> WeightedTransducer:
        automaton = WeightedAutomaton.of_operators(model)
        return cls(Units.of(automaton.alphabet.symbols), automaton)  # type: ignore[arg-type]

    def to_operators(self) -> OperatorModel:
        return self.automaton.to_operators()

    @cached_property
    def table(self) -> UnitTable:
        return UnitTable.of(self.units)

    @property
    def n_states(self) -> int:
        return self.automaton.n_states

    def value_of_aligned(self, aligned: Strings) -> Array:
        """f of aligned pairs, given as strings of units."""
        return self.automaton.value(aligned)

    def log_value(self, pairs: StringPairs) -> SignedLog:
        """Sign and logarithm of g(x, y) for each pair."""
        pairs = self._coded(pairs)
        found = [self._total(*self._sides(pairs, at)) for at in range(len(pairs))]
        mantissa = np.array([value for value, _ in found])
        with np.errstate(divide="ignore"):
            logs = np.log(np.abs(mantissa)) + np.array([power for _, power in found]) * np.log(2.0)
        return SignedLog(np.sign(mantissa), logs)

    def log_probability(self, pairs: StringPairs) -> Array:
        """log g where g > 0, else -inf."""
        sign, log = self.log_value(pairs)
        return np.where(sign > 0, log, -np.inf)

    def marginals(self, pairs: StringPairs) -> list[EdgeMarginals]:
        """mu(edge | x, y) of every edge of each pair's lattice; they sum to one over every cut."""
        pairs = self._coded(pairs)
        return [self._marginals(*self._sides(pairs, at)) for at in range(len(pairs))]

    def inverse(self) -> WeightedTransducer:
        """The same model from outputs to inputs."""
        units = self.units.swapped()
        parts = (self.automaton.initial, self.automaton.transitions, self.automaton.final)
        return WeightedTransducer(units, WeightedAutomaton(units.alphabet, *parts))

    def compose(self, outputs: WeightedAutomaton) -> WeightedTransducer:
        """g(x, y) times the weight of y under an automaton: A_u (x) B_y, and B_epsilon = 1."""
        outputs = outputs.over(self.units.outputs)
        second = np.array([_product(outputs, codes) for codes in self.units.output_codes])
        first, size = self.automaton, self.n_states * outputs.n_states
        joint = np.einsum("uij,ukl->uikjl", first.transitions, second).reshape(-1, size, size)
        initial = np.outer(first.initial, outputs.initial).ravel()
        final = np.outer(first.final, outputs.final).ravel()
        automaton = WeightedAutomaton(self.units.alphabet, initial, joint, final)
        return WeightedTransducer(self.units, automaton)

    def sample(self, n_pairs: int, rng: np.random.Generator, max_length: int = 1000) -> StringPairs:
        """Draw aligned pairs, and spell them."""
        return self.units.spell(self.automaton.sample(n_pairs, rng, max_length))

    def to_parts(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        return self.automaton.to_parts()[0], {"units": units_to_header(self.units)}

    @classmethod
    def from_parts(cls, arrays: dict[str, NDArray[Any]], header: dict[str, Any]) -> WeightedTransducer:
        units = units_from_header(header["units"])
        return cls(units, WeightedAutomaton.from_parts(arrays, {"alphabet": units.alphabet}))

    def _coded(self, pairs: StringPairs) -> StringPairs:
        return pairs.recoded(self.units.inputs, self.units.outputs, allow_unknown=True)

    def _sides(self, pairs: StringPairs, at: int) -> tuple[Integers, Integers]:
        first, second = pairs.inputs, pairs.outputs
        return (
            first.codes[first.offsets[at] : first.offsets[at + 1]],
            second.codes[second.offsets[at] : second.offsets[at + 1]],
        )

    def _total(self, xs: Integers, ys: Integers) -> tuple[float, int]:
        automaton, edges = self.automaton, self.table.edges(xs, ys)
        vectors, exponents = lattice_forward(
            edges, self.table.shapes, automaton.initial, automaton.transitions
        )
        return float(vectors[-1, -1] @ automaton.final), int(exponents[-1, -1])

    def _marginals(self, xs: Integers, ys: Integers) -> EdgeMarginals:
        automaton, edges, shapes = self.automaton, self.table.edges(xs, ys), self.table.shapes
        forward = lattice_forward(edges, shapes, automaton.initial, automaton.transitions)
        backward = lattice_backward(edges, shapes, automaton.transitions, automaton.final)
        total = float(forward[0][-1, -1] @ automaton.final)
        if total == 0.0:
            return EdgeMarginals(edges, shapes, np.zeros(edges.shape))
        power = int(forward[1][-1, -1])
        values = lattice_marginals(edges, shapes, automaton.transitions, *forward, *backward, total, power)
        return EdgeMarginals(edges, shapes, values)


def _product(automaton: WeightedAutomaton, codes: Integers) -> Array:
    product = np.eye(automaton.n_states)
    for code in codes[codes >= 0].tolist():
        product = product @ automaton.transitions[code]
    return product
