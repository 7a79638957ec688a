"""Solvers of  min_H  loss(entries of H) + weight |H|_*,  behind one interface.

    proximal      H <- SVT(Z - step grad(Z)) with momentum and restart     Beck and Teboulle (2009)
    frank-wolfe   H <- a H + b u v^T, u v^T the leading pair of -grad      Jaggi and Sulovsky (2010);
                  with the best a, b >= 0, then the best core between      Harchaoui et al. (2015);
                  the vectors there are                                    Zhang et al. (2012)
    svt           H = SVT(Y), Y <- Y - step grad(H), Y sparse              Cai, Candes and Shen (2010)
    factored      H = L R^T, L-BFGS over both                              Burer and Monteiro (2003)
    alternating   H = L R^T, each in turn against H - grad(H)              Jain et al. (2013);
                                                                           Hastie et al. (2015)

`svt` solves the limit of small weights, min |H|_* where the loss is least, whatever the weight is.
`alternating` keeps to `rank` columns; it and `factored` are not convex. None makes a matrix of the size of H.
`AffineEntries` is the loss of entries that obey linear equations: half the squared distance to them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy import linalg, optimize

from sigmastar.core.arrays import Floats, Int64s
from sigmastar.optimise.factored import factored, triples_of_product
from sigmastar.optimise.proximal import Thresholded, singular_value_threshold
from sigmastar.optimise.solvers import Trace, Watch, accelerated
from sigmastar.optimise.sparse_low_rank import (
    LowRank,
    SparsePattern,
    SparsePlusLowRank,
    leading_triples,
    shrunk_triples,
)


class EntryLoss(Protocol):
    """A smooth convex function of the entries (rows[e], columns[e]) of a matrix."""

    @property
    def shape(self) -> tuple[int, int]: ...

    @property
    def rows(self) -> Int64s: ...

    @property
    def columns(self) -> Int64s: ...

    @property
    def curvature(self) -> float:
        """How fast the gradient changes at most."""
        ...

    def value_and_gradient(self, values: Floats) -> tuple[float, Floats]:
        """The function of the values at the entries, and its derivative in each."""
        ...


@dataclass(frozen=True)
class AffineEntries:
    """1/2 |r(v)|^2, r(v) = v - (its projection on an affine set): the distance of entries to equations."""

    shape: tuple[int, int]
    rows: Int64s
    columns: Int64s
    residual: Callable[[Floats], Floats]
    curvature: float = 1.0

    def value_and_gradient(self, values: Floats) -> tuple[float, Floats]:
        rest = self.residual(values)
        return 0.5 * float(rest @ rest), rest

    def violation(self, matrix: Thresholded) -> float:
        """The norm of the residual relative to that of the entries."""
        values = LowRank.of(matrix).entries(self.rows, self.columns)
        return float(np.linalg.norm(self.residual(values))) / max(float(np.linalg.norm(values)), 1e-300)


def largest_penalty(loss: EntryLoss) -> float:
    """The weight from which on the zero matrix is the solution: the norm of the first gradient."""
    slopes = loss.value_and_gradient(np.zeros(len(loss.rows)))[1]
    gradient = SparsePattern(loss.shape, loss.rows, loss.columns).matrix(slopes)
    vector, norm = np.random.default_rng(0).standard_normal(loss.shape[1]), 0.0
    for _ in range(30):
        vector = gradient.T @ (gradient @ vector)
        norm = float(np.linalg.norm(vector))
        vector /= max(norm, 1e-300)
    return math.sqrt(norm)


@dataclass(frozen=True)
class CompletionSettings:
    """Settings of all solvers."""

    weight: float
    rank: int = 50  # at most
    n_iterations: int = 300
    tolerance: float = 1e-6
    watch: Watch | None = None
    bound: float | None = None  # on the size of entries, for `constrained.bounded`

    def trace(self) -> Trace:
        return Trace(self.watch, self.tolerance)


@dataclass(frozen=True, eq=False)
class Completion:
    """A completed matrix by its singular triples, and the way there."""

    triples: Thresholded
    objectives: tuple[float, ...]
    cpu_seconds: tuple[float, ...]

    @property
    def rank(self) -> int:
        return self.triples.rank

    @property
    def objective(self) -> float:
        return self.objectives[-1]


Completer = Callable[[EntryLoss, CompletionSettings, np.random.Generator], Completion]


def _completion(triples: Thresholded, trace: Trace) -> Completion:
    return Completion(triples, tuple(trace.objectives), tuple(trace.seconds))


def _nothing(shape: tuple[int, int]) -> Thresholded:
    return Thresholded(np.zeros((shape[0], 0)), np.zeros(0), np.zeros((shape[1], 0)))


def proximal(loss: EntryLoss, settings: CompletionSettings, rng: np.random.Generator) -> Completion:
    """Accelerated proximal gradient on sparse plus low-rank iterates."""
    pattern, step = SparsePattern(loss.shape, loss.rows, loss.columns), 1.0 / loss.curvature
    trace, triples, block = settings.trace(), _nothing(loss.shape), np.zeros((loss.shape[1], 0))

    def descend(ahead: LowRank) -> tuple[LowRank, float]:
        nonlocal triples, block
        moved = _ahead(loss, pattern, ahead, step)
        triples, block = shrunk_triples(moved, step * settings.weight, block, rng, settings.rank)
        found = LowRank.of(triples)
        value = loss.value_and_gradient(found.entries(loss.rows, loss.columns))[0]
        return found, value + settings.weight * float(triples.singular_values.sum())

    accelerated(
        descend,
        LowRank.zero(loss.shape),
        LowRank.beyond,
        settings.n_iterations,
        lambda objective, here: trace.done(objective, here.left, here.right),
    )
    return _completion(triples, trace)


def singular_value_thresholding(
    loss: EntryLoss, settings: CompletionSettings, rng: np.random.Generator
) -> Completion:
    """Uzawa's scheme: the sparse multipliers climb until the entries fit."""
    pattern, step = SparsePattern(loss.shape, loss.rows, loss.columns), 1.0 / loss.curvature
    multipliers, nothing = np.zeros(len(loss.rows)), LowRank.zero(loss.shape)
    slopes, scale = loss.value_and_gradient(multipliers)[1], largest_penalty(loss)
    threshold = 5.0 * scale  # far above the data: of all matrices that fit, close to the smallest norm
    multipliers -= slopes * threshold / max(scale, 1e-300)  # where the first singular value appears
    found, block, trace = _nothing(loss.shape), np.zeros((loss.shape[1], 0)), settings.trace()
    for _ in range(settings.n_iterations):
        moved = SparsePlusLowRank(pattern.matrix(multipliers), nothing)
        found, block = shrunk_triples(moved, threshold, block, rng, settings.rank)
        value, slopes = loss.value_and_gradient(LowRank.of(found).entries(loss.rows, loss.columns))
        multipliers = multipliers - 1.9 * step * slopes  # below 2 it converges
        objective = value + settings.weight * float(found.singular_values.sum())
        if trace.done(objective, found.left, found.right):
            break
    return _completion(found, trace)


def frank_wolfe(loss: EntryLoss, settings: CompletionSettings, rng: np.random.Generator) -> Completion:
    """Conditional gradient: one pair of vectors per step, the best mixture, a small correction."""
    pattern = SparsePattern(loss.shape, loss.rows, loss.columns)
    found, trace = _nothing(loss.shape), settings.trace()
    for _ in range(settings.n_iterations):
        here = LowRank.of(found)
        values, norm = here.entries(loss.rows, loss.columns), float(found.singular_values.sum())
        _, slopes = loss.value_and_gradient(values)
        pair = _leading_pair(pattern, -slopes, rng)
        new = LowRank.of(pair).entries(loss.rows, loss.columns)
        keep, add = _best_mixture(loss, values, new, norm, settings.weight)
        mixed = LowRank(np.hstack([keep * here.left, add * pair.left]), np.hstack([here.right, pair.right]))
        found, objective = _corrected(loss, pattern, mixed, settings)
        if trace.done(objective, found.left, found.right):
            break
    return _completion(found, trace)


def _leading_pair(pattern: SparsePattern, values: Floats, rng: np.random.Generator) -> Thresholded:
    matrix = SparsePlusLowRank(pattern.matrix(values), LowRank.zero(pattern.shape))
    found = leading_triples(matrix, rng.standard_normal((pattern.shape[1], 4)), n_passes=8)
    return Thresholded(found.left[:, :1], np.ones(1), found.right[:, :1])


def _best_mixture(
    loss: EntryLoss, values: Floats, atom: Floats, norm: float, weight: float
) -> tuple[float, float]:
    """The a, b >= 0 that minimize loss(a H + b u v^T) + weight (a |H|_* + b)."""

    def objective(mixture: Floats) -> tuple[float, Floats]:
        value, slopes = loss.value_and_gradient(mixture[0] * values + mixture[1] * atom)
        gradient = np.array([slopes @ values + weight * norm, slopes @ atom + weight])
        return value + weight * float(mixture @ [norm, 1.0]), gradient

    found = optimize.minimize(
        objective, np.array([1.0, 0.0]), jac=True, method="L-BFGS-B", bounds=[(0.0, None)] * 2
    )
    return float(found.x[0]), float(found.x[1])


def _corrected(
    loss: EntryLoss, pattern: SparsePattern, mixed: LowRank, settings: CompletionSettings, n_steps: int = 5
) -> tuple[Thresholded, float]:
    """A few proximal steps on the small core C of H = U C V^T; U and V stay."""
    step, triples = 1.0 / loss.curvature, triples_of_product(mixed.left, mixed.right, relative=1e-12)
    left, right, core = triples.left, triples.right, np.diag(triples.singular_values)
    for _ in range(n_steps):
        _, slopes = loss.value_and_gradient(LowRank(left @ core, right).entries(loss.rows, loss.columns))
        moved = core - step * (left.T @ (pattern.matrix(slopes) @ right))
        inner = singular_value_threshold(moved, step * settings.weight)
        core = inner.matrix
    cut = slice(settings.rank)
    found = Thresholded(left @ inner.left[:, cut], inner.singular_values[cut], right @ inner.right[:, cut])
    value = loss.value_and_gradient(LowRank.of(found).entries(loss.rows, loss.columns))[0]
    return found, value + settings.weight * float(found.singular_values.sum())


def by_factors(loss: EntryLoss, settings: CompletionSettings, rng: np.random.Generator) -> Completion:
    """L-BFGS over two thin factors."""
    found = factored(
        _Factored(loss),
        settings.weight,
        settings.rank,
        rng,
        settings.n_iterations,
        settings.tolerance,
        watch=settings.watch,
    )
    return Completion(found.triples(), found.objectives, found.cpu_seconds)


class _Factored:
    """An entry loss as a function of two factors."""

    def __init__(self, loss: EntryLoss) -> None:
        self.loss, self.pattern = loss, SparsePattern(loss.shape, loss.rows, loss.columns)

    @property
    def shape(self) -> tuple[int, int]:
        return self.loss.shape

    def factored(self, left: Floats, right: Floats) -> tuple[float, Floats, Floats]:
        values = LowRank(left, right).entries(self.loss.rows, self.loss.columns)
        value, slopes = self.loss.value_and_gradient(values)
        gradient = self.pattern.matrix(slopes)
        return value, gradient @ right, gradient.T @ left


def alternating(loss: EntryLoss, settings: CompletionSettings, rng: np.random.Generator) -> Completion:
    """Least squares for L, then for R, against the matrix one gradient step ahead."""
    pattern, step = SparsePattern(loss.shape, loss.rows, loss.columns), 1.0 / loss.curvature
    rank, ridge = min(settings.rank, *loss.shape), step * settings.weight
    slopes = loss.value_and_gradient(np.zeros(len(loss.rows)))[1]
    first = SparsePlusLowRank(pattern.matrix(-step * slopes), LowRank.zero(loss.shape))
    begin = leading_triples(first, rng.standard_normal((loss.shape[1], rank)), n_passes=4)
    root = np.sqrt(begin.singular_values)
    here, trace = LowRank(begin.left * root, begin.right * root), settings.trace()
    for _ in range(settings.n_iterations):
        here = LowRank(
            _solved(_ahead(loss, pattern, here, step).times(here.right), here.right, ridge), here.right
        )
        turned = _ahead(loss, pattern, here, step).transposed_times(here.left)
        here = LowRank(here.left, _solved(turned, here.left, ridge))
        value = loss.value_and_gradient(here.entries(loss.rows, loss.columns))[0]
        norms = float(np.vdot(here.left, here.left) + np.vdot(here.right, here.right))
        if trace.done(value + 0.5 * settings.weight * norms, here.left, here.right):
            break
    return _completion(triples_of_product(here.left, here.right), trace)


def _ahead(loss: EntryLoss, pattern: SparsePattern, here: LowRank, step: float) -> SparsePlusLowRank:
    _, slopes = loss.value_and_gradient(here.entries(loss.rows, loss.columns))
    return SparsePlusLowRank(pattern.matrix(-step * slopes), here)


def _solved(product: Floats, factor: Floats, ridge: float) -> Floats:
    """product (factor^T factor + ridge)^-1"""
    gram = factor.T @ factor + (ridge + 1e-12) * np.eye(factor.shape[1])
    return np.ascontiguousarray(linalg.solve(gram, product.T, assume_a="pos").T)
