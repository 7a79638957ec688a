"""Weights of models that judge the same proposals, from held-out inputs.

    p(y | x) = exp(w . s(x, y)) / sum over proposals y' of exp(w . s(x, y'))
    max over w >= 0   sum over held-out x of log sum over right y of p(y | x)  -  ridge / 2 |w - w0|^2

with s the log-scores of the models and w0 equal weights. Weights do not carry over between data sets:
each corpus gives its own. A model whose weight is next to nothing may be left out: `worth_keeping`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

Array = NDArray[np.float64]
Longs = NDArray[np.int64]

RIDGE = 1.0
LITTLE = 0.03  # of the weight


def fit_weights(scores: Array, owner: Longs, right: NDArray[np.bool_], ridge: float = RIDGE) -> Array:
    """The weights of the columns of `scores`; proposals of one owner stand together.

    >>> scores = np.array([[0.0, -3.0], [-1.0, 0.0]] * 20)
    >>> owner, right = np.repeat(np.arange(20), 2), np.array([False, True] * 20)
    >>> weights = fit_weights(scores, owner, right)
    >>> bool(weights[1] > weights[0])
    True
    """
    n_models = scores.shape[1]
    equal = np.full(n_models, 1.0 / n_models)
    kept = np.isin(owner, np.unique(owner[right]))  # where no proposal is right there is nothing to learn
    scores, owner, right = scores[kept], owner[kept], right[kept]
    if not len(owner):
        return equal
    starts = np.flatnonzero(np.append(True, np.diff(owner) > 0))
    sizes = np.diff(np.append(starts, len(owner)))

    def loss(weights: Array) -> tuple[float, Array]:
        logits = scores @ weights
        logits -= np.repeat(np.maximum.reduceat(logits, starts), sizes)
        mass = np.exp(logits)
        good = np.where(right, mass, 0.0)
        totals, goods = np.add.reduceat(mass, starts), np.add.reduceat(good, starts) + 1e-300
        slope = (good / np.repeat(goods, sizes) - mass / np.repeat(totals, sizes)) @ scores
        away = weights - equal
        return float(np.log(totals / goods).sum() + ridge / 2 * away @ away), ridge * away - slope

    found = optimize.minimize(loss, equal, jac=True, method="L-BFGS-B", bounds=[(0.0, None)] * n_models)
    return np.asarray(found.x, dtype=np.float64)


def worth_keeping(weights: Array) -> NDArray[np.bool_]:
    """Models with more than a little of the weight.

    >>> worth_keeping(np.array([0.5, 0.001, 0.3])).tolist()
    [True, False, True]
    """
    return np.asarray(weights > LITTLE * weights.sum())
