"""A bag of alignment units: what an alignment weighs, and the best alignments of a pair.

    p(alignment) = prod over its units of theta(u)

Alignments come as strings of units: counts, n-grams and spectral statistics are taken from those.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from sigmastar.automata.data.strings import Strings
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.arrays import Array, Floats, Int32s, Int64s
from sigmastar.core.errors import InputError
from sigmastar.core.parts import Parts, floats
from sigmastar.transducers.data import Shape, StringPairs, Unit, Units
from sigmastar.transducers.kernels.alignment import (
    NO_KEY,
    Lattice,
    PairCodes,
    UnitKeys,
    best_alignments,
    edge_places,
    enter_keys,
    log_sums,
)


@dataclass(frozen=True, eq=False)
class AlignedPairs:
    """Alignments as strings of units: the pair of each, and its share of the pair's posterior."""

    units: Units
    strings: Strings
    pair: Int64s
    posterior: Floats
    n_pairs: int

    @cached_property
    def unaligned(self) -> Int64s:
        """Pairs that the units allow no alignment of."""
        return np.setdiff1d(np.arange(self.n_pairs), self.pair)

    def best(self) -> Strings:
        """One alignment per pair that has any, the likeliest."""
        return self.strings.select(np.unique(self.pair, return_index=True)[1])

    def by_pair(self) -> list[tuple[Unit, ...]]:
        """The best alignment of each pair as a sequence of units; empty where there is none."""
        found: list[tuple[Unit, ...]] = [()] * self.n_pairs
        for at, pair in enumerate(self.pair.tolist()):
            found[pair] = found[pair] or self.strings[at]  # type: ignore[assignment]
        return found


@dataclass(frozen=True, eq=False)
class UnitTable:
    """Units by key, and the unit of every place of the table."""

    keys: UnitKeys
    unit: Int64s

    @classmethod
    def of(cls, units: Units) -> UnitTable:
        arrays = units.arrays
        shapes = sorted(set(zip(arrays.input_lengths.tolist(), arrays.output_lengths.tolist(), strict=True)))
        radix = key_radix(units.inputs, units.outputs, shapes)
        size = 1 << max(4, int(len(units) * 4).bit_length())
        table, unit = np.full(size, NO_KEY, dtype=np.int64), np.full(size, -1, dtype=np.int64)
        unit[enter_keys(_unit_keys(units, radix), table)] = np.arange(len(units))
        return cls(UnitKeys(np.array(shapes, dtype=np.int64).reshape(-1, 2), radix, table), unit)

    def lattice(self, xs: Int32s, ys: Int32s) -> Lattice:
        """The edit lattice of a pair."""
        places = edge_places(xs, ys, self.keys)
        return Lattice(np.where(places < 0, -1, self.unit[places]), self.keys.shapes)


@dataclass(frozen=True, eq=False)
class Aligner:
    """Units with their probabilities."""

    units: Units
    theta: Floats

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

    def best(self, pairs: StringPairs, n_best: int = 1) -> tuple[Strings, Int64s, Floats]:
        """The alignments alone: their units, their pairs, the logarithms of their weights."""
        with np.errstate(divide="ignore"):
            weights = np.append(np.log(self.theta), -np.inf)[self.table.unit]
        found = best_alignments(self._coded(pairs), self.table.keys, weights, n_best)
        codes = self.table.unit[found.places].astype(np.int32)
        return Strings(self.units.alphabet, codes, found.ends), found.owners, found.logs

    def log_probability(self, pairs: StringPairs) -> Floats:
        """log of the sum over alignments; -inf where there is none."""
        theta = np.append(self.theta, 0.0)[self.table.unit]
        return log_sums(self._coded(pairs), self.table.keys, theta)

    def _coded(self, pairs: StringPairs) -> PairCodes:
        return pair_codes(pairs.recoded(self.units.inputs, self.units.outputs, allow_unknown=True))

    PARTS: ClassVar[Parts] = Parts(header={"units": dict}, arrays={"theta": floats("units", least=0.0)})

    def to_parts(self) -> tuple[dict[str, Array], dict[str, Any]]:
        return {"theta": self.theta}, {"units": self.units.to_header()}

    @classmethod
    def from_parts(cls, arrays: dict[str, Array], header: dict[str, Any]) -> Aligner:
        cls.PARTS.check(arrays, header)
        return cls(Units.from_header(header["units"]), arrays["theta"])


def pair_codes(pairs: StringPairs) -> PairCodes:
    """Pairs as kernels read them."""
    return PairCodes(pairs.inputs.codes, pairs.inputs.offsets, pairs.outputs.codes, pairs.outputs.offsets)


def key_radix(inputs: Alphabet, outputs: Alphabet, shapes: Sequence[Shape]) -> Int64s:
    """Bases of the two sides, and how many digits of each a key has."""
    widths = max((p for p, _ in shapes), default=0), max((q for _, q in shapes), default=0)
    if (len(inputs) + 1) ** widths[0] * (len(outputs) + 1) ** widths[1] >= 2**62:
        listed = ", ".join(f"{p}-{q}" for p, q in shapes)
        raise InputError(f"units of shapes {listed} over these alphabets are too many; allow fewer shapes")
    return np.array([len(inputs) + 1, len(outputs) + 1, *widths], dtype=np.int64)


def _unit_keys(units: Units, radix: Int64s) -> Int64s:
    keys = np.zeros(len(units), dtype=np.int64)
    for side, codes in ((0, units.arrays.input_codes), (1, units.arrays.output_codes)):
        for place in range(int(radix[2 + side])):
            keys = keys * radix[side] + codes[:, place] + 1
    return keys
