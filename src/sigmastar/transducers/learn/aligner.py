"""The EM aligner: unit probabilities from unaligned pairs.

A bag of units, p(alignment) = prod theta(u), fitted by EM (`core.em`) from a uniform start,

    E[n(u)]  = sum over pairs and edges of a(before) theta(u) b(after) / a(|x|, |y|)

with the sums a of `model.aligner`, and b the same from the end. Left to itself EM
prefers long units, since fewer of them are multiplied: expected counts of a unit of p + q > 2 symbols are
multiplied by `long_units` before they are normalized. In the end only units of best alignments are kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sigmastar.automata.data.strings import require_known
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.arrays import Floats, Int64s
from sigmastar.core.em import NEVER, Climb, Problem
from sigmastar.core.errors import InputError
from sigmastar.core.jit import kernel
from sigmastar.core.scaling import add_numbers, power_of_two, rescale_number
from sigmastar.transducers.data import (
    SHAPES,
    PairCodes,
    Shape,
    StringPairs,
    Unit,
    UnitKeys,
    Units,
    require_pairs,
)
from sigmastar.transducers.model.aligner import (
    LOG_2,
    NO_KEY,
    Aligner,
    best_alignments,
    edge_places,
    forward_sums,
    key_radix,
    pair_codes,
    place_of,
    sides_of,
    unit_key,
)

N_ITERATIONS = 10
LONG_UNITS = 0.1


@dataclass(frozen=True, eq=False)
class AlignerFit:
    """An aligner, and the log-likelihood of all pairs that can be aligned before every step."""

    aligner: Aligner
    log_likelihoods: tuple[float, ...]


def learn_aligner(
    pairs: StringPairs,
    shapes: Sequence[Shape] = SHAPES,
    n_iterations: int = N_ITERATIONS,
    long_units: float = LONG_UNITS,
) -> AlignerFit:
    """Fit unit probabilities by EM.

    Parameters
    ----------
    pairs : StringPairs
        To be aligned.
    shapes : sequence of pairs
        Numbers of symbols of either side that a unit may hold.
    n_iterations : int
        Of EM.
    long_units : float
        Factor of the counts of units of more than two symbols.

    Returns
    -------
    AlignerFit
        The aligner of the units that best alignments use.
    """
    require_pairs(pairs)
    shapes = _checked(shapes)
    codes = pair_codes(StringPairs(require_known(pairs.inputs), require_known(pairs.outputs)))
    units = _all_keys(codes, shapes, key_radix(pairs.inputs.alphabet, pairs.outputs.alphabet, shapes))
    factors = np.where(_lengths(units) > 2, long_units, 1.0)
    logs = np.empty(len(pairs))

    def expect(theta: Floats) -> tuple[Floats, float]:
        counts = expected_counts(codes, units, theta, logs)
        known = np.isfinite(logs)
        if not known.any():
            listed = ", ".join(f"{p}-{q}" for p, q in shapes)
            raise InputError(f"no pair can be aligned by units of shapes {listed}; allow more")
        return counts, float(logs[known].sum())

    def maximize(counts: Floats) -> Floats:
        weighted = counts * factors
        return np.asarray(weighted / weighted.sum())

    problem = Problem(expect, maximize, name="aligning")
    climb = Climb.begin(problem, maximize((units.table != NO_KEY).astype(np.float64)))
    climb = climb.run(n_iterations, NEVER)
    return AlignerFit(_kept(pairs, codes, units, climb.latest), climb.log_likelihoods)


def _kept(pairs: StringPairs, codes: PairCodes, units: UnitKeys, theta: Floats) -> Aligner:
    """The aligner of those units that best alignments use."""
    with np.errstate(divide="ignore"):
        used = np.unique(best_alignments(codes, units, np.log(theta), 1).places)
    inputs, outputs = pairs.inputs.alphabet, pairs.outputs.alphabet
    found = [_unit(key, units.radix.tolist(), inputs, outputs) for key in units.table[used].tolist()]
    order = sorted(range(len(found)), key=lambda at: tuple(map(str, found[at])))
    kept = theta[used][order]
    return Aligner(Units(Alphabet(found[at] for at in order), inputs, outputs), kept / kept.sum())


def _unit(key: int, radix: list[int], inputs: Alphabet, outputs: Alphabet) -> Unit:
    sides: list[list[int]] = [[], []]
    for side in (1, 0):
        for _ in range(radix[2 + side]):
            key, code = divmod(key, radix[side])
            sides[side] = [code - 1, *sides[side]] if code else sides[side]
    return inputs.decode(sides[0]), outputs.decode(sides[1])


def _all_keys(codes: PairCodes, shapes: tuple[Shape, ...], radix: Int64s) -> UnitKeys:
    """A table of all units that the pairs allow."""
    size = 1 << 12
    while True:
        table = np.full(size, NO_KEY, dtype=np.int64)
        units = UnitKeys(np.array(shapes, dtype=np.int64), radix, table)
        if fill_keys(codes, units) >= 0:
            return units
        size *= 4


def _lengths(units: UnitKeys) -> Int64s:
    """The number of symbols of both sides of the unit at every place."""
    lengths, rest = np.zeros(len(units.table), dtype=np.int64), np.maximum(units.table, 0)
    for side in (1, 0):
        for _ in range(int(units.radix[2 + side])):
            rest, digit = np.divmod(rest, units.radix[side])
            lengths += digit > 0
    return lengths


def _checked(shapes: Sequence[Shape]) -> tuple[Shape, ...]:
    found = tuple(dict.fromkeys((int(p), int(q)) for p, q in shapes))
    if not found or any(p < 0 or q < 0 or p + q == 0 for p, q in found):
        raise ValueError(f"shapes {shapes!r}: give pairs of numbers such as (1, 1) or (1, 0), not (0, 0)")
    return found


@kernel
def fill_keys(pairs: PairCodes, units: UnitKeys) -> int:
    """Enter the keys of all edges of all lattices; how many there are, or -1 if the table is too small."""
    n_keys, table = 0, units.table
    for number in range(len(pairs.x_ends) - 1):
        xs, ys = sides_of(pairs, number)
        for shape in range(len(units.shapes)):
            p, q = units.shapes[shape]
            for i in range(len(xs) - p + 1):
                for j in range(len(ys) - q + 1):
                    key = unit_key(xs, i, p, ys, j, q, units.radix)
                    at = place_of(table, key)
                    if table[at] == NO_KEY:
                        table[at] = key
                        n_keys += 1
                        if 2 * n_keys > len(table):
                            return -1
    return n_keys


@kernel
def _add_expected(
    places: Int64s, shapes: Int64s, theta: Floats, before: Floats, powers: Int64s, counts: Floats
) -> None:
    """Add the share of alignments through every edge to the counts of its unit."""
    rows, columns, n_shapes = places.shape
    edges, steps = places.reshape((rows * columns, n_shapes)), shapes[:, 0] * columns + shapes[:, 1]
    last = rows * columns - 1
    after, exponents = np.zeros(rows * columns), np.zeros(rows * columns, np.int64)
    after[last] = 1.0
    for cell in range(last, -1, -1):
        if before[cell] == 0.0:
            continue
        share, power = before[cell] / before[last], powers[cell] - powers[last]
        total, exponent = after[cell], exponents[cell]
        for shape in range(n_shapes):
            at, to = edges[cell, shape], cell + steps[shape]
            if at >= 0 and after[to] > 0.0:
                rest = theta[at] * after[to]
                counts[at] += share * rest * power_of_two(power + exponents[to])
                total, exponent = add_numbers(total, exponent, rest, exponents[to])
        after[cell], exponents[cell] = rescale_number(total, exponent)


@kernel
def expected_counts(pairs: PairCodes, units: UnitKeys, theta: Floats, logs: Floats) -> Floats:
    """Expected counts at the places of the table; `logs` receives log P(x, y), -inf without alignment."""
    counts = np.zeros(len(units.table))
    for number in range(len(pairs.x_ends) - 1):
        xs, ys = sides_of(pairs, number)
        places = edge_places(xs, ys, units)
        before, powers = forward_sums(places, units.shapes, theta)
        logs[number] = np.log(before[-1]) + powers[-1] * LOG_2
        if before[-1] > 0.0:
            _add_expected(places, units.shapes, theta, before, powers, counts)
    return counts
