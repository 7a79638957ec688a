"""How numbers without constraints become an automaton, and slopes come back.

signed     A_a and the initial state themselves; mass = e_1, final = mass - sum_a A_a mass
linear     A_a, the initial state and final themselves; mass = 0, nothing is divided
proper     softmax over all moves of a state and its end; mass = 1
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.arrays import Array
from sigmastar.distil.kernels import FilterArrays, Gradients

_LEAST_MOVE = 1e-5  # of a move that no prefix made


class Form(Protocol):
    """Parameters of an automaton without constraints."""

    def parameters(self, automaton: WeightedAutomaton) -> list[Array]:
        """Those of an automaton."""
        ...

    def arrays(self, parameters: list[Array]) -> FilterArrays:
        """The automaton of parameters."""
        ...

    def slopes(self, arrays: FilterArrays, found: Gradients) -> list[Array]:
        """Slopes by the parameters from those by the arrays."""
        ...

    def rates(self, parameters: list[Array]) -> list[float]:
        """How far a step may go."""
        ...

    def automaton(self, alphabet: Alphabet, arrays: FilterArrays) -> WeightedAutomaton:
        """In double precision, with sums that are exact again."""
        ...


@dataclass(frozen=True, eq=False)
class Signed:
    """The operators themselves; states are clipped at `limits`, divided by `least` at least."""

    limits: Array
    least: float
    speed: float = 0.001

    def parameters(self, automaton: WeightedAutomaton) -> list[Array]:
        return [automaton.initial.astype(np.float32), automaton.transitions.astype(np.float32)]

    def arrays(self, parameters: list[Array]) -> FilterArrays:
        initial, transitions = parameters
        mass = np.eye(1, len(initial), dtype=np.float32)[0]
        read = transitions[:, :, 0].T
        readout = np.concatenate([read, (mass - read.sum(axis=1))[:, None]], axis=1)
        limits = self.limits.astype(np.float32)
        return FilterArrays(
            initial, transitions, np.ascontiguousarray(readout), mass, limits, np.float32(self.least)
        )

    def slopes(self, arrays: FilterArrays, found: Gradients) -> list[Array]:
        found.transitions[:, :, 0] += (found.readout[:, :-1] - found.readout[:, -1:]).T
        found.initial[0] = 0.0  # its mass is one
        return [found.initial, found.transitions]

    def rates(self, parameters: list[Array]) -> list[float]:
        return [self.speed * float(np.sqrt(np.mean(part**2))) for part in parameters]

    def automaton(self, alphabet: Alphabet, arrays: FilterArrays) -> WeightedAutomaton:
        initial, transitions, mass = (
            np.asarray(part, np.float64) for part in (arrays.initial, arrays.transitions, arrays.mass)
        )
        return WeightedAutomaton(alphabet, initial, transitions, mass - transitions[:, :, 0].sum(axis=0))


@dataclass(frozen=True, eq=False)
class Linear:
    """Values that are no probabilities: initial state, operators and final weights, without a filter."""

    farthest: float  # where states are held that stray
    speed: float = 0.003

    def parameters(self, automaton: WeightedAutomaton) -> list[Array]:
        parts = (automaton.initial, automaton.transitions, automaton.final)
        return [part.astype(np.float32) for part in parts]

    def arrays(self, parameters: list[Array]) -> FilterArrays:
        initial, transitions, final = parameters
        none, limits = np.zeros_like(initial), np.full_like(initial, self.farthest)
        return FilterArrays(initial, transitions, final[:, None].copy(), none, limits, np.float32(1.0))

    def slopes(self, arrays: FilterArrays, found: Gradients) -> list[Array]:
        return [found.initial, found.transitions, found.readout[:, 0]]

    def rates(self, parameters: list[Array]) -> list[float]:
        return [self.speed * float(np.sqrt(np.mean(part**2))) for part in parameters]

    def automaton(self, alphabet: Alphabet, arrays: FilterArrays) -> WeightedAutomaton:
        initial, transitions, readout = (np.asarray(part, np.float64) for part in arrays[:3])
        return WeightedAutomaton(alphabet, initial, transitions, readout[:, 0])


class Proper:
    """Logarithms of the probabilities of moves and ends."""

    def parameters(self, automaton: WeightedAutomaton) -> list[Array]:
        table = _table(automaton.transitions, automaton.final[:, None])
        return [
            np.log(np.maximum(part, _LEAST_MOVE)).astype(np.float32) for part in (automaton.initial, table)
        ]

    def arrays(self, parameters: list[Array]) -> FilterArrays:
        initial, table = (_softmax(part) for part in parameters)
        k = len(initial)
        moves = np.ascontiguousarray(table[:, :-1].reshape(k, -1, k).transpose(1, 0, 2))
        readout = np.ascontiguousarray(np.concatenate([moves.sum(axis=2).T, table[:, -1:]], axis=1))
        no_limits = np.full(k, np.inf, np.float32)
        return FilterArrays(initial, moves, readout, np.ones(k, np.float32), no_limits, np.float32(1e-30))

    def slopes(self, arrays: FilterArrays, found: Gradients) -> list[Array]:
        moves = found.transitions + found.readout[:, :-1].T[:, :, None]
        slopes = _table(moves, found.readout[:, -1:])
        table = _table(arrays.transitions, arrays.readout[:, -1:])
        initial = arrays.initial * (found.initial - (arrays.initial * found.initial).sum())
        return [initial, table * (slopes - (table * slopes).sum(axis=1, keepdims=True))]

    def rates(self, parameters: list[Array]) -> list[float]:
        return [0.3, 0.3]

    def automaton(self, alphabet: Alphabet, arrays: FilterArrays) -> WeightedAutomaton:
        initial, transitions, readout = (np.asarray(part, np.float64) for part in arrays[:3])
        sums = transitions.sum(axis=(0, 2)) + readout[:, -1]
        moves = transitions / sums[None, :, None]
        return WeightedAutomaton(alphabet, initial / initial.sum(), moves, readout[:, -1] / sums)


def _table(moves: Array, ends: Array) -> Array:
    """A row per state: its moves by symbol and state, and its end."""
    return np.concatenate([moves.transpose(1, 0, 2).reshape(len(ends), -1), ends], axis=1)


def _softmax(logits: Array) -> Array:
    raised = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=-1, keepdims=True))
