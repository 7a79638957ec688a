"""Weighted automata over strings.

    f(x1 .. xT) = initial . A_x1 ... A_xT . final

With A the sum of the A_a, masses are geometric series: the weight of all strings is
`initial (I - A)^-1 final`, of those that begin with w `initial A_w (I - A)^-1 final`, and the expected
number of occurrences of w is `initial (I - A)^-1 A_w (I - A)^-1 final` (Balle, Quattoni and Carreras 2014).

`gap_probabilities` has what does come next, without what could:

    p(y | w) = max(v_w . c_y, 0) / sum over z of max(v_w . c_z, 0),   v_w the forward vector of the prefix w

with c_y the column of `next_weights` for the symbol y or the end. The sum needs every symbol that has any
weight, but never a table of all gaps and symbols: memory does not grow with the alphabet.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from sigmastar.automata.data.strings import PrefixTrie, Strings
from sigmastar.automata.kernels.sampling import MoveTables, draw_symbols, walk_states
from sigmastar.automata.kernels.values import (
    add_clipped_sums,
    backward_vectors,
    forward_vectors,
    gap_nodes,
    trie_values,
)
from sigmastar.core.alphabet import Alphabet, OperatorModel, string_signature
from sigmastar.core.arrays import Floats, Indices, Int32s, Int64s
from sigmastar.core.notebook import Shown
from sigmastar.core.stored_parts import Parts, floats

if TYPE_CHECKING:
    from sigmastar.automata.model.on_device import TensorSequence


class SignedLog(NamedTuple):
    """Real numbers as a sign and the natural logarithm of their size; zero is (0, -inf)."""

    sign: Floats
    log: Floats


class ScaledRows(NamedTuple):
    """Row t is `mantissas[t] * 2 ** exponents[t]`."""

    mantissas: Floats
    exponents: Int64s


@dataclass(frozen=True, eq=False)
class WeightedAutomaton(Shown):
    """A function on strings by its operators; weights may have any sign."""

    alphabet: Alphabet
    initial: Floats  # n
    transitions: Floats  # symbols x n x n
    final: Floats  # n

    def __post_init__(self) -> None:
        for name in ("initial", "transitions", "final"):  # kernels need contiguous rows
            object.__setattr__(self, name, np.ascontiguousarray(getattr(self, name), dtype=np.float64))
        n = len(self.initial)
        shapes = (self.initial.shape, self.transitions.shape, self.final.shape)
        if shapes != ((n,), (len(self.alphabet), n, n), (n,)):
            n_symbols = len(self.alphabet)
            raise ValueError(
                f"initial, transitions and final of shapes {shapes} do not fit {n_symbols} symbols"
            )
        if not all(np.isfinite(a).all() for a in self.arrays):
            raise ValueError("an automaton's weights must be finite: NaN or infinity found")

    @property
    def n_states(self) -> int:
        return len(self.initial)

    @property
    def arrays(self) -> tuple[Floats, Floats, Floats]:
        return self.initial, self.transitions, self.final

    @classmethod
    def of_operators(cls, model: OperatorModel) -> WeightedAutomaton:
        """From an operator model on the signature of strings."""
        stop, symbol = (model.signature.operation(name) for name in ("stop", "symbol"))
        return cls(symbol.alphabet, model.roots["string"], model.operators[symbol], model.operators[stop][0])

    def to_operators(self) -> OperatorModel:
        signature = string_signature(self.alphabet)
        stop, symbol = signature.operations
        return OperatorModel(
            signature, {"string": self.initial}, {stop: self.final[None], symbol: self.transitions}
        )

    PARTS: ClassVar[Parts] = Parts(
        header={"alphabet": Alphabet},
        sizes={"symbols": "alphabet"},
        arrays={
            "initial": floats("states"),
            "transitions": floats("symbols", "states", "states"),
            "final": floats("states"),
        },
    )

    def to_parts(self) -> tuple[dict[str, Floats], dict[str, Any]]:
        """The arrays and the description that a model file holds."""
        arrays = {"initial": self.initial, "transitions": self.transitions, "final": self.final}
        return arrays, {"alphabet": self.alphabet}

    @classmethod
    def from_parts(cls, arrays: dict[str, Floats], header: dict[str, Any]) -> WeightedAutomaton:
        cls.PARTS.check(arrays, header)
        return cls(header["alphabet"], arrays["initial"], arrays["transitions"], arrays["final"])

    def log_value(self, strings: Strings) -> SignedLog:
        """Sign and logarithm of f on each string; finite wherever f is not zero, at any length."""
        trie = PrefixTrie.of(Strings.of(strings, None, self.alphabet, True))
        mantissas, exponents = trie_values(
            trie.parent, trie.symbol, trie.level_starts, self.initial, self.transitions, self.final[:, None]
        )
        mantissa, exponent = mantissas[trie.string_node, 0], exponents[trie.string_node]
        with np.errstate(divide="ignore"):
            return SignedLog(np.sign(mantissa), np.log(np.abs(mantissa)) + exponent * np.log(2.0))

    def value(self, strings: Strings) -> Floats:
        sign, log = self.log_value(strings)
        with np.errstate(over="ignore"):  # values of long strings may be beyond floats: infinite
            return sign * np.exp(log)

    def log_probability(self, strings: Strings) -> Floats:
        """log f where f > 0, else -inf."""
        sign, log = self.log_value(strings)
        return np.where(sign > 0, log, -np.inf)

    def on(self, device: str, precision: str = "float64") -> TensorSequence:
        """The same model with the products of its strings on a device, by PyTorch.

        Parameters
        ----------
        device : {"cpu", "cuda", "auto"}
            Where to work; "auto": a GPU where there is one.
        precision : {"float64", "float32"}
            Type of all numbers.

        Returns
        -------
        TensorSequence
            A model of strings.
        """
        from sigmastar.automata.model.on_device import automaton_on

        return automaton_on(self, device, precision)

    def gap_distributions(self, strings: Strings) -> Floats:
        """What comes next at every gap: weights clipped at zero and made to sum to one.

        Where no weight is positive, as after an unknown symbol, the distribution is uniform.
        """
        return as_distributions(self.gap_weights(strings), by_ratio=self.spectral_radius < 1.0)

    def gap_weights(self, strings: Strings) -> Floats:
        """The weight of each next symbol and of the end at every gap; each row up to a positive factor."""
        strings = Strings.of(strings, None, self.alphabet, True)
        trie = PrefixTrie.of(strings)
        weights, _ = trie_values(
            trie.parent, trie.symbol, trie.level_starts, self.initial, self.transitions, self.next_weights
        )
        of_gaps: Floats = weights[gap_nodes(trie.parent, trie.string_node, strings.offsets)]
        return of_gaps

    def sample(self, n_strings: int, rng: np.random.Generator, max_length: int = 10_000) -> Strings:
        """Draw strings: by a walk over the states of a proper automaton, else from the gap distributions."""
        if n_strings < 0 or max_length < 0:
            raise ValueError(f"n_strings={n_strings} and max_length={max_length} must not be negative")
        if self._moves is not None:
            drawn = walk_states(*self._moves, n_strings, rng, max_length)
        else:
            drawn = draw_symbols(
                self.initial,
                self.transitions,
                self.next_weights,
                self.spectral_radius < 1.0,
                n_strings,
                rng,
                max_length,
            )
        return Strings(self.alphabet, *drawn)

    def forward(self, codes: Int32s) -> ScaledRows:
        """The vectors `initial A_x1 .. A_xt` of one coded string, t = 0 .. length."""
        codes = np.ascontiguousarray(codes, dtype=np.int32)
        return ScaledRows(*forward_vectors(codes, self.initial, self.transitions))

    def backward(self, codes: Int32s) -> ScaledRows:
        """The vectors `A_x(t+1) .. A_xT final` of one coded string, t = 0 .. length."""
        codes = np.ascontiguousarray(codes, dtype=np.int32)
        return ScaledRows(*backward_vectors(codes, self.transitions, self.final))

    def is_stochastic(self, tolerance: float = 1e-9) -> bool:
        """Whether this is a proper probabilistic automaton: weights >= 0, out of every state one in sum."""
        lowest = min(weights.min(initial=0.0) for weights in self.arrays)
        outgoing = self.transitions.sum(axis=(0, 2)) + self.final
        sums = np.append(outgoing, self.initial.sum())
        return bool(lowest >= 0.0 and np.abs(sums - 1.0).max() <= tolerance)

    @cached_property
    def _moves(self) -> tuple[Floats, MoveTables] | None:
        """What a walk over the states is drawn by; None where that is not proper."""
        if not self.is_stochastic():
            return None
        return np.cumsum(self.initial), MoveTables.of(self.transitions, self.final)

    @cached_property
    def transition_sum(self) -> Floats:
        return self.transitions.sum(axis=0)  # type: ignore[no-any-return]

    @cached_property
    def spectral_radius(self) -> float:
        """Of the sum of the operators: below one, all masses are finite."""
        return float(np.abs(np.linalg.eigvals(self.transition_sum)).max(initial=0.0))

    @cached_property
    def prefix_final(self) -> Floats:
        """(I - A)^-1 final: what all continuations of a forward vector weigh."""
        self._require_convergence()
        return _solve(np.eye(self.n_states) - self.transition_sum, self.final)

    @cached_property
    def suffix_initial(self) -> Floats:
        """initial (I - A)^-1: the sum of all forward vectors."""
        self._require_convergence()
        return _solve(np.eye(self.n_states) - self.transition_sum.T, self.initial)

    @cached_property
    def next_weights(self) -> Floats:
        """Columns to multiply a forward vector with: the weight of each next symbol, and of the end.

        Defined where I - A is regular even if the masses are infinite (spectral radius above one):
        a learnt automaton may stray there, and its conditional weights are still of use.
        """
        after = self.continuation_mass
        return np.ascontiguousarray(np.vstack([self.transitions @ after, self.final]).T)

    @cached_property
    def continuation_mass(self) -> Floats:
        """What all continuations of a state weigh, as `next_weights` sees it."""
        if self.is_stochastic():  # known without solving, even where a state never stops
            return np.ones(self.n_states)
        try:
            return _solve(np.eye(self.n_states) - self.transition_sum, self.final)
        except np.linalg.LinAlgError:
            raise ValueError("I - A is singular: this automaton has no next-symbol weights") from None

    def _require_convergence(self) -> None:
        if self.spectral_radius >= 1.0:
            raise ValueError(
                f"the sum of the operators has spectral radius {self.spectral_radius:.6g} >= 1: "
                "the weight of all strings is infinite; scale the operators down or repair the automaton"
            )

    def total_mass(self) -> float:
        """The sum of f over all strings."""
        return float(self.initial @ self.prefix_final)

    def expected_length(self) -> float:
        """The mean length of strings under f / total mass."""
        total = self.total_mass()
        if total == 0.0:
            raise ValueError("the total mass is zero: there is no expected length")
        return float(self.suffix_initial @ self.transition_sum @ self.prefix_final) / total

    def prefix_mass(self, strings: Strings) -> Floats:
        """The sum of f over all strings that begin with each of `strings`."""
        return WeightedAutomaton(self.alphabet, self.initial, self.transitions, self.prefix_final).value(
            strings
        )

    def substring_mass(self, strings: Strings) -> Floats:
        """The expected number of occurrences of each of `strings`: f(x) times the count in x, over all x."""
        return WeightedAutomaton(
            self.alphabet, self.suffix_initial, self.transitions, self.prefix_final
        ).value(strings)

    def change_basis(self, basis: Floats) -> WeightedAutomaton:
        """The same function with states `Q^-1 v` in place of `v`, for an invertible `basis` Q."""
        return WeightedAutomaton(
            self.alphabet,
            self.initial @ basis,
            _solve(basis, self.transitions @ basis),
            _solve(basis, self.final),
        )

    def leading(self, n_states: int) -> WeightedAutomaton:
        """The first states alone: where operators come from one decomposition, those of the smaller rank."""
        n = n_states
        return WeightedAutomaton(self.alphabet, self.initial[:n], self.transitions[:, :n, :n], self.final[:n])

    def over(self, alphabet: Alphabet) -> WeightedAutomaton:
        """The same function on strings over another alphabet: symbols new to it have operator zero."""
        if alphabet == self.alphabet:
            return self
        known = np.array([self.alphabet.codes.get(symbol, -1) for symbol in alphabet], dtype=np.int64)
        transitions = np.zeros((len(alphabet), self.n_states, self.n_states))
        transitions[known >= 0] = self.transitions[known[known >= 0]]
        return WeightedAutomaton(alphabet, self.initial, transitions, self.final)

    def __add__(self, other: WeightedAutomaton) -> WeightedAutomaton:
        """The sum of two functions, on the union of their alphabets: a direct sum of the operators."""
        first, second = self, other
        if self.alphabet != other.alphabet:
            union = Alphabet(dict.fromkeys([*self.alphabet, *other.alphabet]))
            first, second = self.over(union), other.over(union)
        n, total = self.n_states, self.n_states + other.n_states
        transitions = np.zeros((len(first.alphabet), total, total))
        transitions[:, :n, :n], transitions[:, n:, n:] = first.transitions, second.transitions
        initial, final = np.append(self.initial, other.initial), np.append(self.final, other.final)
        return WeightedAutomaton(first.alphabet, initial, transitions, final)

    def __mul__(self, factor: float) -> WeightedAutomaton:
        return WeightedAutomaton(self.alphabet, self.initial * factor, self.transitions, self.final)

    __rmul__ = __mul__


def as_distributions(weights: Floats, by_ratio: bool) -> Floats:
    """Weights clipped at zero, `by_ratio` to the weight of the prefix: a sign common to both cancels."""
    signs = np.where((weights.sum(axis=1) < 0.0) & by_ratio, -1.0, 1.0)
    clipped = np.maximum(weights * signs[:, None], 0.0)
    totals = clipped.sum(axis=1, keepdims=True)
    lost = totals[:, 0] <= 0.0
    clipped[lost], totals[lost] = 1.0, weights.shape[1]
    distributions: Floats = clipped / totals
    return distributions


def _solve(matrix: Floats, right: Floats) -> Floats:
    return np.linalg.solve(matrix, right).astype(np.float64, copy=False)


def prefix_directions(automaton: WeightedAutomaton, trie: PrefixTrie) -> Floats:
    """The forward vector of every node of a trie of prefixes, as a row, each up to a factor of its own."""
    machine = automaton.initial, automaton.transitions, np.eye(automaton.n_states)
    return trie_values(trie.parent, trie.symbol, trie.level_starts, *machine)[0]


_DIGITS = 12  # of rows that are one but for rounding
_MANY = 1 << 12  # columns, from which on it pays to look for rows and columns that point the same way


def gap_probabilities(automaton: WeightedAutomaton, strings: Strings) -> Floats:
    """What `gap_distributions` gives to the symbol or end that follows each gap; unknown symbols get zero."""
    strings = strings.recoded(automaton.alphabet, allow_unknown=True)
    trie, columns = PrefixTrie.of(strings), automaton.next_weights
    vectors = prefix_directions(automaton, trie)
    if automaton.spectral_radius < 1.0:  # a sign that symbol and prefix share cancels
        vectors *= np.where(vectors @ columns.sum(axis=1) < 0.0, -1.0, 1.0)[:, None]
    totals = _clipped_sums(vectors, columns[:, columns.any(axis=0)].T)
    nodes, following = gap_nodes(trie.parent, trie.string_node, strings.offsets), strings.outcomes
    weights = np.maximum(np.einsum("gn,ng->g", vectors[nodes], columns[:, following]), 0.0)
    lost = totals[nodes] <= 0.0
    shares = np.where(lost, 1.0 / columns.shape[1], weights / np.where(lost, 1.0, totals[nodes]))
    return np.where(following >= 0, shares, 0.0)


def _clipped_sums(vectors: Floats, outcomes: Floats) -> Floats:
    """For each vector the sum over outcomes of its products with them, clipped at zero.

    Rare symbols have operators of rank one: after them, and before them, many vectors point the same way.
    """
    sums = np.zeros(len(vectors))
    if len(outcomes) < _MANY:
        add_clipped_sums(vectors, np.ascontiguousarray(outcomes), sums)
        return sums
    ways, way_of, lengths = _directions(vectors)
    kinds, kind_of, sizes = _directions(outcomes)
    kinds *= np.bincount(kind_of, sizes)[:, None]
    sums = sums[: len(ways)]
    add_clipped_sums(ways, kinds, sums)
    return np.asarray(sums[way_of] * lengths)


def _directions(rows: Floats) -> tuple[Floats, Indices, Floats]:
    """The distinct directions of rows, which of them each has, and its length along it."""
    lengths = np.abs(rows).max(axis=1, initial=0.0)
    scaled = rows / np.where(lengths > 0.0, lengths, 1.0)[:, None]
    _, first, ways = np.unique(np.round(scaled, _DIGITS), axis=0, return_index=True, return_inverse=True)
    return scaled[first], ways.ravel(), lengths
