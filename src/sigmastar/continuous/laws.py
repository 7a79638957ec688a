"""What the laws are tried on: two states of vectors that overlap."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from sigmastar.continuous.data import Series, written_series
from sigmastar.continuous.estimator import GaussianHMM
from sigmastar.continuous.learn import Moments, maximize
from sigmastar.continuous.model import GaussianHmm
from sigmastar.core.arrays import Floats
from sigmastar.core.laws import Call, Example


class ContinuousLaws:
    """Models of two states; their statistics are the moments of states, moves and rows."""

    sizes = (4, 60)

    def truth(self, rng: np.random.Generator) -> GaussianHmm:
        transition = np.array([[0.9, 0.1], [0.2, 0.8]])
        means = np.array([[[0.0, 0.0]], [[2.0, 1.0]]]) + 0.3 * rng.standard_normal((2, 1, 2))
        roots = np.eye(2) + 0.3 * rng.standard_normal((2, 1, 2, 2))
        covariances = roots @ np.swapaxes(roots, -1, -2) + 0.1 * np.eye(2)
        return GaussianHmm(np.array([2 / 3, 1 / 3]), transition, np.ones((2, 1)), means, covariances)

    def exact(self, truth: GaussianHmm) -> GaussianHmm:
        rows = 1000.0 * truth.initial  # which are stationary, so that moves have the same shares
        outer = truth.means[..., None] * truth.means[..., None, :]
        squares = rows[:, None, None, None] * (truth.covariances + outer)
        sums = rows[:, None, None] * truth.means
        counts = Moments(10.0 * truth.initial, rows[:, None] * truth.transition, rows[:, None], sums, squares)
        return maximize(counts, None)

    def structures(self, truth: GaussianHmm, rng: np.random.Generator) -> Series:
        return truth.sample(8, rng, 30)

    def values(self, model: GaussianHmm, structures: Series) -> Floats:
        return model.log_probability(structures)

    def learned(self, truth: GaussianHmm, n_samples: int, seed: int, n_jobs: int = 1) -> GaussianHmm:
        series = truth.sample(n_samples, np.random.default_rng(seed), 40)
        learned: GaussianHmm = GaussianHMM(n_states=2, random_state=seed, n_jobs=n_jobs).fit(series).model_
        return learned

    def distance(self, model: GaussianHmm, truth: GaussianHmm) -> float:
        fresh = truth.sample(200, np.random.default_rng(99), 40)
        gap = truth.log_probability(fresh) - model.log_probability(fresh)
        return max(float(gap.mean()) / 40, 0.0)

    def long(self, truth: GaussianHmm) -> float:
        return float(truth.log_probability(truth.sample(1, np.random.default_rng(0), 100_000))[0])

    def examples(self) -> Mapping[str, Example]:
        parts = list(self.truth(np.random.default_rng(0)).sample(6, np.random.default_rng(1), 30))
        quick = GaussianHMM(n_states=2, max_iter=5)
        return {"GaussianHMM": Example(quick, parts, None, {"n_states": [1, 2]})}

    def calls(self, folder: Path) -> Mapping[str, Call]:
        parts = self.truth(np.random.default_rng(0)).sample(6, np.random.default_rng(1), 40)
        (folder / "series.csv").write_text("\n".join(written_series(parts)) + "\n")
        rounded = [np.array([[float(f"{x:.9g}") for x in row] for row in part.tolist()]) for part in parts]
        return {"series": Call((str(folder / "series.csv"),), GaussianHMM(), rounded)}
