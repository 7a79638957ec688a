"""Expectation-maximization of Gaussian hidden Markov models.

    initial, transition    expected starts and moves, made to sum to one
    means                  expected sums of rows over expected numbers
    covariances            expected sums of squares around the means, drawn towards the variance of all rows

The driver is that of `core.em`. A prior of a few rows keeps states from shrinking onto single points.

States of the first model come from two views of every row.

    cells       rows fall into many small cells (k-means), so that neighbours can be counted
    views       the cell before a row and the cell after it, correlated with the cell of the row
    points      the row itself, scaled, and where its neighbours' cells lie in the correlations
    states      clusters of points; their moments are the first model

What stands near a row tells states apart that overlap in space. How much it should weigh depends on the data:
several weights, plain k-means among them, climb for a few iterations on a part of the data, and in each round
the better ones go on.

The winner may still have two states where the data have one, and one where they have two. So states are
exchanged: one that others explain well is given up, another is cut in two, by its rows and by the states
before and after them, and what climbs highest is kept as long as it gains (Ueda and others 2000).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from sigmastar.continuous.data import Series
from sigmastar.continuous.model import Expected, GaussianHmm
from sigmastar.core.arrays import Floats
from sigmastar.core.clusters import k_means
from sigmastar.core.em import NEVER, Climb, Problem, Stopping, by_absolute
from sigmastar.core.resources import require_memory
from sigmastar.core.time_estimates import seconds_of
from sigmastar.core.views import correlate, damped

WEIGHTS = 2 * (0.0, 0.0, 0.0, 0.25, 0.5, 0.5, 1.0, 1.0, 1.0, 2.0, 2.0, 4.0)
"""Of the neighbourhood against the row itself, one start each."""
ENOUGH = 10_000  # rows that starts are compared on
ROUNDS = ((24, 5), (8, 15), (3, 40))
"""How many starts are in each round, and how many iterations they climb."""
_DAMPING = 2.0
N_GIVEN_UP, N_EXCHANGES = 3, 3
"""States that are tried for being given up, and rounds of exchanges at most."""
EXCHANGE_ROUNDS = ((None, 5), (6, 15), (2, 200))
"""As of `ROUNDS`; None: all. The last one ends where nothing is gained."""
_OWN = 0.3  # of a row, for a state that is cut in two
_GAIN = 1e-4  # nats per row that an exchange must bring
_SETTLED = Stopping(by_absolute(1e-5), every=1, patience=1)


def spectral_start(
    series: Series, n_states: int, n_components: int, diagonal: bool, rng: np.random.Generator
) -> GaussianHmm:
    """The start that climbs highest on a part of the data."""
    part = series.first(ENOUGH)
    near = neighbourhoods(part, n_states, rng)
    scaled = (part.values - part.values.mean(axis=0)) / np.maximum(part.values.std(axis=0), 1e-12)
    starts = []
    for weight in WEIGHTS:
        points = np.column_stack([scaled, weight * near]) if weight else scaled
        labels = k_means(points, n_states, rng).labels
        starts.append(_model_of(part, np.eye(n_states)[labels], n_components, diagonal, rng))
    climbs = [begin(part, model) for model in starts]
    for n_left, n_iterations in ROUNDS:
        climbs = [climb.run(n_iterations, NEVER) for climb in climbs[:n_left]]
        climbs.sort(key=lambda climb: -climb.score)
    return _exchanged(part, climbs[0], n_components, diagonal, rng).latest


def _exchanged(
    part: Series, best: Ascent, n_components: int, diagonal: bool, rng: np.random.Generator
) -> Ascent:
    """The climb after as many exchanges of states as gain."""
    best = best.run(EXCHANGE_ROUNDS[-1][1], _SETTLED)
    for _ in range(N_EXCHANGES):
        tables = _exchanges(part, best.latest.posteriors(part), rng)
        climbs = [begin(part, _model_of(part, table, n_components, diagonal, rng)) for table in tables]
        for n_left, n_iterations in EXCHANGE_ROUNDS:
            climbs = [climb.run(n_iterations, _SETTLED) for climb in climbs[:n_left]]
            climbs.sort(key=lambda climb: -climb.score)
        if not climbs or climbs[0].score <= best.score + _GAIN:
            break
        best = climbs[0]
    return best


def _exchanges(part: Series, posteriors: Floats, rng: np.random.Generator) -> Iterator[Floats]:
    """Shares of states, rows x states, with one state given up and its place taken by half of another."""
    values, n = part.values, posteriors.shape[1]
    scaled = (values - values.mean(axis=0)) / np.maximum(values.std(axis=0), 1e-12)
    before, after = np.roll(posteriors, 1, axis=0), np.roll(posteriors, -1, axis=0)
    before[part.offsets[:-1][part.lengths > 0]] = 0.0
    after[part.offsets[1:][part.lengths > 0] - 1] = 0.0
    points = np.column_stack([scaled, before, after])
    losses = -(posteriors * np.log(np.maximum(1.0 - posteriors, 1e-6))).sum(axis=0)
    for gone in np.argsort(losses)[:N_GIVEN_UP].tolist():
        rest = posteriors.copy()
        rest[:, gone] = 0.0
        rest /= np.maximum(rest.sum(axis=1, keepdims=True), 1e-12)
        for cut in (state for state in range(n) if state != gone):
            rows = np.flatnonzero(posteriors[:, cut] > _OWN)
            if len(rows) < 4:
                continue
            moved, table = rows[k_means(points[rows], 2, rng).labels == 1], rest.copy()
            table[moved, gone], table[moved, cut] = table[moved, cut], 0.0
            yield table


def random_start(
    series: Series, n_states: int, n_components: int, diagonal: bool, rng: np.random.Generator
) -> GaussianHmm:
    """Clusters of rows alone, as other libraries begin."""
    part = series.first(ENOUGH)
    labels = k_means(part.values, n_states, rng).labels
    return _model_of(part, np.eye(n_states)[labels], n_components, diagonal, rng)


def neighbourhoods(series: Series, n_states: int, rng: np.random.Generator) -> Floats:
    """Where the cells before and after each row lie in the correlations of neighbours: rows x dimensions."""
    values = series.values
    scaled = (values - values.mean(axis=0)) / np.maximum(values.std(axis=0), 1e-12)
    cells = k_means(scaled, min(4 * n_states + 16, max(len(values) // 10, 2)), rng).labels
    inside = np.ones(max(len(values) - 1, 0), dtype=bool)
    inside[series.offsets[1:-1][(series.offsets[1:-1] > 0) & (series.offsets[1:-1] < len(values))] - 1] = (
        False
    )
    size, at = int(cells.max(initial=0)) + 1, np.flatnonzero(inside)
    counts = np.zeros((size, size))
    np.add.at(counts, (cells[at], cells[at + 1]), 1.0)
    if size < 3 or not len(at):
        return np.zeros((len(values), 0))
    found = correlate(counts, min(n_states, size - 1), damped(_DAMPING))
    near = np.zeros((len(values), 2 * (len(found.values) - 1)))
    half = near.shape[1] // 2
    near[at + 1, :half] = found.left(1.0)[cells[at], 1:]  # what the row before says of this one
    near[at, half:] = found.right(1.0)[cells[at + 1], 1:]
    return near


def _model_of(
    series: Series, known: Floats, n_components: int, diagonal: bool, rng: np.random.Generator
) -> GaussianHmm:
    """The model that counts its states by their shares in rows, as if they were known."""
    n, values, labels = known.shape[1], series.values, known.argmax(axis=1)
    states = 0.9 * known + 0.1 / n  # a state without rows would never get any
    states /= states.sum(axis=1, keepdims=True)
    firsts = series.offsets[:-1][series.lengths > 0]
    followed = np.ones(len(values), dtype=bool)
    followed[series.offsets[1:][series.lengths > 0] - 1] = False
    at = np.flatnonzero(followed)
    moves = states[at].T @ states[at + 1]
    shares = np.repeat(states, n_components, axis=1)
    if n_components > 1:
        for q in range(n):
            rows = np.flatnonzero(labels == q)
            parts = k_means(values[rows], n_components, rng).labels if len(rows) else np.zeros(0, np.int64)
            within = np.full((len(values), n_components), 1.0 / n_components)
            within[rows] = 0.1 / n_components
            within[rows, parts] += 0.9
            shares[:, q * n_components : (q + 1) * n_components] *= within
    found = Expected(states[firsts].sum(axis=0), moves, states, shares, np.zeros(0))
    prior = values.var(axis=0) + 1e-12
    return maximize(moments(found, values, n_components, diagonal), prior)


STARTS = {"spectral": spectral_start, "random": random_start}


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


Ascent: TypeAlias = Climb[GaussianHmm, Moments]

_BYTES = 8.0  # of a number
_TABLES = 4  # rows x states, or x components, that an iteration holds at once
_USUAL_ITERATIONS = 30  # on all rows: a good start leaves between two and a hundred to go
_BESIDE = 1.2  # what clusters and the like take, in units of the iterations of the start


def require_room(series: Series, n_states: int, n_components: int) -> None:
    """Refuse more rows and states than there is memory for an iteration of."""
    n_bytes = _BYTES * len(series.values) * (_TABLES * n_states * n_components + series.values.shape[1])
    require_memory(
        n_bytes,
        f"an iteration of EM on {len(series.values):,} rows with {n_states} states",
        "use fewer states or components, or fewer rows",
    )


def seconds_of_fit(
    series: Series, n_states: int, n_components: int, diagonal: bool, is_spectral: bool
) -> float:
    """What one ascent will take of one core, about, by a trial of one iteration on some of the rows."""
    part, rng = series.first(ENOUGH), np.random.default_rng(0)
    known = np.eye(n_states)[rng.integers(0, n_states, len(part.values))]
    model = _model_of(part, known, n_components, diagonal, rng)
    one = seconds_of(lambda: begin(part, model).run(1, NEVER))
    at_start = _BESIDE * (300 + 60 * n_states) if is_spectral else 1.0  # 390 to 1,310, of 2 to 16 states
    return one * (at_start + _USUAL_ITERATIONS * len(series.values) / len(part.values))


def begin(series: Series, model: GaussianHmm) -> Ascent:
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
