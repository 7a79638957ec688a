"""States by clustering: every node gets the cluster of its embedding among the nodes of its symbol.

Points are [Y; Z], each dimension weighted by the square root of its singular value so that both sides and
all dimensions speak as loud as they are certain.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sigmastar.inference.clusters import cluster
from sigmastar.learning.tree_embedding import Embedding
from sigmastar.parallel import thread_map
from sigmastar.structures.phrases import Ints, Longs

Array = NDArray[np.float64]

_STEPS = 15


def cluster_states(
    symbol: Ints, embedding: Embedding, n_states: Longs, rng: np.random.Generator, n_dimensions: int = 12
) -> Longs:
    """The state of every node, below `n_states` of its symbol."""
    states = np.zeros(len(symbol), dtype=np.int64)
    order = np.argsort(symbol, kind="stable")
    ends = np.searchsorted(symbol[order], np.arange(len(n_states) + 1))
    starts = [rng.random(int(k)) for k in n_states]

    def one(a: int) -> None:
        rows = order[ends[a] : ends[a + 1]]
        points = _points(embedding, rows, a, n_dimensions)
        states[rows] = cluster(points, int(n_states[a]), starts[a], _STEPS)

    thread_map(one, [a for a in range(len(n_states)) if n_states[a] > 1])
    return states


def _points(embedding: Embedding, rows: Longs, symbol: int, n_dimensions: int) -> Array:
    k = min(int(embedding.n_states[symbol]), n_dimensions)
    weight = np.sqrt(embedding.singular_values[symbol, :k])
    y, z = embedding.inside[rows, :k], embedding.outside[rows, :k]
    sides = [side / np.maximum(np.sqrt((side**2).mean(axis=0)), 1e-12) * weight for side in (y, z)]
    return np.ascontiguousarray(np.concatenate(sides, axis=1))
