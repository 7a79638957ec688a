"""Pairwise accuracy: how often a modifier that goes with a head scores above one that does not.

For a head, the modifiers met with it are compatible, all others are not; the accuracy is the share of
(compatible, other) pairs in which the former scores higher, ties by half (section 5 of Madhyastha et
al. 2014). `micro` pools the pairs of all heads, `by_head` gives each head the same voice.

Popular modifiers go with most heads, so popularity alone does well. Matched accuracy compares only
modifiers of like popularity in training: those whose counts have the same number of binary digits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sigmastar.inference.pairwise import compare_pairs
from sigmastar.structures.pairs import Pairs

Array = NDArray[np.float64]
Scorer = Callable[[tuple[str, ...]], Array]
"""From heads to scores, heads by modifiers."""

MAX_CELLS = 4_000_000


@dataclass(frozen=True, eq=False)
class PairwiseAccuracy:
    """Won and judged pairs, head by head."""

    won: Array
    judged: Array

    @property
    def micro(self) -> float:
        total = self.judged.sum()
        return float(self.won.sum() / total) if total else float("nan")

    @property
    def by_head(self) -> float:
        seen = self.judged > 0
        return float((self.won[seen] / self.judged[seen]).mean()) if seen.any() else float("nan")


def pairwise_accuracy(score: Scorer, pairs: Pairs, popularity: Array | None = None) -> PairwiseAccuracy:
    """Judge scores on the heads of `pairs`; with training `popularity`, on matched modifiers alone."""
    if not pairs.heads:
        raise ValueError("there are no heads to judge on; give pairs with heads that were not trained on")
    classes = np.zeros(len(pairs.modifiers), dtype=np.int64) if popularity is None else digits(popularity)
    at_once = max(1, MAX_CELLS // max(1, len(pairs.modifiers)))
    won, judged = [], []
    for first in range(0, len(pairs.heads), at_once):
        piece = slice(first, first + at_once)
        scores = np.ascontiguousarray(score(pairs.heads[piece]), dtype=np.float64)
        parts = compare_pairs(scores, pairs.counts[piece].toarray() > 0, classes)
        won.append(parts[0])
        judged.append(parts[1])
    return PairwiseAccuracy(np.concatenate(won), np.concatenate(judged))


def digits(popularity: Array) -> NDArray[np.int64]:
    """The number of binary digits of each count: 0, 1, 2-3, 4-7, .."""
    return np.frexp(popularity)[1].astype(np.int64) * (popularity > 0)
