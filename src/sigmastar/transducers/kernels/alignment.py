"""Alignment of pairs by a bag of units: EM in the edit lattice, and the best alignments.

    a(i, j)  = sum over units u = (x[i-p:i], y[j-q:j]) of a(i-p, j-q) theta(u),       a(0, 0) = 1
    E[n(u)]  = sum over pairs and edges of a(before) theta(u) b(after) / a(|x|, |y|)

with shapes (p, q) as given. Every weight is multiplied by tilt^(p + q): a factor that all alignments of a
pair share, chosen to keep long products near one. A unit is known by its key, the number that the codes
of its symbols spell; a table with open addressing gives keys places.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sigmastar.core.jit import kernel, part

Array = NDArray[np.float64]
Integers = NDArray[np.int32]
Longs = NDArray[np.int64]

NO_KEY = -1


@kernel
def _key(x: Integers, i: int, p: int, y: Integers, j: int, q: int, radix: Longs) -> int:
    key = 0
    for place in range(radix[2]):
        key = key * radix[0] + (x[i + place] + 1 if place < p else 0)
    for place in range(radix[3]):
        key = key * radix[1] + (y[j + place] + 1 if place < q else 0)
    return key


@kernel
def _place(table: Longs, key: int) -> int:
    """Where a key stands, or the free place for it; places are a power of two."""
    mask = len(table) - 1
    at = (key * 0x9E3779B97F4A7C1) & mask
    at = (at ^ (at >> 7)) & mask
    while table[at] != key and table[at] != NO_KEY:
        at = (at + 1) & mask
    return at


@kernel
def fill_keys(
    x: Integers, x_ends: Longs, y: Integers, y_ends: Longs, shapes: Longs, radix: Longs, table: Longs
) -> int:
    """Enter the keys of all edges of all lattices; how many there are, or -1 if the table is too small."""
    n_keys = 0
    for pair in range(len(x_ends) - 1):
        xs, ys = x[x_ends[pair] : x_ends[pair + 1]], y[y_ends[pair] : y_ends[pair + 1]]
        for shape in range(len(shapes)):
            p, q = shapes[shape]
            for i in range(len(xs) - p + 1):
                for j in range(len(ys) - q + 1):
                    key = _key(xs, i, p, ys, j, q, radix)
                    at = _place(table, key)
                    if table[at] == NO_KEY:
                        table[at] = key
                        n_keys += 1
                        if 2 * n_keys > len(table):
                            return -1
    return n_keys


@kernel
def expected_counts(
    x: Integers,
    x_ends: Longs,
    y: Integers,
    y_ends: Longs,
    shapes: Longs,
    radix: Longs,
    table: Longs,
    theta: Array,
    tilt: float,
    logs: Array,
) -> Array:
    """Expected counts at the places of the table; `logs` receives log P(x, y), -inf without alignment."""
    counts = np.zeros(len(table))
    factors = tilt ** (shapes[:, 0] + shapes[:, 1])
    for pair in range(len(x_ends) - 1):
        xs, ys = x[x_ends[pair] : x_ends[pair + 1]], y[y_ends[pair] : y_ends[pair + 1]]
        n, m = len(xs), len(ys)
        places = np.full((n + 1, m + 1, len(shapes)), -1, np.int64)  # of the edge that leaves a cell
        before = np.zeros((n + 1, m + 1))
        before[0, 0] = 1.0
        for i in range(n + 1):
            for j in range(m + 1):
                if before[i, j] == 0.0:
                    continue
                for shape in range(len(shapes)):
                    p, q = shapes[shape]
                    if i + p > n or j + q > m or not _is_known(xs, i, p) or not _is_known(ys, j, q):
                        continue
                    at = _place(table, _key(xs, i, p, ys, j, q, radix))
                    if table[at] == NO_KEY:
                        continue
                    places[i, j, shape] = at
                    before[i + p, j + q] += before[i, j] * theta[at] * factors[shape]
        total = before[n, m]
        if not 0.0 < total < np.inf:
            logs[pair] = -np.inf
            continue
        logs[pair] = np.log(total) - (n + m) * np.log(tilt)
        after = np.zeros((n + 1, m + 1))
        after[n, m] = 1.0 / total
        for i in range(n, -1, -1):
            for j in range(m, -1, -1):
                for shape in range(len(shapes)):
                    at = places[i, j, shape]
                    if at < 0:
                        continue
                    rest = theta[at] * factors[shape] * after[i + shapes[shape, 0], j + shapes[shape, 1]]
                    counts[at] += before[i, j] * rest
                    after[i, j] += rest
    return counts


@part
def _offer(score: Array, move: Longs, earlier: Array, log: float, shape: int) -> None:
    """Put the alignments that a unit makes longer among the best of a cell, if they are."""
    last = len(score) - 1
    for rank in range(len(earlier)):
        value = earlier[rank] + log
        if not value > score[last]:
            break
        low = last
        while low > 0 and score[low - 1] < value:
            score[low], move[low, 0], move[low, 1] = score[low - 1], move[low - 1, 0], move[low - 1, 1]
            low -= 1
        score[low], move[low, 0], move[low, 1] = value, shape, rank


@part
def _trace(
    xs: Integers,
    ys: Integers,
    rank: int,
    move: Longs,
    shapes: Longs,
    radix: Longs,
    table: Longs,
    places: Longs,
    begin: int,
) -> int:
    """Write the units of an alignment from `begin` on, in order; where they end."""
    i, j, end = len(xs), len(ys), begin
    while i > 0 or j > 0:
        shape, earlier = move[i, j, rank]
        p, q = shapes[shape]
        i, j, rank = i - p, j - q, earlier
        places[end] = _place(table, _key(xs, i, p, ys, j, q, radix))
        end += 1
    for step in range((end - begin) // 2):  # they were found from the last to the first
        low, high = begin + step, end - 1 - step
        places[low], places[high] = places[high], places[low]
    return end


@kernel
def best_alignments(
    x: Integers,
    x_ends: Longs,
    y: Integers,
    y_ends: Longs,
    shapes: Longs,
    radix: Longs,
    table: Longs,
    logs: Array,
    n_best: int,
) -> tuple[Longs, Longs, Longs, Array]:
    """The `n_best` heaviest alignments of every pair, best first, as places of units.

    Returns the places of all of them in a row, where each alignment ends, its pair and its log-weight.
    """
    n_pairs = len(x_ends) - 1
    room = int(x_ends[-1] - x_ends[0] + y_ends[-1] - y_ends[0]) * n_best
    places, ends = np.empty(room, np.int64), np.zeros(n_pairs * n_best + 1, np.int64)
    owners, weights = np.empty(n_pairs * n_best, np.int64), np.empty(n_pairs * n_best)
    found = 0
    for pair in range(n_pairs):
        xs, ys = x[x_ends[pair] : x_ends[pair + 1]], y[y_ends[pair] : y_ends[pair + 1]]
        n, m = len(xs), len(ys)
        score = np.full((n + 1, m + 1, n_best), -np.inf)
        move = np.full((n + 1, m + 1, n_best, 2), -1, np.int64)  # shape, and rank of the alignment before
        score[0, 0, 0] = 0.0
        for i in range(n + 1):
            for j in range(m + 1):
                for shape in range(len(shapes)):
                    p, q = shapes[shape]
                    if i < p or j < q or score[i - p, j - q, 0] == -np.inf:
                        continue
                    if not _is_known(xs, i - p, p) or not _is_known(ys, j - q, q):
                        continue
                    at = _place(table, _key(xs, i - p, p, ys, j - q, q, radix))
                    if table[at] == NO_KEY:
                        continue
                    _offer(score[i, j], move[i, j], score[i - p, j - q], logs[at], shape)
        for rank in range(n_best):
            if score[n, m, rank] == -np.inf:
                break
            end = _trace(xs, ys, rank, move, shapes, radix, table, places, ends[found])
            owners[found], weights[found] = pair, score[n, m, rank]
            found += 1
            ends[found] = end
    return places[: ends[found]], ends[: found + 1], owners[:found], weights[:found]


@kernel
def edge_places(xs: Integers, ys: Integers, shapes: Longs, radix: Longs, table: Longs, owner: Longs) -> Longs:
    """What `owner` says of the edge that leaves cell (i, j) in each shape; -1 where there is none."""
    n, m = len(xs), len(ys)
    found = np.full((n + 1, m + 1, len(shapes)), -1, np.int64)
    for i in range(n + 1):
        for j in range(m + 1):
            for shape in range(len(shapes)):
                p, q = shapes[shape]
                if i + p > n or j + q > m or not _is_known(xs, i, p) or not _is_known(ys, j, q):
                    continue
                at = _place(table, _key(xs, i, p, ys, j, q, radix))
                if table[at] != NO_KEY:
                    found[i, j, shape] = owner[at]
    return found


@kernel
def _is_known(codes: Integers, first: int, length: int) -> bool:
    known = True
    for place in range(length):
        known = known and codes[first + place] >= 0
    return known
