"""Hidden Markov models whose states emit vectors: a Gaussian, or a mixture of Gaussians, per state.

    p(x_1 .. x_T) = sum over q of initial[q_1] prod transition[q_{t-1}, q_t] prod b_{q_t}(x_t)
    b_q(x) = sum over k of weights[q, k] N(x; means[q, k], covariances[q, k])

The length of a series is given, not modelled. Covariances are diagonals or whole matrices.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

import numpy as np

from sigmastar.continuous.data import Series
from sigmastar.continuous.kernels import best_chains, forward_backward
from sigmastar.core.arrays import Array, Floats, Int32s
from sigmastar.core.errors import InputError
from sigmastar.core.notebook import Shown
from sigmastar.core.resources import thread_map
from sigmastar.core.stored_parts import Parts, floats, one_of

COVARIANCES = ("diag", "full")
_LOG_TWO_PI = float(np.log(2.0 * np.pi))
_ROWS_AT_ONCE = 1 << 15


class Expected(NamedTuple):
    """What is expected of the states of series: numbers of starts, of moves, of rows; and log-likelihoods."""

    starts: Floats
    moves: Floats
    posteriors: Floats  # rows x states
    components: Floats  # rows x (states * components)
    logs: Floats  # of each series


@dataclass(frozen=True, eq=False)
class GaussianHmm(Shown):
    """A hidden Markov model of vectors."""

    initial: Floats  # states
    transition: Floats  # states x states
    weights: Floats  # states x components
    means: Floats  # states x components x dimensions
    covariances: Floats  # states x components x dimensions, or x dimensions x dimensions

    @property
    def n_states(self) -> int:
        return len(self.initial)

    @property
    def n_dimensions(self) -> int:
        return int(self.means.shape[2])

    @property
    def kind(self) -> str:
        """Of the covariances."""
        return COVARIANCES[self.covariances.ndim - 3]

    @property
    def n_parameters(self) -> int:
        """Numbers that are free."""
        n, k, d = self.means.shape
        shape = d if self.kind == "diag" else d * (d + 1) // 2
        return int((n - 1) + n * (n - 1) + n * (k - 1) + n * k * (d + shape))

    @cached_property
    def _whitening(self) -> tuple[Floats, Floats]:
        """Of each component a matrix W (or its diagonal) with W W^T the inverse covariance, and log det W."""
        if self.kind == "diag":
            roots = 1.0 / np.sqrt(self.covariances)
            return roots, np.log(roots).sum(axis=-1)
        lower = np.linalg.cholesky(self.covariances)
        eye = np.broadcast_to(np.eye(self.n_dimensions), lower.shape)
        white = np.swapaxes(np.linalg.solve(lower, eye), -1, -2)
        return white, np.log(np.diagonal(white, axis1=-2, axis2=-1)).sum(axis=-1)

    def component_logs(self, values: Floats) -> Floats:
        """log weights[q, k] N(x; ..) of each row: rows x states x components."""
        white, determinants = self._whitening
        n, k, d = self.means.shape
        logs = np.empty((len(values), n, k))
        with np.errstate(divide="ignore"):
            constants = np.log(self.weights) + determinants - 0.5 * d * _LOG_TWO_PI
        for q, c in np.ndindex(n, k):
            away = values - self.means[q, c]
            scaled = away * white[q, c] if self.kind == "diag" else away @ white[q, c]
            logs[:, q, c] = constants[q, c] - 0.5 * np.einsum("ij,ij->i", scaled, scaled)
        return logs

    def state_logs(self, values: Floats) -> Floats:
        """log b_q(x) of each row: rows x states."""
        return _log_sums(self.component_logs(values))

    def expect(self, series: Series) -> Expected:
        """Expected states of all series."""
        shards = _shards(series)
        found = thread_map(
            lambda shard: self._expect(Series(series.values[shard[0] : shard[1]], shard[2])), shards
        )
        starts, moves = sum(part.starts for part in found), sum(part.moves for part in found)
        tables = (np.concatenate([part[at] for part in found]) for at in (2, 3, 4))
        return Expected(np.asarray(starts), np.asarray(moves), *tables)

    def _expect(self, series: Series) -> Expected:
        components = self.component_logs(series.values)
        states = _log_sums(components)
        largest = states.max(axis=1, keepdims=True)
        densities, posteriors = np.exp(states - largest), np.empty_like(states)
        moves = np.zeros_like(self.transition)
        logs = forward_backward(densities, series.offsets, self.initial, self.transition, posteriors, moves)
        filled = series.lengths > 0
        logs[filled] += np.add.reduceat(largest[:, 0], series.offsets[:-1][filled]) if filled.any() else 0.0
        shares = np.exp(components - states[:, :, None]) * posteriors[:, :, None]
        starts = posteriors[series.offsets[:-1][filled]].sum(axis=0)
        return Expected(starts, moves, posteriors, shares.reshape(len(shares), -1), logs)

    def log_probability(self, series: Series) -> Floats:
        """The log-density of each series, given its length."""
        return self.expect(self._fitting(series)).logs

    def posteriors(self, series: Series) -> Floats:
        """How probable each state is at each row, given its whole series: rows x states."""
        return self.expect(self._fitting(series)).posteriors

    def best_states(self, series: Series) -> tuple[Int32s, Floats]:
        """The most probable states of all rows (Viterbi), and the log-density of each path."""
        with np.errstate(divide="ignore"):
            initial, moves = np.log(self.initial), np.log(self.transition)
        return best_chains(self.state_logs(self._fitting(series).values), series.offsets, initial, moves)

    def sample(self, n_series: int, rng: np.random.Generator, length: int = 100) -> Series:
        """Draw series of one length, all together."""
        n, _, d = self.means.shape
        states = np.empty((n_series, length), dtype=np.int64)
        for t in range(length):
            rows = self.initial[None] if t == 0 else self.transition[states[:, t - 1]]
            states[:, t] = _drawn(np.broadcast_to(rows, (n_series, n)), rng)
        flat = states.ravel()
        components = _drawn(self.weights[flat], rng)
        noise = rng.standard_normal((len(flat), d))
        chosen = self.covariances[flat, components]
        if self.kind == "diag":
            noise *= np.sqrt(chosen)
        else:
            noise = np.einsum("nij,nj->ni", np.linalg.cholesky(self.covariances)[flat, components], noise)
        return Series(self.means[flat, components] + noise, np.arange(n_series + 1) * length)

    def _fitting(self, series: Series) -> Series:
        if series.n_dimensions != self.n_dimensions and len(series.values):
            raise InputError(
                f"rows have {series.n_dimensions} numbers; the model was learned from {self.n_dimensions}"
            )
        return series

    PARTS: ClassVar[Parts] = Parts(
        header={"covariance": one_of(*COVARIANCES)},
        arrays={
            "initial": floats("states", least=0.0, sums=True),
            "transition": floats("states", "states", least=0.0, sums=True),
            "weights": floats("states", "components", least=0.0, sums=True),
            "means": floats("states", "components", "dimensions"),
        },
        inner=("covariances",),
    )

    def to_parts(self) -> tuple[dict[str, Array], dict[str, Any]]:
        names = ("initial", "transition", "weights", "means", "covariances")
        return {name: getattr(self, name) for name in names}, {"covariance": self.kind}

    @classmethod
    def from_parts(cls, arrays: dict[str, Array], header: dict[str, Any]) -> GaussianHmm:
        sizes = cls.PARTS.check(arrays, header)
        diagonal = header["covariance"] == "diag"
        shape = (
            ("states", "components", "dimensions")
            if diagonal
            else ("states", "components", *["dimensions"] * 2)
        )
        least = 1e-300 if diagonal else -1e150
        own = Parts(arrays={"covariances": floats(*shape, least=least)})
        own.check({"covariances": arrays["covariances"]}, {}, **sizes)
        if not diagonal:
            try:
                np.linalg.cholesky(arrays["covariances"])
            except np.linalg.LinAlgError:
                raise ValueError("a covariance of the model is not positive") from None
        return cls(*(arrays[name] for name in ("initial", "transition", "weights", "means", "covariances")))


def _log_sums(logs: Floats) -> Floats:
    if logs.shape[2] == 1:
        return np.ascontiguousarray(logs[:, :, 0])
    return np.asarray(np.logaddexp.reduce(logs, axis=2))


def _drawn(rows: Floats, rng: np.random.Generator) -> Array:
    sums = np.cumsum(rows, axis=1)
    aims = rng.random(len(rows)) * sums[:, -1]
    drawn: Array = np.minimum((sums <= aims[:, None]).sum(axis=1), rows.shape[1] - 1)
    return drawn


def _shards(series: Series) -> list[tuple[int, int, Array]]:
    """Runs of whole series of about as many rows: where their rows begin and end, and their own offsets."""
    marks = np.searchsorted(series.offsets, np.arange(0, series.offsets[-1], _ROWS_AT_ONCE), side="left")
    edges = sorted({*marks.tolist(), len(series)} | {0})
    spans = pairwise(edges)
    return [
        (
            int(series.offsets[low]),
            int(series.offsets[high]),
            series.offsets[low : high + 1] - series.offsets[low],
        )
        for low, high in spans
    ]
