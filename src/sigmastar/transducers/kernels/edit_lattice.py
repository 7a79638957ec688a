"""The edit lattice of a pair under operators of units: the sum over alignments, and what passes each edge.

    F(0, 0) = initial,     F(i, j) = sum over edges u into (i, j), from (i-p, j-q), of F(i-p, j-q) A_u
    B(n, m) = final,       B(i, j) = sum over edges u out of (i, j), to (i+p, j+q), of A_u B(i+p, j+q)
    g(x, y) = F(n, m) final = initial B(0, 0)
    mu(edge) = F(from) A_u B(to) / g(x, y)

The edit-distance recursions of Balle, Quattoni and Carreras (2014). Vectors are mantissas and powers of two,
so that long pairs neither vanish nor overflow.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sigmastar.core.arrays import Floats, Int64s
from sigmastar.core.jit import kernel
from sigmastar.core.scaling import add_scaled, rescale
from sigmastar.transducers.data import Lattice

_NOTHING = -(1 << 40)  # the exponent of a cell that nothing has reached


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
