"""The best projective tree: Eisner's algorithm (2000), under scores of arcs or under head automata.

Under scores of arcs it takes O(N^3). With marginals as scores the tree found has the most expected right
heads (minimum Bayes risk). Under head automata there is a state in every item,

    T[i, i, s]  = log initial_i[s]
    t[i, j]     = max over s of T[i, j, s] + log final_i[s]
    P[i, j, s'] = max over k, s of T[i, k, s] + weight[i, j] + t[j, k+1] + log A_j[s, s']
    T[i, j, s]  = max over k of P[i, k, s] + t[k, j]

as the sums of `inside_outside`, with maxima in place of sums and logarithms in place of weights. This
maximizes over trees and paths of states together: where automata are deterministic each tree has one path,
and the tree found is the most probable one (Viterbi). Logarithms need no scale.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sigmastar.core.arrays import Flags, Floats, Int32s, Int64s
from sigmastar.core.jit import kernel, part
from sigmastar.dependency.kernels.inside_outside import LEFT, RIGHT, Automata


@part
def _push(stack: Int64s, size: int, direction: int, head: int, end: int) -> int:
    stack[size, 0], stack[size, 1], stack[size, 2] = direction, head, end
    return size + 1


@kernel
def best_tree(scores: Floats, single_root: bool) -> Int32s:
    """The heads (0 is the root) of the projective tree with the largest sum of scores[head, modifier].

    With `single_root` exactly one word hangs on the root.
    """
    n = scores.shape[0] - 1
    first = 1 if single_root else 0
    whole, open_ = np.zeros((2, n + 1, n + 1)), np.zeros((2, n + 1, n + 1))
    split, joint = np.zeros((2, n + 1, n + 1), np.int32), np.zeros((n + 1, n + 1), np.int32)
    for width in range(1, n + 1 - first):
        for i in range(first, n - width + 1):
            j = i + width
            best, at = -np.inf, i
            for k in range(i, j):
                value = whole[RIGHT, i, k] + whole[LEFT, j, k + 1]
                if value > best:
                    best, at = value, k
            joint[i, j] = at
            open_[RIGHT, i, j] = best + scores[i, j]
            open_[LEFT, j, i] = best + scores[j, i] if i > 0 else -np.inf
            for d in range(2):
                head, end, far = (i, j, i + 1) if d == RIGHT else (j, i, i)
                best, at = -np.inf, far
                for k in range(far, far + width):
                    value = open_[d, head, k] + whole[d, k, end]
                    if value > best:
                        best, at = value, k
                whole[d, head, end], split[d, head, end] = best, at
    return _heads(scores, whole, split, joint, single_root)


@part
def _heads(scores: Floats, whole: Floats, split: Int32s, joint: Int32s, single_root: bool) -> Int32s:
    """The tree that the maxima came from."""
    n = scores.shape[0] - 1
    heads = np.zeros(n, np.int32)
    stack = np.empty((4 * n + 8, 3), np.int64)
    if single_root:
        top, best = 1, -np.inf
        for word in range(1, n + 1):
            value = scores[0, word] + whole[LEFT, word, 1] + whole[RIGHT, word, n]
            if value > best:
                top, best = word, value
        size = _push(stack, _push(stack, 0, LEFT, top, 1), RIGHT, top, n)
    else:
        size = _push(stack, 0, RIGHT, 0, n)
    while size > 0:
        size -= 1
        d, head, end = stack[size]
        if head == end:
            continue
        word = split[d, head, end]
        heads[word - 1] = head
        at = joint[min(head, word), max(head, word)]
        near, beyond = (at, at + 1) if d == RIGHT else (at + 1, at)
        size = _push(stack, size, d, word, end)
        size = _push(stack, size, d, head, near)
        size = _push(stack, size, 1 - d, word, beyond)
    return heads


@kernel
def best_trees(scores: Floats, offsets: Int64s, usable: Flags, single_root: bool) -> Int32s:
    """The heads of all words of sentences; those of sentences that are not usable are -1.

    `scores` lies flat, sentence after sentence as [head, modifier].
    """
    heads = np.full(offsets[-1], -1, np.int32)
    at = 0
    for q in range(len(offsets) - 1):
        n = offsets[q + 1] - offsets[q]
        if usable[q] and n > 0:  # without words there is no arc to follow
            table = scores[at : at + (n + 1) ** 2].reshape((n + 1, n + 1))
            tree = best_tree(table, single_root)
            for i in range(n):
                heads[offsets[q] + i] = tree[i]
        at += (n + 1) ** 2
    return heads


@part
def _open(
    triangles: Floats, halves: Floats, weight: float, operator: Floats, result: Floats, came: Int32s
) -> None:
    """result[s'] = max over k, s of triangles[k, s] + halves[k] + weight + operator[s, s']."""
    width = triangles.shape[1]
    result[:] = -np.inf
    for s in range(width):
        best, at = -np.inf, 0
        for k in range(triangles.shape[0]):
            value = triangles[k, s] + halves[k] + weight
            if value > best:
                best, at = value, k * width + s
        for t in range(width):
            if best + operator[s, t] > result[t]:
                result[t], came[t] = best + operator[s, t], at


@part
def _close(trapezoids: Floats, halves: Floats, result: Floats, came: Int32s) -> None:
    """result[s] = max over k of trapezoids[k, s] + halves[k]."""
    result[:] = -np.inf
    for k in range(trapezoids.shape[0]):
        for s in range(trapezoids.shape[1]):
            if trapezoids[k, s] + halves[k] > result[s]:
                result[s], came[s] = trapezoids[k, s] + halves[k], k


@kernel
def _stop(triangle: Floats, final: Floats) -> tuple[float, int]:
    best, at = -np.inf, 0
    for s in range(len(triangle)):
        if triangle[s] + final[s] > best:
            best, at = triangle[s] + final[s], s
    return best, at


class MaxChart(NamedTuple):
    """Maxima of items, and where they came from."""

    triangles: Floats  # T: direction, head, end, state
    trapezoids: Floats  # P
    halves: Floats  # t: direction, head, end
    closed: Int32s  # of T: number of the last modifier
    opened: Int32s  # of P: number of the split, and state
    ended: Int32s  # of t: state


@part
def _max_chart(n: int, width: int) -> MaxChart:
    shape = (2, n + 1, n + 1)
    return MaxChart(
        np.full((*shape, width), -np.inf),
        np.full((*shape, width), -np.inf),
        np.full(shape, -np.inf),
        np.zeros((*shape, width), np.int32),
        np.zeros((*shape, width), np.int32),
        np.zeros(shape, np.int32),
    )


@kernel
def viterbi_tree(codes: Int32s, logs: Automata, weights: Floats, single_root: bool) -> tuple[Int32s, float]:
    """Heads and logarithm of the best tree; all arguments but the codes hold logarithms.

    Position 0 is the root, codes[0] the number of symbols. Without any tree the heads are -1.
    """
    n = len(codes) - 1
    chart = _max_chart(n, logs.initial.shape[1])
    triangles, trapezoids, halves, closed, opened, ended = chart
    sorts = np.empty((2, n + 1), np.int32)
    for i in range(n + 1):
        for d in range(LEFT if i > 0 else RIGHT, 2):
            sorts[d, i] = sort = 2 * codes[i] + (d if i > 0 else 0)
            triangles[d, i, i] = logs.initial[sort]
            halves[d, i, i], ended[d, i, i] = _stop(triangles[d, i, i], logs.final[sort])
    for span in range(1, n + 1):
        for i in range(n - span + 1):
            j = i + span
            for d in range(LEFT if i > 0 else RIGHT, 2):
                head, end, near, far = (i, j, i, i + 1) if d == RIGHT else (j, i, i + 1, i)
                size = 1 if single_root and head == 0 else span  # one word on the root: it comes first
                _open(
                    triangles[d, head, near : near + size], halves[1 - d, end, far : far + size],
                    weights[head, end], logs.operators[sorts[d, head], codes[end]],
                    trapezoids[d, head, end], opened[d, head, end],
                )  # fmt: skip
            for d in range(LEFT if i > 0 else RIGHT, 2):
                head, end, far = (i, j, i + 1) if d == RIGHT else (j, i, i)
                _close(
                    trapezoids[d, head, far : far + span], halves[d, far : far + span, end],
                    triangles[d, head, end], closed[d, head, end],
                )  # fmt: skip
                best, at = _stop(triangles[d, head, end], logs.final[sorts[d, head]])
                halves[d, head, end], ended[d, head, end] = best, at
    if halves[RIGHT, 0, n] == -np.inf:
        return np.full(n, -1, np.int32), -np.inf
    return _traced(chart), halves[RIGHT, 0, n]


@part
def _push_state(stack: Int64s, size: int, direction: int, head: int, end: int, state: int) -> int:
    stack[size, 3] = state
    return _push(stack, size, direction, head, end)


@part
def _traced(chart: MaxChart) -> Int32s:
    """Heads from where the maxima came from. A stack of triangles: direction, head, end and state."""
    closed, opened, ended = chart.closed, chart.opened, chart.ended
    n, width = ended.shape[1] - 1, closed.shape[3]
    heads, stack = np.zeros(n, np.int32), np.empty((4 * n + 8, 4), np.int64)
    size = _push_state(stack, 0, RIGHT, 0, n, ended[RIGHT, 0, n])
    while size > 0:
        size -= 1
        d, head, end, state = stack[size]
        if head == end:
            continue
        low = head + 1 if d == RIGHT else end
        word = low + closed[d, head, end, state]
        heads[word - 1] = head
        came = opened[d, head, word, state]
        k = came // width
        near, beyond = (head + k, head + k + 1) if d == RIGHT else (word + 1 + k, word + k)
        size = _push_state(stack, size, d, word, end, ended[d, word, end])
        size = _push_state(stack, size, d, head, near, came % width)
        size = _push_state(stack, size, 1 - d, word, beyond, ended[1 - d, word, beyond])
    return heads


@kernel
def viterbi_sentences(
    codes: Int32s, offsets: Int64s, logs: Automata, weights: Floats, weight_starts: Int64s, single_root: bool
) -> tuple[Int32s, Floats]:
    """Heads, and the logarithms of the best trees, of sentences.

    `weights` are logarithms, sentence after sentence as [head, modifier], from `weight_starts` on.
    """
    n_sentences = len(offsets) - 1
    heads, found = np.full(offsets[n_sentences], -1, np.int32), np.zeros(n_sentences)
    for q in range(n_sentences):
        start, end = offsets[q], offsets[q + 1]
        n = end - start
        words = np.empty(n + 1, np.int32)
        words[0] = logs.operators.shape[1]
        for place in range(n):
            words[1 + place] = codes[start + place]
        arcs = weights[weight_starts[q] : weight_starts[q + 1]].reshape((n + 1, n + 1))
        tree, found[q] = viterbi_tree(words, logs, arcs, single_root)
        for place in range(n):
            heads[start + place] = tree[place]
    return heads, found
