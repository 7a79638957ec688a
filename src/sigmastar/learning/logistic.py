"""Logistic regression: linear in sparse features, or bilinear in pairs of vectors with low-rank weights.

    linear    Pr(1 | x) = sigmoid(w . f(x)),                           penalty  |w|^2 / 2
    bilinear  Pr(1 | x) = sigmoid(offset + sum_b x_b^T W_b z_b),       penalty  sum_b |W_b|_*, l1 or l2

The nuclear norm goes by W_b = L_b R_b^T with the squared norms of L_b and R_b (see
`factorization.factored`): one smooth problem for all blocks together, solved by L-BFGS.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, sparse, special

Array = NDArray[np.float64]
Targets = NDArray[np.bool_]


def fit_linear(
    features: sparse.csr_array | Array,
    targets: Targets,
    weight: float,
    n_iterations: int = 100,
    offset: Array | float = 0.0,
) -> Array:
    """Weights of the features under weight / 2 |w|^2, a sum over items."""
    signs = np.where(targets, 1.0, -1.0)
    transposed = features.T.tocsr() if isinstance(features, sparse.csr_array) else features.T

    def objective(w: Array) -> tuple[float, Array]:
        value, slope = _logistic(np.asarray(features @ w) + offset, signs)
        return value + 0.5 * weight * float(w @ w), np.asarray(transposed @ slope) + weight * w

    return _minimised(objective, np.zeros(features.shape[1]), n_iterations)


@dataclass(frozen=True, eq=False)
class Block:
    """One bilinear form: a row of `left` and of `right` an item."""

    left: Array
    right: Array


def fit_low_rank(
    blocks: Sequence[Block],
    targets: Targets,
    weight: float,
    rank: int,
    rng: np.random.Generator,
    n_iterations: int = 100,
    scale: float = 0.1,
) -> list[tuple[Array, Array]]:
    """Factors (L_b, R_b) of the weights of each block under weight x the sum of nuclear norms."""
    signs = np.where(targets, 1.0, -1.0)
    shapes = [(side.shape[1], rank) for block in blocks for side in (block.left, block.right)]
    sizes = [rows * columns for rows, columns in shapes]
    cuts = np.cumsum(sizes)[:-1]

    def parts(flat: Array) -> list[Array]:
        return [piece.reshape(shape) for piece, shape in zip(np.split(flat, cuts), shapes, strict=True)]

    def objective(flat: Array) -> tuple[float, Array]:
        factors = parts(flat)
        projected = [
            (block.left @ factors[2 * b], block.right @ factors[2 * b + 1]) for b, block in enumerate(blocks)
        ]
        value, slope = _logistic(sum(np.einsum("ik,ik->i", *pair) for pair in projected), signs)
        gradients = []
        for block, (left, right) in zip(blocks, projected, strict=True):
            gradients.append(block.left.T @ (right * slope[:, None]))
            gradients.append(block.right.T @ (left * slope[:, None]))
        gradient = np.concatenate([g.ravel() for g in gradients]) + weight * flat
        return value + 0.5 * weight * float(flat @ flat), gradient

    start = rng.standard_normal(sum(sizes)) * scale
    found = parts(_minimised(objective, start, n_iterations))
    return list(zip(found[::2], found[1::2], strict=True))


def _logistic(scores: Any, signs: Array) -> tuple[float, Array]:
    """The sum of log(1 + exp(-s y)), and its derivative in the scores."""
    margins = signs * scores
    return float(-special.log_expit(margins).sum()), -signs * special.expit(-margins)


def _minimised(objective: Any, start: Array, n_iterations: int) -> Array:
    options = {"maxiter": n_iterations, "maxcor": 10}
    found = optimize.minimize(  # type: ignore[call-overload]
        objective, start, jac=True, method="L-BFGS-B", options=options
    )
    return np.asarray(found.x)
