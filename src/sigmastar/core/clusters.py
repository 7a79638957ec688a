"""Points to states: k-means, soft labels, and merging by Ward's rule.

    k-means      Lloyd's steps from centres drawn far apart: P(i) ~ weight_i * distance_i^2 to those before
    soft labels  share of state z in point i ~ exp(-sharpness (d(i, z) - min d(i, .)) / mean d)
    Ward         join the two groups whose joining costs least: |m_a - m_b|^2 w_a w_b / (w_a + w_b)

Randomness goes in as uniform numbers, so that many groups can be clustered side by side with the same result.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sigmastar.core.arrays import Array, Floats, Int64s
from sigmastar.core.engines import spread_each
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


N_STEPS = 15
LITTLE_CHANGE = 1 / 500
"""Of the points: where fewer change their cluster, the steps end."""


@dataclass(frozen=True, eq=False)
class Clusters:
    """The cluster of every point, numbered without gaps, and the weighted mean of each cluster."""

    labels: Int64s
    centres: Floats

    @property
    def n_clusters(self) -> int:
        return len(self.centres)


def k_means(
    points: Array,
    n_clusters: int,
    rng: np.random.Generator,
    *,
    weights: Array | None = None,
    first: int | None = None,
    n_steps: int = N_STEPS,
    little_change: float = LITTLE_CHANGE,
) -> Clusters:
    """Clusters of points.

    Parameters
    ----------
    points
        Points x dimensions.
    n_clusters
        At most so many: points that are all equal to centres leave clusters empty.
    rng
        The source of chance: a uniform number is drawn per centre that is not given.
    weights
        Of the points; None: all one.
    first
        The point that is the first centre, such as the heaviest; None: drawn.
    n_steps
        Of Lloyd's algorithm, at most.
    little_change
        The share of points below which changes end the steps; 0: they end where nothing changes.

    Returns
    -------
    Clusters
        Labels without gaps, and centres.

    Examples
    --------
    >>> points = np.array([[0.0], [0.1], [5.0], [5.1]])
    >>> labels = k_means(points, 2, np.random.default_rng(0)).labels
    >>> bool(labels[0] == labels[1] != labels[2] == labels[3])
    True
    """
    uniforms = rng.random(n_clusters) if first is None else np.append(0.0, rng.random(n_clusters - 1))
    return k_means_from(points, uniforms, weights, first, n_steps, little_change)


def k_means_from(
    points: Array,
    uniforms: Floats,
    weights: Array | None = None,
    first: int | None = None,
    n_steps: int = N_STEPS,
    little_change: float = LITTLE_CHANGE,
) -> Clusters:
    """`k_means` from uniform numbers, one per cluster, that were drawn before."""
    rows = np.ascontiguousarray(points, dtype=np.float64)
    mass = np.ones(len(rows)) if weights is None else np.ascontiguousarray(weights, dtype=np.float64)
    start = seed_centres(rows, mass, np.asarray(uniforms), -1 if first is None else first)
    labels, centres = lloyd(rows, mass, start, n_steps, little_change)
    used = np.bincount(labels, minlength=len(centres)) > 0
    return Clusters((np.cumsum(used) - 1)[labels], centres[used])


def sampled_k_means(points: Array, n_clusters: int, rng: np.random.Generator, most_points: int) -> Clusters:
    """k-means on at most `most_points` of the points, and the nearest centre for all of them.

    Parameters
    ----------
    points
        Points x dimensions.
    n_clusters
        At most so many.
    rng
        The source of chance.
    most_points
        A sample of so many shows where the clusters are.

    Returns
    -------
    Clusters
        Of all points; centres are means of the sample.
    """
    if len(points) <= most_points:
        sample = points
    else:
        sample = points[rng.choice(len(points), most_points, replace=False)]
    found = k_means(sample, n_clusters, rng)
    labels = nearest(points, found.centres)
    used = np.bincount(labels, minlength=found.n_clusters) > 0
    return Clusters((np.cumsum(used) - 1)[labels], found.centres[used])


def nearest(points: Array, centres: Floats) -> Int64s:
    """The number of the nearest centre of every point."""
    rows = np.ascontiguousarray(points, dtype=np.float64)
    return assign(rows, np.ascontiguousarray(centres, dtype=np.float64))


def soft_labels(
    points: Floats,
    clusters: Clusters,
    n_states: int,
    *,
    weights: Floats | None = None,
    sharpness: float = 1.0,
    floor: float = 1e-3,
) -> Floats:
    """Shares of each state in every point: closer centres have more.

    Parameters
    ----------
    points
        Points x dimensions.
    clusters
        Of the points.
    n_states
        Columns of the result; those beyond the clusters that were found get a share of `floor`.
    weights
        Of the points; None: all one.
    sharpness
        Large: nearly hard labels.
    floor
        Of states without a centre, before the shares are normalized.

    Returns
    -------
    Floats
        Points x states; rows sum to one.
    """
    centres = clusters.centres
    distances = ((points**2).sum(axis=1)[:, None] - 2.0 * points @ centres.T) + (centres**2).sum(axis=1)
    spread = np.average(distances[np.arange(len(points)), clusters.labels], weights=weights)
    shares = np.exp(-sharpness * (distances - distances.min(axis=1, keepdims=True)) / max(spread, 1e-12))
    shares = np.hstack([shares, np.full((len(points), n_states - clusters.n_clusters), floor)])
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))


def merged(points: Array, weights: Array, n_groups: int) -> Int64s:
    """Groups of points by Ward's rule: the pair whose joining costs least is joined, until few are left.

    Parameters
    ----------
    points
        Points x dimensions; meant for hundreds of points at most.
    weights
        Of the points.
    n_groups
        To be left.

    Returns
    -------
    Int64s
        The group of every point, numbered from 0 in the order of their first points.
    """
    rows = np.ascontiguousarray(points, dtype=np.float64)
    labels = ward(rows, np.asarray(weights, dtype=np.float64) + 1e-12, n_groups)
    return np.unique(labels, return_inverse=True)[1].astype(np.int64)


def rows_by_group(groups: Array, n_groups: int) -> list[Int64s]:
    """The places of the members of each group, in order."""
    order = np.argsort(groups, kind="stable")
    ends = np.searchsorted(groups[order], np.arange(n_groups + 1))
    return [order[ends[g] : ends[g + 1]] for g in range(n_groups)]


def cluster_groups(
    groups: Array,
    n_clusters: Array,
    points_of: Callable[[int, Int64s], Floats],
    rng: np.random.Generator,
) -> Int64s:
    """Every group clustered for itself, side by side: the same result for any number of threads and workers.

    Parameters
    ----------
    groups
        The group of every point, from 0.
    n_clusters
        Of each group.
    points_of
        From the number of a group and the places of its members to their points.
    rng
        The source of chance: as many uniform numbers as clusters are drawn for each group, in order.

    Returns
    -------
    Int64s
        The cluster of every point within its group; 0 in groups of one cluster.
    """
    members, labels = rows_by_group(groups, len(n_clusters)), np.zeros(len(groups), dtype=np.int64)
    uniforms = [rng.random(int(k)) for k in n_clusters]

    def given(group: int) -> tuple[Floats, Floats]:
        return points_of(group, members[group]), uniforms[group]

    def keep(group: int, found: Int64s) -> None:
        labels[members[group]] = found

    places = [g for g, k in enumerate(n_clusters) if k > 1 and len(members[g])]
    spread_each(places, given, _labels, keep)
    return labels


def _labels(given: tuple[Floats, Floats]) -> Int64s:
    return k_means_from(*given).labels
