"""The compiled part of `clusters`: seeding, Lloyd's steps, nearest centres, Ward's rule."""

from __future__ import annotations

import numpy as np

from sigmastar.core.arrays import Floats, Int64s
from sigmastar.core.jit import fast_kernel, kernel, part

_NOTHING = 1e-12  # of the weight: what is left where all points lie on centres


@fast_kernel
def seed_centres(points: Floats, weights: Floats, uniforms: Floats, first: int) -> Floats:
    """Centres far apart (k-means++), at most one per uniform number; the first is a point, or -1: drawn."""
    n, d = points.shape
    centres, distances = np.zeros((len(uniforms), d)), np.full(n, np.inf)
    chances, chosen = weights.copy(), first
    for c in range(len(uniforms)):
        if c > 0 or first < 0:
            total, running, chosen = chances.sum(), 0.0, n - 1
            if c > 0 and total <= _NOTHING * weights.sum():
                return centres[:c]
            for i in range(n):
                running += chances[i]
                if running > uniforms[c] * total:
                    chosen = i
                    break
        for j in range(d):  # a whole row at once takes seconds to compile
            centres[c, j] = points[chosen, j]
        for i in range(n):
            distance = 0.0
            for j in range(d):
                distance += (points[i, j] - centres[c, j]) ** 2
            distances[i] = min(distances[i], distance)
            chances[i] = weights[i] * distances[i]
    return centres


@part
def _nearest(point: Floats, centres: Floats) -> int:
    best, at = np.inf, 0
    for c in range(len(centres)):
        distance = 0.0
        for j in range(len(point)):
            distance += (point[j] - centres[c, j]) ** 2
        if distance < best:
            best, at = distance, c
    return at


@fast_kernel
def lloyd(
    points: Floats, weights: Floats, start: Floats, n_steps: int, little_change: float
) -> tuple[Int64s, Floats]:
    """The cluster of every point, and the means of the clusters; empty ones stay where they were."""
    n, d = points.shape
    centres, labels = start.copy(), np.zeros(n, np.int64)
    for _ in range(n_steps):
        means, sizes, changed = np.zeros_like(centres), np.zeros(len(centres)), 0
        for i in range(n):
            at = _nearest(points[i], centres)
            changed += labels[i] != at
            labels[i] = at
            sizes[at] += weights[i]
            for j in range(d):
                means[at, j] += weights[i] * points[i, j]
        for c in range(len(centres)):
            if sizes[c] > 0.0:
                for j in range(d):
                    centres[c, j] = means[c, j] / sizes[c]
        if changed < little_change * n or changed == 0:
            break
    return labels, centres


@fast_kernel
def assign(points: Floats, centres: Floats) -> Int64s:
    """The nearest centre of every point."""
    labels = np.zeros(len(points), np.int64)
    for i in range(len(points)):
        labels[i] = _nearest(points[i], centres)
    return labels


@kernel
def _join_cost(means: Floats, masses: Floats, a: int, b: int) -> float:
    distance = 0.0
    for j in range(means.shape[1]):
        distance += (means[a, j] - means[b, j]) ** 2
    return float(distance * masses[a] * masses[b] / (masses[a] + masses[b]))


@kernel
def ward(points: Floats, weights: Floats, n_groups: int) -> Int64s:
    """The first point of the group of every point, once so few groups are left."""
    n = len(points)
    means, masses, group = points.copy(), weights.copy(), np.arange(n)
    costs = np.full((n, n), np.inf)
    for a in range(n):
        for b in range(a + 1, n):
            costs[a, b] = _join_cost(means, masses, a, b)
    for _ in range(n - n_groups):
        at = int(np.argmin(costs))
        a, b = at // n, at % n
        means[a] = (means[a] * masses[a] + means[b] * masses[b]) / (masses[a] + masses[b])
        masses[a] += masses[b]
        for i in range(n):
            if group[i] == b:
                group[i] = a
        costs[b, :], costs[:, b] = np.inf, np.inf
        for c in range(n):
            if c != a and group[c] == c:
                costs[min(a, c), max(a, c)] = _join_cost(means, masses, min(a, c), max(a, c))
    return group
