"""A low-rank matrix some of whose entries obey linear equations: nuclear norm against the distance to them.

    F(H) = lambda |H|_* + 1/2 |r(H_W)|^2,      r(v) = v - (its projection on an affine set)

r is all that is known of the equations; entries outside W are missing. The smooth part has gradient r, put in
its places, and Lipschitz constant one, so the proximal step is

    H+ = SVT_lambda(Z - sparse(r(Z_W))),       Z = H + b (H - H_before)

(FISTA, restarted where the objective rises). H and Z are products of thin matrices and are never formed: the
leading singular triples of low rank + sparse come from block subspace iteration, warm from the last step.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from sigmastar.optimise.low_rank_entries import product_entries
from sigmastar.optimise.proximal import singular_value_threshold

Array = NDArray[np.float64]
Integers = NDArray[np.int64]
Residual = Callable[[Array], Array]

_SPARE, _FRESH = 24, 4  # columns beside those above the last threshold: the next ones, and random ones


@dataclass(frozen=True)
class AffineEntries:
    """A matrix shape, the places of the entries that equations speak of, and how far values are from them."""

    shape: tuple[int, int]
    rows: Integers
    columns: Integers
    residual: Residual


@dataclass(frozen=True)
class CompletionStep:
    """Where the solver stands."""

    iteration: int
    objective: float
    rank: int
    violation: float  # the norm of the residual, relative to the norm of the entries
    cpu_seconds: float


@dataclass(frozen=True, eq=False)
class LowRank:
    """left diag(values) right^T, orthonormal columns, largest value first."""

    left: Array
    values: Array
    right: Array

    @property
    def rank(self) -> int:
        return len(self.values)

    def dense(self) -> Array:
        return (self.left * self.values) @ self.right.T


@dataclass(frozen=True, eq=False)
class Completed:
    """The matrix found, and the way there."""

    matrix: LowRank
    steps: tuple[CompletionStep, ...]

    @property
    def objective(self) -> float:
        return self.steps[-1].objective


Watch = Callable[[CompletionStep], None]


def largest_penalty(entries: AffineEntries) -> float:
    """The weight from which on the zero matrix is the solution: the norm of the first gradient."""
    gradient = _Sparse.of(entries).filled(entries.residual(np.zeros(len(entries.rows))))
    vector = np.random.default_rng(0).standard_normal(entries.shape[1])
    norm = 0.0
    for _ in range(30):
        vector = gradient.T @ (gradient @ vector)
        norm = float(np.linalg.norm(vector))
        vector /= max(norm, 1e-300)
    return math.sqrt(norm)


def complete(
    entries: AffineEntries,
    penalty: float,
    n_iterations: int = 60,
    tolerance: float = 1e-5,
    max_rank: int = 60,
    watch: Watch | None = None,
) -> Completed:
    """Minimise F by accelerated proximal steps that never form the matrix."""
    places, begin = _Sparse.of(entries), time.process_time()
    now = before = _zero(entries.shape)
    at_now = at_before = np.zeros(len(entries.rows))
    momentum, steps = 1.0, list[CompletionStep]()
    basis = np.random.default_rng(0).standard_normal((entries.shape[1], _SPARE))
    for iteration in range(1, n_iterations + 1):
        following = (1.0 + math.sqrt(1.0 + 4.0 * momentum**2)) / 2.0
        ahead = (momentum - 1.0) / following
        gradient = places.filled(entries.residual((1.0 + ahead) * at_now - ahead * at_before))
        found, near = _thresholded(_Sum.of(now, before, ahead, gradient), basis, penalty, max_rank)
        at_found = product_entries(found.left * found.values, found.right, entries.rows, entries.columns)
        rest = entries.residual(at_found)
        objective = penalty * float(found.values.sum()) + 0.5 * float(rest @ rest)
        if steps and objective > steps[-1].objective and momentum > 1.0:
            momentum, before, at_before = 1.0, now, at_now  # carried too far: start again from here
            continue
        violation = float(np.linalg.norm(rest)) / max(float(np.linalg.norm(at_found)), 1e-300)
        step = CompletionStep(iteration, objective, found.rank, violation, time.process_time() - begin)
        steps.append(step)
        if watch:
            watch(step)
        before, at_before, now, at_now, momentum = now, at_now, found, at_found, following
        spare = np.random.default_rng(iteration).standard_normal((entries.shape[1], _FRESH))
        basis = np.hstack([near, spare / math.sqrt(entries.shape[1])])
        if len(steps) > 5 and steps[-6].objective - objective <= tolerance * objective:
            break
    return Completed(now, tuple(steps))


def complete_dense(
    entries: AffineEntries, penalty: float, n_iterations: int = 60, tolerance: float = 1e-5
) -> Completed:
    """The same steps with whole matrices and full decompositions: the reference."""
    now = before = np.zeros(entries.shape)
    places, begin = (entries.rows, entries.columns), time.process_time()
    momentum, steps = 1.0, list[CompletionStep]()
    found = singular_value_threshold(now, 1.0)
    for iteration in range(1, n_iterations + 1):
        following = (1.0 + math.sqrt(1.0 + 4.0 * momentum**2)) / 2.0
        point = now + (momentum - 1.0) / following * (now - before)
        point[places] -= entries.residual(point[places])
        tried = singular_value_threshold(point, penalty)
        matrix = tried.matrix
        rest = entries.residual(matrix[places])
        objective = penalty * float(tried.singular_values.sum()) + 0.5 * float(rest @ rest)
        if steps and objective > steps[-1].objective and momentum > 1.0:
            momentum, before = 1.0, now
            continue
        violation = float(np.linalg.norm(rest)) / max(float(np.linalg.norm(matrix[places])), 1e-300)
        steps.append(CompletionStep(iteration, objective, tried.rank, violation, time.process_time() - begin))
        before, now, momentum, found = now, matrix, following, tried
        if len(steps) > 5 and steps[-6].objective - objective <= tolerance * objective:
            break
    return Completed(LowRank(found.left, found.singular_values, found.right), tuple(steps))


@dataclass(frozen=True, eq=False)
class _Sparse:
    """Fixed places in a matrix that are filled anew at every step, sorted by row."""

    shape: tuple[int, int]
    order: Integers
    starts: NDArray[np.int32]
    sorted_columns: NDArray[np.int32]

    @classmethod
    def of(cls, entries: AffineEntries) -> _Sparse:
        order = np.lexsort((entries.columns, entries.rows))
        counts = np.bincount(entries.rows, minlength=entries.shape[0])
        starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
        return cls(entries.shape, order, starts, entries.columns[order].astype(np.int32))

    def filled(self, values: Array) -> sparse.csr_array:
        return sparse.csr_array((values[self.order], self.sorted_columns, self.starts), self.shape)


@dataclass(frozen=True, eq=False)
class _Sum:
    """left right^T - gradient, by its products."""

    left: Array
    right: Array
    gradient: sparse.csr_array
    transposed: sparse.csr_array

    @classmethod
    def of(cls, now: LowRank, before: LowRank, ahead: float, gradient: sparse.csr_array) -> _Sum:
        left = np.hstack([(1.0 + ahead) * now.left * now.values, -ahead * before.left * before.values])
        right = np.hstack([now.right, before.right])
        return cls(left, right, gradient, sparse.csr_array(gradient.T))

    def times(self, right: Array) -> Array:
        product: Array = self.left @ (self.right.T @ right) - self.gradient @ right
        return product

    def times_left(self, left: Array) -> Array:
        product: Array = self.right @ (self.left.T @ left) - self.transposed @ left
        return product


def _thresholded(matrix: _Sum, basis: Array, penalty: float, max_rank: int) -> tuple[LowRank, Array]:
    """Singular triples above the penalty by two passes of subspace iteration, and a basis to go on from."""
    right = np.linalg.qr(basis)[0]
    for _ in range(2):
        left = np.linalg.qr(matrix.times(right))[0]
        right, upper = np.linalg.qr(matrix.times_left(left))
    inner, values, outer = linalg.svd(upper.T, check_finite=False)
    kept = min(int((values > penalty).sum()), max_rank)
    turned = right @ outer[: kept + _SPARE].T
    kept_right = np.ascontiguousarray(turned[:, :kept])
    return LowRank(left @ inner[:, :kept], values[:kept] - penalty, kept_right), turned


def _zero(shape: tuple[int, int]) -> LowRank:
    return LowRank(np.zeros((shape[0], 0)), np.zeros(0), np.zeros((shape[1], 0)))
