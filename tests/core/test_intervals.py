from __future__ import annotations

from dataclasses import FrozenInstanceError
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sigmastar.core import intervals
from sigmastar.core.intervals import Estimate, bootstrap, normal_interval, paired_comparison, sign_test


def test_bootstrap_interval_of_a_mean_is_near_the_normal_one(rng):
    values = rng.normal(3.0, 2.0, 400)
    found = bootstrap(values, rng, n_resamples=4000)
    normal = normal_interval(values.mean(), values.std(ddof=1) / 20, 400)
    assert found.value == pytest.approx(values.mean())
    assert (found.low, found.high) == pytest.approx((normal.low, normal.high), abs=0.03)
    assert found.n == 400


def test_bootstrap_covers_the_truth_about_as_often_as_it_says(rng):
    hits = 0
    for _ in range(200):
        found = bootstrap(rng.exponential(size=60), rng, n_resamples=400, confidence=0.9)
        hits += found.low <= 1.0 <= found.high
    assert 0.82 <= hits / 200 <= 0.96


def test_other_statistics_and_pieces_give_the_same_draws(rng, monkeypatch):
    values = rng.normal(size=31)
    whole = bootstrap(values, np.random.default_rng(5), lambda v: np.median(v, axis=-1), n_resamples=101)
    monkeypatch.setattr(intervals, "MAX_CELLS", 100)
    pieces = bootstrap(values, np.random.default_rng(5), lambda v: np.median(v, axis=-1), n_resamples=101)
    assert whole == pieces
    assert whole.value == np.median(values)


def test_equal_values_have_no_spread(rng):
    assert bootstrap([2.0] * 10, rng) == Estimate(2.0, 2.0, 2.0, 10)


def test_paired_comparison_sees_a_small_steady_gain_through_large_common_noise(rng):
    hard = rng.normal(0, 10, 200)
    a, b = hard + rng.normal(0, 0.2, 200), hard + 0.1 + rng.normal(0, 0.2, 200)
    found = paired_comparison(a, b, rng)
    assert found.difference == pytest.approx((a - b).mean())
    assert found.low < found.difference < found.high < 0
    assert found.p_better > 0.99
    assert found.p_sign < 0.01
    mirrored = paired_comparison(a, b, np.random.default_rng(1), higher_is_better=True)
    assert mirrored.p_better < 0.01
    assert (mirrored.wins, mirrored.losses) == (found.losses, found.wins)


def test_equal_models_are_a_draw(rng):
    found = paired_comparison([1.0, 2.0], [1.0, 2.0], rng)
    assert (found.difference, found.p_better, found.p_sign) == (0.0, 0.5, 1.0)


@given(st.integers(0, 25), st.integers(0, 25))
def test_sign_test_is_the_two_sided_binomial(wins, losses):
    n, k = wins + losses, min(wins, losses)
    exact = min(1.0, 2 * sum(comb(n, j) for j in range(k + 1)) / 2**n)
    assert sign_test(wins, losses) == pytest.approx(exact)


@pytest.mark.parametrize("values", [[], [[1.0, 2.0]], [1.0, np.nan], [np.inf]])
def test_values_that_make_no_interval_are_refused(values, rng):
    with pytest.raises(ValueError, match="values must be"):
        bootstrap(values, rng)


def test_unpaired_values_and_odd_confidence_are_refused(rng):
    with pytest.raises(ValueError, match="3 a_values against 2"):
        paired_comparison([1, 2, 3], [1, 2], rng)
    with pytest.raises(ValueError, match="confidence=95"):
        bootstrap([1.0, 2.0], rng, confidence=95)


def test_estimates_are_frozen_and_readable():
    estimate = Estimate(0.12345, 0.1, 0.15, 10)
    assert str(estimate) == "0.1235 [0.1, 0.15]"
    with pytest.raises(FrozenInstanceError):
        estimate.value = 1.0
