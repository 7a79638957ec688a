"""Shrunk estimates: proper distributions, between counts and the coarse estimate."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sigmastar.core.shrinkage import (
    Level,
    chain,
    mean_towards,
    normalized,
    rows,
    shrink_in_place,
    towards,
    weight_of_coarse,
)

seeds, strengths = st.integers(0, 10**6), st.floats(0.1, 50.0)


@given(seeds, strengths)
def test_sums_to_one_along_any_axis(seed: int, strength: float) -> None:
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 5, (3, 4, 2)).astype(float)
    for axis in (0, 1, 2, (0, 2)):
        coarse = normalized(rng.random(counts.shape), axis)
        np.testing.assert_allclose(towards(counts, coarse, strength, axis).sum(axis=axis), 1.0)


@given(seeds, strengths)
def test_one_cell_at_a_time(seed: int, strength: float) -> None:
    rng = np.random.default_rng(seed)
    counts, coarse = rng.integers(0, 5, (3, 4)).astype(float), rng.dirichlet(np.ones(4), 3)
    found = towards(counts, coarse, strength)
    for row in range(3):
        for k in range(4):
            wanted = (counts[row, k] + strength * coarse[row, k]) / (sum(counts[row]) + strength)
            assert found[row, k] == pytest.approx(wanted)
        here = counts[row].copy()
        shrink_in_place(here, coarse[row], strength, counts[row].sum())
        np.testing.assert_allclose(here, found[row])


def test_nothing_counted_leaves_the_coarse_estimate() -> None:
    coarse = np.array([[0.3, 0.7]])
    assert towards(np.zeros((1, 2)), coarse, 0.0).tolist() == coarse.tolist()
    assert towards(np.zeros((1, 2)), coarse, 2.0).tolist() == coarse.tolist()
    assert towards(np.array([[1.0, 3.0]]), coarse, 0.0).tolist() == [[0.25, 0.75]]


@given(seeds, strengths)
def test_means_are_counts_divided_before(seed: int, strength: float) -> None:
    rng = np.random.default_rng(seed)
    totals, means = rng.integers(1, 9, (3, 1)).astype(float), rng.standard_normal((3, 2))
    coarse = rng.standard_normal(2)
    direct = towards(totals * means, coarse, strength, totals=totals)
    np.testing.assert_allclose(mean_towards(means, coarse, totals, strength), direct)


def test_strength_that_grows_with_the_root_of_the_total() -> None:
    counts, coarse, b = np.array([9.0, 7.0]), np.array([0.5, 0.5]), 8.0
    mix = np.sqrt(16.0) / (b + np.sqrt(16.0))
    found = towards(counts, coarse, b * np.sqrt(counts.sum()))
    np.testing.assert_allclose(found, mix * counts / 16.0 + (1 - mix) * coarse)
    assert weight_of_coarse(16.0, b * 4.0) == pytest.approx(1 - mix)
    assert weight_of_coarse(0.0, 0.0) == 0.0


@given(seeds)
def test_a_chain_is_the_same_step_by_step(seed: int) -> None:
    rng = np.random.default_rng(seed)
    fine, of = rng.integers(0, 4, (5, 3)).astype(float), np.array([0, 1, 0, 1, 1])
    middle = np.zeros((2, 3))
    np.add.at(middle, of, fine)
    top = normalized(middle.sum(axis=0) + 1.0)
    found = chain(top, [Level(middle, 3.0), Level(fine, 7.0, rows(of))])
    np.testing.assert_allclose(found[0], towards(middle, top, 3.0))
    np.testing.assert_allclose(found[1], towards(fine, found[0][of], 7.0))


def test_normalized_without_counts() -> None:
    assert normalized(np.array([[0.0, 0.0], [1.0, 3.0]])).tolist() == [[0.5, 0.5], [0.25, 0.75]]
    assert normalized(np.zeros((1, 2)), otherwise=np.array([1.0, 0.0])).tolist() == [[1.0, 0.0]]
