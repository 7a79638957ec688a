"""The edit lattice of a pair under operators of units: the sum over alignments, and what passes each edge.

    F(0, 0) = initial,     F(i, j) = sum over edges u into (i, j), from (i-p, j-q), of F(i-p, j-q) A_u
    B(n, m) = final,       B(i, j) = sum over edges u out of (i, j), to (i+p, j+q), of A_u B(i+p, j+q)
    g(x, y) = F(n, m) final = initial B(0, 0)
    mu(edge) = F(from) A_u B(to) / g(x, y)

The edit-distance recursions of Balle, Quattoni and Carreras (2014). Vectors are carried as mantissas and
powers of two, one a cell, so that long pairs neither vanish nor overflow. `edges[i, j, shape]` is the unit
that leaves a cell in a shape, or -1.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sigmastar.core.jit import kernel, part

Array = NDArray[np.float64]
Longs = NDArray[np.int64]

_NOTHING = -(1 << 40)  # the exponent of a cell that nothing has reached


@part
def _scale(cell: Array, power: int) -> None:
    factor = 2.0 ** float(max(power, -1100))
    for k in range(len(cell)):
        cell[k] *= factor


@kernel
def _add(vector: Array, exponent: int, cell: Array, exponents: Longs, i: int, j: int) -> None:
    """Add 2^exponent vector to a cell, and keep its largest entry near one."""
    if exponents[i, j] == _NOTHING:
        exponents[i, j] = exponent
    shift = exponent - exponents[i, j]
    if shift > 0:
        _scale(cell, -shift)
        exponents[i, j] = exponent
        shift = 0
    factor, largest = 2.0 ** float(max(shift, -1100)), 0.0
    for k in range(len(cell)):
        cell[k] += vector[k] * factor
        largest = max(largest, abs(cell[k]))
    if largest > 0.0:
        power = int(np.floor(np.log2(largest)))
        if power > 60 or power < -60:
            _scale(cell, -power)
            exponents[i, j] += power


@kernel
def lattice_forward(edges: Longs, shapes: Longs, initial: Array, transitions: Array) -> tuple[Array, Longs]:
    """F at every cell, mantissas and exponents."""
    rows, columns, _ = edges.shape
    vectors = np.zeros((rows, columns, len(initial)))
    exponents = np.full((rows, columns), _NOTHING, np.int64)
    exponents[0, 0] = 0
    for k in range(len(initial)):
        vectors[0, 0, k] = initial[k]
    for i in range(rows):
        for j in range(columns):
            if exponents[i, j] == _NOTHING:
                continue
            for shape in range(len(shapes)):
                unit = edges[i, j, shape]
                if unit >= 0:
                    to_i, to_j = i + shapes[shape, 0], j + shapes[shape, 1]
                    moved = np.dot(vectors[i, j], transitions[unit])
                    _add(moved, exponents[i, j], vectors[to_i, to_j], exponents, to_i, to_j)
    return vectors, exponents


@kernel
def lattice_backward(edges: Longs, shapes: Longs, transitions: Array, final: Array) -> tuple[Array, Longs]:
    """B at every cell, mantissas and exponents."""
    rows, columns, _ = edges.shape
    vectors = np.zeros((rows, columns, len(final)))
    exponents = np.full((rows, columns), _NOTHING, np.int64)
    exponents[rows - 1, columns - 1] = 0
    for k in range(len(final)):
        vectors[rows - 1, columns - 1, k] = final[k]
    for i in range(rows - 1, -1, -1):
        for j in range(columns - 1, -1, -1):
            for shape in range(len(shapes)):
                unit = edges[i, j, shape]
                if unit >= 0:
                    to_i, to_j = i + shapes[shape, 0], j + shapes[shape, 1]
                    if exponents[to_i, to_j] != _NOTHING:
                        moved = np.dot(transitions[unit], vectors[to_i, to_j])
                        _add(moved, exponents[to_i, to_j], vectors[i, j], exponents, i, j)
    return vectors, exponents


@kernel
def lattice_marginals(
    edges: Longs,
    shapes: Longs,
    transitions: Array,
    forward: Array,
    forward_exponents: Longs,
    backward: Array,
    backward_exponents: Longs,
    total: float,
    total_exponent: int,
) -> Array:
    """The share of g(x, y) = 2^total_exponent total that passes each edge."""
    marginals = np.zeros(edges.shape)
    rows, columns, n_shapes = edges.shape
    for i in range(rows):
        for j in range(columns):
            for shape in range(n_shapes):
                unit = edges[i, j, shape]
                if unit < 0 or forward_exponents[i, j] == _NOTHING:
                    continue
                to_i, to_j = i + shapes[shape, 0], j + shapes[shape, 1]
                if backward_exponents[to_i, to_j] == _NOTHING:
                    continue
                value = np.dot(np.dot(forward[i, j], transitions[unit]), backward[to_i, to_j])
                power = forward_exponents[i, j] + backward_exponents[to_i, to_j] - total_exponent
                marginals[i, j, shape] = value / total * 2.0 ** float(min(max(power, -1100), 1000))
    return marginals
