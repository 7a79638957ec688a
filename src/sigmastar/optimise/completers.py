"""Completion under constraints in place of, or beside, the nuclear norm.

    hard      min loss(H)                 with rank H <= r         Jain, Meka and Dhillon (2010)
    bounded   min loss(H) + weight |H|_*  with |H_ij| <= C         Balle and Mohri (2012), who assume it

`hard` keeps the r leading triples after every gradient step; it is not convex. `bounded` splits three ways
(Davis and Yin 2017), with X low-rank and Z sparse plus low-rank, so that neither is ever made:

    X = SVT(Z),    Z <- X + [Z - X + clip(2 X - Z - step grad(X), C) - X] at the entries

where the entries are those of the loss, and all others too where the matrix is small. `COMPLETERS` names
these solvers and that of `completion`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from sigmastar.core.arrays import Floats, Int64s
from sigmastar.optimise.completion import (
    Completer,
    Completion,
    CompletionSettings,
    EntryLoss,
    alternating,
    by_factors,
    frank_wolfe,
    proximal,
    singular_value_thresholding,
)
from sigmastar.optimise.proximal import Thresholded
from sigmastar.optimise.solvers import accelerated
from sigmastar.optimise.sparse_low_rank import (
    SPARE,
    LowRank,
    SparsePattern,
    SparsePlusLowRank,
    leading_triples,
    shrunk_triples,
    widened,
)

MOST_ENTRIES = 250_000
"""Matrices of up to this many entries are bounded as a whole."""
_SLACK = 1e-6  # of the bound, by which entries may pass it in the end


def hard_thresholding(loss: EntryLoss, settings: CompletionSettings, rng: np.random.Generator) -> Completion:
    """Projected gradient on matrices of at most `settings.rank`; the weight of the norm is not used."""
    pattern, step = SparsePattern(loss.shape, loss.rows, loss.columns), 1.0 / loss.curvature
    rank, trace = min(settings.rank, *loss.shape), settings.trace()
    found, block = _nothing(loss.shape), np.zeros((loss.shape[1], 0))

    def descend(ahead: LowRank) -> tuple[LowRank, float]:
        nonlocal found, block
        slopes = loss.value_and_gradient(ahead.entries(loss.rows, loss.columns))[1]
        moved = SparsePlusLowRank(pattern.matrix(-step * slopes), ahead)
        triples = leading_triples(moved, widened(block, min(rank + SPARE, *loss.shape), rng))
        found, block = _cut(triples, rank), triples.right
        here = LowRank.of(found)
        return here, loss.value_and_gradient(here.entries(loss.rows, loss.columns))[0]

    accelerated(
        descend,
        LowRank.zero(loss.shape),
        LowRank.beyond,
        settings.n_iterations,
        lambda objective, here: trace.done(objective, here.left, here.right),
    )
    return Completion(found, tuple(trace.objectives), tuple(trace.seconds))


def bounded(loss: EntryLoss, settings: CompletionSettings, rng: np.random.Generator) -> Completion:
    """The nuclear norm with entries between -`settings.bound` and `settings.bound`."""
    if settings.bound is None or settings.bound <= 0.0:
        raise ValueError(f"bound={settings.bound} must be a number above 0")
    loss, bound, step = _whole(loss), settings.bound, 1.0 / loss.curvature
    pattern = SparsePattern(loss.shape, loss.rows, loss.columns)
    ahead, low, block = np.zeros(len(loss.rows)), LowRank.zero(loss.shape), np.zeros((loss.shape[1], 0))
    values, found, trace = np.zeros(len(loss.rows)), _nothing(loss.shape), settings.trace()
    for _ in range(settings.n_iterations):
        moved = SparsePlusLowRank(pattern.matrix(ahead - values), low)
        found, block = shrunk_triples(moved, step * settings.weight, block, rng, settings.rank)
        low = LowRank.of(found)
        values = low.entries(loss.rows, loss.columns)
        value, slopes = loss.value_and_gradient(values)
        ahead = ahead + np.clip(2.0 * values - ahead - step * slopes, -bound, bound) - values
        objective = value + settings.weight * float(found.singular_values.sum())
        is_within = np.abs(values).max(initial=0.0) <= (1.0 + _SLACK) * bound
        if trace.done(objective, low.left, low.right) and is_within:
            break
    return Completion(found, tuple(trace.objectives), tuple(trace.seconds))


@dataclass(frozen=True, eq=False)
class _Whole:
    """A loss that looks at all entries of its matrix, and minds those that it did before."""

    inner: EntryLoss
    rows: Int64s
    columns: Int64s

    @property
    def shape(self) -> tuple[int, int]:
        return self.inner.shape

    @property
    def curvature(self) -> float:
        return self.inner.curvature

    def value_and_gradient(self, values: Floats) -> tuple[float, Floats]:
        n, slopes = len(self.inner.rows), np.zeros(len(values))
        value, slopes[:n] = self.inner.value_and_gradient(values[:n])
        return value, slopes


def _whole(loss: EntryLoss) -> EntryLoss:
    n_rows, n_columns = loss.shape
    if n_rows * n_columns > MOST_ENTRIES:
        return loss
    is_free = np.ones(n_rows * n_columns, bool)
    is_free[loss.rows * n_columns + loss.columns] = False
    rows, columns = np.divmod(np.flatnonzero(is_free), n_columns)
    return _Whole(loss, np.concatenate([loss.rows, rows]), np.concatenate([loss.columns, columns]))


def _nothing(shape: tuple[int, int]) -> Thresholded:
    return Thresholded(np.zeros((shape[0], 0)), np.zeros(0), np.zeros((shape[1], 0)))


def _cut(found: Thresholded, rank: int) -> Thresholded:
    return Thresholded(found.left[:, :rank], found.singular_values[:rank], found.right[:, :rank])


COMPLETERS: Mapping[str, Completer] = {
    "proximal": proximal,
    "frank-wolfe": frank_wolfe,
    "svt": singular_value_thresholding,
    "factored": by_factors,
    "alternating": alternating,
    "hard": hard_thresholding,
}
