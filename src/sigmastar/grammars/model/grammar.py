"""Weighted context-free grammars over strings, in algebraic form (Bailly et al. 2013, section 2.2).

    f(x)     = initial . beta(x)
    beta(a)  = words[a],     beta(x) = sum over x = y z of A (beta(y) (x) beta(z))

The same numbers are the weights of a grammar in classic form: `initial[i]` of starting with i, `words[a, i]`
of i -> a, `composition[i, j, k]` of i -> j k (equations 13-15). Weights may have any sign.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from sigmastar.automata.data.strings import Codes, Strings
from sigmastar.automata.model.automaton import SignedLog
from sigmastar.core.alphabet import Alphabet, OperatorModel, composition_signature
from sigmastar.core.arrays import Array, Floats, Indices, Int64s
from sigmastar.core.notebook import Shown
from sigmastar.core.stored_parts import Parts, floats
from sigmastar.grammars.data.bracketings import Bracketings
from sigmastar.grammars.data.substrings import Substrings
from sigmastar.grammars.kernels import (
    Insides,
    Spans,
    best_spans,
    draw_yields,
    insides,
    outside_of_context,
    span_posteriors,
)

Coded = Codes | Sequence[int]

_PIECE = 2_000_000  # spans parsed at a time


@dataclass(frozen=True, eq=False)
class WeightedGrammar(Shown):
    """A function on non-empty strings by its initial vector, word vectors and bilinear composition."""

    alphabet: Alphabet
    initial: Floats  # states
    words: Floats  # symbols x states
    composition: Floats  # states x states x states: result, left, right

    def __post_init__(self) -> None:
        for name in ("initial", "words", "composition"):
            object.__setattr__(self, name, np.ascontiguousarray(getattr(self, name), dtype=np.float64))
        n, shapes = len(self.initial), (self.initial.shape, self.words.shape, self.composition.shape)
        if n == 0 or shapes != ((n,), (len(self.alphabet), n), (n, n, n)):
            raise ValueError(
                f"initial {shapes[0]}, words {shapes[1]} and composition {shapes[2]} do not fit each other "
                f"and {len(self.alphabet)} symbols; use (n,), ({len(self.alphabet)}, n) and (n, n, n)"
            )
        if not all(np.isfinite(part).all() for part in (self.initial, self.words, self.composition)):
            raise ValueError("a weight of the grammar is not finite")

    @property
    def n_states(self) -> int:
        return len(self.initial)

    @classmethod
    def of_operators(cls, model: OperatorModel) -> WeightedGrammar:
        word, compose = (model.signature.operation(name) for name in ("word", "compose"))
        return cls(word.alphabet, model.roots["span"], model.operators[word], model.operators[compose][0])

    def to_operators(self) -> OperatorModel:
        signature = composition_signature(self.alphabet)
        word, compose = signature.operations
        return OperatorModel(
            signature, {"span": self.initial}, {word: self.words, compose: self.composition[None]}
        )

    def log_value(self, strings: Strings) -> SignedLog:
        """f of every string as a sign and a logarithm; the empty string and unknown symbols have f = 0."""
        coded = strings.recoded(self.alphabet, allow_unknown=True)
        sign, log = np.zeros(len(coded)), np.full(len(coded), -np.inf)
        for piece in _pieces(np.flatnonzero(coded.lengths > 0), coded.lengths):
            table = Substrings.of(coded.select(piece))
            mantissas, exponents = self.insides(table)
            values = mantissas[table.string_node] @ self.initial
            with np.errstate(divide="ignore"):
                log[piece] = np.log(np.abs(values)) + exponents[table.string_node] * np.log(2.0)
            sign[piece] = np.sign(values)
        return SignedLog(sign, log)

    def value(self, strings: Strings) -> Floats:
        sign, log = self.log_value(strings)
        return sign * np.exp(log)

    def log_probability(self, strings: Strings) -> Floats:
        """log f where f > 0, else -inf."""
        sign, log = self.log_value(strings)
        return np.where(sign > 0, log, -np.inf)

    def insides(self, table: Substrings) -> Insides:
        """The inside vector of every distinct substring of a corpus over this alphabet."""
        return insides(spans_of(table), self.words, self.composition)

    def inside(self, codes: Coded) -> Floats:
        """beta of one coded string; may underflow where `log_value` does not."""
        strings = Strings(self.alphabet, np.asarray(codes, dtype=np.int32), np.array([0, len(codes)]))
        table = Substrings.of(strings)
        mantissas, exponents = self.insides(table)
        vector: Floats = mantissas[table.string_node[0]] * np.exp2(float(exponents[table.string_node[0]]))
        return vector

    def outside(self, left: Coded, right: Coded) -> Floats:
        """alpha of the context <left; right> (equations 10 and 11)."""
        return outside_of_context(
            np.asarray(left, dtype=np.int64),
            np.asarray(right, dtype=np.int64),
            self.initial,
            self.words,
            self.composition,
        )

    def cut_value(self, left: Coded, middle: Coded, right: Coded) -> float:
        """The weight of `left middle right` with a cut around the middle (equation 12)."""
        return float(self.outside(left, right) @ self.inside(middle))

    def span_posteriors(self, strings: Strings) -> list[Floats]:
        """One table [begin, end] per string: the share of its weight with a constituent there."""
        return list(self._posteriors(strings))

    def brackets(self, strings: Strings) -> Bracketings:
        """Binary trees that hold the most expected constituents (MBR); right-branching where f is 0."""
        return Bracketings.of_spans(strings, [best_spans(table) for table in self._posteriors(strings)])

    def _posteriors(self, strings: Strings) -> Iterator[Floats]:
        coded = strings.recoded(self.alphabet, allow_unknown=True)
        for piece in _pieces(np.arange(len(coded)), coded.lengths):
            part = coded.select(piece)
            table = Substrings.of(part)
            spans, found = spans_of(table), self.insides(table)
            for low, high in pairwise(part.offsets.tolist()):
                yield span_posteriors(low, high, spans, found, self.initial, self.composition)

    def is_probabilistic(self, tolerance: float = 1e-9) -> bool:
        """Whether this is a PCFG: weights >= 0, those of each left side and the starts sum to one."""
        lowest = min(part.min(initial=0.0) for part in (self.initial, self.words, self.composition))
        sums = np.append(self.words.sum(axis=0) + self.composition.sum(axis=(1, 2)), self.initial.sum())
        return bool(lowest >= 0.0 and np.abs(sums - 1.0).max() <= tolerance)

    def sample(self, n_strings: int, rng: np.random.Generator, max_length: int = 10_000) -> Strings:
        """Draw strings of a PCFG; one that would grow beyond `max_length` symbols is cut there."""
        return self.sample_brackets(n_strings, rng, max_length).strings

    def sample_brackets(
        self, n_strings: int, rng: np.random.Generator, max_length: int = 10_000
    ) -> Bracketings:
        """Draw strings with the binary trees that derive them."""
        if not self.is_probabilistic(1e-6):
            raise ValueError(
                "only a probabilistic grammar can be sampled: its weights must be 0 or more, and those of "
                "each left side and of the starts must sum to 1; learn one by EM"
            )
        if n_strings < 0 or max_length < 1:
            raise ValueError(f"n_strings={n_strings} must be 0 or more, max_length={max_length} 1 or more")
        rules = np.hstack([self.words.T, self.composition.reshape(self.n_states, -1)])
        drawn = draw_yields(
            n_strings, np.cumsum(self.initial), np.cumsum(rules, axis=1), len(self.alphabet), rng, max_length
        )
        codes, offsets, begins, ends, span_offsets = drawn
        return Bracketings(Strings(self.alphabet, codes, offsets), begins, ends, span_offsets)

    def change_basis(self, basis: Floats) -> WeightedGrammar:
        """The same function with states `Q^-1 v` in place of `v`, for an invertible `basis` Q."""
        turned = self.to_operators().change_basis({"span": np.asarray(basis, dtype=float)})
        return WeightedGrammar.of_operators(turned)

    def __mul__(self, factor: float) -> WeightedGrammar:
        return WeightedGrammar(self.alphabet, self.initial * factor, self.words, self.composition)

    __rmul__ = __mul__

    PARTS: ClassVar[Parts] = Parts(
        header={"alphabet": Alphabet},
        sizes={"symbols": "alphabet"},
        arrays={
            "initial": floats("states"),
            "words": floats("symbols", "states"),
            "composition": floats("states", "states", "states"),
        },
    )

    def to_parts(self) -> tuple[dict[str, Array], dict[str, Any]]:
        arrays = {"initial": self.initial, "words": self.words, "composition": self.composition}
        return arrays, {"alphabet": self.alphabet}

    @classmethod
    def from_parts(cls, arrays: dict[str, Array], header: dict[str, Any]) -> WeightedGrammar:
        cls.PARTS.check(arrays, header)
        return cls(header["alphabet"], arrays["initial"], arrays["words"], arrays["composition"])


def spans_of(table: Substrings) -> Spans:
    """What kernels see of a table of substrings."""
    return Spans(table.numbers, table.rows, table.first, table.level_starts, table.word_codes)


def _pieces(chosen: Indices, lengths: Int64s) -> list[Indices]:
    """Cut a choice of strings into runs of about `_PIECE` spans."""
    if not len(chosen):
        return []
    sizes = np.cumsum(lengths[chosen] * (lengths[chosen] + 1) // 2)
    return [part for part in np.split(chosen, np.flatnonzero(np.diff(sizes // _PIECE)) + 1) if len(part)]
