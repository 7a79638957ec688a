"""Loops of unary rules on one span: their values at once, and their outsides (`pcfg.data.unary_loops`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from sigmastar.core.arrays import Floats
from sigmastar.core.jit import kernel

Unary = Any  # pcfg.data.unary_loops.UnaryRules: numba knows named tuples by their fields


@kernel
def close_loop(loop: int, unary: Unary, values: Floats, first: int, stride: int, best: bool) -> None:
    """Sum, or maximize, over all paths of a loop; the value of a symbol is at first + symbol * stride."""
    symbols = unary.loop_symbol[unary.loop_start[loop] : unary.loop_start[loop + 1]]
    size, row = len(symbols), unary.matrix_start[loop]
    made = np.zeros(size)
    for child in range(size):
        value = values[first + symbols[child] * stride]
        if value > 0.0:
            for above in range(size):
                product = unary.matrix[row + above] * value
                made[above] = max(made[above], product) if best else made[above] + product
        row += size
    for above in range(size):
        values[first + symbols[above] * stride] = made[above]


@kernel
def open_loop(
    loop: int,
    unary: Unary,
    weights: Floats,
    values: Floats,
    outer: Floats,
    first: int,
    stride: int,
    counts: Floats,
) -> None:
    """Outsides through all paths of a loop, in place, and the expected uses of its rules."""
    symbols = unary.loop_symbol[unary.loop_start[loop] : unary.loop_start[loop + 1]]
    size, row = len(symbols), unary.matrix_start[loop]
    made, any_above = np.zeros(size), False
    for above in range(size):
        any_above = any_above or outer[first + symbols[above] * stride] > 0.0
    if not any_above:
        return
    for child in range(size):
        for above in range(size):
            made[child] += unary.matrix[row + above] * outer[first + symbols[above] * stride]
        row += size
    for child in range(size):
        outer[first + symbols[child] * stride] = made[child]
    for at in range(unary.inner_start[loop], unary.inner_start[loop + 1]):
        share = weights[unary.inner_event[at]] * outer[first + unary.inner_left[at] * stride]
        counts[unary.inner_event[at]] += share * values[first + unary.inner_child[at] * stride]
