"""Weights of tokens and gaps under which the inputs of tagged sentences are independent.

A conditional tagger is a function f(x, y) = P(y | x). Counts are of the joint one, P(x) P(y | x). With q the
frequencies of single inputs, and each event weighed by

    w = q(u) q(v) / P(u, v)              for a gap between inputs u and v
    w = q(u) q(x) q(v) / P(u, x, v)      for a token x between u and v

counts are of q(x) P(y | x) instead, which has the operators q(x) A_x^y: the assumption of Balle, Quattoni
and Carreras (2011) on the distribution of inputs is made true. P is mixed with the product of the q, or
events that were met by chance would count for too much. Weights of `whole` sentences, by the frequencies of
their inputs, are exact, and of use where few inputs are possible.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Codes = NDArray[np.int32]
Longs = NDArray[np.int64]

SMOOTHING = 2.0


@dataclass(frozen=True, eq=False)
class InputWeights:
    """One weight a token, and one a gap, in corpus order."""

    tokens: Array
    gaps: Array

    @classmethod
    def local(cls, inputs: Codes, offsets: Longs, smoothing: float = SMOOTHING) -> InputWeights:
        """By the inputs next to a gap, or by a token's own and those next to it; edges are inputs."""
        edged, at = _edged(inputs, offsets)
        gaps = _independence(np.stack([edged[:-1], edged[1:]]), edged, smoothing)
        around = np.stack([edged[at - 1], edged[at], edged[at + 1]])
        return cls(_independence(around, edged, smoothing), gaps)

    @classmethod
    def whole(cls, inputs: Codes, offsets: Longs) -> InputWeights:
        """By the inputs of the whole sentence: q of all of them and of an end, over their frequency."""
        lengths, n = np.diff(offsets), len(offsets) - 1
        chances = np.append(np.bincount(inputs), n) / (len(inputs) + n)
        rows = [inputs[low:high] for low, high in pairwise(offsets)]
        counts = Counter(row.tobytes() for row in rows)
        weights = np.array([chances[row].prod() * chances[-1] * n / counts[row.tobytes()] for row in rows])
        return cls(np.repeat(weights, lengths), np.repeat(weights, lengths + 1))


def _edged(inputs: Codes, offsets: Longs) -> tuple[Longs, Longs]:
    """Inputs with an edge before each sentence and at the end, and where the tokens are now."""
    lengths = np.diff(offsets)
    at = np.arange(len(inputs)) + np.repeat(np.arange(len(lengths)), lengths) + 1
    edged = np.full(len(inputs) + len(offsets), int(inputs.max(initial=-1)) + 1, dtype=np.int64)
    edged[at] = inputs
    return edged, at


def _independence(events: Longs, edged: Longs, smoothing: float) -> Array:
    """The product of the q of each event's inputs over its smoothed frequency."""
    _, codes, counts = np.unique(events, axis=1, return_inverse=True, return_counts=True)
    alone = (np.bincount(edged) / len(edged))[events].prod(axis=0)
    together = counts[codes.ravel()] / events.shape[1]
    return np.asarray((1 + smoothing) * alone / (together + smoothing * alone))
