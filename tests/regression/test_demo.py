"""Regression on strings in the demo."""

from __future__ import annotations

import numpy as np
import pytest

from sigmastar.core.figures import plot_matrices
from sigmastar.core.page import Picture
from sigmastar.core.progress import silent
from sigmastar.regression.data import make_regression
from sigmastar.regression.demo import RegressionFamily, hankel_matrix


def test_the_refined_automaton_is_exact_and_the_matrix_is_shown() -> None:
    result = RegressionFamily().run(0, silent)
    alone, refined = (row.measures["relative error"] for row in result.rows)
    assert refined < 1e-6 < alone
    assert any(isinstance(part, Picture) for part in result.section.parts)


def test_hankel_matrices_hold_the_values_of_joined_strings() -> None:
    made = make_regression(np.random.default_rng(0), longest=4)
    matrix = hankel_matrix(made.automaton, 2)
    words = [word for word in made.strings if len(word) <= 2]
    values = dict(zip(made.strings, made.values, strict=True))
    expected = [[values[p + s] for s in words] for p in words]
    np.testing.assert_allclose(matrix, expected, atol=1e-12)


def test_nothing_cannot_be_drawn() -> None:
    with pytest.raises(ValueError, match="no matrices"):
        plot_matrices({})
