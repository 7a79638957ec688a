"""k-means, soft labels and Ward's rule against plain loops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sigmastar.core.clusters import (
    cluster_groups,
    k_means,
    k_means_from,
    merged,
    nearest,
    rows_by_group,
    sampled_k_means,
    soft_labels,
)
from sigmastar.core.resources import limited_threads

seeds = st.integers(0, 10**6)


def slow_k_means(
    points: np.ndarray, weights: np.ndarray, uniforms: np.ndarray, first: int, n_steps: int
) -> np.ndarray:
    """k-means++ and Lloyd's steps, a line each."""
    centres: list[np.ndarray] = []
    for c, uniform in enumerate(uniforms):
        far = np.ones(len(points))
        if centres:
            far = np.min([((points - centre) ** 2).sum(axis=1) for centre in centres], axis=0)
        chances = np.cumsum(weights * far)
        if c > 0 and chances[-1] <= 1e-12 * weights.sum():
            break
        drawn = min(int(np.searchsorted(chances, uniform * chances[-1], side="right")), len(points) - 1)
        centres.append(points[first if c == 0 and first >= 0 else drawn])
    labels = np.zeros(len(points), dtype=int)
    for _ in range(n_steps):
        before = labels
        labels = np.array([int(np.argmin([((p - c) ** 2).sum() for c in centres])) for p in points])
        for c in range(len(centres)):
            if (labels == c).any():
                centres[c] = np.average(points[labels == c], axis=0, weights=weights[labels == c])
        if (labels == before).all():
            break
    return np.unique(labels, return_inverse=True)[1]


@given(seeds, st.integers(1, 5), st.booleans())
def test_k_means(seed: int, n_clusters: int, given_first: bool) -> None:
    rng = np.random.default_rng(seed)
    points, weights, uniforms = rng.standard_normal((15, 3)), rng.random(15) + 0.1, rng.random(n_clusters)
    first = int(np.argmax(weights)) if given_first else -1
    found = k_means_from(points, uniforms, weights, first if given_first else None, 4, 0.0)
    assert found.labels.tolist() == slow_k_means(points, weights, uniforms, first, 4).tolist()
    for c in range(found.n_clusters):
        mean = np.average(points[found.labels == c], axis=0, weights=weights[found.labels == c])
        np.testing.assert_allclose(found.centres[c], mean, atol=1e-12)


def test_no_more_clusters_than_distinct_points() -> None:
    points = np.repeat(np.eye(2), 5, axis=0)
    assert k_means(points, 6, np.random.default_rng(0)).n_clusters == 2


def test_one_point_one_cluster() -> None:
    found = k_means(np.ones((1, 2)), 3, np.random.default_rng(0))
    assert found.labels.tolist() == [0]


def test_few_changes_end_the_steps() -> None:
    rng = np.random.default_rng(0)
    points = rng.standard_normal((2000, 2))
    long, short = (k_means(points, 8, np.random.default_rng(1), n_steps=n) for n in (200, 1))
    assert (long.labels != short.labels).any()
    lax = k_means(points, 8, np.random.default_rng(1), n_steps=200, little_change=1.0)
    assert lax.n_clusters == 8


@given(seeds)
def test_nearest(seed: int) -> None:
    rng = np.random.default_rng(seed)
    points, centres = rng.standard_normal((12, 3)), rng.standard_normal((4, 3))
    distances = ((points[:, None] - centres[None]) ** 2).sum(axis=2)
    assert nearest(points, centres).tolist() == distances.argmin(axis=1).tolist()


def test_a_sample_finds_the_clusters_of_all() -> None:
    rng = np.random.default_rng(0)
    points = np.concatenate([rng.standard_normal((500, 2)) + 20 * k for k in range(3)])
    labels = sampled_k_means(points, 3, rng, 100).labels
    assert [len(np.unique(part)) for part in np.split(labels, 3)] == [1, 1, 1]
    assert len(np.unique(labels)) == 3


@given(seeds)
def test_soft_labels_prefer_the_own_cluster(seed: int) -> None:
    rng = np.random.default_rng(seed)
    points, weights = rng.standard_normal((20, 2)), rng.random(20) + 0.1
    found = k_means(points, 3, rng, weights=weights, n_steps=50, little_change=0.0)
    shares = soft_labels(points, found, 5, weights=weights)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    assert shares.argmax(axis=1).tolist() == nearest(points, found.centres).tolist()


def slow_ward(points: np.ndarray, weights: np.ndarray, n_groups: int) -> list[set[int]]:
    groups = [{k} for k in range(len(points))]

    def mean(group: set[int]) -> np.ndarray:
        at = sorted(group)
        return np.average(points[at], axis=0, weights=weights[at])

    def cost(a: set[int], b: set[int]) -> float:
        heavy, light = weights[sorted(a)].sum(), weights[sorted(b)].sum()
        return float(((mean(a) - mean(b)) ** 2).sum() * heavy * light / (heavy + light))

    while len(groups) > n_groups:
        pairs = [(cost(a, b), i, j) for i, a in enumerate(groups) for j, b in enumerate(groups) if i < j]
        _, i, j = min(pairs)
        groups[i] |= groups.pop(j)
    return groups


@given(seeds, st.integers(1, 6))
def test_ward(seed: int, n_groups: int) -> None:
    rng = np.random.default_rng(seed)
    points, weights = rng.standard_normal((8, 2)), rng.random(8) + 0.1
    found = merged(points, weights, n_groups)
    assert [set(np.flatnonzero(found == g).tolist()) for g in range(n_groups)] == slow_ward(
        points, weights, n_groups
    )


def test_as_many_groups_as_points() -> None:
    assert merged(np.eye(3), np.ones(3), 5).tolist() == [0, 1, 2]


@pytest.mark.parametrize("n_threads", [1, 2])
def test_groups_side_by_side(n_threads: int) -> None:
    rng = np.random.default_rng(0)
    groups, points = rng.integers(0, 4, 200), rng.standard_normal((200, 2))
    sizes = np.array([3, 1, 2, 0])
    with limited_threads(n_threads):
        found = cluster_groups(groups, sizes, lambda _, rows: points[rows], np.random.default_rng(5))
    uniforms = [np.random.default_rng(5).random(6)[low:high] for low, high in ((0, 3), (3, 4), (4, 6))]
    for g, rows in enumerate(rows_by_group(groups, 4)):
        wanted = k_means_from(points[rows], uniforms[g]).labels if sizes[g] > 1 else np.zeros(len(rows))
        assert found[rows].tolist() == wanted.tolist()
