"""A bag of alignment units: what an alignment weighs, and the best alignments of a pair.

    p(alignment) = prod over its units of theta(u)
    a(i, j)      = sum over units u = (x[i-p:i], y[j-q:j]) of a(i-p, j-q) theta(u),       a(0, 0) = 1

with shapes (p, q) as given. Every cell carries a mantissa and a power of two, so that pairs of any length
neither vanish nor overflow. A unit is known by its key, the number that the codes of its symbols spell; a
table with open addressing gives keys places. Alignments come as strings of units: counts, n-grams and
spectral statistics are taken from those.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np

from sigmastar.automata.data.strings import Strings
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.arrays import Array, Floats, Int32s, Int64s
from sigmastar.core.errors import InputError
from sigmastar.core.jit import kernel, part
from sigmastar.core.notebook import Shown
from sigmastar.core.scaling import add_numbers, rescale_number
from sigmastar.core.stored_parts import Parts, floats
from sigmastar.transducers.data import Lattice, PairCodes, Shape, StringPairs, Unit, UnitKeys, Units

NO_KEY = -1
LOG_2 = np.log(2.0)
_TIE = 1e-9  # nats: of alignments closer than this the one whose last units have an earlier shape is better


@dataclass(frozen=True, eq=False)
class AlignedPairs(Shown):
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


class Alignments(NamedTuple):
    """Alignments one after the other: places of their units, ends, pairs, log-weights."""

    places: Int64s
    ends: Int64s
    owners: Int64s
    logs: Floats


@part
def sides_of(pairs: PairCodes, number: int) -> tuple[Int32s, Int32s]:
    xs = pairs.x[pairs.x_ends[number] : pairs.x_ends[number + 1]]
    return xs, pairs.y[pairs.y_ends[number] : pairs.y_ends[number + 1]]


@kernel
def unit_key(xs: Int32s, i: int, p: int, ys: Int32s, j: int, q: int, radix: Int64s) -> int:
    """The key of the unit (x[i:i+p], y[j:j+q]); NO_KEY where a symbol is unknown."""
    key, known = 0, True
    for place in range(radix[2]):
        known = known and (place >= p or xs[i + place] >= 0)
        key = key * radix[0] + (xs[i + place] + 1 if place < p else 0)
    for place in range(radix[3]):
        known = known and (place >= q or ys[j + place] >= 0)
        key = key * radix[1] + (ys[j + place] + 1 if place < q else 0)
    return key if known else NO_KEY


@kernel
def place_of(table: Int64s, key: int) -> int:
    """Where a key stands, or the free place for it."""
    mask = len(table) - 1
    at = (key * 0x9E3779B97F4A7C1) & mask
    at = (at ^ (at >> 7)) & mask
    while table[at] != key and table[at] != NO_KEY:
        at = (at + 1) & mask
    return at


@kernel
def enter_keys(keys: Int64s, table: Int64s) -> Int64s:
    """Enter keys into a table that has room for them; their places."""
    places = np.empty(len(keys), np.int64)
    for number in range(len(keys)):
        places[number] = place_of(table, keys[number])
        table[places[number]] = keys[number]
    return places


@kernel
def edge_places(xs: Int32s, ys: Int32s, units: UnitKeys) -> Int64s:
    """The place of the unit of the edge that leaves cell (i, j) in each shape, or -1.

    Cells that no alignment reaches have no edges.
    """
    n, m = len(xs), len(ys)
    places, reached = (
        np.full((n + 1, m + 1, len(units.shapes)), -1, np.int64),
        np.zeros((n + 1, m + 1), np.bool_),
    )
    reached[0, 0] = True
    for i in range(n + 1):
        for j in range(m + 1):
            if not reached[i, j]:
                continue
            for shape in range(len(units.shapes)):
                p, q = units.shapes[shape, 0], units.shapes[shape, 1]
                if i + p > n or j + q > m:
                    continue
                key = unit_key(xs, i, p, ys, j, q, units.radix)
                at = place_of(units.table, key)
                if key != NO_KEY and units.table[at] != NO_KEY:
                    places[i, j, shape] = at
                    reached[i + p, j + q] = True
    return places


@kernel
def forward_sums(places: Int64s, shapes: Int64s, theta: Floats) -> tuple[Floats, Int64s]:
    """a of every cell, row by row: mantissas and exponents."""
    rows, columns, n_shapes = places.shape
    before, exponents = np.zeros(rows * columns), np.zeros(rows * columns, np.int64)
    edges, steps = places.reshape((rows * columns, n_shapes)), shapes[:, 0] * columns + shapes[:, 1]
    before[0] = 1.0
    for cell in range(rows * columns):
        if before[cell] == 0.0:
            continue
        weight, exponent = rescale_number(before[cell], exponents[cell])
        before[cell], exponents[cell] = weight, exponent
        for shape in range(n_shapes):
            at, to = edges[cell, shape], cell + steps[shape]
            if at >= 0:
                total = add_numbers(before[to], exponents[to], weight * theta[at], exponent)
                before[to], exponents[to] = total
    return before, exponents


@kernel
def log_sums(pairs: PairCodes, units: UnitKeys, theta: Floats) -> Floats:
    """log P(x, y) of every pair; -inf without alignment."""
    logs = np.empty(len(pairs.x_ends) - 1)
    for number in range(len(logs)):
        xs, ys = sides_of(pairs, number)
        before, powers = forward_sums(edge_places(xs, ys, units), units.shapes, theta)
        logs[number] = np.log(before[-1]) + powers[-1] * LOG_2
    return logs


@part
def _offer(score: Floats, move: Int64s, earlier: Floats, log: float, shape: int) -> None:
    """Put the alignments that a unit makes longer among the best of a cell, if they are."""
    last = len(score) - 1
    for rank in range(len(earlier)):
        value = earlier[rank] + log
        if not value > score[last] + _TIE:
            break
        low = last
        while low > 0 and score[low - 1] < value - _TIE:
            score[low], move[low, 0], move[low, 1] = score[low - 1], move[low - 1, 0], move[low - 1, 1]
            low -= 1
        score[low], move[low, 0], move[low, 1] = value, shape, rank


@kernel
def _best(places: Int64s, shapes: Int64s, logs: Floats, n_best: int) -> tuple[Floats, Int64s]:
    """Scores of the best alignments up to every cell, best first; shape of the last unit and rank before."""
    rows, columns, _ = places.shape
    score = np.full((rows, columns, n_best), -np.inf)
    move = np.full((rows, columns, n_best, 2), -1, np.int64)
    score[0, 0, 0] = 0.0
    for i in range(rows):
        for j in range(columns):
            for shape in range(len(shapes)):
                p, q = shapes[shape]
                if i < p or j < q or score[i - p, j - q, 0] == -np.inf:
                    continue
                at = places[i - p, j - q, shape]
                if at >= 0:
                    _offer(score[i, j], move[i, j], score[i - p, j - q], logs[at], shape)
    return score, move


@kernel
def _trace(places: Int64s, shapes: Int64s, move: Int64s, rank: int, found: Int64s) -> int:
    """Write the units of an alignment, in order; how many they are."""
    i, j, size = places.shape[0] - 1, places.shape[1] - 1, 0
    while i > 0 or j > 0:
        shape, earlier = move[i, j, rank]
        i, j, rank = i - shapes[shape, 0], j - shapes[shape, 1], earlier
        found[size] = places[i, j, shape]
        size += 1
    for step in range(size // 2):  # they were found from the last to the first
        found[step], found[size - 1 - step] = found[size - 1 - step], found[step]
    return size


@kernel
def best_alignments(pairs: PairCodes, units: UnitKeys, logs: Floats, n_best: int) -> Alignments:
    """The `n_best` heaviest alignments of every pair, best first, as places of units."""
    n_pairs = len(pairs.x_ends) - 1
    room = int(pairs.x_ends[-1] - pairs.x_ends[0] + pairs.y_ends[-1] - pairs.y_ends[0]) * n_best
    found, ends = np.empty(room, np.int64), np.zeros(n_pairs * n_best + 1, np.int64)
    owners, weights, n_found = np.empty(n_pairs * n_best, np.int64), np.empty(n_pairs * n_best), 0
    for number in range(n_pairs):
        xs, ys = sides_of(pairs, number)
        places = edge_places(xs, ys, units)
        score, move = _best(places, units.shapes, logs, n_best)
        for rank in range(n_best):
            if score[-1, -1, rank] == -np.inf:
                break
            begin = ends[n_found]
            size = _trace(places, units.shapes, move, rank, found[begin:])
            owners[n_found], weights[n_found] = number, score[-1, -1, rank]
            n_found += 1
            ends[n_found] = begin + size
    return Alignments(found[: ends[n_found]], ends[: n_found + 1], owners[:n_found], weights[:n_found])
