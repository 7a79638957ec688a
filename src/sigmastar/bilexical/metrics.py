"""Pairwise accuracy: how often a modifier that goes with a head scores above one that does not.

For a head, the modifiers met with it are compatible, all others are not; the accuracy is the share of
(compatible, other) pairs in which the former scores higher, ties by half (section 5 of Madhyastha et
al. 2014). `micro` pools the pairs of all heads, `by_head` gives each head the same weight.

Popular modifiers go with most heads, so popularity alone does well. Matched accuracy compares only
modifiers of like popularity in training: those whose counts have the same number of binary digits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from sigmastar.bilexical.data.pairs import Pairs
from sigmastar.bilexical.kernels import compare_pairs
from sigmastar.bilexical.model.operator import BilexicalModel
from sigmastar.core.arrays import Floats, Int64s
from sigmastar.core.intervals import Estimate

Scorer = Callable[[tuple[str, ...]], Floats]
"""From heads to scores, heads by modifiers."""

MAX_CELLS = 4_000_000


@dataclass(frozen=True, eq=False)
class PairwiseAccuracy:
    """Won and judged pairs, head by head.

    Parameters
    ----------
    won, judged : array
        One entry per head.
    """

    won: Floats
    judged: Floats

    @property
    def micro(self) -> float:
        """The share of all pairs that were won."""
        total = self.judged.sum()
        return float(self.won.sum() / total) if total else float("nan")

    def interval(self, rng: np.random.Generator, n_resamples: int = 1000) -> Estimate:
        """`micro` with its 95% interval: whole heads are drawn again, each with all its pairs."""
        n_heads = len(self.won)
        drawn = rng.multinomial(n_heads, np.full(n_heads, 1.0 / n_heads), size=n_resamples)
        shares = (drawn @ self.won) / np.maximum(drawn @ self.judged, 1.0)
        low, high = np.quantile(shares, (0.025, 0.975))
        return Estimate(self.micro, float(low), float(high), n_heads)

    def less(self, other: PairwiseAccuracy, rng: np.random.Generator, n_resamples: int = 1000) -> Estimate:
        """`micro` less that of another model, with its 95% interval: the same heads are drawn for both."""
        n_heads = len(self.won)
        if len(other.won) != n_heads:
            raise ValueError(f"{n_heads} heads and {len(other.won)} heads cannot be compared head by head")
        drawn = rng.multinomial(n_heads, np.full(n_heads, 1.0 / n_heads), size=n_resamples)
        gains = (drawn @ (self.won - other.won)) / np.maximum(drawn @ self.judged, 1.0)
        low, high = np.quantile(gains, (0.025, 0.975))
        return Estimate(self.micro - other.micro, float(low), float(high), n_heads)

    @property
    def by_head(self) -> float:
        """The mean over heads of the share that was won."""
        seen = self.judged > 0
        return float((self.won[seen] / self.judged[seen]).mean()) if seen.any() else float("nan")


def pairwise_accuracy(score: Scorer, pairs: Pairs, popularity: Floats | None = None) -> PairwiseAccuracy:
    """How often compatible modifiers score above others.

    Parameters
    ----------
    score
        From heads to scores, heads by modifiers; such as `BilexicalModel.scores`.
    pairs
        The heads to judge on, and what is compatible with them.
    popularity
        Counts of the modifiers in training: with them only modifiers of like popularity are compared.

    Returns
    -------
    PairwiseAccuracy
        Won and judged pairs of each head.
    """
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


def by_popularity(popularity: Floats) -> Scorer:
    """Scores that order the modifiers of every head by how often they were met in training."""
    return lambda heads: np.tile(popularity, (len(heads), 1))


def capacity_curve(
    model: BilexicalModel, pairs: Pairs, capacities: Sequence[int]
) -> tuple[list[int], list[float]]:
    """What a model can do when it is cut down.

    Parameters
    ----------
    model
        Of low rank, or with full weights.
    pairs
        Heads to judge on, best those that were not trained on.
    capacities
        Numbers of dimensions, or of weights, that are left.

    Returns
    -------
    tuple of list
        Operations to score all modifiers of one head, and pairwise accuracies in percent.
    """
    cut = cut_down(model, pairs, capacities)
    return [operations for operations, _ in cut], [100 * found.micro for _, found in cut]


def cut_down(
    model: BilexicalModel, pairs: Pairs, capacities: Sequence[int]
) -> list[tuple[int, PairwiseAccuracy]]:
    """As `capacity_curve`, with won and judged pairs head by head."""
    cut = [model.projected(capacity) for capacity in capacities]
    return [(part.n_operations, pairwise_accuracy(part.scores, pairs)) for part in cut]


def interval_over_splits(values: Sequence[float]) -> Estimate:
    """The mean of a figure over splits of the heads.

    Parameters
    ----------
    values
        The figure on each split.

    Returns
    -------
    Estimate
        With the 95% interval by Student's t; one value has none.
    """
    mean = float(np.mean(values))
    if len(values) < 2:
        return Estimate(mean, float("nan"), float("nan"), len(values))
    reach = float(special.stdtrit(len(values) - 1, 0.975) * np.std(values, ddof=1) / np.sqrt(len(values)))
    return Estimate(mean, mean - reach, mean + reach, len(values))


def digits(popularity: Floats) -> Int64s:
    """The number of binary digits of each count: 0, 1, 2-3, 4-7, .."""
    return np.frexp(popularity)[1].astype(np.int64) * (popularity > 0)
