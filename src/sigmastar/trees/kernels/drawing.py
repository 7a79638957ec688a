"""Drawing trees from a tree automaton.

Drawing goes from the top down and from left to right. With v the sum of the inside vectors of all trees, a
node with outside vector o becomes the symbol s with a probability in proportion to o . A_s (v, .., v): only
sums over whole trees are compared, so operators may be signed and in any basis. Weights below zero count as
zero.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sigmastar.core.arrays import Floats, Int64s
from sigmastar.core.jit import kernel, part
from sigmastar.trees.kernels.vectors import Operators, applied, around, place, room_for


class Outcomes(NamedTuple):
    """What nodes can become: a row for each symbol of each sort; a plain automaton has one sort."""

    starts: Int64s  # where the outcomes of each sort begin, and the end
    rank: Int64s
    symbol: Int64s
    below: Int64s  # [outcome, child]: the sorts of the children, -1 for none
    weights: Floats  # [outcome, state]: the operator applied to the sums of all that can hang below
    sums: Floats  # [sort, state]: of the inside vectors of all trees of a sort


class _Stack(NamedTuple):
    """The nodes that are open: what each has become, its outside vector, and its children so far."""

    outcome: Int64s
    n_done: Int64s
    outer: Floats  # [depth, state]
    base: Int64s  # where the vectors of its children begin in `done`
    done: Floats


@part
def _drawn(uniform: float, outer: Floats, outcomes: Outcomes, sort: int, room: Floats) -> int:
    """The outcome at a node with that outside vector; -1 where none has a positive weight."""
    low, high, total = outcomes.starts[sort], outcomes.starts[sort + 1], 0.0
    for k in range(low, high):
        weight = 0.0
        for i in range(len(outer)):
            weight += outer[i] * outcomes.weights[k, i]
        total += max(weight, 0.0)
        room[k - low] = total
    if not total > 0.0:
        return -1
    at = 0
    while at < high - low - 1 and room[at] <= uniform * total:
        at += 1
    return low + at  # type: ignore[no-any-return]


@part
def _to_one(vector: Floats) -> None:
    """Only ratios matter where trees are drawn."""
    largest = 0.0
    for i in range(len(vector)):
        largest = max(largest, abs(vector[i]))
    for i in range(len(vector)):
        vector[i] /= largest if largest > 0.0 else 1.0


@part
def _finish(operators: Operators, outcomes: Outcomes, stack: _Stack, depth: int, buffer: Floats) -> None:
    """The inside vector of a node all of whose children are drawn, in the place of the first of them."""
    k, base = stack.outcome[depth], stack.base[depth]
    rank, vector = outcomes.rank[k], np.zeros(len(operators.root))
    low = place(operators, rank, outcomes.symbol[k])
    applied(operators, low, rank, stack.done[base : base + rank], buffer, vector)
    _to_one(vector)
    stack.done[base] = vector


@part
def _open_child(operators: Operators, outcomes: Outcomes, stack: _Stack, depth: int, buffer: Floats) -> int:
    """The outside vector of the next child, one step deeper; its sort. Children to come are sums."""
    k, base, position = stack.outcome[depth], stack.base[depth], stack.n_done[depth]
    rank = outcomes.rank[k]
    for child in range(position + 1, rank):
        stack.done[base + child] = outcomes.sums[outcomes.below[k, child]]
    low, below = place(operators, rank, outcomes.symbol[k]), stack.done[base : base + rank]
    around(operators, low, rank, position, stack.outer[depth], below, buffer, stack.outer[depth + 1])
    _to_one(stack.outer[depth + 1])
    stack.base[depth + 1] = base + position
    return outcomes.below[k, position]  # type: ignore[no-any-return]


@kernel
def draw_nodes(
    uniforms: Floats, operators: Operators, outcomes: Outcomes, max_nodes: int, room: Floats
) -> tuple[Int64s, bool]:
    """The outcomes at the nodes of a tree of sort 0, in preorder, and whether there were enough numbers.

    There are none where the tree grew too large or stuck. One uniform number is needed per node.
    """
    n, n_ranks, size = len(operators.root), len(operators.starts) - 1, len(uniforms) + 1
    drawn, count, depth, sort = np.zeros(size, np.int64), 0, 0, 0
    opened, n_done, base = np.zeros(size, np.int64), np.zeros(size, np.int64), np.zeros(size + 1, np.int64)
    stack = _Stack(opened, n_done, np.zeros((size + 1, n)), base, np.zeros((size + n_ranks, n)))
    buffer = room_for(n, n_ranks)
    stack.outer[0] = operators.root
    while True:
        if count == len(uniforms) and count < max_nodes:
            return drawn[:0], False
        k = _drawn(uniforms[count], stack.outer[depth], outcomes, sort, room) if count < max_nodes else -1
        if k < 0:
            return drawn[:0], True
        drawn[count], opened[depth], n_done[depth] = k, k, 0
        count += 1
        while n_done[depth] == outcomes.rank[opened[depth]]:
            _finish(operators, outcomes, stack, depth, buffer)
            if depth == 0:
                return drawn[:count], True
            depth -= 1
            n_done[depth] += 1
        sort = _open_child(operators, outcomes, stack, depth, buffer)
        depth += 1
