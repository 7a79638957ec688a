"""Two views of every occurrence, correlated: the first half of states from two views.

    C = X^T W Y                               how often features of both views occur together
    M = A C B ~ U S V^T                       A, B = 1 / sqrt(count + damping) of each feature: correlations
    sqrt(T) A U S^e,  sqrt(T) B V S^e         where features lie; T is the weight of all occurrences
    point of an occurrence                    the sum over its features, of one view or of both

This is canonical correlation analysis with the covariances taken as diagonal. Without damping the first pair
is constant, of correlation one, and carries no information. C is given, or never made: products with it are
two passes over the occurrences (`correlate_views`).

A view of indicator features is a fixed number of columns per occurrence, or a sparse matrix:

    (X M)[row]    = sum over columns t of weight[row, t] M[number[row, t]]
    (X^T M)[d]    = sum over rows and columns with number[row, t] = d of weight[row, t] M[row]

Two occurrences with the same code in a column share a feature of that column. Codes below zero are none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from scipy import linalg, sparse

from sigmastar.core.arrays import Array, Floats, Int32s, Int64s, Singles
from sigmastar.core.factors import Factors, Solver, factorize_up_to
from sigmastar.core.jit import fast_kernel, kernel
from sigmastar.core.sparse_svd import Matrix

Scale = Callable[[Floats], Floats]
"""From the counts of features to what their indicators are multiplied by."""

_EXTRA, _STEPS = 8, 2  # columns and rounds that random projection needs beyond the dimensions
_LEAST = 1e-9  # of the largest correlation


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


RARE, MANY = 2, 50
"""Features that occur less often than this are left out in groups of more occurrences than that."""


@dataclass(frozen=True, eq=False)
class Indicators:
    """The view of occurrences by the numbers and weights of their features, occurrences x columns."""

    number: Int32s
    weight: Singles
    n_features: int

    def times(self, matrix: Floats) -> Floats:
        return gathered(self.number, self.weight, np.ascontiguousarray(matrix))

    def transposed_times(self, matrix: Floats) -> Floats:
        return scattered(self.number, self.weight, np.ascontiguousarray(matrix), self.n_features)


@dataclass(frozen=True, eq=False)
class GroupedIndicators:
    """Indicators of all groups: features are numbered from 0 within the group of their occurrence."""

    number: Int32s
    weight: Singles
    n_features: Int64s  # of each group

    def of(self, group: int, rows: Int64s) -> Indicators:
        """The view of the occurrences of one group."""
        return Indicators(self.number[rows], self.weight[rows], int(self.n_features[group]))


def grouped_indicators(
    groups: Int64s, codes: Int64s, n_groups: int, damping: float = 5.0
) -> GroupedIndicators:
    """Number the codes within each group, with weights sqrt(total / (count + damping)).

    Parameters
    ----------
    groups
        Of each occurrence, from 0.
    codes
        Occurrences x columns, from -1 up.
    n_groups
        How many groups there are.
    damping
        Added to counts.

    Returns
    -------
    GroupedIndicators
        Rare features, and codes of -1, have a weight of zero.
    """
    if codes.min(initial=-1) < -1:
        raise ValueError("codes of features must be numbers from -1 up")
    number, counts, n_features = numbered(groups, codes, n_groups)
    total = np.bincount(groups, minlength=n_groups).astype(np.float64)[groups][:, None]
    weight = np.sqrt(total / (counts + damping))
    weight[((counts < RARE) & (total > MANY)) | (codes < 0)] = 0.0
    return GroupedIndicators(number, weight.astype(np.float32), n_features)


def indicator_matrix(
    columns: Sequence[Array], weights: Floats | None = None, scale: Scale = UNDAMPED
) -> sparse.csr_array:
    """Columns of codes as a sparse matrix of scaled indicators.

    Parameters
    ----------
    columns
        A code per occurrence each; below zero: none.
    weights
        Of the occurrences; None: all one.
    scale
        From the counts of features to the values of their indicators.

    Returns
    -------
    sparse.csr_array
        Occurrences x features of all columns side by side.
    """
    parts = []
    for column in columns:
        codes, place = np.unique(column, return_inverse=True)
        counts = np.bincount(place, weights, minlength=len(codes)).astype(np.float64)
        values = np.where(codes >= 0, scale(counts), 0.0)
        entries = (values[place], (np.arange(len(column)), place))
        parts.append(sparse.csr_array(entries, (len(column), len(codes))))
    return sparse.csr_array(sparse.hstack(parts))


@fast_kernel
def gathered(number: Int32s, weight: Singles, matrix: Floats) -> Floats:
    """X M."""
    n, k = number.shape[0], matrix.shape[1]
    result = np.zeros((n, k))
    for row in range(n):
        for t in range(number.shape[1]):
            w = np.float64(weight[row, t])
            if w != 0.0:
                at = number[row, t]
                for j in range(k):
                    result[row, j] += w * matrix[at, j]
    return result


@fast_kernel
def scattered(number: Int32s, weight: Singles, matrix: Floats, n_features: int) -> Floats:
    """X^T M."""
    k = matrix.shape[1]
    result = np.zeros((n_features, k))
    for row in range(number.shape[0]):
        for t in range(number.shape[1]):
            w = np.float64(weight[row, t])
            if w != 0.0:
                at = number[row, t]
                for j in range(k):
                    result[at, j] += w * matrix[row, j]
    return result


@kernel
def numbered(groups: Int64s, codes: Int64s, n_groups: int) -> tuple[Int32s, Int32s, Int64s]:
    """Codes [row, column] numbered from 0 within the group of the row; how often each one occurs there.

    And how many numbers each group has. A table with open addressing finds codes that were met before.
    """
    n_rows, n_columns = codes.shape
    bits = 4
    while (1 << bits) < 2 * n_rows * n_columns:
        bits += 1
    size = np.int64(1) << bits
    owner, place = np.full(size, -1, np.int32), np.zeros((n_rows, n_columns), np.int32)
    counts, sizes = np.zeros(size, np.int32), np.zeros(n_groups, np.int64)
    first = np.zeros(size, np.int32)  # the row that brought a code
    number, often = np.zeros((n_rows, n_columns), np.int32), np.zeros((n_rows, n_columns), np.int32)
    for row in range(n_rows):
        for t in range(n_columns):
            mixed = np.uint64(codes[row, t] + 1) * np.uint64(0x9E3779B97F4A7C15)
            mixed ^= np.uint64(groups[row] * n_columns + t) * np.uint64(0xC4CEB9FE1A85EC53)
            mixed *= np.uint64(0xFF51AFD7ED558CCD)
            at = np.int64(mixed >> np.uint64(64 - bits))
            while owner[at] >= 0:
                other = first[at]
                if owner[at] == t and groups[other] == groups[row] and codes[other, t] == codes[row, t]:
                    break
                at = (at + 1) & (size - 1)
            if owner[at] < 0:
                owner[at], first[at] = t, row
                number[row, t] = sizes[groups[row]]
                sizes[groups[row]] += 1
            else:
                number[row, t] = number[first[at], t]
            counts[at] += 1
            place[row, t] = at
    for row in range(n_rows):
        for t in range(n_columns):
            often[row, t] = counts[place[row, t]]
    return number, often, sizes
