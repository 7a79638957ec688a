"""Counting pairs in the right order: for each row, how many (good, other) pairs score that way round.

Scores are sorted once a row; walking up, every good entry wins against the others of its class that were
met below it, and half against those that tie with it: n log n instead of good x others.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sigmastar.core.jit import kernel

Array = NDArray[np.float64]


@kernel
def compare_pairs(
    scores: Array, compatible: NDArray[np.bool_], classes: NDArray[np.int64]
) -> tuple[Array, Array]:
    """Pairs of a compatible and another modifier of one class: won by the former, and judged; a head each."""
    n_heads, n_modifiers = scores.shape
    won, judged = np.zeros(n_heads), np.zeros(n_heads)
    n_classes = 0
    for number in classes:
        n_classes = max(n_classes, number + 1)
    for head in range(n_heads):
        order = np.argsort(scores[head])
        below, good = np.zeros(n_classes), np.zeros(n_classes)  # others met so far; compatible ones
        at = 0
        while at < n_modifiers:
            end = at
            while end < n_modifiers and scores[head, order[end]] == scores[head, order[at]]:
                end += 1
            tied_good, tied_other = np.zeros(n_classes), np.zeros(n_classes)
            for place in range(at, end):
                if compatible[head, order[place]]:
                    tied_good[classes[order[place]]] += 1
                else:
                    tied_other[classes[order[place]]] += 1
            for c in range(n_classes):
                won[head] += tied_good[c] * (below[c] + 0.5 * tied_other[c])
                below[c] += tied_other[c]
                good[c] += tied_good[c]
            at = end
        for c in range(n_classes):
            judged[head] += good[c] * below[c]
    return won, judged
