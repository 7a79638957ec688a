"""Two views of every occurrence, correlated: the first half of states from two views.

    C = X^T W Y                               how often features of both views occur together
    M = A C B ~ U S V^T                       A, B = 1 / sqrt(count + damping) of each feature: correlations
    sqrt(T) A U S^e,  sqrt(T) B V S^e         where features lie; T is the weight of all occurrences
    point of an occurrence                    the sum over its features, of one view or of both

This is canonical correlation analysis with the covariances taken as diagonal. Without damping the first pair
is constant, of correlation one, and carries no information. C is given, or never made: products with it are
two passes over the occurrences (`correlate_views`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from scipy import linalg, sparse

from sigmastar.core.arrays import Array, Floats
from sigmastar.core.factors import Factors, Matrix, Solver, factorize_up_to

Scale = Callable[[Floats], Floats]
"""From the counts of features to what their indicators are multiplied by."""

_EXTRA, _STEPS = 8, 2  # columns and rounds that random projection needs beyond the dimensions
_LEAST = 1e-9  # of the largest correlation
_ONE = 1e-9  # correlations this close to 1 are taken for it


class View(Protocol):
    """Features of occurrences, as products with the matrix X of occurrences x features."""

    @property
    def n_features(self) -> int: ...

    def times(self, matrix: Floats) -> Floats:
        """X @ matrix."""

    def transposed_times(self, matrix: Floats) -> Floats:
        """X^T @ matrix."""


@dataclass(frozen=True, eq=False)
class Correlations:
    """Singular triples of scaled counts, the scales, and the weight of all occurrences."""

    factors: Factors
    left_scale: Floats
    right_scale: Floats
    total: float = 1.0

    @property
    def values(self) -> Floats:
        """The correlations, largest first."""
        return self.factors.singular_values

    def left(self, exponent: float = 0.0) -> Floats:
        """Where the features of the first view lie, with correlations to a power: features x dimensions."""
        return self._placed(self.factors.left, self.left_scale, exponent)

    def right(self, exponent: float = 0.0) -> Floats:
        """The same of the second view."""
        return self._placed(self.factors.right, self.right_scale, exponent)

    def without_constant(self) -> Correlations:
        """All but the first pair, which is constant where counts are not damped."""
        whole = self.factors
        rest = Factors(whole.left[:, 1:], whole.singular_values[1:], whole.right[:, 1:])
        return replace(self, factors=rest)

    def relative(self) -> Correlations:
        """With values divided by the largest, for features that occur several at a time."""
        whole = self.factors
        values = whole.singular_values / whole.singular_values[0]
        return replace(self, factors=Factors(whole.left, values, whole.right))

    def _placed(self, vectors: Floats, scale: Floats, exponent: float) -> Floats:
        powers = self.values**exponent if exponent else np.ones(len(self.values))
        return np.asarray(vectors * (powers * np.sqrt(self.total)) * scale[:, None])


def damped(damping: float = 0.0, least: float = 0.0) -> Scale:
    """1 / sqrt(count + damping), and 0 for features that occur less often than `least`, or never.

    Examples
    --------
    >>> damped(5.0, 2.0)(np.array([0.0, 1.0, 4.0, 20.0])).round(3).tolist()
    [0.0, 0.0, 0.333, 0.2]
    """

    def scale(counts: Floats) -> Floats:
        used = (counts > 0) & (counts >= least)
        return np.where(used, 1.0 / np.sqrt(np.where(used, counts + damping, 1.0)), 0.0)

    return scale


UNDAMPED = damped()


def as_given(counts: Floats) -> Floats:
    """The scale of features that are scaled already."""
    return np.ones(len(counts))


def correlate(
    counts: Matrix,
    n_dimensions: int,
    scale: Scale = UNDAMPED,
    *,
    totals: tuple[Floats, Floats] | None = None,
    total: float | None = None,
    solver: Solver | None = None,
) -> Correlations:
    """Correlations of two views from counts of how often their features occur together.

    Parameters
    ----------
    counts
        Features of the first view x features of the second.
    n_dimensions
        At most so many pairs, the constant one included; fewer where the rank is less.
    scale
        What the counts of features are turned to: `damped(..)`, or `as_given`.
    totals
        The counts of the features of both views; None: the sums of rows and columns, right where an
        occurrence has one feature per view.
    total
        The weight of all occurrences; None: the sum of the counts of the first view.
    solver
        Of the decomposition; None: dense where the matrix is small, else iterative.

    Returns
    -------
    Correlations
        The largest first, signs fixed.
    """
    rows, columns = totals or (_sums(counts, 1), _sums(counts, 0))
    left, right = scale(rows), scale(columns)
    factors = factorize_up_to(scaled(counts, left, right), n_dimensions, solver)
    return Correlations(factors, left, right, float(rows.sum()) if total is None else total)


def correlate_views(
    first: View,
    second: View,
    n_dimensions: int,
    start: Floats | np.random.Generator,
    *,
    weights: Floats | None = None,
    total: float = 1.0,
) -> Correlations:
    """The same where the counts are never made: subspace iteration from a random projection.

    Parameters
    ----------
    first, second
        Views of the same occurrences, their features scaled already.
    n_dimensions
        At most so many pairs.
    start
        The source of chance, or the random block that `random_block` drew from it.
    weights
        Of the occurrences; None: all one.
    total
        What counts are divided by: correlations are singular values of X^T W Y / total.

    Returns
    -------
    Correlations
        With scales of one: `first.times(found.left())` are points.
    """
    if isinstance(start, np.random.Generator):
        start = random_block(second.n_features, n_dimensions, start)
    mass = None if weights is None else weights[:, None]
    right = start
    for _ in range(_STEPS):
        left = _orthonormal(_across(first, second, right, mass))
        right = _orthonormal(_across(second, first, left, mass))
    left, values, turn = linalg.svd(_across(first, second, right, mass), full_matrices=False)
    kept = max(1, min(n_dimensions, int((values > _LEAST * values[0]).sum())))
    left, right = left[:, :kept], right @ turn[:kept].T
    signs = np.where(-right.min(axis=0) > right.max(axis=0), -1.0, 1.0)
    factors = Factors(
        np.ascontiguousarray(left * signs), values[:kept] / total, np.ascontiguousarray(right * signs)
    )
    return Correlations(factors, np.ones(len(left)), np.ones(len(right)))


def random_block(n_features: int, n_dimensions: int, rng: np.random.Generator) -> Floats:
    """What `correlate_views` starts from, for callers that run several at a time."""
    return rng.standard_normal((n_features, min(n_dimensions + _EXTRA, n_features)))


def _across(onto: View, other: View, block: Floats, mass: Floats | None) -> Floats:
    """X^T W Y block."""
    images = other.times(block)
    return onto.transposed_times(images if mass is None else images * mass)


def _orthonormal(block: Floats) -> Floats:
    return np.asarray(np.linalg.qr(block)[0])


def scaled(counts: Matrix, left: Floats, right: Floats) -> Matrix:
    """diag(left) @ counts @ diag(right), sparse where the counts are."""
    if not isinstance(counts, sparse.csr_array):
        return np.asarray(left[:, None] * counts * right)
    data = np.repeat(left, np.diff(counts.indptr)) * counts.data * right[counts.indices]
    return sparse.csr_array((data, counts.indices, counts.indptr), shape=counts.shape)


def _sums(counts: Matrix, axis: int) -> Floats:
    return np.asarray(counts.sum(axis=axis), dtype=np.float64).ravel()


def counts_together(first: Matrix, second: Matrix, weights: Floats | None = None) -> sparse.csr_array:
    """X^T W Y of two sparse views."""
    heavy = second if weights is None else sparse.csr_array(sparse.diags_array(weights) @ second)
    return sparse.csr_array(first.T @ heavy)


def constant_first(factors: Factors, matrix: Matrix, constant: Floats) -> Factors:
    """Turn the leading singular vectors so that the known pair of correlation one comes first.

    Where the counts fall apart into components, several correlations are 1 and a solver returns any basis of
    their space; turning inside that space is free. If it returns only part of the space, for want of more
    dimensions, the known pair joins and the last direction leaves.

    Parameters
    ----------
    factors
        Of `matrix`; its arrays are taken over and changed.
    matrix
        The scaled counts.
    constant
        The right vector of the known pair, sqrt(counts / total).

    Returns
    -------
    Factors
        The same space in another basis.
    """
    n_ones = max(int((factors.singular_values > 1.0 - _ONE).sum()), 1)
    ones = factors.right[:, :n_ones]
    direction = ones.T @ constant
    missing = constant - ones @ direction
    if (length := np.linalg.norm(missing)) > 1e-6:
        ones, direction = np.column_stack([ones, missing / length]), np.append(direction, length)
    turn = np.linalg.qr(np.column_stack([direction, np.eye(len(direction))]))[0][:, :n_ones]
    if turn[:, 0] @ direction < 0:
        turn[:, 0] *= -1
    factors.right[:, :n_ones] = ones @ turn
    factors.left[:, :n_ones] = matrix @ factors.right[:, :n_ones]
    return factors


def unit_columns(points: Array) -> Floats:
    """Points whose every dimension has a mean square of one."""
    return np.asarray(points / np.maximum(np.sqrt((points**2).mean(axis=0)), 1e-12))


def unit_size(points: Array, weights: Array | None = None) -> Floats:
    """Points divided by one number, so that the mean square over all dimensions is one."""
    size = np.sqrt(np.average(points**2, axis=0, weights=weights).mean())
    return np.asarray(points / max(size, 1e-300))


def directions(points: Array) -> Floats:
    """Points on the unit sphere: the distance of a point shows how rare its features are, not its kind."""
    return np.asarray(points / np.maximum(np.linalg.norm(points, axis=1, keepdims=True), 1e-300))


def shortened(points: Array, longest: float = 1.0) -> Floats:
    """Points none of which is longer than `longest`: those of rare features are long by chance."""
    lengths = np.linalg.norm(points, axis=1, keepdims=True)
    return np.ascontiguousarray(points * np.minimum(1.0, longest / np.maximum(lengths, 1e-300)))
