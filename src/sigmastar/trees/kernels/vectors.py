"""Inside and outside vectors of trees under a tree automaton, with a carried scale.

    inside(a) = beta_a,   inside(s[t1, .., tk]) = A_s (inside(t1), .., inside(tk))
    outside(root) = alpha,  outside(ti) = outside(parent) A_s (inside(t1), .., ., .., inside(tk))

(Balle, Quattoni and Carreras 2014, "Weighted Finite Tree Automata"). Nodes stand with children before
parents; a vector is `mantissa * 2 ** exponent`, since values of large trees leave the range of floats.
A symbol -1 is unknown: its operator is zero.

An operator of rank k is n^(k + 1) numbers, axes (result, first child, .., last child); it is contracted with
one vector after the other, from the last axis or from the first, in a buffer of n^k numbers.
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
