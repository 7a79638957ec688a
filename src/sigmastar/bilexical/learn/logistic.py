"""Logistic regression: linear in sparse features, or bilinear in pairs of vectors with low-rank weights.

    linear    Pr(1 | x) = sigmoid(w . f(x)),                           penalty  |w|^2 / 2
    bilinear  Pr(1 | x) = sigmoid(offset + sum_b x_b^T W_b z_b),       penalty  sum_b |W_b|_*, l1 or l2

The nuclear norm goes by W_b = L_b R_b^T with the squared norms of L_b and R_b (see
`optimise.factored`): one smooth problem for all blocks together, solved by L-BFGS. l1 and l2 go by
accelerated proximal gradient on the blocks, one below the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, sparse, special

from sigmastar.optimise.proximal import L1, L2
from sigmastar.optimise.solvers import fista

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


def fit_matrices(
    blocks: Sequence[Block], targets: Targets, penalty: L1 | L2, n_iterations: int = 100
) -> list[Array]:
    """The weights W_b of each block under a penalty that looks at each weight on its own."""
    loss = _StackedLoss(blocks, np.where(targets, 1.0, -1.0))
    found = fista(loss, penalty, n_iterations, step=1.0 / len(targets), tolerance=1e-5)
    return loss.parts(found.matrix)


@dataclass(frozen=True, eq=False)
class _StackedLoss:
    """The logistic loss of blocks of equal width whose weights stand one below the other."""

    blocks: Sequence[Block]
    signs: Array

    @property
    def shape(self) -> tuple[int, int]:
        return sum(block.left.shape[1] for block in self.blocks), self.blocks[0].right.shape[1]

    def parts(self, matrix: Array) -> list[Array]:
        return np.split(matrix, np.cumsum([block.left.shape[1] for block in self.blocks])[:-1])

    def value(self, matrix: Array) -> float:
        return _logistic(self._scores(matrix), self.signs)[0]

    def value_and_gradient(self, matrix: Array) -> tuple[float, Array]:
        value, slope = _logistic(self._scores(matrix), self.signs)
        return value, np.vstack([(block.left * slope[:, None]).T @ block.right for block in self.blocks])

    def _scores(self, matrix: Array) -> Array:
        forms = zip(self.blocks, self.parts(matrix), strict=True)
        return np.asarray(sum(np.einsum("ij,ij->i", b.left @ weights, b.right) for b, weights in forms))


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
