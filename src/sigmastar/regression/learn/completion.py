"""Hankel matrices with missing entries: the smallest nuclear norm that agrees with what was observed.

    min_H  weight |H|_*  +  sum_i w_i loss(c_i . mean(H), y_i)  +  1/2 sum_e (H_e - mean of its orbit)^2

mean(H)[x] is the mean of H over the cuts of the string x, its orbit: a Hankel matrix has one value there,
and the last term asks for it (Balle and Mohri 2012 ask exactly; entries whose yield was not observed are
tied the same way where the matrix is small). With w_i = 1 / sum_x c_ix^2 / |orbit of x| every
statement moves the matrix as much as one entry, and a step of length 1 is safe for the squared loss.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sigmastar.regression.counts import HankelEntries
from sigmastar.regression.data.observations import Observations

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class HankelLoss:
    """The smooth part of the objective, as a function of the entries that strings reach."""

    entries: HankelEntries
    observations: Observations

    @property
    def shape(self) -> tuple[int, int]:
        return self.entries.shape

    @property
    def rows(self) -> Indices:
        return self.entries.rows

    @property
    def columns(self) -> Indices:
        return self.entries.columns

    @cached_property
    def sizes(self) -> Array:
        return self.entries.sizes.astype(np.float64)

    @cached_property
    def weights(self) -> Array:
        """Of the statements: what makes each of them as strong as one entry."""
        seen = self.observations
        squares: sparse.csr_array = seen.combinations.power(2)
        spread = squares @ (1.0 / self.sizes[: self.entries.n_strings])
        relative = seen.weights / seen.weights.mean()
        return relative / np.maximum(spread, 1e-300)  # type: ignore[no-any-return]

    @cached_property
    def curvature(self) -> float:
        """The larger of 1 (the ties) and the largest eigenvalue of the observed part."""
        scaled = self.weights * self.observations.curvatures
        root = 1.0 / np.sqrt(self.sizes[: self.entries.n_strings])
        vector, largest = np.ones(self.entries.n_strings), 1.0
        combinations = self.observations.combinations
        for _ in range(50):
            vector = root * (combinations.T @ (scaled * (combinations @ (root * vector))))
            largest = float(np.linalg.norm(vector))
            if largest == 0.0:
                break
            vector = vector / largest
        return max(1.0, 1.01 * largest)

    def value_and_gradient(self, values: Array) -> tuple[float, Array]:
        entries, seen = self.entries, self.observations
        means = np.bincount(entries.orbits, values, minlength=len(self.sizes)) / self.sizes
        apart = values - means[entries.orbits]
        costs, slopes = seen.costs(means[: entries.n_strings])
        pull = np.zeros(len(self.sizes))
        pull[: entries.n_strings] = seen.combinations.T @ (self.weights * slopes)
        pull /= self.sizes
        value = float(self.weights @ costs) + 0.5 * float(apart @ apart)
        return value, pull[entries.orbits] + apart

    def largest_weight(self) -> float:
        """Where the penalty is at least this, the best matrix is zero."""
        _, slopes = self.value_and_gradient(np.zeros(len(self.rows)))
        gradient = sparse.csr_array((slopes, (self.rows, self.columns)), shape=self.shape)
        vector = np.ones(self.shape[1]) / np.sqrt(self.shape[1])
        for _ in range(50):
            vector = gradient.T @ (gradient @ vector)
            vector /= max(float(np.linalg.norm(vector)), 1e-300)
        return float(np.linalg.norm(gradient @ vector))
