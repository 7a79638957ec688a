"""Weights of mixed predictors: the optimum, EM on the way to it, rates of cells."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize

from sigmastar.core.mixture import (
    Cells,
    Events,
    best_rates,
    climb_rates,
    groups_of_size,
    likelihoods_of,
    mixed_log_likelihood,
    mixture_weights,
    rates_by_level,
    share_by_em,
)

seeds = st.integers(0, 10**6)


def value(w: np.ndarray, p: np.ndarray, counts: np.ndarray, added: np.ndarray) -> float:
    with np.errstate(divide="ignore", invalid="ignore"):
        prior = np.where(added > 0, added * np.log(w), 0.0).sum()
        return float(counts @ np.log(w @ p) + prior)


@given(seeds, st.integers(2, 5), st.sampled_from([0.0, 0.5, 20.0]))
def test_no_direction_leads_higher(seed: int, n: int, strength: float) -> None:
    rng = np.random.default_rng(seed)
    p, counts = rng.random((n, 30)) + 1e-3, rng.integers(1, 5, 30).astype(float)
    prior = rng.dirichlet(np.ones(n))
    w = mixture_weights(p, counts, prior, strength)
    assert w.sum() == pytest.approx(1.0)
    best = value(w, p, counts, strength * prior)
    for k in range(n):
        for size in (1e-2, 1e-4):
            moved = (1 - size) * w + size * np.eye(n)[k]
            assert value(moved, p, counts, strength * prior) <= best + 1e-9 * abs(best)


@given(seeds)
def test_the_optimum_is_where_em_ends(seed: int) -> None:
    rng = np.random.default_rng(seed)
    p, counts = rng.dirichlet(np.ones(6), 3), rng.integers(1, 9, 6).astype(float)
    prior = w = np.full(3, 1 / 3)
    for _ in range(20_000):
        shares = w[:, None] * p / (w @ p)
        w = (shares @ counts + 3.0 * prior) / (counts.sum() + 3.0)
    np.testing.assert_allclose(mixture_weights(p, counts, strength=3.0), w, atol=1e-4)


def test_useless_predictors_get_nothing_without_a_prior() -> None:
    p = np.array([[0.9, 0.8, 0.7], [0.1, 0.2, 0.1]])
    assert mixture_weights(p).tolist() == pytest.approx([1.0, 0.0], abs=1e-9)
    assert mixture_weights(p, strength=1.0)[1] > 0.0
    assert mixture_weights(p[:, :0]).tolist() == [0.5, 0.5]
    np.testing.assert_allclose(mixture_weights(np.stack([p[0]] * 3)).sum(), 1.0)


def test_events_that_nobody_knows_are_left_out() -> None:
    likelihoods, known = likelihoods_of(np.array([[-1.0, -np.inf, -2000.0], [-np.inf, -np.inf, -2001.0]]))
    assert known.tolist() == [True, False, True]
    np.testing.assert_allclose(likelihoods, [[1.0, 1.0], [0.0, np.exp(-1.0)]])


@given(seeds)
def test_the_best_share_of_two(seed: int) -> None:
    rng = np.random.default_rng(seed)
    events = Events(rng.random(20) + 0.1, rng.random(20) + 1e-3, rng.random(20) + 1e-3)
    found = optimize.minimize_scalar(
        lambda w: -(events.counts @ np.log((1 - w) * events.first + w * events.second)),
        bounds=(0.0, 1.0), method="bounded", options={"xatol": 1e-9},
    )  # fmt: skip
    weights = mixture_weights(np.stack([events.first, events.second]), events.counts)
    assert weights[1] == pytest.approx(found.x, abs=1e-4)


@given(seeds)
def test_rates_of_cells(seed: int) -> None:
    rng = np.random.default_rng(seed)
    cells, counts = rng.integers(0, 3, 25).astype(np.int32), rng.random(25)
    first, second, prior = rng.random(25) + 0.01, rng.random(25) + 0.01, rng.random(3)
    events = Events(counts, first, second)
    found = climb_rates(cells, events, prior, 5.0, 3)
    for cell in range(3):
        mine = cells == cell
        alone = share_by_em(Events(counts[mine], first[mine], second[mine]), prior[cell], 5.0, 3)
        assert found[cell] == pytest.approx(alone)
    logs = np.log((1 - found[cells]) * first + found[cells] * second)
    assert mixed_log_likelihood(cells, events, found) == pytest.approx(counts @ logs)


@given(seeds)
def test_levels_of_cells(seed: int) -> None:
    rng = np.random.default_rng(seed)
    cells, groups = rng.integers(0, 6, 40).astype(np.int32), np.array([0, 1, 1, 0, 2, 2], dtype=np.int32)
    events = Events(rng.random(40), rng.random(40) + 0.01, rng.random(40) + 0.01)
    found = rates_by_level(events, [Cells(cells, 6, 30.0), Cells(groups, 3, 10.0)], 0.05, 1.0, 7)
    top = share_by_em(events, 0.05, 1.0, 7)
    middle = climb_rates(groups[cells], events, np.full(3, top), 10.0, 7)
    np.testing.assert_allclose(found, climb_rates(cells, events, middle[groups], 30.0, 7))


def test_groups_of_like_counts() -> None:
    assert groups_of_size(np.array([0, 1, 2, 3, 4, 1 << 40])).tolist() == [0, 0, 1, 1, 2, 15]


@given(seeds)
def test_the_best_rates_are_where_em_ends(seed: int) -> None:
    rng = np.random.default_rng(seed)
    cells, counts = rng.integers(0, 3, 25).astype(np.int32), rng.random(25)
    events = Events(counts, rng.random(25) + 0.01, rng.random(25) + 0.01)
    prior = 0.05 + 0.9 * rng.random(3)
    found = best_rates(cells, events, prior, 0.5)
    np.testing.assert_allclose(found, climb_rates(cells, events, prior, 0.5, 20_000), atol=1e-3)


def test_predictors_that_are_nearly_alike_are_told_apart() -> None:
    """A hair better a million times: rounds of EM stay where they began."""
    events = Events(np.full(1, 1e6), np.array([0.5]), np.array([0.501]))
    cells, prior = np.zeros(1, np.int32), np.array([0.05])
    assert climb_rates(cells, events, prior, 1.0, 40)[0] < 0.1
    assert best_rates(cells, events, prior, 1.0)[0] > 0.99
    exact = rates_by_level(events, [Cells(cells, 1, 30.0)], 0.05, 1.0, None)
    assert exact[0] > 0.95
