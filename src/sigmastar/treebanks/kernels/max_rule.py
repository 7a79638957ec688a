"""Trees from posteriors of rules: the derivation whose rules are all probable (Petrov and Klein 2007).

    best(item) = max over edges into it of posterior(edge) best(left) best(right),  at leaves its posterior

The posterior of an edge sums over all states, so this is a tree over symbols without them. Scores are
logarithms.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sigmastar.core.jit import kernel

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Array = NDArray[np.float64]


@kernel
def best_rules(
    n: int, starts: Longs, items: Ints, posteriors: Array, edges: Ints, uses: Array, base: Ints
) -> tuple[Ints, float]:
    """Spans of the best tree in preorder, [begin, end, chain], without symbols between; and its score."""
    best, how = np.full(len(items), -np.inf), np.full(len(items), -1, np.int64)
    begin, end = np.zeros(len(items), np.int32), np.zeros(len(items), np.int32)
    cell = 0
    for width in range(1, n + 1):
        for i in range(n - width + 1):
            for at in range(starts[cell], starts[cell + 1]):
                begin[at], end[at] = i, i + width
                if width == 1 and posteriors[at] > 0.0:
                    best[at] = np.log(posteriors[at])
            cell += 1
    for e in range(len(edges)):
        if uses[e] > 0.0:
            score = np.log(uses[e]) + best[edges[e, 1]] + best[edges[e, 2]]
            if score > best[edges[e, 0]]:
                best[edges[e, 0]], how[edges[e, 0]] = score, e
    top, most = -1, -np.inf
    for at in range(starts[cell - 1], starts[cell]):
        if posteriors[at] > 0.0 and base[items[at]] >= 0 and best[at] + np.log(posteriors[at]) > most:
            most, top = best[at] + np.log(posteriors[at]), at
    spans, count = np.zeros((2 * n, 3), np.int32), 0
    stack, depth = np.zeros(2 * n + 2, np.int64), 0
    if top >= 0:
        stack[0], depth = top, 1
    while depth:
        depth -= 1
        item = stack[depth]
        if base[items[item]] >= 0:
            spans[count, 0], spans[count, 1], spans[count, 2] = begin[item], end[item], base[items[item]]
            count += 1
        if how[item] >= 0:
            stack[depth], stack[depth + 1] = edges[how[item], 2], edges[how[item], 1]
            depth += 2
    return spans[:count], most
