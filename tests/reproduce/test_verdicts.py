"""Verdicts on differences and slopes that are known."""

from __future__ import annotations

import numpy as np
import pytest

from sigmastar.core.intervals import Estimate
from sigmastar.reproduce.result import above, all_of, common_slope, gain, points


def test_a_difference_needs_a_test() -> None:
    rng = np.random.default_rng(0)
    base, noise = rng.random(200), 0.05 * rng.standard_normal(200)
    assert above(gain(base + 0.05 + noise, base, rng)) is True
    assert above(gain(base - 0.05 + noise, base, rng)) is False
    assert above(gain(base + noise - noise.mean(), base, rng)) is None
    assert above(gain(base + 0.05 + noise, base, rng), least=0.1) is False
    assert points(Estimate(0.02, 0.01, 0.03, 9)) == "+2.0 points, 95% interval +1.0 to +3.0"


def test_all_of_them() -> None:
    assert all_of([True, True]) is True
    assert all_of([True, None]) is None
    assert all_of([None, False]) is False
    assert all_of([]) is None


@pytest.mark.parametrize(("power", "verdict"), [(-0.5, True), (-0.8, True), (-0.2, False)])
def test_slopes_are_judged_by_their_interval(power: float, verdict: bool) -> None:
    rng, sizes = np.random.default_rng(0), np.array([100, 1000, 10_000])
    heights = rng.random((5, 1))
    errors = heights * sizes**power * np.exp(0.05 * rng.standard_normal((5, 3)))
    found = common_slope(sizes, errors)
    assert found.low < power < found.high
    assert found.reaches(-0.5) is verdict
    noisy = heights * np.exp(3 * rng.standard_normal((5, 3)))
    assert common_slope(sizes, noisy).reaches(-0.5) is None
    errors[0, 1] = np.nan  # a size that could not be learned
    assert common_slope(sizes, errors).value == pytest.approx(power, abs=0.05)
    assert common_slope(sizes[:2], errors[1:2, :2]).reaches(-0.5) is None  # a line through two points
