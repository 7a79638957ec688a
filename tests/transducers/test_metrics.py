"""Error rates of words and symbols."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sigmastar.transducers.metrics import edit_distance, transduction_scores


def slow_distance(a: str, b: str) -> int:
    if not a or not b:
        return len(a) + len(b)
    return min(
        slow_distance(a[1:], b) + 1, slow_distance(a, b[1:]) + 1, slow_distance(a[1:], b[1:]) + (a[0] != b[0])
    )


@given(st.text("ab", max_size=5), st.text("ab", max_size=5))
def test_the_edit_distance_is_the_least(a, b):
    assert edit_distance(a, b) == slow_distance(a, b)


def test_any_right_output_counts(rng):
    scores = transduction_scores(["AB", "A", ""], [["XX", "AB"], ["AC"], ["B"]], rng)
    assert scores.wrong.tolist() == [False, True, True]
    assert scores.word_error_rate.value == pytest.approx(2 / 3)
    assert scores.symbol_error_rate.value == pytest.approx(2 / 5)
    assert scores.symbol_error_rate.low <= scores.symbol_error_rate.value <= scores.symbol_error_rate.high


def test_predictions_and_inputs_must_be_as_many():
    with pytest.raises(ValueError, match="1 predictions for 2"):
        transduction_scores(["A"], [["A"], ["B"]], np.random.default_rng(0))
