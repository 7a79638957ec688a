"""Drawing one of several places by weight, for trees of grammars."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest

from sigmastar.treebanks.model.whole_trees import _choice


class _AlmostOne:
    """A generator whose number is the largest below one."""

    def random(self) -> float:
        return 1.0 - 2.0**-53


@pytest.mark.parametrize(
    "weights",
    [
        np.array([1.0, 2.0, 0.0], dtype=np.float32),  # the product is rounded to the sum
        np.array([1e-45, 0.0], dtype=np.float32),
        np.array([1e308, 1e308, 0.0]),  # the sum overflows
        np.array([np.inf, 1.0, 0.0]),
        np.array([1.0, np.nan]),
    ],
)
def test_weights_of_any_scale_can_be_drawn(weights: Any) -> None:
    place = _choice(weights, cast("np.random.Generator", _AlmostOne()))
    assert weights[place] > 0


def test_draws_are_as_frequent_as_weights() -> None:
    rng = np.random.default_rng(0)
    drawn = [_choice(np.array([1.0, -1.0, 3.0], dtype=np.float32), rng) for _ in range(2000)]
    assert np.bincount(drawn, minlength=3) / 2000 == pytest.approx([0.25, 0.0, 0.75], abs=0.04)
