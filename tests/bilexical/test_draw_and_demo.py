"""The demo of bilexical operators: supervision beats popularity, and the pictures are there."""

from __future__ import annotations

import numpy as np
import pytest

from sigmastar.bilexical.demo import BilexicalFamily
from sigmastar.bilexical.draw import plot_embedding
from sigmastar.core.page import Picture
from sigmastar.core.progress import silent


def test_the_nuclear_norm_wins_on_a_relation_of_low_rank() -> None:
    result = BilexicalFamily().run(0, silent)
    found = {row.learner: row.measures["pairwise accuracy"] for row in result.rows}
    assert found["nuclear norm"] > max(found["popularity"], found["l1"], found["l2"])
    assert sum(isinstance(part, Picture) for part in result.section.parts) == 2


def test_a_map_needs_two_coordinates() -> None:
    with pytest.raises(ValueError, match="group 'a': 1 words for points of shape"):
        plot_embedding({"a": (["x"], np.zeros((1, 1)))})
