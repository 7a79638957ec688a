"""Non-negative least squares, many right-hand sides at once, and the extreme points of a cloud."""

from __future__ import annotations

import numpy as np

from sigmastar.core.arrays import Floats, Indices


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
