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
def _unit(vector: Floats) -> None:
    """Divide by the largest size: only ratios of weights matter."""
    largest = np.abs(vector).max()
    if largest > 0.0:
        vector /= largest


@part
def _outside_child(operators: Operators, outer: Floats, code: int, other: Floats, side: int) -> Floats:
    """The outside vector of a child of a binary node; `other` is the inside vector of its sibling."""
    n = len(outer)
    found = np.zeros(n)
    for i in range(n):
        for j in range(n):
            for k in range(n):
                weight = outer[i] * operators.binary[code, i, j, k]
                if side == 0:
                    found[j] += weight * other[k]
                else:
                    found[k] += weight * other[j]
    _unit(found)
    return found


@part
def _inside_pair(operators: Operators, code: int, left: Floats, right: Floats) -> Floats:
    n = len(left)
    found = np.zeros(n)
    for i in range(n):
        for j in range(n):
            for k in range(n):
                found[i] += operators.binary[code, i, j, k] * left[j] * right[k]
    _unit(found)
    return found


@kernel
def draw_nodes(
    rng: np.random.Generator, operators: Operators, outcomes: Outcomes, max_nodes: int, room: Floats
) -> Int64s:
    """The outcomes at the nodes of a tree of sort 0, in preorder; none where it grew too large or stuck."""
    n, drawn, count, depth, sort = len(operators.root), np.zeros(16, np.int64), 0, 0, 0
    outer, first = np.zeros((16, n)), np.zeros((16, n))
    opened, is_second = np.zeros(16, np.int64), np.zeros(16, np.bool_)
    outer[0] = operators.root
    while True:
        k = _drawn(rng.random(), outer[depth], outcomes, sort, room) if count < max_nodes else -1
        if k < 0:
            return drawn[:0]
        if count == len(drawn):  # then no stack is longer either
            drawn = np.append(drawn, np.zeros_like(drawn))
            opened, is_second = np.append(opened, np.zeros_like(opened)), np.append(is_second, is_second)
            outer, first = np.vstack((outer, np.zeros_like(outer))), np.vstack((first, np.zeros_like(first)))
        drawn[count] = k
        count += 1
        if outcomes.rank[k]:
            code, sort = outcomes.symbol[k], outcomes.below[k, 0]
            opened[depth], is_second[depth] = k, False
            if outcomes.rank[k] == 1:
                outer[depth + 1] = outer[depth] @ operators.unary[code]
            else:
                later = outcomes.sums[outcomes.below[k, 1]]
                outer[depth + 1] = _outside_child(operators, outer[depth], code, later, 0)
            depth += 1
            continue
        vector = operators.leaf[outcomes.symbol[k]].copy()
        while depth and (is_second[depth - 1] or outcomes.rank[opened[depth - 1]] == 1):
            depth -= 1
            code = outcomes.symbol[opened[depth]]
            if is_second[depth]:
                vector = _inside_pair(operators, code, first[depth], vector)
            else:
                vector = operators.unary[code] @ vector
        if depth == 0:
            return drawn[:count]
        above = opened[depth - 1]
        first[depth - 1], is_second[depth - 1] = vector, True
        outer[depth] = _outside_child(operators, outer[depth - 1], outcomes.symbol[above], vector, 1)
        sort = outcomes.below[above, 1]
