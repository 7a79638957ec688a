"""Weighted automata over strings.

    f(x1 .. xT) = initial . A_x1 ... A_xT . final
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sigmastar.inference.strings import trie_values
from sigmastar.operators.model import OperatorModel
from sigmastar.structures.alphabet import Alphabet
from sigmastar.structures.signature import string_signature
from sigmastar.structures.strings import Strings
from sigmastar.structures.trie import PrefixTrie

Array = NDArray[np.float64]


class SignedLog(NamedTuple):
    """Real numbers as a sign and the natural logarithm of their size; zero is (0, -inf)."""

    sign: Array
    log: Array


@dataclass(frozen=True, eq=False)
class WeightedAutomaton:
    """A function on strings by its operators; weights may have any sign."""

    alphabet: Alphabet
    initial: Array  # n
    transitions: Array  # symbols x n x n
    final: Array  # n

    def __post_init__(self) -> None:
        n = len(self.initial)
        shapes = (self.initial.shape, self.transitions.shape, self.final.shape)
        if shapes != ((n,), (len(self.alphabet), n, n), (n,)):
            raise ValueError(f"initial, transitions and final of shapes {shapes} do not fit {len(self.alphabet)} symbols")
        if not all(np.isfinite(a).all() for a in (self.initial, self.transitions, self.final)):
            raise ValueError("an automaton's weights must be finite: NaN or infinity found")

    @property
    def n_states(self) -> int:
        return len(self.initial)

    @classmethod
    def of_operators(cls, model: OperatorModel) -> WeightedAutomaton:
        """From an operator model on the signature of strings."""
        stop, symbol = (model.signature.operation(name) for name in ("stop", "symbol"))
        return cls(symbol.alphabet, model.roots["string"], model.operators[symbol], model.operators[stop][0])

    def to_operators(self) -> OperatorModel:
        signature = string_signature(self.alphabet)
        stop, symbol = signature.operations
        return OperatorModel(signature, {"string": self.initial}, {stop: self.final[None], symbol: self.transitions})

    def log_value(self, strings: Strings) -> SignedLog:
        """Sign and logarithm of f on each string; finite wherever f is not zero, at any length."""
        trie = PrefixTrie.of(strings.recoded(self.alphabet, allow_unknown=True))
        mantissas, exponents = trie_values(
            trie.parent, trie.symbol, trie.level_starts, self.initial, self.transitions, self.final[:, None]
        )
        mantissa, exponent = mantissas[trie.string_node, 0], exponents[trie.string_node]
        with np.errstate(divide="ignore"):
            return SignedLog(np.sign(mantissa), np.log(np.abs(mantissa)) + exponent * np.log(2.0))

    def value(self, strings: Strings) -> Array:
        sign, log = self.log_value(strings)
        return sign * np.exp(log)

    def log_probability(self, strings: Strings) -> Array:
        """log f where f > 0, else -inf."""
        sign, log = self.log_value(strings)
        return np.where(sign > 0, log, -np.inf)
