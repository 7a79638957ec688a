"""The nuclear norm without singular values: W = L R^T with thin L and R (Burer and Monteiro 2003).

    |W|_* = min_{W = L R^T}  (|L|^2 + |R|^2) / 2

so  min loss(L R^T) + weight / 2 (|L|^2 + |R|^2)  is smooth in L and R, and every local minimum of rank
below the number of columns is a global minimum of the convex problem. L-BFGS solves it; no matrix of the
size of W is ever made. A start from a larger penalty stays in the few dimensions that this one left: on
a path of weights each begins afresh, or where a smaller one ended.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy import linalg, optimize

from sigmastar.core.arrays import Floats
from sigmastar.optimise.proximal import Thresholded
from sigmastar.optimise.solvers import Trace, Watch

SCALE = 0.1
"""Of random factors to begin from."""


class FactoredLoss(Protocol):
    """A smooth function of L R^T that never needs the product."""

    @property
    def shape(self) -> tuple[int, int]: ...

    def factored(self, left: Floats, right: Floats) -> tuple[float, Floats, Floats]:
        """The value and its gradients in L and R."""
        ...


@dataclass(frozen=True, eq=False)
class FactoredSolution:
    """L and R where the solver stopped, and the way there."""

    left: Floats
    right: Floats
    objectives: tuple[float, ...]
    cpu_seconds: tuple[float, ...]

    @property
    def objective(self) -> float:
        return self.objectives[-1]

    @property
    def matrix(self) -> Floats:
        return self.left @ self.right.T

    def triples(self) -> Thresholded:
        return triples_of_product(self.left, self.right)


def triples_of_product(left: Floats, right: Floats, relative: float = 1e-4) -> Thresholded:
    """The singular triples of L R^T from two thin QRs; those below `relative` of the first are dropped."""
    left_basis, left_triangle = linalg.qr(left, mode="economic")
    right_basis, right_triangle = linalg.qr(right, mode="economic")
    u, values, v = linalg.svd(left_triangle @ right_triangle.T, full_matrices=False)
    kept = values > relative * values.max(initial=1e-300)
    return Thresholded(left_basis @ u[:, kept], values[kept], right_basis @ v[kept].T)


@dataclass
class _Problem:
    """The smooth objective as a function of one flat vector."""

    loss: FactoredLoss
    weight: float
    rank: int
    last: tuple[float, Floats] | None = None

    def split(self, flat: Floats) -> tuple[Floats, Floats]:
        rows = self.loss.shape[0] * self.rank
        return flat[:rows].reshape(-1, self.rank), flat[rows:].reshape(-1, self.rank)

    def __call__(self, flat: Floats) -> tuple[float, Floats]:
        left, right = self.split(flat)
        value, by_left, by_right = self.loss.factored(left, right)
        gradient = np.concatenate([by_left.ravel(), by_right.ravel()]) + self.weight * flat
        return value + 0.5 * self.weight * float(flat @ flat), gradient


def factored(
    loss: FactoredLoss,
    weight: float,
    rank: int,
    rng: np.random.Generator,
    n_iterations: int = 200,
    tolerance: float = 1e-6,
    watch: Watch | None = None,
    start: tuple[Floats, Floats] | None = None,
) -> FactoredSolution:
    """Minimize loss(L R^T) + weight |L R^T|_* over products of `rank` columns, from `start` or at random."""
    rows, columns = loss.shape
    problem = _Problem(loss, weight, min(rank, rows, columns) if start is None else start[0].shape[1])
    if start is None:
        flat = rng.standard_normal((rows + columns) * problem.rank) * SCALE / np.sqrt(problem.rank)
    else:
        flat = np.concatenate([start[0].ravel(), start[1].ravel()])
    trace, at = Trace(watch, tolerance), [flat]

    def note(intermediate_result: optimize.OptimizeResult) -> None:
        at[0] = np.array(intermediate_result.x)
        left, right = problem.split(at[0])
        if trace.done(float(intermediate_result.fun), left, right):
            raise StopIteration

    options = {"maxiter": n_iterations, "maxcor": 10, "maxfun": 4 * n_iterations, "ftol": 0.0, "gtol": 0.0}
    optimize.minimize(  # type: ignore[call-overload]
        problem, flat, jac=True, method="L-BFGS-B", callback=note, options=options
    )
    left, right = problem.split(at[0])
    return FactoredSolution(left, right, tuple(trace.objectives), tuple(trace.seconds))
