"""Penalties on a matrix and their proximal operators.

    prox_{t r}(Z) = argmin_W  1/2 |W - Z|^2 + t r(W)

    nuclear  r(W) = sum of singular values   singular values shrink by t (singular value thresholding)
    l1       r(W) = sum |W_ij|               entries shrink by t
    l2       r(W) = 1/2 sum W_ij^2           everything is divided by 1 + t

Section 3.2 of Madhyastha et al. (2014); Cai, Candes and Shen (2010) for the nuclear norm. Nothing here
depends on what the matrix stands for.

Beside them: non-negative least squares, many right-hand sides at once, and the extreme points of a cloud.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy import linalg

from sigmastar.core.arrays import Floats, Indices


class Penalty(Protocol):
    """A convex function of a matrix that proximal methods can handle; `weight` is part of it."""

    @property
    def weight(self) -> float: ...

    def value(self, matrix: Floats) -> float: ...

    def prox(self, matrix: Floats, step: float) -> tuple[Floats, float]:
        """The proximal point, and the penalty there."""
        ...


def soft_threshold(values: Floats, threshold: float) -> Floats:
    """Shrink towards zero by `threshold`; what is smaller becomes zero."""
    return values - np.clip(values, -threshold, threshold)


@dataclass(frozen=True)
class Thresholded:
    """A matrix after singular value thresholding, as the factors that are left."""

    left: Floats
    singular_values: Floats
    right: Floats

    @property
    def matrix(self) -> Floats:
        return (self.left * self.singular_values) @ self.right.T

    @property
    def rank(self) -> int:
        return len(self.singular_values)


def singular_value_threshold(matrix: Floats, threshold: float) -> Thresholded:
    """Shrink the singular values by `threshold` and keep those above zero."""
    left, values, right = linalg.svd(matrix, full_matrices=False)
    kept = values > threshold
    return Thresholded(left[:, kept], values[kept] - threshold, right[kept].T)


@dataclass(frozen=True)
class NuclearNorm:
    """weight x the sum of the singular values: few of them survive."""

    weight: float

    def value(self, matrix: Floats) -> float:
        return self.weight * float(linalg.svdvals(matrix).sum())

    def prox(self, matrix: Floats, step: float) -> tuple[Floats, float]:
        found = singular_value_threshold(matrix, step * self.weight)
        return found.matrix, self.weight * float(found.singular_values.sum())


@dataclass(frozen=True)
class L1:
    """weight x the sum of absolute entries: few of them survive."""

    weight: float

    def value(self, matrix: Floats) -> float:
        return self.weight * float(np.abs(matrix).sum())

    def prox(self, matrix: Floats, step: float) -> tuple[Floats, float]:
        found = soft_threshold(matrix, step * self.weight)
        return found, self.value(found)


@dataclass(frozen=True)
class L2:
    """weight / 2 x the sum of squared entries."""

    weight: float

    def value(self, matrix: Floats) -> float:
        return 0.5 * self.weight * float(np.vdot(matrix, matrix))

    def prox(self, matrix: Floats, step: float) -> tuple[Floats, float]:
        found = matrix / (1.0 + step * self.weight)
        return found, self.value(found)


PENALTIES: dict[str, type[NuclearNorm] | type[L1] | type[L2]] = {"nuclear": NuclearNorm, "l1": L1, "l2": L2}


def keep_largest(matrix: Floats, n_weights: int) -> Floats:
    """The matrix with all but its `n_weights` largest entries set to zero."""
    if n_weights >= matrix.size:
        return matrix
    limit = np.partition(np.abs(matrix), matrix.size - n_weights, axis=None)[matrix.size - n_weights]
    return np.where(np.abs(matrix) >= limit, matrix, 0.0)


def nonnegative_least_squares(atoms: Floats, targets: Floats, n_steps: int = 150) -> Floats:
    """Rows t >= 0 with `t @ atoms` close to each target: accelerated projected gradient with restart.

    One Gram matrix serves all targets, so the cost per step is targets x atoms^2.
    """
    gram, aims = atoms @ atoms.T, targets @ atoms.T
    step = 1.0 / max(float(np.linalg.norm(gram, 2)), 1e-300)
    current = np.maximum(aims, 0.0) * step
    leading, momentum = current, 1.0
    for _ in range(n_steps):
        following = np.maximum(leading - step * (leading @ gram - aims), 0.0)
        if np.vdot(leading - following, following - current) > 0:  # uphill: without momentum
            momentum = 1.0
        faster = 0.5 + np.sqrt(0.25 + momentum * momentum)
        leading = following + (momentum - 1.0) / faster * (following - current)
        current, momentum = following, faster
    return current


def successive_projection(points: Floats, n_points: int) -> Indices:
    """Rows of `points` that span its cone: each time the longest one, orthogonal to those taken so far."""
    residual = points.copy()
    chosen: list[int] = []
    for _ in range(n_points):
        lengths = np.einsum("ij,ij->i", residual, residual)
        pick = int(np.argmax(lengths))
        if lengths[pick] <= 1e-18 * max(np.einsum("ij,ij->i", points, points).max(), 1e-300):
            break
        chosen.append(pick)
        direction = residual[pick] / np.sqrt(lengths[pick])
        residual = residual - np.outer(residual @ direction, direction)
    return np.array(chosen, dtype=np.intp)
