"""A bag of alignment units: what an alignment weighs, and the best alignments of a pair.

    p(alignment) = prod over its units of theta(u)

Alignments come as strings of units: counts, n-grams and spectral statistics are taken from those.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sigmastar.automata.data.strings import Strings
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.errors import InputError
from sigmastar.transducers.data.string_pairs import StringPairs
from sigmastar.transducers.data.units import Shape, Units
from sigmastar.transducers.kernels.alignment import NO_KEY, best_alignments, edge_places, expected_counts

Array = NDArray[np.float64]
Integers = NDArray[np.int32]
Longs = NDArray[np.int64]
LatticeCorpus = tuple[Integers, Longs, Integers, Longs, Longs, Longs]
"""Codes and offsets of both sides, shapes, and the radix of keys."""

_TILT = 8.0  # the inverse of a usual weight a symbol


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
        """Pairs that the units allow no alignment of."""
        return np.setdiff1d(np.arange(self.n_pairs), self.pair)

    def best(self) -> Strings:
        """One alignment a pair, the likeliest."""
        return self.strings.select(np.unique(self.pair, return_index=True)[1])


@dataclass(frozen=True, eq=False)
class UnitTable:
    """Units by key, for kernels: shapes, the radix of keys, a table with open addressing, unit by place."""

    shapes: Longs
    radix: Longs
    table: Longs
    unit: Longs

    @classmethod
    def of(cls, units: Units) -> UnitTable:
        shapes = sorted(set(zip(units.input_lengths.tolist(), units.output_lengths.tolist(), strict=True)))
        radix = key_radix(units.inputs, units.outputs, shapes)
        keys = _unit_keys(units, radix)
        size = 1 << max(4, int(len(units) * 4).bit_length())
        table, unit = np.full(size, NO_KEY, dtype=np.int64), np.full(size, -1, dtype=np.int64)
        for number, key in enumerate(keys.tolist()):
            at = place_of(key, size)
            while table[at] != NO_KEY:
                at = (at + 1) & (size - 1)
            table[at], unit[at] = key, number
        return cls(np.array(shapes, dtype=np.int64).reshape(-1, 2), radix, table, unit)

    def edges(self, xs: Integers, ys: Integers) -> Longs:
        """The unit of the edge that leaves cell (i, j) in each shape, or -1."""
        return edge_places(xs, ys, self.shapes, self.radix, self.table, self.unit)


@dataclass(frozen=True, eq=False)
class Aligner:
    """Units with their probabilities."""

    units: Units
    theta: Array

    def __post_init__(self) -> None:
        if self.theta.shape != (len(self.units),):
            raise ValueError(f"{len(self.units)} units need as many weights, not {self.theta.shape}")

    @cached_property
    def table(self) -> UnitTable:
        return UnitTable.of(self.units)

    def align(self, pairs: StringPairs, n_best: int = 1) -> AlignedPairs:
        """The `n_best` likeliest alignments of every pair, best first, with their posteriors."""
        strings, owners, logs = self.best(pairs, n_best)
        posterior = np.exp(logs - self.log_probability(pairs)[owners])
        return AlignedPairs(self.units, strings, owners, posterior, len(pairs))

    def best(self, pairs: StringPairs, n_best: int = 1) -> tuple[Strings, Longs, Array]:
        """The alignments alone: their units, their pairs, the logarithms of their weights."""
        with np.errstate(divide="ignore"):
            weights = np.append(np.log(self.theta), -np.inf)[self.table.unit]
        places, ends, owners, logs = best_alignments(*self._corpus(pairs), self.table.table, weights, n_best)
        codes = self.table.unit[places].astype(np.int32)
        return Strings(self.units.alphabet, codes, ends), owners, logs

    def log_probability(self, pairs: StringPairs) -> Array:
        """log of the sum over alignments; -inf where there is none."""
        logs, theta = np.empty(len(pairs)), np.append(self.theta, 0.0)[self.table.unit]
        expected_counts(*self._corpus(pairs), self.table.table, theta, _TILT, logs)
        return logs

    def _corpus(self, pairs: StringPairs) -> LatticeCorpus:
        pairs = pairs.recoded(self.units.inputs, self.units.outputs, allow_unknown=True)
        sides = (pairs.inputs.codes, pairs.inputs.offsets, pairs.outputs.codes, pairs.outputs.offsets)
        return (*sides, self.table.shapes, self.table.radix)

    def to_parts(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        return {"theta": self.theta}, {"units": units_to_header(self.units)}

    @classmethod
    def from_parts(cls, arrays: dict[str, NDArray[Any]], header: dict[str, Any]) -> Aligner:
        return cls(units_from_header(header["units"]), arrays["theta"])


def units_to_header(units: Units) -> dict[str, Any]:
    return {"units": units.alphabet, "inputs": units.inputs, "outputs": units.outputs}


def units_from_header(header: dict[str, Any]) -> Units:
    return Units(header["units"], header["inputs"], header["outputs"])


def key_radix(inputs: Alphabet, outputs: Alphabet, shapes: list[Shape] | tuple[Shape, ...]) -> Longs:
    """Bases of the two sides, and how many digits of each a key has."""
    widths = max((p for p, _ in shapes), default=0), max((q for _, q in shapes), default=0)
    if (len(inputs) + 1) ** widths[0] * (len(outputs) + 1) ** widths[1] >= 2**62:
        listed = ", ".join(f"{p}-{q}" for p, q in shapes)
        raise InputError(f"units of shapes {listed} over these alphabets are too many; allow fewer shapes")
    return np.array([len(inputs) + 1, len(outputs) + 1, *widths], dtype=np.int64)


def place_of(key: int, size: int) -> int:
    """Where the kernels begin to look for a key."""
    at = (key * 0x9E3779B97F4A7C1) & (size - 1)
    return (at ^ (at >> 7)) & (size - 1)


def _unit_keys(units: Units, radix: Longs) -> Longs:
    keys = np.zeros(len(units), dtype=np.int64)
    for side, codes in ((0, units.input_codes), (1, units.output_codes)):
        for place in range(int(radix[2 + side])):
            keys = keys * radix[side] + codes[:, place] + 1
    return keys
