"""Head automata: one of modifiers for every head symbol and direction (Luque et al. 2012, section 3).

    P(x1 .. xT | h, d) = initial_hd . A_hd,x1 ... A_hd,xT . final_hd
    P(tree)            = product over heads h and directions d of P(modifiers of h towards d | h, d)

Sorts are numbered as in `data.sequences`: 2 * symbol + direction, and the root last. All automata lie
in one array, padded with zeros to the largest number of states.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.operator_model import OperatorModel
from sigmastar.core.signature import head_signature
from sigmastar.dependency.data.sequences import Codes, ModifierSequences, WeightedSequences, head_sorts
from sigmastar.dependency.kernels.items import Automata
from sigmastar.dependency.kernels.pruning import FirstAndRest

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class HeadAutomata:
    """Weights of all automata of a grammar; they may have any sign."""

    alphabet: Alphabet
    n_states: NDArray[np.int32]  # sorts
    initial: Array  # sorts x states
    operators: Array  # sorts x symbols x states x states
    final: Array  # sorts x states

    def __post_init__(self) -> None:
        for name in ("initial", "operators", "final"):
            object.__setattr__(self, name, np.ascontiguousarray(getattr(self, name), dtype=np.float64))
        object.__setattr__(self, "n_states", np.ascontiguousarray(self.n_states, dtype=np.int32))
        n_sorts, m = 2 * len(self.alphabet) + 1, self.initial.shape[1]
        shapes = (self.n_states.shape, self.initial.shape, self.operators.shape, self.final.shape)
        if shapes != ((n_sorts,), (n_sorts, m), (n_sorts, len(self.alphabet), m, m), (n_sorts, m)):
            raise ValueError(f"arrays of shapes {shapes} do not fit head automata of {n_sorts} sorts")
        if len(self.n_states) and not 1 <= self.n_states.min() <= self.n_states.max() <= m:
            raise ValueError(f"numbers of states must lie in 1..{m}")
        if not all(np.isfinite(a).all() for a in (self.initial, self.operators, self.final)):
            raise ValueError("the weights of head automata must be finite: NaN or infinity found")

    @classmethod
    def of_automata(cls, alphabet: Alphabet, automata: Sequence[tuple[Array, Array, Array]]) -> HeadAutomata:
        """From (initial, operators, final) of every sort, operators over the whole alphabet."""
        n_states = np.array([len(initial) for initial, _, _ in automata], dtype=np.int32)
        m = int(n_states.max())
        initial, final = np.zeros((len(automata), m)), np.zeros((len(automata), m))
        operators = np.zeros((len(automata), len(alphabet), m, m))
        for sort, (first, moves, last) in enumerate(automata):
            n = len(first)
            initial[sort, :n], operators[sort, :, :n, :n], final[sort, :n] = first, moves, last
        return cls(alphabet, n_states, initial, operators, final)

    @classmethod
    def neutral(cls, alphabet: Alphabet) -> HeadAutomata:
        """Automata that give every sequence one: what is multiplied with them is alone."""
        n, k = 2 * len(alphabet) + 1, len(alphabet)
        ones = np.ones((n, 1))
        return cls(alphabet, np.ones(n, dtype=np.int32), ones, np.ones((n, k, 1, 1)), ones)

    @classmethod
    def of_operators(cls, model: OperatorModel, alphabet: Alphabet) -> HeadAutomata:
        """From an operator model on a signature of heads; sorts that it lacks generate nothing."""
        automata = []
        for sort in head_sorts(alphabet):
            if sort not in model.signature.sorts:
                automata.append((np.ones(1), np.zeros((len(alphabet), 1, 1)), np.ones(1)))
                continue
            stop, modifier = (model.signature.operation((kind, sort)) for kind in ("stop", "modifier"))
            n = model.n_states(sort)
            moves = np.zeros((len(alphabet), n, n))
            moves[alphabet.encode(modifier.alphabet)] = model.operators[modifier]
            automata.append((model.roots[sort], moves, model.operators[stop][0]))
        return cls.of_automata(alphabet, automata)

    def to_operators(self) -> OperatorModel:
        sorts = head_sorts(self.alphabet)
        signature = head_signature(dict.fromkeys(sorts, self.alphabet))
        operators, roots = {}, {}
        for sort, name in enumerate(sorts):
            automaton = self.automaton(sort)
            operators[signature.operation(("stop", name))] = automaton.final[None]
            operators[signature.operation(("modifier", name))] = automaton.transitions
            roots[name] = automaton.initial
        return OperatorModel(signature, roots, operators)

    def to_parts(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        arrays: dict[str, NDArray[Any]] = {
            "n_states": self.n_states,
            "initial": self.initial,
            "operators": self.operators,
            "final": self.final,
        }
        return arrays, {"alphabet": self.alphabet}

    @classmethod
    def from_parts(cls, arrays: dict[str, NDArray[Any]], header: dict[str, Any]) -> HeadAutomata:
        return cls(
            header["alphabet"], arrays["n_states"], arrays["initial"], arrays["operators"], arrays["final"]
        )

    @property
    def n_sorts(self) -> int:
        return len(self.n_states)

    @cached_property
    def arrays(self) -> Automata:
        """As kernels take them."""
        return Automata(self.n_states, self.initial, self.final, self.operators)

    @cached_property
    def logarithms(self) -> Automata:
        """The same of non-negative weights, for maxima in place of sums."""
        with np.errstate(divide="ignore"):
            return Automata(self.n_states, np.log(self.initial), np.log(self.final), np.log(self.operators))

    @cached_property
    def is_deterministic(self) -> bool:
        """Whether no weight is negative, and the modifiers say the state: one way to begin, one to go on."""
        ways = max((self.initial != 0).sum(axis=-1).max(), (self.operators != 0).sum(axis=-1).max(initial=0))
        return bool(ways <= 1 and min(a.min(initial=0.0) for a in self.arrays[1:]) >= 0)

    @cached_property
    def first_and_rest(self) -> FirstAndRest:
        """Automata of two states, before the first modifier and after it, as tables."""
        if self.initial.shape[1] != 2 or self.operators[..., 0].any():
            raise ValueError("these are not automata that only know their first modifier: use DET+F")
        first, rest = (self.initial * self.final).sum(axis=1), self.final[:, 1]
        moves = np.ascontiguousarray(np.moveaxis(self.operators[..., 1], 2, 0))
        return FirstAndRest(moves[0] / first[:, None], moves[1] / rest[:, None], first, rest)

    def automaton(self, sort: int) -> WeightedAutomaton:
        """The automaton of one sort."""
        n = int(self.n_states[sort])
        return WeightedAutomaton(
            self.alphabet, self.initial[sort, :n], self.operators[sort, :, :n, :n], self.final[sort, :n]
        )

    def log_values(self, sequences: ModifierSequences, codes: Codes) -> Array:
        """log P(modifiers | head, direction) of every sequence; -inf where it is not positive."""
        distinct = WeightedSequences.of(sequences, codes, self.alphabet)
        return self.log_probability(distinct)[distinct.origin]

    def log_probability(self, sequences: WeightedSequences) -> Array:
        """The same of distinct sequences."""
        logs = np.empty(len(sequences.counts))
        for sort in np.flatnonzero(np.diff(sequences.sort_starts)).tolist():
            part = slice(sequences.sort_starts[sort], sequences.sort_starts[sort + 1])
            logs[part] = self.automaton(sort).log_probability(sequences.of_sort(sort)[0])
        return logs

    def mixed_with(self, other: HeadAutomata, share: float) -> HeadAutomata:
        """(1 - share) self + share other, as functions: the automata stand side by side."""
        if other.alphabet != self.alphabet:
            raise ValueError("head automata over different alphabets cannot be mixed")
        return HeadAutomata.of_automata(
            self.alphabet,
            [
                _side_by_side(self.automaton(sort), other.automaton(sort), share)
                for sort in range(self.n_sorts)
            ],
        )


def _side_by_side(one: WeightedAutomaton, two: WeightedAutomaton, share: float) -> tuple[Array, Array, Array]:
    n, m = one.n_states, two.n_states
    operators = np.zeros((len(one.transitions), n + m, n + m))
    operators[:, :n, :n], operators[:, n:, n:] = one.transitions, two.transitions
    initial = np.concatenate([(1.0 - share) * one.initial, share * two.initial])
    return initial, operators, np.concatenate([one.final, two.final])
