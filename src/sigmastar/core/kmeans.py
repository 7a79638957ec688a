"""k-means: Lloyd's steps from a start that spreads out (k-means++)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sigmastar.core.jit import fast_kernel

Array = NDArray[np.float64]


@fast_kernel
def cluster(points: Array, n_clusters: int, uniforms: Array, n_steps: int) -> NDArray[np.int64]:
    """The cluster of every point; `uniforms` are `n_clusters` random numbers for the start."""
    n, d = points.shape
    centres, nearest = np.zeros((n_clusters, d)), np.full(n, np.inf)
    chosen = min(int(uniforms[0] * n), n - 1)
    for c in range(n_clusters):
        if c > 0:
            total, running, chosen = 0.0, 0.0, 0
            for i in range(n):
                total += nearest[i]
            target = uniforms[c] * total
            for i in range(n):
                running += nearest[i]
                if running >= target:
                    chosen = i
                    break
        for j in range(d):
            centres[c, j] = points[chosen, j]
        for i in range(n):
            distance = 0.0
            for j in range(d):
                distance += (points[i, j] - centres[c, j]) ** 2
            nearest[i] = min(nearest[i], distance)
    label = np.zeros(n, np.int64)
    for _ in range(n_steps):
        changed = 0
        for i in range(n):
            best, at = np.inf, 0
            for c in range(n_clusters):
                distance = 0.0
                for j in range(d):
                    distance += (points[i, j] - centres[c, j]) ** 2
                if distance < best:
                    best, at = distance, c
            changed += label[i] != at
            label[i] = at
        sizes = np.zeros(n_clusters)
        means = np.zeros((n_clusters, d))
        for i in range(n):
            sizes[label[i]] += 1
            for j in range(d):
                means[label[i], j] += points[i, j]
        for c in range(n_clusters):
            if sizes[c] > 0:
                for j in range(d):
                    centres[c, j] = means[c, j] / sizes[c]
        if changed * 500 < n:
            break
    return label
