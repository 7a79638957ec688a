"""Pairwise accuracy against the definition, and McNemar's test."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sigmastar.bilexical import Pairs, PairwiseAccuracy, interval_over_splits, pairwise_accuracy
from sigmastar.bilexical.metrics import digits
from sigmastar.core.intervals import mcnemar


def brute_force(scores: np.ndarray, compatible: np.ndarray, classes: np.ndarray) -> tuple[float, float]:
    won = judged = 0.0
    for row, good in zip(scores, compatible, strict=True):
        for m in np.flatnonzero(good):
            for n in np.flatnonzero(~good):
                if classes[m] == classes[n]:
                    won += 1.0 if row[m] > row[n] else 0.5 if row[m] == row[n] else 0.0
                    judged += 1
    return won, judged


@given(st.integers(0, 10_000))
def test_accuracy_agrees_with_the_definition(seed: int) -> None:
    rng = np.random.default_rng(seed)
    pairs = Pairs.of([(f"h{a}", f"m{b}") for a, b in rng.integers(0, 5, (12, 2))])
    scores = rng.integers(0, 4, (len(pairs.heads), len(pairs.modifiers))).astype(float)  # with ties
    for popularity in (None, rng.integers(0, 5, len(pairs.modifiers)).astype(float)):
        classes = np.zeros(len(pairs.modifiers)) if popularity is None else digits(popularity)
        won, judged = brute_force(scores, pairs.counts.toarray() > 0, classes)
        found = pairwise_accuracy(lambda heads: scores, pairs, popularity)
        assert (found.won.sum(), found.judged.sum()) == (won, judged)


def test_classes_of_popularity() -> None:
    assert digits(np.array([0.0, 1.0, 2.0, 3.0, 4.0, 7.0, 8.0])).tolist() == [0, 1, 2, 2, 3, 3, 4]


def test_mcnemar_counts_only_disagreements() -> None:
    found = mcnemar([True, True, True, False, False], [True, False, False, False, True])
    assert (found.only_first, found.only_second) == (2, 1)
    assert found.p_value == 1.0
    assert mcnemar([True] * 20, [False] * 20).p_value < 1e-5
    with pytest.raises(ValueError, match="one answer per item"):
        mcnemar([True], [True, False])


def test_intervals_hold_the_figure_and_close_up_where_nothing_varies() -> None:
    rng = np.random.default_rng(0)
    same = PairwiseAccuracy(np.full(20, 3.0), np.full(20, 4.0)).interval(rng)
    assert (same.low, same.value, same.high, same.n) == (0.75, 0.75, 0.75, 20)
    mixed = PairwiseAccuracy(rng.integers(0, 5, 50).astype(float), np.full(50, 4.0)).interval(rng)
    assert mixed.low < mixed.value < mixed.high


def test_the_interval_over_splits_is_students() -> None:
    found = interval_over_splits([1.0, 2.0, 3.0])
    assert found.value == 2.0
    assert found.high - 2.0 == pytest.approx(4.302653 / np.sqrt(3), rel=1e-6)  # t of 2 degrees, tables
    assert np.isnan(interval_over_splits([1.0]).low)


def test_the_difference_of_two_models_is_drawn_head_by_head() -> None:
    rng = np.random.default_rng(0)
    judged = rng.integers(5, 50, 80).astype(float)
    first = PairwiseAccuracy(judged * rng.uniform(0.5, 0.9, 80), judged)
    second = PairwiseAccuracy(first.won - 0.02 * judged, judged)  # worse by 0.02 on every head
    gain = first.less(second, rng)
    assert gain.value == pytest.approx(first.micro - second.micro)
    assert (gain.low, gain.high) == pytest.approx((0.02, 0.02))  # unpaired, heads would differ by far more
    assert first.interval(rng).high - first.interval(rng).low > 0.02
    with pytest.raises(ValueError, match="head by head"):
        first.less(PairwiseAccuracy(judged[:3], judged[:3]), rng)
