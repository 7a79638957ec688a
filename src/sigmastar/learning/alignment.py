"""The EM aligner: unit probabilities from unaligned pairs, and alignments as data.

A bag of units, p(alignment) = prod theta(u), fitted by EM from a uniform start. Left to itself EM likes
long units, since fewer of them are multiplied: expected counts of a unit of p + q > 2 symbols are
multiplied by `long_units` before they are normalised.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sigmastar.errors import InputError
from sigmastar.inference.alignment import NO_KEY, best_alignments, expected_counts, fill_keys
from sigmastar.structures.alphabet import Alphabet
from sigmastar.structures.string_pairs import StringPairs, require_pairs
from sigmastar.structures.strings import Strings, require_known
from sigmastar.structures.units import SHAPES, Shape, Unit, Units

Array = NDArray[np.float64]
Longs = NDArray[np.int64]

N_ITERATIONS = 10
LONG_UNITS = 0.5


@dataclass(frozen=True, eq=False)
class AlignedPairs:
    """Alignments as strings of units: the pair of each, and its share of the pair's posterior."""

    units: Units
    strings: Strings
    pair: Longs
    posterior: Array
    n_pairs: int

    @cached_property
    def unaligned(self) -> Longs:
        """Pairs that the shapes of the units allow no alignment of."""
        return np.setdiff1d(np.arange(self.n_pairs), self.pair)

    def best(self) -> Strings:
        """One alignment a pair, the likeliest."""
        return self.strings.select(np.unique(self.pair, return_index=True)[1])


@dataclass(frozen=True, eq=False)
class Aligner:
    """Unit probabilities at the places of a table of keys."""

    inputs: Alphabet
    outputs: Alphabet
    shapes: tuple[Shape, ...]
    table: Longs
    theta: Array
    log_likelihoods: tuple[float, ...]

    def align(self, pairs: StringPairs, n_best: int = 1) -> AlignedPairs:
        """The `n_best` likeliest alignments of every pair, with their posteriors."""
        pairs = pairs.recoded(self.inputs, self.outputs)
        corpus = _corpus(pairs, self.shapes)
        with np.errstate(divide="ignore"):
            weights = np.log(self.theta)
        places, ends, owners, logs = best_alignments(*corpus, self.table, weights, n_best)
        used, codes = np.unique(places, return_inverse=True)
        units = Units(Alphabet(self._unit(place) for place in used.tolist()), self.inputs, self.outputs)
        totals = self.log_probability(pairs)[owners]
        strings = Strings(units.alphabet, codes.astype(np.int32), ends)
        return AlignedPairs(units, strings, owners, np.exp(logs - totals), len(pairs))

    def log_probability(self, pairs: StringPairs) -> Array:
        """log of the sum over alignments; -inf where there is none."""
        corpus = _corpus(pairs.recoded(self.inputs, self.outputs), self.shapes)
        logs = np.empty(len(pairs))
        expected_counts(*corpus, self.table, self.theta, _tilt(self.log_likelihoods, pairs), logs)
        return logs

    def _unit(self, place: int) -> Unit:
        radix, key = _radix(self.inputs, self.outputs, self.shapes).tolist(), int(self.table[place])
        sides: list[list[int]] = [[], []]
        for side in (1, 0):
            for _ in range(radix[2 + side]):
                key, code = divmod(key, radix[side])
                sides[side] = [code - 1, *sides[side]] if code else sides[side]
        return self.inputs.decode(sides[0]), self.outputs.decode(sides[1])


def learn_aligner(
    pairs: StringPairs,
    shapes: Sequence[Shape] = SHAPES,
    n_iterations: int = N_ITERATIONS,
    long_units: float = LONG_UNITS,
) -> Aligner:
    """Fit unit probabilities by EM."""
    require_pairs(pairs)
    shapes = _checked(shapes)
    corpus = _corpus(pairs, shapes)
    table = _keys(corpus)
    theta = np.where(table == NO_KEY, 0.0, 1.0 / max(int((table != NO_KEY).sum()), 1))
    liking = _liking(table, corpus[5], long_units)
    theta *= liking
    theta /= theta.sum()
    likelihoods: list[float] = []
    logs = np.empty(len(pairs))
    for _ in range(n_iterations):
        counts = expected_counts(*corpus, table, theta, _tilt(likelihoods, pairs), logs)
        known = np.isfinite(logs)
        if not known.any():
            raise InputError(f"no pair can be aligned by units of shapes {_listed(shapes)}; allow more shapes")
        likelihoods.append(float(logs[known].sum()))
        theta = counts * liking
        theta /= theta.sum()
    return Aligner(pairs.inputs.alphabet, pairs.outputs.alphabet, shapes, table, theta, tuple(likelihoods))


def _corpus(pairs: StringPairs, shapes: Sequence[Shape]) -> tuple[NDArray[np.generic], ...]:
    left, right = require_known(pairs.inputs), require_known(pairs.outputs)
    radix = _radix(left.alphabet, right.alphabet, shapes)
    return left.codes, left.offsets, right.codes, right.offsets, np.array(shapes, dtype=np.int64), radix


def _radix(inputs: Alphabet, outputs: Alphabet, shapes: Sequence[Shape]) -> Longs:
    """Bases of the two sides, and how many digits of each a key has."""
    widths = max(p for p, _ in shapes), max(q for _, q in shapes)
    if (len(inputs) + 1) ** widths[0] * (len(outputs) + 1) ** widths[1] >= 2**62:
        raise InputError(f"units of shapes {_listed(shapes)} over these alphabets are too many; use fewer")
    return np.array([len(inputs) + 1, len(outputs) + 1, *widths], dtype=np.int64)


def _keys(corpus: tuple[NDArray[np.generic], ...]) -> Longs:
    size = 1 << 12
    while True:
        table = np.full(size, NO_KEY, dtype=np.int64)
        if fill_keys(*corpus, table) >= 0:  # type: ignore[arg-type]
            return table
        size *= 4


def _liking(table: Longs, radix: Longs, long_units: float) -> Array:
    """1, and `long_units` for units of more than two symbols."""
    lengths, rest = np.zeros(len(table), dtype=np.int64), np.maximum(table, 0)
    for side in (1, 0):
        for _ in range(int(radix[2 + side])):
            rest, digit = np.divmod(rest, radix[side])
            lengths += digit > 0
    return np.where(lengths > 2, long_units, 1.0)


def _tilt(log_likelihoods: Sequence[float], pairs: StringPairs) -> float:
    """The factor a symbol that brings the mean pair to one."""
    n_symbols = pairs.inputs.n_symbols + pairs.outputs.n_symbols
    return float(np.exp(-log_likelihoods[-1] / max(n_symbols, 1))) if log_likelihoods else 100.0


def _checked(shapes: Sequence[Shape]) -> tuple[Shape, ...]:
    found = tuple(dict.fromkeys((int(p), int(q)) for p, q in shapes))
    if not found or any(p < 0 or q < 0 or p + q == 0 for p, q in found):
        raise ValueError(f"shapes {shapes!r}: give pairs of numbers such as (1, 1) or (1, 0), not (0, 0)")
    return found


def _listed(shapes: Sequence[Shape]) -> str:
    return ", ".join(f"{p}-{q}" for p, q in shapes)
