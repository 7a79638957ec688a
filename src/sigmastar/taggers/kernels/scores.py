"""Scores of candidate tags and of pairs of them: sums of weights of features, and a low-rank Hankel block."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sigmastar.core.jit import kernel

Array = NDArray[np.float64]
Codes = NDArray[np.int32]
Longs = NDArray[np.int64]


@kernel
def margin_scores(
    offsets: Longs,
    low: int,
    high: int,
    types: Codes,
    starts: Longs,
    tags: Codes,
    token_starts: Longs,
    block_starts: Longs,
    feature_starts: Longs,
    features: Codes,
    n_templates: int,
    first_look: int,
    weights: NDArray[np.float32],
    moves: Array,
    classes: Codes,
    left: Array,
    right: Array,
    firsts: Array,
    arrows: Array,
) -> None:
    """Fill `firsts` and `arrows` of sentences low..high; the edge is the last row and column of `moves`.

    The first `n_templates` features of a token are those of templates, the others looks of its word.
    """
    edge, rank = moves.shape[0] - 1, left.shape[1]
    for s in range(low, high):
        for i in range(offsets[s], offsets[s + 1]):
            c0, n, u = starts[types[i]], starts[types[i] + 1] - starts[types[i]], token_starts[i]
            for b in range(n):
                tag = tags[c0 + b]
                firsts[u + b] = moves[edge, tag] if i == offsets[s] else 0.0
                if i == offsets[s + 1] - 1:
                    firsts[u + b] += moves[tag, edge]
            for k in range(feature_starts[i], feature_starts[i + 1]):
                if features[k] >= 0:
                    look = k >= feature_starts[i] + n_templates  # looks are numbered after the templates
                    row = weights[features[k] + (first_look if look else 0)]
                    for b in range(n):
                        firsts[u + b] += row[tags[c0 + b]]
            if i == offsets[s]:
                continue
            before, m = starts[types[i - 1]], starts[types[i - 1] + 1] - starts[types[i - 1]]
            for a in range(m):
                for b in range(n):
                    value = moves[tags[before + a], tags[c0 + b]]
                    for k in range(rank):
                        value += left[classes[before + a], k] * right[classes[c0 + b], k]
                    arrows[block_starts[i] + a * n + b] = value
