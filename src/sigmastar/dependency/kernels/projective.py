"""The best projective tree under scores of arcs: Eisner's algorithm (2000), O(N^3).

With marginals of arcs as scores the tree found has the most expected right heads (minimum Bayes risk).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sigmastar.core.jit import kernel, part

Array = NDArray[np.float64]
Codes = NDArray[np.int32]
Longs = NDArray[np.int64]

LEFT, RIGHT = 0, 1


@part
def _push(stack: Longs, size: int, direction: int, head: int, end: int) -> int:
    stack[size, 0], stack[size, 1], stack[size, 2] = direction, head, end
    return size + 1


@kernel
def best_tree(scores: Array, single_root: bool) -> Codes:
    """The heads (0 is the root) of the projective tree with the largest sum of scores[head, modifier].

    Eisner's algorithm (2000). With `single_root` exactly one word hangs on the root.
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
def best_trees(scores: Array, offsets: Longs, usable: NDArray[np.bool_], single_root: bool) -> Codes:
    """The heads of all words of sentences; those of sentences that are not usable are -1.

    `scores` lies flat, sentence after sentence as [head, modifier].
    """
    heads = np.full(offsets[-1], -1, np.int32)
    at = 0
    for q in range(len(offsets) - 1):
        n = offsets[q + 1] - offsets[q]
        if usable[q]:
            table = scores[at : at + (n + 1) ** 2].reshape((n + 1, n + 1))
            tree = best_tree(table, single_root)
            for i in range(n):
                heads[offsets[q] + i] = tree[i]
        at += (n + 1) ** 2
    return heads
