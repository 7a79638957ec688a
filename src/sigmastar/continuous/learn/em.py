"""Expectation-maximization of Gaussian hidden Markov models.

    initial, transition    expected starts and moves, made to sum to one
    means                  expected sums of rows over expected numbers
    covariances            expected sums of squares around the means, drawn towards the variance of all rows

The driver is that of `core.em`. A prior of a few rows keeps states from shrinking onto single points.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sigmastar.continuous.data.series import Series
from sigmastar.continuous.model.gaussian_hmm import Expected, GaussianHmm
from sigmastar.core.arrays import Floats
from sigmastar.core.em import Climb, Problem

PRIOR_ROWS, PRIOR_SHARE = 1.0, 1e-2  # rows that are added to each component, and their share of the variance
PSEUDO_MOVES = 0.1  # that are added to each row of moves, shared out among the states


@dataclass(frozen=True)
class Moments:
    """Expected numbers: starts, moves, and of each component of each state its rows, sums and squares."""

    starts: Floats
    moves: Floats
    sizes: Floats  # states x components
    sums: Floats  # states x components x dimensions
    squares: Floats  # as covariances


def moments(found: Expected, values: Floats, n_components: int, diagonal: bool) -> Moments:
    """The sums that a model is made of."""
    n, d = found.posteriors.shape[1], values.shape[1]
    shares = found.components
    sums = shares.T @ values
    if diagonal:
        squares: Floats = (shares.T @ (values * values)).reshape(n, n_components, d)
    else:
        whole = [(values * shares[:, k : k + 1]).T @ values for k in range(shares.shape[1])]
        squares = np.array(whole).reshape(n, n_components, d, d)
    sizes = shares.sum(axis=0).reshape(n, n_components)
    return Moments(found.starts, found.moves, sizes, sums.reshape(n, n_components, d), squares)


def maximize(counts: Moments, prior: Floats | None) -> GaussianHmm:
    """The model of expected moments; `prior` is the variance of all rows, or None for the moments alone."""
    n = len(counts.starts)
    added, rows = (0.0, 0.0) if prior is None else (PSEUDO_MOVES, PRIOR_ROWS)
    diagonal = counts.squares.ndim == 3
    sizes = np.maximum(counts.sizes, 1e-300)[:, :, None]
    means = counts.sums / sizes
    outer = means * means if diagonal else means[..., None] * means[..., None, :]
    heavy = sizes if diagonal else sizes[..., None]
    around = counts.squares - heavy * outer
    if prior is not None:
        width = PRIOR_SHARE * prior
        around = around + rows * (width if diagonal else np.diag(width))
    covariances = around / (heavy + rows)
    weights = counts.sizes + added
    return GaussianHmm(
        _rows(counts.starts + added / n),
        _rows(counts.moves + added / n),
        _rows(weights),
        means,
        covariances,
    )


def _rows(counts: Floats) -> Floats:
    return np.asarray(counts / counts.sum(axis=-1, keepdims=True))


def begin(series: Series, model: GaussianHmm) -> Climb[GaussianHmm, Moments]:
    """A climb that has not moved yet; log-likelihoods are per row."""
    prior, diagonal = series.values.var(axis=0) + 1e-12, model.kind == "diag"

    def expect(at: GaussianHmm) -> tuple[Moments, float]:
        found = at.expect(series)
        return moments(found, series.values, at.weights.shape[1], diagonal), float(found.logs.sum())

    problem = Problem(
        expect,
        lambda counts: maximize(counts, prior),
        n_items=float(max(len(series.values), 1)),
        name=f"EM with {model.n_states} states",
    )
    return Climb.begin(problem, model)
