"""Pairwise accuracy: how often a modifier that goes with a head scores above one that does not.

For a head, the modifiers met with it are compatible, all others are not; the accuracy is the share of
(compatible, other) pairs in which the former scores higher, ties by half (section 5 of Madhyastha et
al. 2014). `micro` pools the pairs of all heads, `by_head` gives each head the same voice.

Popular modifiers go with most heads, so popularity alone does well. Matched accuracy compares only
modifiers of like popularity in training: those whose counts have the same number of binary digits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from sigmastar.bilexical.data.pairs import Pairs
from sigmastar.bilexical.kernels import compare_pairs
from sigmastar.core.intervals import Estimate

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

    def interval(self, rng: np.random.Generator, n_resamples: int = 1000) -> Estimate:
        """`micro` with its 95% interval: whole heads are drawn again, each with all its pairs."""
        n_heads = len(self.won)
        drawn = rng.multinomial(n_heads, np.full(n_heads, 1.0 / n_heads), size=n_resamples)
        shares = (drawn @ self.won) / np.maximum(drawn @ self.judged, 1.0)
        low, high = np.quantile(shares, (0.025, 0.975))
        return Estimate(self.micro, float(low), float(high), n_heads)

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


def interval_over_splits(values: Sequence[float]) -> Estimate:
    """The mean of a figure over splits of the heads, with its 95% interval by Student's t; one has none."""
    mean = float(np.mean(values))
    if len(values) < 2:
        return Estimate(mean, float("nan"), float("nan"), len(values))
    reach = float(special.stdtrit(len(values) - 1, 0.975) * np.std(values, ddof=1) / np.sqrt(len(values)))
    return Estimate(mean, mean - reach, mean + reach, len(values))


def digits(popularity: Array) -> NDArray[np.int64]:
    """The number of binary digits of each count: 0, 1, 2-3, 4-7, .."""
    return np.frexp(popularity)[1].astype(np.int64) * (popularity > 0)
