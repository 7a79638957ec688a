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

from sigmastar.automata.data.strings import Strings
from sigmastar.automata.model.att import read_att_pairs
from sigmastar.automata.model.automaton import SignedLog, WeightedAutomaton
from sigmastar.core.alphabet import OperatorModel
from sigmastar.core.arrays import Array, Floats, Int32s, Int64s
from sigmastar.core.errors import InputError
from sigmastar.core.model_reading import above, below
from sigmastar.core.notebook import Shown
from sigmastar.core.stored_parts import between, check_header
from sigmastar.core.text_files import TextPath
from sigmastar.transducers.data import StringPairs, Units
from sigmastar.transducers.kernels.edit_lattice import lattice_backward, lattice_forward, lattice_marginals
from sigmastar.transducers.model.aligner import AlignedPairs, UnitTable
from sigmastar.transducers.model.joint_ngram import Ranking, where_read
from sigmastar.transducers.model.prefix_beam import BEAM, Decoder, InputMarginals


@dataclass(frozen=True, eq=False)
class EdgeMarginals:
    """The share of alignments through each edge: `values[i, j, shape]` for unit `units[i, j, shape]`."""

    units: Int64s
    shapes: Int64s
    values: Floats


@dataclass(frozen=True, eq=False)
class WeightedTransducer(Shown):
    """A weighted automaton whose symbols are units.

    Parameters
    ----------
    units : Units
        Alignment units.
    automaton : WeightedAutomaton
        Over the units; its weights may have any sign.
    backoff : WeightedAutomaton or None
        Over the units, without negative weights: has a share in the probability of every output symbol, so
        that no output is without any.
    mixing : float
        That share.
    """

    units: Units
    automaton: WeightedAutomaton
    backoff: WeightedAutomaton | None = None
    mixing: float = 0.0

    def __post_init__(self) -> None:
        for automaton in (self.automaton, self.backoff):
            if automaton is not None and automaton.alphabet != self.units.alphabet:
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

    def value_of_aligned(self, aligned: Strings) -> Floats:
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

    def log_probability(self, pairs: StringPairs) -> Floats:
        """log g where g > 0, else -inf."""
        sign, log = self.log_value(pairs)
        return np.where(sign > 0, log, -np.inf)

    def log_conditional(self, pairs: StringPairs) -> Floats:
        """log q(y | x) for each pair, symbol by symbol of the output: a distribution whatever the signs.

        Parameters
        ----------
        pairs : StringPairs
            Inputs and outputs.

        Returns
        -------
        array
            log of g(x, y) / sum over y of g(x, y) where g is not negative and nothing is mixed in; -inf where
            a symbol is unknown.
        """
        return self.decoder.log_shares(pairs)

    def marginals(self, pairs: StringPairs) -> list[EdgeMarginals]:
        """mu(edge | x, y) of every edge of each pair's lattice; they sum to one over every cut."""
        pairs = self._coded(pairs)
        return [self._marginals(*self._sides(pairs, at)) for at in range(len(pairs))]

    @cached_property
    def decoder(self) -> Decoder:
        return Decoder(self.units, self.automaton, self.backoff, self.mixing)

    def predict(
        self, inputs: Strings, n_best: int = 1, beam: int = BEAM, method: str = "beam"
    ) -> list[Ranking]:
        """The best outputs of each input.

        Parameters
        ----------
        inputs : Strings
            Symbols that no unit reads are left out.
        n_best : int
            Number of outputs per input, at most.
        beam : int
            Number of output prefixes per input position.
        method : str
            "beam": over output prefixes; "mbr": minimum Bayes risk, one output per input.

        Returns
        -------
        list of rankings
            Outputs with their probabilities given the input, best first; none where no symbol is known.
        """
        if method not in ("beam", "mbr"):
            raise ValueError(f"method={method!r} must be 'beam' or 'mbr'")
        decoder = self.decoder
        found = decoder.by_beam(inputs, n_best, beam) if method == "beam" else decoder.by_least_risk(inputs)
        return where_read(found, inputs, self.units)

    def input_marginals(self, inputs: Strings) -> list[InputMarginals]:
        """P(unit u reads x[i:i+p] | x) for each input, the sum over all outputs."""
        return self.decoder.marginals(inputs)

    def align(self, pairs: StringPairs, n_best: int = 1) -> AlignedPairs:
        """Refused: signed operators have marginals of edges, and no best alignment."""
        raise InputError(
            "a transducer without an aligner has no best alignment; use one learned by combined or ngram, "
            "or marginals"
        )

    def inverse(self) -> WeightedTransducer:
        """The same model from outputs to inputs."""
        units = self.units.swapped()
        first, second = (_over(units, automaton) for automaton in (self.automaton, self.backoff))
        assert first is not None
        return WeightedTransducer(units, first, second, self.mixing)

    def compose(self, outputs: WeightedAutomaton) -> WeightedTransducer:
        """g(x, y) times the weight of y under an automaton: A_u (x) B_y, and B_epsilon = 1."""
        outputs = outputs.over(self.units.outputs)
        second = np.array([_product(outputs, codes) for codes in self.units.arrays.output_codes])
        first, size = self.automaton, self.n_states * outputs.n_states
        joint = np.einsum("uij,ukl->uikjl", first.transitions, second).reshape(-1, size, size)
        initial = np.outer(first.initial, outputs.initial).ravel()
        final = np.outer(first.final, outputs.final).ravel()
        automaton = WeightedAutomaton(self.units.alphabet, initial, joint, final)
        return WeightedTransducer(self.units, automaton)

    def sample(self, n_pairs: int, rng: np.random.Generator, max_length: int = 1000) -> StringPairs:
        """Draw inputs with the automaton, and an output for each of them from q(y | x).

        For automata without negative weights and nothing mixed in, this is to draw pairs from g.
        """
        drawn = self.units.spell(self.automaton.sample(n_pairs, rng, max_length))
        if self.backoff is None and self.automaton.is_stochastic():
            return drawn
        return StringPairs(drawn.inputs, self.decoder.draw(drawn.inputs, rng, max_length))

    def to_parts(self) -> tuple[dict[str, Array], dict[str, Any]]:
        arrays, header = self.automaton.to_parts()[0], {"units": self.units.to_header()}
        if self.backoff is None:
            return arrays, header
        arrays = {**arrays, **above("backoff.", self.backoff.to_parts()[0])}
        return arrays, {**header, "mixing": self.mixing}

    @classmethod
    def from_parts(cls, arrays: dict[str, Array], header: dict[str, Any]) -> WeightedTransducer:
        check_header(header, {"units": dict, "mixing?": between(0.0, 1.0)})
        units = Units.from_header(header["units"])
        alphabet = {"alphabet": units.alphabet}
        behind, backoff = below("backoff.", arrays), None
        if behind:
            backoff = WeightedAutomaton.from_parts(behind, alphabet)
            if min(float(array.min(initial=0.0)) for array in behind.values()) < 0.0:
                raise ValueError("what is mixed in must not have negative weights")
        own = {name: array for name, array in arrays.items() if not name.startswith("backoff.")}
        return cls(
            units, WeightedAutomaton.from_parts(own, alphabet), backoff, float(header.get("mixing", 0.0))
        )

    def _coded(self, pairs: StringPairs) -> StringPairs:
        return pairs.recoded(self.units.inputs, self.units.outputs, allow_unknown=True)

    def _sides(self, pairs: StringPairs, at: int) -> tuple[Int32s, Int32s]:
        first, second = pairs.inputs, pairs.outputs
        return (
            first.codes[first.offsets[at] : first.offsets[at + 1]],
            second.codes[second.offsets[at] : second.offsets[at + 1]],
        )

    def _total(self, xs: Int32s, ys: Int32s) -> tuple[float, int]:
        automaton = self.automaton
        vectors, exponents = lattice_forward(
            self.table.lattice(xs, ys), automaton.initial, automaton.transitions
        )
        return float(vectors[-1, -1] @ automaton.final), int(exponents[-1, -1])

    def _marginals(self, xs: Int32s, ys: Int32s) -> EdgeMarginals:
        automaton, lattice = self.automaton, self.table.lattice(xs, ys)
        forward = lattice_forward(lattice, automaton.initial, automaton.transitions)
        backward = lattice_backward(lattice, automaton.transitions, automaton.final)
        total = float(forward.vectors[-1, -1] @ automaton.final)
        if total == 0.0:
            return EdgeMarginals(*lattice, np.zeros(lattice.edges.shape))
        values = lattice_marginals(lattice, automaton.transitions, forward, backward, total)
        return EdgeMarginals(*lattice, values)


def read_transducer(path: TextPath) -> WeightedTransducer:
    """Read AT&T text, as OpenFst prints transducers and `convert --to att` writes them.

    Parameters
    ----------
    path : path
        Lines `from to input output cost` and `state cost`; `<eps>` is no symbol.

    Returns
    -------
    WeightedTransducer
        With a unit per pair of symbols.
    """
    automaton = read_att_pairs(path)
    return WeightedTransducer(Units.of(automaton.alphabet.symbols), automaton)  # type: ignore[arg-type]


def _over(units: Units, automaton: WeightedAutomaton | None) -> WeightedAutomaton | None:
    """The same weights for units that are read the other way."""
    if automaton is None:
        return None
    return WeightedAutomaton(units.alphabet, automaton.initial, automaton.transitions, automaton.final)


def _product(automaton: WeightedAutomaton, codes: Int32s) -> Floats:
    product = np.eye(automaton.n_states)
    for code in codes[codes >= 0].tolist():
        product = product @ automaton.transitions[code]
    return product
