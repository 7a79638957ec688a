"""Alignment of pairs by a bag of units: EM in the edit lattice, and the best alignments.

    a(i, j)  = sum over units u = (x[i-p:i], y[j-q:j]) of a(i-p, j-q) theta(u),       a(0, 0) = 1
    E[n(u)]  = sum over pairs and edges of a(before) theta(u) b(after) / a(|x|, |y|)

with shapes (p, q) as given. Every cell carries a mantissa and a power of two, so that pairs of any length
neither vanish nor overflow. A unit is known by its key, the number that the codes of its symbols spell; a
table with open addressing gives keys places.

The edit lattice of a pair under operators of units: the sum over its alignments, and what passes each edge.

    F(0, 0) = initial,     F(i, j) = sum over edges u into (i, j), from (i-p, j-q), of F(i-p, j-q) A_u
    B(n, m) = final,       B(i, j) = sum over edges u out of (i, j), to (i+p, j+q), of A_u B(i+p, j+q)
    g(x, y) = F(n, m) final = initial B(0, 0)
    mu(edge) = F(from) A_u B(to) / g(x, y)

The edit-distance recursions of Balle, Quattoni and Carreras (2014).

Vectors are mantissas and powers of two, so that long pairs neither vanish nor overflow.
`edges[i, j, shape]` is the unit that leaves a cell in a shape, or -1.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sigmastar.core.arrays import Floats, Int32s, Int64s
from sigmastar.core.jit import kernel, part
from sigmastar.core.scaling import add_numbers, add_scaled, power_of_two, rescale, rescale_number

_NOTHING = -(1 << 40)  # the exponent of a cell that nothing has reached


class Lattice(NamedTuple):
    """Edges of a pair: the unit that leaves each cell in each shape, and the shapes."""

    edges: Int64s
    shapes: Int64s


class CellVectors(NamedTuple):
    """A vector per cell: mantissas and exponents."""

    vectors: Floats
    exponents: Int64s


@kernel
def lattice_forward(lattice: Lattice, initial: Floats, transitions: Floats) -> CellVectors:
    """F at every cell."""
    edges, shapes = lattice.edges, lattice.shapes
    rows, columns, _ = edges.shape
    vectors = np.zeros((rows, columns, len(initial)))
    exponents = np.full((rows, columns), _NOTHING, np.int64)
    vectors[0, 0], exponents[0, 0] = initial, 0
    for i in range(rows):
        for j in range(columns):
            if exponents[i, j] == _NOTHING:
                continue
            exponents[i, j] += rescale(vectors[i, j])
            for shape in range(len(shapes)):
                unit = edges[i, j, shape]
                if unit >= 0:
                    to = i + shapes[shape, 0], j + shapes[shape, 1]
                    moved = np.dot(vectors[i, j], transitions[unit])
                    exponents[to] = add_scaled(vectors[to], exponents[to], moved, exponents[i, j])
    return CellVectors(vectors, exponents)


@kernel
def lattice_backward(lattice: Lattice, transitions: Floats, final: Floats) -> CellVectors:
    """B at every cell."""
    edges, shapes = lattice.edges, lattice.shapes
    rows, columns, _ = edges.shape
    vectors = np.zeros((rows, columns, len(final)))
    exponents = np.full((rows, columns), _NOTHING, np.int64)
    vectors[-1, -1], exponents[-1, -1] = final, 0
    for i in range(rows - 1, -1, -1):
        for j in range(columns - 1, -1, -1):
            for shape in range(len(shapes)):
                unit = edges[i, j, shape]
                if unit >= 0:
                    to = i + shapes[shape, 0], j + shapes[shape, 1]
                    if exponents[to] != _NOTHING:
                        moved = np.dot(transitions[unit], vectors[to])
                        exponents[i, j] = add_scaled(vectors[i, j], exponents[i, j], moved, exponents[to])
            if exponents[i, j] != _NOTHING:
                exponents[i, j] += rescale(vectors[i, j])
    return CellVectors(vectors, exponents)


@kernel
def lattice_marginals(
    lattice: Lattice, transitions: Floats, forward: CellVectors, backward: CellVectors, total: float
) -> Floats:
    """The share of g(x, y) that passes each edge; `total` is g without the exponent of the last cell."""
    edges, shapes = lattice.edges, lattice.shapes
    marginals = np.zeros(edges.shape)
    rows, columns, n_shapes = edges.shape
    for i in range(rows):
        for j in range(columns):
            for shape in range(n_shapes):
                unit = edges[i, j, shape]
                if unit < 0 or forward.exponents[i, j] == _NOTHING:
                    continue
                to = i + shapes[shape, 0], j + shapes[shape, 1]
                if backward.exponents[to] == _NOTHING:
                    continue
                value = np.dot(np.dot(forward.vectors[i, j], transitions[unit]), backward.vectors[to])
                power = forward.exponents[i, j] + backward.exponents[to] - forward.exponents[-1, -1]
                marginals[i, j, shape] = value / total * 2.0 ** float(min(max(power, -1100), 1000))
    return marginals


NO_KEY = -1
_LOG_2 = np.log(2.0)
_TIE = 1e-9  # nats: of alignments closer than this the one whose last units have an earlier shape is better


class PairCodes(NamedTuple):
    """Pairs of strings: codes of both sides in a row, and where each string ends."""

    x: Int32s
    x_ends: Int64s
    y: Int32s
    y_ends: Int64s


class UnitKeys(NamedTuple):
    """Units by key: their shapes, bases and digits of keys, and a table with open addressing."""

    shapes: Int64s
    radix: Int64s
    table: Int64s  # as long as a power of two


class Alignments(NamedTuple):
    """Alignments one after the other: places of their units, ends, pairs, log-weights."""

    places: Int64s
    ends: Int64s
    owners: Int64s
    logs: Floats


@part
def _sides(pairs: PairCodes, number: int) -> tuple[Int32s, Int32s]:
    xs = pairs.x[pairs.x_ends[number] : pairs.x_ends[number + 1]]
    return xs, pairs.y[pairs.y_ends[number] : pairs.y_ends[number + 1]]


@kernel
def _key(xs: Int32s, i: int, p: int, ys: Int32s, j: int, q: int, radix: Int64s) -> int:
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
def _place(table: Int64s, key: int) -> int:
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
        places[number] = _place(table, keys[number])
        table[places[number]] = keys[number]
    return places


@kernel
def fill_keys(pairs: PairCodes, units: UnitKeys) -> int:
    """Enter the keys of all edges of all lattices; how many there are, or -1 if the table is too small."""
    n_keys, table = 0, units.table
    for number in range(len(pairs.x_ends) - 1):
        xs, ys = _sides(pairs, number)
        for shape in range(len(units.shapes)):
            p, q = units.shapes[shape]
            for i in range(len(xs) - p + 1):
                for j in range(len(ys) - q + 1):
                    key = _key(xs, i, p, ys, j, q, units.radix)
                    at = _place(table, key)
                    if table[at] == NO_KEY:
                        table[at] = key
                        n_keys += 1
                        if 2 * n_keys > len(table):
                            return -1
    return n_keys


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
                key = _key(xs, i, p, ys, j, q, units.radix)
                at = _place(units.table, key)
                if key != NO_KEY and units.table[at] != NO_KEY:
                    places[i, j, shape] = at
                    reached[i + p, j + q] = True
    return places


@kernel
def _forward(places: Int64s, shapes: Int64s, theta: Floats) -> tuple[Floats, Int64s]:
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
        xs, ys = _sides(pairs, number)
        places = edge_places(xs, ys, units)
        before, powers = _forward(places, units.shapes, theta)
        logs[number] = np.log(before[-1]) + powers[-1] * _LOG_2
        if before[-1] > 0.0:
            _add_expected(places, units.shapes, theta, before, powers, counts)
    return counts


@kernel
def log_sums(pairs: PairCodes, units: UnitKeys, theta: Floats) -> Floats:
    """log P(x, y) of every pair; -inf without alignment."""
    logs = np.empty(len(pairs.x_ends) - 1)
    for number in range(len(logs)):
        xs, ys = _sides(pairs, number)
        before, powers = _forward(edge_places(xs, ys, units), units.shapes, theta)
        logs[number] = np.log(before[-1]) + powers[-1] * _LOG_2
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
        xs, ys = _sides(pairs, number)
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
