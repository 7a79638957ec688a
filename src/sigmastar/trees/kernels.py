"""Inside and outside vectors of trees under a tree automaton, with a carried scale.

    inside(a) = beta_a,  inside(s[t]) = A_s inside(t),  inside(s[t1, t2]) = A_s (inside(t1), inside(t2))
    outside(root) = alpha,  outside(child) = outside(parent) A_s (., inside(sibling))

(Balle, Quattoni and Carreras 2014, "Weighted Finite Tree Automata"). Nodes stand with children before
parents; a vector is `mantissa * 2 ** exponent`, since values of large trees leave the range of floats.
A symbol -1 is unknown: its operator is zero.
Drawing goes from the top down and from left to right. With v the sum of the inside vectors of all trees, a
node with outside vector o becomes the symbol s with a probability in proportion to o . A_s (v, v): only
sums over whole trees are compared, so operators may be signed and in any basis. Weights below zero count as
zero.

Matching: which of a table of insides hangs below every node of a corpus, and which outsides are around it.

Both tables are closed: an inside is a symbol over earlier insides, an outside is an earlier outside with
one node more around its hole. So a node is looked up by the numbers of its children or of its parent, by
binary search among sorted keys.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sigmastar.core.arrays import Floats, Int32s, Int64s
from sigmastar.core.jit import kernel, part
from sigmastar.core.scaling import rescale
from sigmastar.trees.data.ranked import Nodes


class Operators(NamedTuple):
    """The weights of a tree automaton; of operators the first axis is the symbol, the second the result."""

    root: Floats
    leaf: Floats
    unary: Floats
    binary: Floats


@kernel
def inside_vectors(nodes: Nodes, operators: Operators) -> tuple[Floats, Int64s]:
    """Mantissas (nodes x states) and exponents of all inside vectors."""
    (rank, symbol, left, right), (_, leaf, unary, binary) = nodes, operators
    n_states = leaf.shape[1]
    vectors, exponents = np.zeros((len(rank), n_states)), np.zeros(len(rank), np.int64)
    for node in range(len(rank)):
        a, b, code = left[node], right[node], symbol[node]
        if code >= 0 and rank[node] == 0:
            vectors[node] = leaf[code]
        elif code >= 0 and rank[node] == 1:
            for i in range(n_states):
                for j in range(n_states):
                    vectors[node, i] += unary[code, i, j] * vectors[a, j]
            exponents[node] = exponents[a]
        elif code >= 0:
            for i in range(n_states):
                for j in range(n_states):
                    inner = 0.0
                    for k in range(n_states):
                        inner += binary[code, i, j, k] * vectors[b, k]
                    vectors[node, i] += inner * vectors[a, j]
            exponents[node] = exponents[a] + exponents[b]
        exponents[node] += rescale(vectors[node])
    return vectors, exponents


@kernel
def outside_vectors(
    nodes: Nodes, operators: Operators, roots: Int64s, vectors: Floats, exponents: Int64s
) -> tuple[Floats, Int64s]:
    """Mantissas and exponents of all outside vectors, given the inside ones."""
    (rank, symbol, left, right), (root, _, unary, binary) = nodes, operators
    n_states = len(root)
    outside, scales = np.zeros(vectors.shape), np.zeros(len(rank), np.int64)
    for node in roots:
        outside[node] = root
        scales[node] = rescale(outside[node])
    for node in range(len(rank) - 1, -1, -1):
        a, b, code = left[node], right[node], symbol[node]
        if rank[node] == 0 or code < 0:
            continue
        if rank[node] == 1:
            for i in range(n_states):
                for j in range(n_states):
                    outside[a, j] += outside[node, i] * unary[code, i, j]
            scales[a] = scales[node] + rescale(outside[a])
            continue
        for i in range(n_states):
            for j in range(n_states):
                for k in range(n_states):
                    weight = outside[node, i] * binary[code, i, j, k]
                    outside[a, j] += weight * vectors[b, k]
                    outside[b, k] += weight * vectors[a, j]
        scales[a] = scales[node] + exponents[b] + rescale(outside[a])
        scales[b] = scales[node] + exponents[a] + rescale(outside[b])
    return outside, scales


@kernel
def context_vectors(contexts: Int64s, operators: Operators, insides: Floats) -> Floats:
    """Outside vectors of contexts, each one step inward of an earlier one; the first is the bare hole."""
    root, _, unary, binary = operators
    side, symbol, outer, sibling = contexts[:, 0], contexts[:, 1], contexts[:, 2], contexts[:, 3]
    n_states = len(root)
    vectors = np.zeros((len(outer), n_states))
    vectors[0] = root
    for row in range(1, len(outer)):
        above, code = vectors[outer[row]], symbol[row]
        for i in range(n_states):
            for j in range(n_states):
                if side[row] == 0:
                    vectors[row, j] += above[i] * unary[code, i, j]
                    continue
                for k in range(n_states):
                    if side[row] == 1:  # the hole is on the left
                        vectors[row, j] += above[i] * binary[code, i, j, k] * insides[sibling[row], k]
                    else:
                        vectors[row, j] += above[i] * binary[code, i, k, j] * insides[sibling[row], k]
    return vectors


@kernel
def pack(first: int, second: int, third: np.int64 | int, fourth: np.int64 | int, base: int) -> int:
    """Four numbers from -1 to base - 2 as one; the first is small."""
    return ((first * base + second + 1) * base + third + 1) * base + fourth + 1  # type: ignore[return-value]


@kernel
def _found(keys: Int64s, numbers: Int64s, key: int) -> np.int64:
    at = np.searchsorted(keys, key)
    if at < len(keys) and keys[at] == key:
        return np.int64(numbers[at])
    return np.int64(-1)


@kernel
def node_heights(left: Int32s, right: Int32s) -> Int64s:
    """Steps from every node down to its deepest leaf; children stand before parents."""
    heights = np.zeros(len(left), np.int64)
    for node in range(len(left)):
        for child in (left[node], right[node]):
            if child >= 0:
                heights[node] = max(heights[node], heights[child] + 1)
    return heights


@kernel
def match_insides(nodes: Nodes, keys: Int64s, numbers: Int64s, base: int) -> Int64s:
    """The number of the inside at every node, -1 where the table lacks it."""
    rank, symbol, left, right = nodes
    found = np.full(len(rank), -1, np.int64)
    for node in range(len(rank)):
        if symbol[node] < 0 or symbol[node] >= base - 1:
            continue
        a = found[left[node]] if left[node] >= 0 else np.int64(-1)
        b = found[right[node]] if right[node] >= 0 else np.int64(-1)
        if (left[node] < 0 or a >= 0) and (right[node] < 0 or b >= 0):
            found[node] = _found(keys, numbers, pack(rank[node], symbol[node], a, b, base))
    return found


@kernel
def match_outsides(
    nodes: Nodes, insides: Int64s, outer: Int64s, keys: Int64s, numbers: Int64s, base: int
) -> Int64s:
    """From the outsides of some height around every node to those one step higher around its children."""
    rank, symbol, left, right = nodes
    found = np.full(len(rank), -1, np.int64)
    for node in range(len(rank)):
        a, b = left[node], right[node]
        if rank[node] == 0 or outer[node] < 0 or symbol[node] < 0 or symbol[node] >= base - 1:
            continue
        if rank[node] == 1:
            found[a] = _found(keys, numbers, pack(0, symbol[node], outer[node], -1, base))
            continue
        if insides[b] >= 0:
            found[a] = _found(keys, numbers, pack(1, symbol[node], outer[node], insides[b], base))
        if insides[a] >= 0:
            found[b] = _found(keys, numbers, pack(2, symbol[node], outer[node], insides[a], base))
    return found


class Outcomes(NamedTuple):
    """What nodes can become: a row for each symbol of each sort; a plain automaton has one sort."""

    starts: Int64s  # where the outcomes of each sort begin, and the end
    rank: Int64s
    symbol: Int64s
    below: Int64s  # [outcome, 2]: the sorts of the children, -1 for none
    weights: Floats  # [outcome, state]: the operator applied to the sums of all that can hang below
    sums: Floats  # [sort, state]: of the inside vectors of all trees of a sort


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
def _applied(operators: Operators, rank: int, code: int, left: Floats, right: Floats, result: Floats) -> None:
    """The inside vector of a node from those of its children, up to its size: only ratios matter."""
    n, largest = len(result), 0.0
    for i in range(n):
        total = 0.0
        for j in range(n):
            if rank == 1:
                total += operators.unary[code, i, j] * left[j]
            else:
                for k in range(n):
                    total += operators.binary[code, i, j, k] * left[j] * right[k]
        result[i] = total
        largest = max(largest, abs(total))
    for i in range(n):
        result[i] /= largest if largest > 0.0 else 1.0


@part
def _around(
    operators: Operators, rank: int, code: int, outer: Floats, other: Floats, side: int, result: Floats
) -> None:
    """The outside vector of a child, up to its size; `other` is the inside vector of its sibling."""
    n, largest = len(outer), 0.0
    for j in range(n):
        total = 0.0
        for i in range(n):
            if rank == 1:
                total += outer[i] * operators.unary[code, i, j]
            else:
                for k in range(n):
                    weight = operators.binary[code, i, j, k] if side == 0 else operators.binary[code, i, k, j]
                    total += outer[i] * weight * other[k]
        result[j] = total
        largest = max(largest, abs(total))
    for j in range(n):
        result[j] /= largest if largest > 0.0 else 1.0


@kernel
def draw_nodes(
    uniforms: Floats, operators: Operators, outcomes: Outcomes, max_nodes: int, room: Floats
) -> tuple[Int64s, bool]:
    """The outcomes at the nodes of a tree of sort 0, in preorder, and whether there were enough numbers.

    There are none where the tree grew too large or stuck. One uniform number is needed per node.
    """
    n, size, count, depth, sort = len(operators.root), len(uniforms) + 1, 0, 0, 0
    drawn, opened, is_second = np.zeros(size, np.int64), np.zeros(size, np.int64), np.zeros(size, np.int64)
    outer, first, vector, other = np.zeros((size + 1, n)), np.zeros((size, n)), np.zeros(n), np.zeros(n)
    outer[0] = operators.root
    while True:
        if count == len(uniforms) and count < max_nodes:
            return drawn[:0], False
        k = _drawn(uniforms[count], outer[depth], outcomes, sort, room) if count < max_nodes else -1
        if k < 0:
            return drawn[:0], True
        drawn[count], opened[depth], is_second[depth] = k, k, 0
        count += 1
        if outcomes.rank[k] == 0:
            for i in range(n):
                vector[i] = operators.leaf[outcomes.symbol[k], i]
            while depth and (is_second[depth - 1] or outcomes.rank[opened[depth - 1]] == 1):
                depth -= 1
                k = opened[depth]
                other[:] = vector
                left = first[depth] if is_second[depth] else other
                _applied(operators, outcomes.rank[k], outcomes.symbol[k], left, other, vector)
            if depth == 0:
                return drawn[:count], True
            depth -= 1
            k, is_second[depth] = opened[depth], 1
            first[depth] = vector
        elif outcomes.rank[k] == 2:
            vector[:] = outcomes.sums[outcomes.below[k, 1]]
        side, rank, code = is_second[depth], outcomes.rank[k], outcomes.symbol[k]
        _around(operators, rank, code, outer[depth], vector, side, outer[depth + 1])
        sort, depth = outcomes.below[k, side], depth + 1
