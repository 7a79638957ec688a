"""The demo of taggers: hidden states help, and the posterior is drawn."""

from __future__ import annotations

import numpy as np
import pytest

from sigmastar.core.figures import to_svg
from sigmastar.core.page import Picture
from sigmastar.core.progress import silent
from sigmastar.taggers.demo import BEST, TaggerFamily
from sigmastar.taggers.draw import plot_tags


def test_refined_tags_are_better_than_plain_ones() -> None:
    result = TaggerFamily(n_train=800, n_fresh=150).run(0, silent)
    found = {row.learner: row.measures["accuracy"] for row in result.rows}
    assert found[BEST] > max(found["bigram HMM"], found["trigram HMM"])
    assert sum(isinstance(part, Picture) for part in result.section.parts) == 1


def test_a_heat_map_shows_likely_and_true_tags() -> None:
    table = np.array([[0.9, 0.1, 0.0], [0.5, 0.5, 0.0]])
    drawn = to_svg(plot_tags(["big", "dog"], ["A", "N", "V"], table, ["A", "N"]))
    assert "dog" in drawn
    assert ">V<" not in drawn
    with pytest.raises(ValueError, match="2 words and 2 tags"):
        plot_tags(["big", "dog"], ["A", "N"], table)
