"""Outputs of an input, symbol by symbol, under operators of units.

Operators are read along the output: what all alignments weigh that begin with an output prefix is a sum of
cells of the edit lattice, F(i, j), times what all ways on from there weigh, B(i).

    B(i)           = C sum over units u of x[i:i+p], p > 0, of A_u B(i+p)         B(n) = C final
    W(y1 .. yt z)  = sum over i, k and units u = x[i:i+p] : yt-k+1 .. yt z .. of F(i, t-k) A_u B(i+p)
    W(end)         = F(n, t) final
    q(z | x, y1 .. yt) = max(W(z), 0) / sum over all z and the end of max(W, 0)

where C sums over units without input. If g is not negative, the product of q is g(x, y) / g(x), exactly. If
it is signed, W is taken times the sign of its sum, and the product is a distribution all the same. A second
machine, of no negative weight, may be mixed in at every symbol, with a little of all symbols alike: then no
output has the probability zero.

Cells are kept relative to the weight of the prefix, and F(i, .) times the scale of B(i): so numbers stay near
one for strings of any length. Of units that reach beyond the prefix their first symbols must fit it, so the
last columns are kept, as many as a unit has output symbols.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sigmastar.core.arrays import Floats, Int32s, Int64s
from sigmastar.core.jit import kernel, part
from sigmastar.core.scaling import largest_size, normalize, power_of_two
from sigmastar.transducers.data import UnitArrays
from sigmastar.transducers.kernels.beam import reads

_LEAST = -(1 << 40)  # the power of two of nothing
_ESCAPE = 1e-3  # the share, in what is mixed in, that all symbols have alike
_FAR = 1e-14  # a cell this small beside the largest of its column is passed over


class Machine(NamedTuple):
    """Operators of units, and C."""

    initial: Floats
    transitions: Floats
    final: Floats
    closure: Floats


class Filter(NamedTuple):
    """What reads outputs: units, two machines, the share of the second, the numbers of symbols."""

    units: UnitArrays
    machines: tuple[Machine, Machine]
    mixing: float
    n_symbols: int
    n_columns: int  # output symbols of the longest unit, at least one


class Ahead(NamedTuple):
    """Of one input and machine: the units that read from each position, and what follows them.

    A unit of the input from i to i + p has the vector A_u B(i+p), and the factor that cells take on their
    way, the quotient of the scales of B.
    """

    starts: Int64s
    units: Int32s
    factors: Floats
    vectors: Floats
    end: Floats


class Prefix(NamedTuple):
    """An output prefix: the last columns of F, latest first, of either machine, and its last symbols."""

    columns: tuple[Floats, Floats]
    recent: Int32s


@kernel
def _readers(xs: Int32s, units: UnitArrays) -> tuple[Int64s, Int32s]:
    """The units that may stand at each position: where they begin, and which they are."""
    n, n_inputs = len(xs), len(units.first_starts) - 2
    room = 0
    for i in range(n + 1):
        for symbol in (xs[i] if i < n else n_inputs + 1, n_inputs):
            if symbol <= n_inputs:
                room += units.first_starts[symbol + 1] - units.first_starts[symbol]
    starts, found, size = np.zeros(n + 2, np.int64), np.empty(room, np.int32), 0
    for i in range(n + 1):
        for symbol in (xs[i] if i < n else n_inputs + 1, n_inputs):
            if symbol <= n_inputs:
                for place in range(units.first_starts[symbol], units.first_starts[symbol + 1]):
                    unit = units.first_units[place]
                    if reads(xs, i, units.input_codes[unit], units.input_lengths[unit]):
                        found[size] = unit
                        size += 1
        starts[i + 1] = size
    return starts, found[:size]


@kernel
def _times(matrix: Floats, vector: Floats, factor: float, into: Floats) -> None:
    """Add factor matrix vector to a vector."""
    for row in range(len(matrix)):
        total = 0.0
        for column in range(len(vector)):
            total += matrix[row, column] * vector[column]
        into[row] += factor * total


@kernel
def _moved(vector: Floats, matrix: Floats, factor: float, into: Floats) -> None:
    """Add factor vector matrix to a vector."""
    for row in range(len(vector)):
        weight = factor * vector[row]
        for column in range(len(into)):
            into[column] += weight * matrix[row, column]


@kernel
def _ahead(xs: Int32s, units: UnitArrays, machine: Machine) -> Ahead:
    """Backwards through an input."""
    n, size = len(xs), len(machine.initial)
    starts, found = _readers(xs, units)
    factors, vectors = np.ones(len(found)), np.zeros((len(found), size))
    rest, powers, end = np.zeros((n + 1, size)), np.zeros(n + 1, np.int64), np.zeros(size)
    for i in range(n, -1, -1):
        total, power = np.zeros(size), 0 if i == n else _LEAST
        for at in range(starts[i], starts[i + 1]):
            p = units.input_lengths[found[at]]
            if p > 0:
                power = max(power, powers[i + p])
        for at in range(starts[i], starts[i + 1]):
            p = units.input_lengths[found[at]]
            if p > 0:
                factors[at] = power_of_two(powers[i + p] - power)
                _times(machine.transitions[found[at]], rest[i + p], factors[at], total)
        _times(machine.closure, machine.final if i == n else total, 1.0, rest[i])
        powers[i] = power + normalize(rest[i])
        for at in range(starts[i], starts[i + 1]):
            p = units.input_lengths[found[at]]
            factors[at] = power_of_two(powers[i + p] - powers[i])
            _times(machine.transitions[found[at]], rest[i + p], factors[at], vectors[at])
    for state in range(size):
        end[state] = machine.final[state] * power_of_two(-powers[n])
    return Ahead(starts, found, factors, vectors, end)


@kernel
def _settle(column: Floats, ahead: Ahead, units: UnitArrays, machine: Machine) -> None:
    """Units without output carry cells of a column on, in place."""
    for i in range(len(column) - 1):
        if largest_size(column[i]) > 0.0:
            for at in range(ahead.starts[i], ahead.starts[i + 1]):
                unit = ahead.units[at]
                if units.output_lengths[unit] == 0:
                    to = i + units.input_lengths[unit]
                    _moved(column[i], machine.transitions[unit], ahead.factors[at], column[to])


@part
def _fits(unit: int, k: int, recent: Int32s, units: UnitArrays) -> bool:
    """Whether the first k output symbols of a unit are the last of a prefix."""
    same = True
    for place in range(k):
        same = same and units.output_codes[unit, place] == recent[k - 1 - place]
    return same


@kernel
def _weigh(columns: Floats, recent: Int32s, ahead: Ahead, units: UnitArrays, weights: Floats) -> None:
    """W of every symbol that may come next, that of the end last."""
    last = columns.shape[1] - 1
    for z in range(len(weights)):
        weights[z] = 0.0
    for k in range(len(columns)):
        largest = 0.0
        for i in range(last + 1):
            largest = max(largest, largest_size(columns[k, i]))
        for i in range(last + 1):
            cell = columns[k, i]
            if not largest_size(cell) > _FAR * largest:
                continue
            for at in range(ahead.starts[i], ahead.starts[i + 1]):
                unit = ahead.units[at]
                if units.output_lengths[unit] > k and _fits(unit, k, recent, units):
                    value = 0.0
                    for state in range(len(cell)):
                        value += cell[state] * ahead.vectors[at, state]
                    weights[units.output_codes[unit, k]] += value
    for state in range(len(ahead.end)):
        weights[-1] += columns[0, last, state] * ahead.end[state]


@kernel
def _advance(
    columns: Floats,
    recent: Int32s,
    ahead: Ahead,
    units: UnitArrays,
    machine: Machine,
    scale: float,
    longer: Floats,
) -> None:
    """The columns of a prefix that is longer by a symbol, the first of `recent`, divided by its weight."""
    _clear(longer)
    for k in range(len(columns)):
        for i in range(columns.shape[1]):
            if not largest_size(columns[k, i]) > 0.0:
                continue
            for state in range(columns.shape[2] if k + 1 < len(columns) else 0):
                longer[k + 1, i, state] = columns[k, i, state] / scale
            for at in range(ahead.starts[i], ahead.starts[i + 1]):
                unit = ahead.units[at]
                if units.output_lengths[unit] == k + 1 and _fits(unit, k + 1, recent, units):
                    to = i + units.input_lengths[unit]
                    factor = ahead.factors[at] / scale
                    _moved(columns[k, i], machine.transitions[unit], factor, longer[0, to])
    _settle(longer[0], ahead, units, machine)


@part
def _clear(columns: Floats) -> None:
    for k in range(columns.shape[0]):
        for i in range(columns.shape[1]):
            for state in range(columns.shape[2]):
                columns[k, i, state] = 0.0


@part
def room_for(n: int, reader: Filter) -> Prefix:
    """Arrays for a prefix of an input's outputs."""
    first, second = len(reader.machines[0].initial), len(reader.machines[1].initial)
    columns = (np.empty((reader.n_columns, n + 1, first)), np.empty((reader.n_columns, n + 1, second)))
    return Prefix(columns, np.empty(reader.n_columns, np.int32))


@kernel
def start_prefix(reader: Filter, ahead: tuple[Ahead, Ahead], prefix: Prefix) -> None:
    """The empty output."""
    for number in range(2):
        columns, machine = prefix.columns[number], reader.machines[number]
        _clear(columns)
        for state in range(len(machine.initial)):
            columns[0, 0, state] = machine.initial[state]
        _settle(columns[0], ahead[number], reader.units, machine)
    for place in range(len(prefix.recent)):
        prefix.recent[place] = -1


@kernel
def both_ahead(xs: Int32s, reader: Filter) -> tuple[Ahead, Ahead]:
    """What follows, under either machine."""
    return (
        _ahead(xs, reader.units, reader.machines[0]),
        _ahead(xs, reader.units, reader.machines[1]),
    )


@kernel
def longer_prefix(
    prefix: Prefix, symbol: int, reader: Filter, ahead: tuple[Ahead, Ahead], weights: Floats, longer: Prefix
) -> None:
    """A prefix with a symbol more, into `longer`; `weights` are those of `next_shares`."""
    longer.recent[0] = symbol
    for place in range(1, len(prefix.recent)):
        longer.recent[place] = prefix.recent[place - 1]
    for number in range(2):
        columns, machine = prefix.columns[number], reader.machines[number]
        scale = weights[number, symbol] if weights[number, symbol] else 1.0  # a negative one turns the sign
        _advance(columns, longer.recent, ahead[number], reader.units, machine, scale, longer.columns[number])


@part
def _positive(weights: Floats) -> float:
    """The sum of the positive weights, after all signs are turned if the sum of all is negative."""
    total, whole = 0.0, 0.0
    for weight in weights:
        whole += weight
    for z in range(len(weights)):
        weights[z] = -weights[z] if whole < 0.0 else weights[z]
        total += max(weights[z], 0.0)
    return total


@kernel
def next_shares(
    prefix: Prefix, reader: Filter, ahead: tuple[Ahead, Ahead], weights: Floats, shares: Floats
) -> None:
    """q of every symbol after a prefix and of the end; `weights` receives W of either machine."""
    for number in range(2):
        _weigh(prefix.columns[number], prefix.recent, ahead[number], reader.units, weights[number])
    mixing, escape = reader.mixing, _ESCAPE
    totals = _positive(weights[0]), _positive(weights[1])
    if totals[0] <= 0.0:
        mixing = 1.0
    if totals[1] <= 0.0:
        mixing, escape = mixing if reader.mixing > 0.0 else 0.0, 1.0
    for z in range(len(shares)):
        shares[z] = mixing * escape / len(shares)
        if totals[0] > 0.0 and weights[0, z] > 0.0:
            shares[z] += (1.0 - mixing) * weights[0, z] / totals[0]
        if totals[1] > 0.0 and weights[1, z] > 0.0:
            shares[z] += mixing * (1.0 - escape) * weights[1, z] / totals[1]
