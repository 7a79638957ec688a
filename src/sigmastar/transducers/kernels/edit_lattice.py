"""The edit lattice of a pair: the sum over its alignments, under operators of units or under an n-gram.

Under operators, and with what passes each edge:

    F(0, 0) = initial,     F(i, j) = sum over edges u into (i, j), from (i-p, j-q), of F(i-p, j-q) A_u
    B(n, m) = final,       B(i, j) = sum over edges u out of (i, j), to (i+p, j+q), of A_u B(i+p, j+q)
    g(x, y) = F(n, m) final = initial B(0, 0)
    mu(edge) = F(from) A_u B(to) / g(x, y)

The edit-distance recursions of Balle, Quattoni and Carreras (2014). Under an n-gram a cell (i, j) holds the
contexts that alignments of x[:i] with y[:j] end in, each with the sum of their weights: alignments that agree
in their context are one from there on.

    W(i, j, c') = sum over (edge u into (i, j) from (i', j'), context c with follow(c, u) = c') of
                  W(i', j', c) p(u | c)
    g(x, y)     = sum over c of W(n, m, c) p(end | c)

Vectors and weights are mantissas and powers of two, so that long pairs neither vanish nor overflow.
`edges[i, j, shape]` is the unit that leaves a cell in a shape, or -1.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sigmastar.core.arrays import Floats, Int32s, Int64s
from sigmastar.core.jit import kernel
from sigmastar.core.scaling import add_numbers, add_scaled, grown, rescale, rescale_number

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


class NgramTables(NamedTuple):
    """A back-off n-gram: a trie of contexts, and the outcomes seen in each context.

    `row_next[at]` is the context that follows on entry `at` of the rows; an outcome that a context has not
    seen is followed as in its parent, where it is looked for next.
    """

    start: int
    base: Floats  # p(. | nothing), that of the end last
    base_next: Int32s  # the context after each unit where nothing longer is known
    parent: Int32s
    row_starts: Int64s
    outcomes: Int32s
    own: Floats
    backoff: Floats
    row_next: Int32s


@kernel
def step(node: int, outcome: int, ngram: NgramTables) -> tuple[float, int]:
    """p(outcome | node), and the context that follows; -1 after the end."""
    weight, total, following = 1.0, 0.0, -1
    while node > 0:
        low, high = ngram.row_starts[node], ngram.row_starts[node + 1]
        while low < high:
            middle = (low + high) // 2
            if ngram.outcomes[middle] < outcome:
                low = middle + 1
            else:
                high = middle
        if low < ngram.row_starts[node + 1] and ngram.outcomes[low] == outcome:
            total += weight * ngram.own[low]
            if following < 0:
                following = ngram.row_next[low]
        weight *= ngram.backoff[node]
        node = ngram.parent[node]
    if following < 0 and outcome < len(ngram.base_next):
        following = ngram.base_next[outcome]
    return total + weight * ngram.base[outcome], following


@kernel
def ngram_lattice(lattice: Lattice, ngram: NgramTables) -> float:
    """log g of the pair whose lattice has these edges."""
    rows, columns, n_shapes = lattice.edges.shape
    heads = np.full((rows, columns), -1, np.int64)
    contexts, following = np.empty(256, np.int32), np.empty(256, np.int64)  # the next entry of the same cell
    weights, exponents = np.empty(256), np.empty(256, np.int64)
    contexts[0], following[0], weights[0], exponents[0] = ngram.start, -1, 1.0, 0
    heads[0, 0], size = 0, 1
    for i in range(rows):
        for j in range(columns):
            entry = heads[i, j]
            while entry >= 0:
                weights[entry], exponents[entry] = rescale_number(weights[entry], exponents[entry])
                for shape in range(n_shapes):
                    unit = lattice.edges[i, j, shape]
                    if unit < 0:
                        continue
                    p, after = step(contexts[entry], unit, ngram)
                    to = i + lattice.shapes[shape, 0], j + lattice.shapes[shape, 1]
                    at = heads[to]
                    while at >= 0 and contexts[at] != after:
                        at = following[at]
                    if at < 0:
                        contexts, following = grown(contexts, size + 1), grown(following, size + 1)
                        weights, exponents = grown(weights, size + 1), grown(exponents, size + 1)
                        at, size = size, size + 1
                        contexts[at], weights[at], following[at] = after, 0.0, heads[to]
                        heads[to] = at
                    more = weights[entry] * p
                    total = add_numbers(weights[at], exponents[at], more, exponents[entry])
                    weights[at], exponents[at] = total
                entry = following[entry]
    return _log_total(heads[-1, -1], contexts, following, weights, exponents, ngram)


@kernel
def _log_total(
    entry: int, contexts: Int32s, following: Int64s, weights: Floats, exponents: Int64s, ngram: NgramTables
) -> float:
    """log of the sum over the entries of the last cell, each times p(end)."""
    total, exponent = 0.0, 0
    while entry >= 0:
        p = step(contexts[entry], len(ngram.base) - 1, ngram)[0]
        total, exponent = add_numbers(total, exponent, weights[entry] * p, exponents[entry])
        entry = following[entry]
    return float(np.log(total) + exponent * np.log(2.0))
