"""The most probable tree of head automata: Eisner's algorithm (2000) with a state in every item.

    T[i, i, 0, s] = log initial_i[s]
    t[i, j]       = max over c, s of T[i, j, c, s] + stop[c, i] + log final_i[s]
    P[i, j, s']   = max over k, c, s of T[i, k, c, s] + weight[c, i, j] + t[j, k+1] + log A_j[s, s']
    T[i, j, c, s] = max over k of class c of P[i, k, s] + t[k, j]

as the sums of `eisner`, with maxima in place of sums and logarithms in place of weights. This
maximises over trees and paths of states together: where automata are deterministic each tree has one path,
and the tree found is the most probable one. Logarithms need no scale.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sigmastar.core.jit import kernel, part
from sigmastar.dependency.kernels.items import Automata

Array = NDArray[np.float64]
Codes = NDArray[np.int32]
Longs = NDArray[np.int64]

LEFT, RIGHT = 0, 1


@part
def _open(
    triangles: Array, halves: Array, weights: Array, operator: Array, m: int, result: Array, came: Codes
) -> None:
    """result[s'] = max over k, c, s of triangles[k, c, s] + halves[k] + weights[c] + operator[s, s']."""
    n_classes, width = triangles.shape[1], triangles.shape[2]
    result[:] = -np.inf
    for s in range(m):
        best, at = -np.inf, 0
        for k in range(triangles.shape[0]):
            for c in range(n_classes):
                value = triangles[k, c, s] + halves[k] + weights[c]
                if value > best:
                    best, at = value, (k * n_classes + c) * width + s
        for t in range(m):
            if best + operator[s, t] > result[t]:
                result[t], came[t] = best + operator[s, t], at


@part
def _close(trapezoids: Array, halves: Array, classes: Codes, m: int, result: Array, came: Codes) -> None:
    """result[class of k, s] = max over k of trapezoids[k, s] + halves[k]."""
    result[:] = -np.inf
    for k in range(trapezoids.shape[0]):
        c = classes[k]
        for s in range(m):
            if trapezoids[k, s] + halves[k] > result[c, s]:
                result[c, s], came[c, s] = trapezoids[k, s] + halves[k], k


@kernel
def _stop(triangle: Array, final: Array, stops: Array, m: int) -> tuple[float, int]:
    best, at = -np.inf, 0
    for c in range(triangle.shape[0]):
        for s in range(m):
            value = triangle[c, s] + final[s] + stops[c]
            if value > best:
                best, at = value, c * triangle.shape[1] + s
    return best, at


@kernel
def viterbi_tree(
    codes: Codes, classes: Codes, logs: Automata, weights: Array, stops: Array, single_root: bool
) -> tuple[Codes, float]:
    """Heads and logarithm of the best tree; all arguments but the codes hold logarithms.

    Position 0 is the root, codes[0] the number of symbols. Without any tree the heads are -1.
    """
    n, width, n_classes = len(codes) - 1, logs.initial.shape[1], weights.shape[0]
    triangles = np.full((2, n + 1, n + 1, n_classes, width), -np.inf)
    trapezoids = np.full((2, n + 1, n + 1, width), -np.inf)
    halves = np.full((2, n + 1, n + 1), -np.inf)
    closed = np.zeros((2, n + 1, n + 1, n_classes, width), np.int32)
    opened, ended = np.zeros((2, n + 1, n + 1, width), np.int32), np.zeros((2, n + 1, n + 1), np.int32)
    sorts = np.empty((2, n + 1), np.int32)
    for i in range(n + 1):
        for d in range(LEFT if i > 0 else RIGHT, 2):
            sorts[d, i] = sort = 2 * codes[i] + (d if i > 0 else 0)
            triangles[d, i, i, 0] = logs.initial[sort]
            best, at = _stop(triangles[d, i, i], logs.final[sort], stops[:, d, i], logs.n_states[sort])
            halves[d, i, i], ended[d, i, i] = best, at
    for span in range(1, n + 1):
        for i in range(n - span + 1):
            j = i + span
            first = LEFT if i > 0 else RIGHT
            for d in range(first, 2):
                head, end = (i, j) if d == RIGHT else (j, i)
                near, far = (i, i + 1) if d == RIGHT else (i + 1, i)
                size = 1 if single_root and head == 0 else span  # one word on the root: it comes first
                sort = sorts[d, head]
                _open(
                    triangles[d, head, near : near + size], halves[1 - d, end, far : far + size],
                    weights[:, head, end], logs.operators[sort, codes[end]], logs.n_states[sort],
                    trapezoids[d, head, end], opened[d, head, end],
                )  # fmt: skip
            for d in range(first, 2):
                head, end = (i, j) if d == RIGHT else (j, i)
                far = i + 1 if d == RIGHT else i
                sort = sorts[d, head]
                _close(
                    trapezoids[d, head, far : far + span], halves[d, far : far + span, end],
                    classes[far : far + span], logs.n_states[sort],
                    triangles[d, head, end], closed[d, head, end],
                )  # fmt: skip
                best, at = _stop(
                    triangles[d, head, end], logs.final[sort], stops[:, d, head], logs.n_states[sort]
                )
                halves[d, head, end], ended[d, head, end] = best, at
    if halves[RIGHT, 0, n] == -np.inf:
        return np.full(n, -1, np.int32), -np.inf
    return _traced(opened, closed, ended, n), halves[RIGHT, 0, n]


@part
def _push(stack: Longs, size: int, direction: int, head: int, end: int, at: int) -> int:
    stack[size, 0], stack[size, 1], stack[size, 2], stack[size, 3] = direction, head, end, at
    return size + 1


@part
def _traced(opened: Codes, closed: Codes, ended: Codes, n: int) -> Codes:
    """Heads from where the maxima came from. A stack of triangles: direction, head, end, class and state."""
    n_classes, width = closed.shape[3], closed.shape[4]
    heads, stack = np.zeros(n, np.int32), np.empty((4 * n + 8, 4), np.int64)
    size = _push(stack, 0, RIGHT, 0, n, ended[RIGHT, 0, n])
    while size > 0:
        size -= 1
        d, head, end, at = stack[size]
        if head == end:
            continue
        low = head + 1 if d == RIGHT else end
        word = low + closed[d, head, end, at // width, at % width]
        heads[word - 1] = head
        came = opened[d, head, word, at % width]
        k = came // (n_classes * width)
        near, beyond = (head + k, head + k + 1) if d == RIGHT else (word + 1 + k, word + k)
        size = _push(stack, size, d, word, end, ended[d, word, end])
        size = _push(stack, size, d, head, near, came % (n_classes * width))
        size = _push(stack, size, 1 - d, word, beyond, ended[1 - d, word, beyond])
    return heads


@kernel
def viterbi_sentences(
    codes: Codes, offsets: Longs, logs: Automata, weights: Array, weight_starts: Longs, single_root: bool
) -> tuple[Codes, Array]:
    """Heads, and the logarithms of the best trees, of sentences without classes.

    `weights` are logarithms, sentence after sentence as [head, modifier], from `weight_starts` on.
    """
    n_sentences = len(offsets) - 1
    heads, found = np.full(offsets[n_sentences], -1, np.int32), np.zeros(n_sentences)
    for q in range(n_sentences):
        start, end = offsets[q], offsets[q + 1]
        n = end - start
        words = np.empty(n + 1, np.int32)
        words[0] = logs.operators.shape[1]
        words[1:] = codes[start:end]
        arcs = weights[weight_starts[q] : weight_starts[q + 1]].reshape((1, n + 1, n + 1))
        kinds, stops = np.zeros(n + 1, np.int32), np.zeros((1, 2, n + 1))
        heads[start:end], found[q] = viterbi_tree(words, kinds, logs, arcs, stops, single_root)
    return heads, found
