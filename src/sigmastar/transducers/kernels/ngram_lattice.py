"""The sum over alignments of a pair under a joint n-gram of units, exactly.

A cell (i, j) of the edit lattice holds the contexts that alignments of x[:i] with y[:j] end in, each with
the sum of their weights: alignments that agree in their context are one from there on.

    W(i, j, c') = sum over (edge u into (i, j) from (i', j'), context c with follow(c, u) = c') of
                  W(i', j', c) p(u | c)
    g(x, y)     = sum over c of W(n, m, c) p(end | c)

Weights are multiplied by `TILT` a symbol, which all alignments share.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sigmastar.core.jit import kernel

Array = NDArray[np.float64]
Integers = NDArray[np.int32]
Longs = NDArray[np.int64]

Trie = tuple[Integers, Longs, Integers, Array, Array, Integers]

TILT = 4.0


@kernel
def _step(
    node: int,
    outcome: int,
    base: Array,
    base_next: Integers,
    trie: Trie,
) -> tuple[float, int]:
    """p(outcome | node), and the context that follows."""
    parent, row_starts, row_outcomes, own, backoff, row_next = trie
    weight, total, following = 1.0, 0.0, -1
    while node > 0:
        low, high = row_starts[node], row_starts[node + 1]
        while low < high:
            middle = (low + high) // 2
            if row_outcomes[middle] < outcome:
                low = middle + 1
            else:
                high = middle
        if low < row_starts[node + 1] and row_outcomes[low] == outcome:
            total += weight * own[low]
            if following < 0:
                following = row_next[low]
        weight *= backoff[node]
        node = parent[node]
    if following < 0 and outcome < len(base_next):
        following = base_next[outcome]
    return total + weight * base[outcome], following


@kernel
def ngram_lattice(
    edges: Longs,
    shapes: Longs,
    start: int,
    base: Array,
    base_next: Integers,
    parent: Integers,
    row_starts: Longs,
    row_outcomes: Integers,
    own: Array,
    backoff: Array,
    row_next: Integers,
) -> float:
    """log g of the pair whose lattice has these edges."""
    trie = (parent, row_starts, row_outcomes, own, backoff, row_next)
    rows, columns, _ = edges.shape
    heads = np.full((rows, columns), -1, np.int64)
    contexts, weights = np.empty(256, np.int32), np.empty(256)
    following = np.empty(256, np.int64)  # the next entry of the same cell
    contexts[0], weights[0], following[0], heads[0, 0], size = start, 1.0, -1, 0, 1
    factors = TILT ** (shapes[:, 0] + shapes[:, 1]).astype(np.float64)
    end, total = len(base) - 1, 0.0
    for i in range(rows):
        for j in range(columns):
            entry = heads[i, j]
            while entry >= 0:
                context, weight = contexts[entry], weights[entry]
                if i == rows - 1 and j == columns - 1:
                    total += weight * _step(context, end, base, base_next, trie)[0]
                for shape in range(len(shapes)):
                    unit = edges[i, j, shape]
                    if unit < 0:
                        continue
                    p, after = _step(context, unit, base, base_next, trie)
                    to_i, to_j = i + shapes[shape, 0], j + shapes[shape, 1]
                    at = heads[to_i, to_j]
                    while at >= 0 and contexts[at] != after:
                        at = following[at]
                    if at < 0:
                        if size == len(contexts):
                            contexts = np.append(contexts, np.empty(size, np.int32))
                            weights = np.append(weights, np.empty(size))
                            following = np.append(following, np.empty(size, np.int64))
                        at, size = size, size + 1
                        contexts[at], weights[at], following[at] = after, 0.0, heads[to_i, to_j]
                        heads[to_i, to_j] = at
                    weights[at] += weight * p * factors[shape]
                entry = following[entry]
    return np.log(total) - (rows + columns - 2) * np.log(TILT) if total > 0.0 else -np.inf
