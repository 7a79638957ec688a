"""Loops of unary rules on one span: their values at once, and their outsides (`pcfg.data.unary_loops`).

For a forest, all unary rules of a span: between one loop and the next in order, then the loop.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sigmastar.core.arrays import Array, Floats
from sigmastar.core.jit import kernel

Unary = Any  # pcfg.data.unary_loops.UnaryRules: numba knows named tuples by their fields
Rules = Any  # pcfg.data.rule_trie.ChartRules


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


@kernel
def add_unaries(
    i: int, j: int, width: int, rules: Rules, weights: Floats, ends: Array, values: Floats
) -> None:
    """Unary rules on a span, bottom up; those that only make single words are left out of longer ones."""
    first, unary = i * len(rules.first) * width + j, rules.unary
    begin, bit = 0 if j == i + 1 else rules.n_lexical_unary, 1 << j
    for loop in range(len(unary.loop_before) + 1):
        end = unary.loop_before[loop] if loop < len(unary.loop_before) else len(unary.left)
        for at in range(begin, end):
            weight = weights[unary.event[at]]
            if ends[i, unary.child[at]] & bit and weight > 0.0:
                ends[i, unary.left[at]] |= bit
                values[first + unary.left[at] * width] += weight * values[first + unary.child[at] * width]
        begin = end
        if loop < len(unary.loop_before):
            close_loop(loop, unary, values, first, width, False)
            for symbol in unary.loop_symbol[unary.loop_start[loop] : unary.loop_start[loop + 1]]:
                if values[first + symbol * width] > 0.0:
                    ends[i, symbol] |= bit


@kernel
def rewrite_outside(
    i: int, j: int, width: int, rules: Rules, weights: Floats, values: Floats, outer: Floats, counts: Floats
) -> None:
    """Unary rules on a span, top down."""
    first, unary = i * len(rules.first) * width + j, rules.unary
    end, least = len(unary.left), 0 if j == i + 1 else rules.n_lexical_unary
    for loop in range(len(unary.loop_before) - 1, -2, -1):
        begin = unary.loop_before[loop] if loop >= 0 else least
        for at in range(end - 1, begin - 1, -1):
            share = weights[unary.event[at]] * outer[first + unary.left[at] * width]
            if share > 0.0:
                outer[first + unary.child[at] * width] += share
                counts[unary.event[at]] += share * values[first + unary.child[at] * width]
        end = begin
        if loop >= 0:
            open_loop(loop, unary, weights, values, outer, first, width, counts)
