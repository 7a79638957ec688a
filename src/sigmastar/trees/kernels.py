"""Inside and outside vectors of trees under a tree automaton, with a carried scale.

    inside(a) = beta_a,   inside(s[t1, .., tk]) = A_s (inside(t1), .., inside(tk))
    outside(root) = alpha,  outside(ti) = outside(parent) A_s (inside(t1), .., ., .., inside(tk))

(Balle, Quattoni and Carreras 2014, "Weighted Finite Tree Automata"). Nodes stand with children before
parents; a vector is `mantissa * 2 ** exponent`, since values of large trees leave the range of floats.
A symbol -1 is unknown: its operator is zero.

An operator of rank k is n^(k + 1) numbers, axes (result, first child, .., last child); it is contracted with
one vector after the other, from the last axis or from the first, in a buffer of n^k numbers.

Drawing trees from a tree automaton.

Drawing goes from the top down and from left to right. With v the sum of the inside vectors of all trees, a
node with outside vector o becomes the symbol s with a probability in proportion to o . A_s (v, .., v): only
sums over whole trees are compared, so operators may be signed and in any basis. Weights below zero count as
zero.

Which of a table of insides hangs below every node of a corpus, and which outsides are around it.

Both tables are closed: an inside is a symbol over earlier insides, an outside is an earlier outside with
one node more around its hole. So a node is looked up by the numbers of its children, or of its parent and
siblings, by binary search among rows that are sorted lexicographically.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sigmastar.core.arrays import Floats, Int64s
from sigmastar.core.jit import kernel, part
from sigmastar.core.scaling import rescale
from sigmastar.trees.data.ranked import Nodes


class Operators(NamedTuple):
    """The weights of a tree automaton: the root, and the operators of all symbols, flat, rank by rank."""

    root: Floats
    values: Floats
    starts: Int64s  # of each rank, and the end


@part
def place(operators: Operators, rank: int, code: int) -> int:
    """Where the operator of a symbol begins."""
    size = len(operators.root)
    for _ in range(rank):
        size *= len(operators.root)
    return operators.starts[rank] + code * size  # type: ignore[no-any-return]


@part
def room_for(n_states: int, n_ranks: int) -> Floats:
    """A buffer for operators that are contracted with one vector."""
    size = 1
    for _ in range(n_ranks - 1):
        size *= n_states
    return np.zeros(max(size, n_states))


@part
def applied(operators: Operators, low: int, rank: int, below: Floats, buffer: Floats, result: Floats) -> None:
    """A (v1, .., vk) of the operator that begins at `low`; `below` has a row for each child."""
    n = len(result)
    if rank == 0:
        for i in range(n):
            result[i] = operators.values[low + i]
        return
    size = n
    for _ in range(rank - 1):
        size *= n
    for i in range(size):
        total = 0.0
        for j in range(n):
            total += operators.values[low + i * n + j] * below[rank - 1, j]
        buffer[i] = total
    for child in range(rank - 2, -1, -1):
        size //= n
        for i in range(size):
            total = 0.0
            for j in range(n):
                total += buffer[i * n + j] * below[child, j]
            buffer[i] = total
    for i in range(n):
        result[i] = buffer[i]


@part
def around(
    operators: Operators,
    low: int,
    rank: int,
    position: int,
    outer: Floats,
    below: Floats,
    buffer: Floats,
    result: Floats,
) -> None:
    """outer A (v1, .., ., .., vk) with the child at `position` left open; its own row is not read."""
    n, size = len(outer), 1
    for _ in range(rank):
        size *= n
    for k in range(size):
        buffer[k] = 0.0
    for i in range(n):
        for k in range(size):
            buffer[k] += outer[i] * operators.values[low + i * size + k]
    for child in range(position):  # the first axis goes
        size //= n
        for k in range(size):
            total = 0.0
            for j in range(n):
                total += buffer[j * size + k] * below[child, j]
            buffer[k] = total
    for child in range(rank - 1, position, -1):  # the last axis goes
        size //= n
        for i in range(size):
            total = 0.0
            for j in range(n):
                total += buffer[i * n + j] * below[child, j]
            buffer[i] = total
    for j in range(n):
        result[j] = buffer[j]


@kernel
def inside_vectors(nodes: Nodes, operators: Operators) -> tuple[Floats, Int64s]:
    """Mantissas (nodes x states) and exponents of all inside vectors."""
    rank, symbol, first, children = nodes
    n, n_ranks = len(operators.root), len(operators.starts) - 1
    vectors, exponents = np.zeros((len(rank), n)), np.zeros(len(rank), np.int64)
    below, buffer = np.zeros((n_ranks, n)), room_for(n, n_ranks)
    for node in range(len(rank)):
        if symbol[node] >= 0:
            for k in range(rank[node]):
                child = children[first[node] + k]
                below[k] = vectors[child]
                exponents[node] += exponents[child]
            low = place(operators, rank[node], symbol[node])
            applied(operators, low, rank[node], below, buffer, vectors[node])
            exponents[node] += rescale(vectors[node])
    return vectors, exponents


@kernel
def outside_vectors(
    nodes: Nodes, operators: Operators, roots: Int64s, vectors: Floats, exponents: Int64s
) -> tuple[Floats, Int64s]:
    """Mantissas and exponents of all outside vectors, given the inside ones."""
    rank, symbol, first, children = nodes
    n, n_ranks = len(operators.root), len(operators.starts) - 1
    outside, scales = np.zeros(vectors.shape), np.zeros(len(rank), np.int64)
    below, buffer = np.zeros((n_ranks, n)), room_for(n, n_ranks)
    for node in roots:
        outside[node] = operators.root
        scales[node] = rescale(outside[node])
    for node in range(len(rank) - 1, -1, -1):
        if rank[node] == 0 or symbol[node] < 0:
            continue
        total = np.int64(0)
        for k in range(rank[node]):
            child = children[first[node] + k]
            below[k] = vectors[child]
            total += exponents[child]
        low = place(operators, rank[node], symbol[node])
        for k in range(rank[node]):
            child = children[first[node] + k]
            around(operators, low, rank[node], k, outside[node], below, buffer, outside[child])
            scales[child] = scales[node] + total - exponents[child] + rescale(outside[child])
    return outside, scales


@kernel
def context_vectors(contexts: Int64s, operators: Operators, insides: Floats) -> Floats:
    """Outside vectors of contexts, each one step inward of an earlier one; the first is the bare hole.

    Columns: side (see `TreeBasis`), symbol, outer, siblings from left to right.
    """
    n, n_ranks = len(operators.root), len(operators.starts) - 1
    vectors = np.zeros((len(contexts), n))
    vectors[0] = operators.root
    below, buffer = np.zeros((n_ranks, n)), room_for(n, n_ranks)
    for row in range(1, len(contexts)):
        rank = 1
        while rank * (rank + 1) // 2 <= contexts[row, 0]:
            rank += 1
        position = contexts[row, 0] - rank * (rank - 1) // 2
        for k in range(rank - 1):
            below[k if k < position else k + 1] = insides[contexts[row, 3 + k]]
        low = place(operators, rank, contexts[row, 1])
        above = vectors[contexts[row, 2]]
        around(operators, low, rank, position, above, below, buffer, vectors[row])
    return vectors


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
def _put(rows: Floats, row: int, vector: Floats) -> None:
    """rows[row] = vector: assigning arrays whole takes the compiler two seconds, for its error message."""
    for k in range(len(vector)):
        rows[row, k] = vector[k]


@part
def _finish(operators: Operators, outcomes: Outcomes, stack: _Stack, depth: int, buffer: Floats) -> None:
    """The inside vector of a node all of whose children are drawn, in the place of the first of them."""
    k, base = stack.outcome[depth], stack.base[depth]
    rank, vector = outcomes.rank[k], np.zeros(len(operators.root))
    low = place(operators, rank, outcomes.symbol[k])
    applied(operators, low, rank, stack.done[base : base + rank], buffer, vector)
    _to_one(vector)
    _put(stack.done, base, vector)


@part
def _open_child(operators: Operators, outcomes: Outcomes, stack: _Stack, depth: int, buffer: Floats) -> int:
    """The outside vector of the next child, one step deeper; its sort. Children to come are sums."""
    k, base, position = stack.outcome[depth], stack.base[depth], stack.n_done[depth]
    rank = outcomes.rank[k]
    for child in range(position + 1, rank):
        _put(stack.done, base + child, outcomes.sums[outcomes.below[k, child]])
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
    _put(stack.outer, 0, operators.root)
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


@part
def _found(table: Int64s, row: Int64s) -> int:
    """The place of a row in a sorted table, -1 for none."""
    low, high = 0, len(table)
    while low < high:
        middle, column = (low + high) // 2, 0
        while column < len(row) and table[middle, column] == row[column]:
            column += 1
        if column == len(row):
            return middle
        if table[middle, column] < row[column]:
            low = middle + 1
        else:
            high = middle
    return -1


@kernel
def node_heights(nodes: Nodes) -> Int64s:
    """Steps from every node down to its deepest leaf; children stand before parents."""
    heights = np.zeros(len(nodes.rank), np.int64)
    for node in range(len(heights)):
        for at in range(nodes.first[node], nodes.first[node + 1]):
            heights[node] = max(heights[node], heights[nodes.children[at]] + 1)
    return heights


@kernel
def match_insides(nodes: Nodes, table: Int64s, numbers: Int64s) -> Int64s:
    """The number of the inside at every node, -1 where the table lacks it."""
    rank, symbol, first, children = nodes
    found, row = np.full(len(rank), -1, np.int64), np.zeros(table.shape[1], np.int64)
    for node in range(len(rank)):
        fits = symbol[node] >= 0 and rank[node] <= len(row) - 2
        if fits:
            row[:] = -1
            row[0], row[1] = rank[node], symbol[node]
            for k in range(rank[node]):
                row[2 + k] = found[children[first[node] + k]]
                fits = fits and row[2 + k] >= 0
        if fits:
            at = _found(table, row)
            found[node] = numbers[at] if at >= 0 else -1
    return found


@kernel
def match_outsides(nodes: Nodes, insides: Int64s, outer: Int64s, table: Int64s, numbers: Int64s) -> Int64s:
    """From the outsides of some height around every node to those one step higher around its children."""
    rank, symbol, first, children = nodes
    found, row = np.full(len(rank), -1, np.int64), np.zeros(table.shape[1], np.int64)
    for node in range(len(rank)):
        if outer[node] < 0 or symbol[node] < 0 or rank[node] > len(row) - 2:
            continue
        below = children[first[node] : first[node + 1]]
        n_missing, missing = 0, -1
        for k in range(len(below)):
            if insides[below[k]] < 0:
                n_missing, missing = n_missing + 1, k
        for k in range(len(below)):
            if n_missing > 1 or (n_missing == 1 and k != missing):
                continue
            row[:] = -1
            row[0] = rank[node] * (rank[node] - 1) // 2 + k
            row[1], row[2] = symbol[node], outer[node]
            for other in range(len(below)):
                if other != k:
                    row[3 + other - (other > k)] = insides[below[other]]
            at = _found(table, row)
            found[below[k]] = numbers[at] if at >= 0 else -1
    return found
