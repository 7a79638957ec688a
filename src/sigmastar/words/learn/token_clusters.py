"""The first states of words: k-means of all tokens, by tables of their two classes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sigmastar.core.arrays import Floats, Int32s, Int64s, Singles
from sigmastar.core.clusters import k_means
from sigmastar.core.progress import Progress, silent
from sigmastar.words.counts import TokenViews
from sigmastar.words.kernels.tokens import add_rows, least_sums

GROUP = 16  # states per group
_STEPS = 8
_SAMPLE = 12  # tokens per state that centres are first sought among
_LITTLE = 1 / 200  # of the tokens: where fewer change their state, the steps end


@dataclass(frozen=True, eq=False)
class FirstStates:
    """The state of every token, and the group that each state belongs to."""

    labels: Int32s
    groups: Int32s
    n_states: int


def token_states(
    views: TokenViews, n_states: int, rng: np.random.Generator, progress: Progress = silent
) -> FirstStates:
    """Clusters of tokens: a sample shows where they are, steps on all tokens follow."""
    centres = _sampled_centres(views, n_states, rng)
    pairs = _Pairs.of(views)
    labels = np.full(len(pairs.past), -1, np.int32)
    for step in range(_STEPS):
        progress(f"states of tokens, step {step + 1}", step / _STEPS)
        changed = pairs.assign(centres, labels)
        if changed < _LITTLE * len(labels):
            break
        centres = pairs.means(labels, centres)
    used = np.bincount(labels, pairs.weights, len(centres)) > 0
    number = (np.cumsum(used) - 1).astype(np.int32)
    kept = centres[used].astype(np.float64)
    n_groups = max(1, round(len(kept) / GROUP))
    groups = k_means(kept, n_groups, rng).labels.astype(np.int32)
    return FirstStates(number[labels][pairs.place], groups, len(kept))


def random_states(n_tokens: int, n_states: int, rng: np.random.Generator) -> FirstStates:
    """States by chance: what the spectral start is compared with."""
    n_states = min(n_states, n_tokens)
    labels = rng.permutation(np.arange(n_tokens, dtype=np.int32) % n_states).astype(np.int32)
    return FirstStates(labels, (np.arange(n_states) // GROUP).astype(np.int32), n_states)


def _sampled_centres(views: TokenViews, n_states: int, rng: np.random.Generator) -> Singles:
    size = min(views.n_tokens, max(_SAMPLE * n_states, 1000))
    chosen = rng.choice(views.n_tokens, size, replace=False)
    points = np.hstack([views.pasts[views.past[chosen]], views.futures[views.future[chosen]]])
    first = rng.choice(size, min(n_states, size), replace=False)
    return np.ascontiguousarray(points[first])


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Distinct pairs of classes, sorted by past, how many tokens each has, and the pair of every token."""

    views: TokenViews
    past: Int32s
    future: Int32s
    weights: Floats
    place: Int64s

    @classmethod
    def of(cls, views: TokenViews) -> _Pairs:
        keys = views.past.astype(np.int64) * len(views.futures) + views.future
        distinct, place, counts = np.unique(keys, return_inverse=True, return_counts=True)
        past, future = np.divmod(distinct, len(views.futures))
        return cls(views, past.astype(np.int32), future.astype(np.int32), counts.astype(np.float64), place)

    def assign(self, centres: Singles, labels: Int32s) -> int:
        """The nearest centre of every pair, into `labels`; how many changed."""
        d = self.views.pasts.shape[1]
        lengths = (centres**2).sum(axis=1)
        left = lengths - 2.0 * (self.views.pasts @ centres[:, :d].T)
        right = -2.0 * (self.views.futures @ centres[:, d:].T)
        return least_sums(self.past, self.future, left, right, labels)

    def means(self, labels: Int32s, centres: Singles) -> Singles:
        d = self.views.pasts.shape[1]
        sums = [np.zeros((len(centres), table.shape[1])) for table in (self.views.pasts, self.views.futures)]
        add_rows(self.past, labels, self.weights, self.views.pasts, sums[0])
        add_rows(self.future, labels, self.weights, self.views.futures, sums[1])
        sizes = np.bincount(labels, self.weights, len(centres))[:, None]
        moved = np.hstack(sums) / np.maximum(sizes, 1.0)
        assert d == sums[0].shape[1]
        return np.where(sizes > 0, moved, centres).astype(np.float32)
