"""What arcs and ways between siblings weigh beside automata: distances, trained factors, and which are left.

A table [head, modifier] of every sentence, flat; arcs that deterministic automata think improbable weigh
nothing, and nothing more is computed of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sigmastar.dependency.kernels.arc_features import multiply_arcs, weigh_ways
from sigmastar.dependency.kernels.distances import multiply_distances
from sigmastar.dependency.kernels.items import Ways
from sigmastar.dependency.kernels.pruning import FirstAndRest, prune
from sigmastar.dependency.kernels.sibling_arcs import lay_ways
from sigmastar.dependency.model.vocabulary import Encoded

Array = NDArray[np.float64]
Codes = NDArray[np.int32]
Longs = NDArray[np.int64]


class Pruner(NamedTuple):
    """Automata whose marginals of arcs must not be below the threshold; `scales` are of symbols."""

    automata: FirstAndRest
    scales: Array
    threshold: float


@dataclass(frozen=True, eq=False)
class ArcScores:
    """Weights of arcs and of ways; head, sibling and modifier of ways, and where those of sentences begin."""

    weights: Array
    ways: Ways
    siblings: Codes
    way_starts: Longs


def base_weights(
    sentences: Encoded, distances: Array | None, pruner: Pruner | None, spared: Longs | None = None
) -> Array:
    """Distances of arcs that are not improbable, or are `spared` by their places."""
    at = sentences.squares
    weights = np.ones(at[-1])
    if distances is not None:
        multiply_distances(sentences.codes, sentences.offsets, distances, weights, at)
    if pruner is not None and pruner.threshold > 0:
        held = weights.copy() if spared is None else weights[spared]
        prune(
            sentences.codes, sentences.offsets, pruner.automata, weights, at, pruner.scales, pruner.threshold
        )
        if spared is not None:
            weights[spared] = held
    return weights


def score_arcs(sentences: Encoded, weights: Array, theta: Array | None) -> ArcScores:
    """Base weights, which are changed, times those of trained indicators where there are any."""
    if theta is None or sentences.rows is None:
        none = np.zeros((0, 3), dtype=np.int32), np.zeros(len(sentences.offsets), dtype=np.int64)
        return ArcScores(weights, Ways(np.zeros(len(weights), dtype=np.int64), np.zeros(0)), *none)
    multiply_arcs(sentences.rows, sentences.starts, theta, weights, sentences.squares)
    places, siblings, at = lay_ways(weights, sentences.offsets)
    of_ways = weigh_ways(sentences.rows, sentences.starts, at, siblings, theta)
    return ArcScores(weights, Ways(places, of_ways), siblings, at)
