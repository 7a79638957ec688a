"""Log-scores of several models combined log-linearly, with weights from held-out data.

    p(y | x) = exp(w . s(x, y)) / sum over proposals y' of exp(w . s(x, y'))
    max over w >= 0   sum over held-out x of log sum over right y of p(y | x)  -  ridge / 2 |w - 1 / n|^2

with s the log-scores of the n models. With one right proposal per x the problem is concave. Two proposals,
one of them with scores of zero, and weights of any sign are logistic regression (`fit_votes`). Where accuracy
counts and not likelihood, a grid of few weights is tried (`best_on_grid`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import optimize, sparse

from sigmastar.core.arrays import Array, Flags, Floats, Int64s

RIDGE = 1.0
LITTLE = 0.03  # of the weight
_ITERATIONS = 15_000  # at most


@dataclass(frozen=True, eq=False)
class _Proposals:
    """The proposals of owners that have a right one, those of one owner together."""

    scores: Floats
    starts: Int64s
    right: Flags

    @classmethod
    def of(cls, scores: Floats, owner: Array, right: Flags) -> _Proposals:
        kept = np.isin(owner, np.unique(owner[right]))
        owner = owner[kept]
        starts = np.flatnonzero(np.append(True, np.diff(owner) != 0)) if len(owner) else np.zeros(0, np.int64)
        return cls(scores[kept], starts.astype(np.int64), right[kept])

    def loss(self, weights: Floats) -> tuple[float, Floats]:
        """-log of the share of the right proposals, summed over owners, and its slope."""
        sizes = np.diff(np.append(self.starts, len(self.scores)))
        logits = self.scores @ weights
        logits -= np.repeat(np.maximum.reduceat(logits, self.starts), sizes)
        mass = np.exp(logits)
        good = np.where(self.right, mass, 0.0)
        totals, goods = np.add.reduceat(mass, self.starts), np.add.reduceat(good, self.starts) + 1e-300
        slopes = mass / np.repeat(totals, sizes) - good / np.repeat(goods, sizes)
        return float(np.log(totals / goods).sum()), slopes @ self.scores


def fit_weights(scores: Floats, owner: Array, right: Flags, ridge: float = RIDGE) -> Floats:
    """The weights of models that score the same proposals.

    Parameters
    ----------
    scores
        Proposals x models: log-scores.
    owner
        Whose proposal each is, from 0; proposals of one owner stand together.
    right
        Which proposals are right; owners without a right one are left out.
    ridge
        Strength of the pull to equal weights that sum to one.

    Returns
    -------
    Floats
        A weight per model, none below zero.

    Examples
    --------
    >>> scores = np.array([[0.0, -3.0], [-1.0, 0.0]] * 20)
    >>> owner, right = np.repeat(np.arange(20), 2), np.array([False, True] * 20)
    >>> weights = fit_weights(scores, owner, right)
    >>> bool(weights[1] > weights[0])
    True
    """
    n_models = scores.shape[1]
    usual = np.full(n_models, 1.0 / n_models)
    proposals = _Proposals.of(scores, owner, right)
    if not len(proposals.starts):
        return usual

    def loss(weights: Floats) -> tuple[float, Floats]:
        value, slope = proposals.loss(weights)
        away = weights - usual
        return value + ridge / 2 * float(away @ away), slope + ridge * away

    return _minimized(loss, usual, [(0.0, None)] * n_models, _ITERATIONS)


def fit_votes(
    scores: Floats | sparse.csr_array, targets: Flags, ridge: float, n_iterations: int = 100
) -> Floats:
    """Weights under which the sign of the sum of votes separates yes from no: logistic regression.

    Parameters
    ----------
    scores
        Items x models: log-odds of yes; or items x features, dense or sparse.
    targets
        Which items are a yes.
    ridge
        Strength of the pull to zero.
    n_iterations
        Of L-BFGS, at most.

    Returns
    -------
    Floats
        A weight per model, of any sign.
    """
    signs = np.where(targets, 1.0, -1.0)

    def loss(weights: Floats) -> tuple[float, Floats]:
        margins = signs * (scores @ weights)
        slope = -(signs / (1.0 + np.exp(np.minimum(margins, 700.0)))) @ scores
        value = float(np.logaddexp(0.0, -margins).sum() + ridge / 2 * weights @ weights)
        return value, slope + ridge * weights

    n_models = scores.shape[1]
    return _minimized(loss, np.zeros(n_models), [(None, None)] * n_models, n_iterations)


def _minimized(loss: Any, start: Floats, bounds: Any, n_iterations: int) -> Floats:
    found = optimize.minimize(
        loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": n_iterations}
    )
    return np.asarray(found.x, dtype=np.float64)


def worth_keeping(weights: Floats) -> Flags:
    """Models with more than a little of the weight.

    Examples
    --------
    >>> worth_keeping(np.array([0.5, 0.001, 0.3])).tolist()
    [True, False, True]
    """
    return np.asarray(weights > LITTLE * weights.sum())


def best_on_grid(grid: Sequence[float], score: Callable[[float], float], smooth: bool = True) -> float:
    """The number of a grid with the highest score.

    Parameters
    ----------
    grid
        Numbers to try, in order.
    score
        Larger is better.
    smooth
        Add half the score of either neighbour: the peak of one number alone is chance.

    Returns
    -------
    float
        The first of the best.

    Examples
    --------
    >>> best_on_grid([0.0, 0.5, 1.0, 2.0], lambda ratio: -abs(ratio - 0.6), smooth=False)
    0.5
    """
    scores = np.array([score(number) for number in grid])
    if smooth:
        padded = np.concatenate([scores[:1], scores, scores[-1:]])
        scores = padded[:-2] + 2 * padded[1:-1] + padded[2:]
    return grid[int(np.argmax(scores))]
