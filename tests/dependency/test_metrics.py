"""Attachment scores by hand, and intervals that hold them."""

from __future__ import annotations

import numpy as np
import pytest

from sigmastar.dependency.data.treebank import DependencyTreebank
from sigmastar.dependency.metrics import attachment, punctuation

GOLD = DependencyTreebank.of(
    [["a", "b", "."], ["c", "d"]],
    [["X", "X", "PUNCT"], ["X", "X"]],
    [[2, 0, 2], [0, 1]],
    [["x", "root", "punct"], ["root", "y"]],
)


def test_shares_of_words() -> None:
    found = GOLD.with_heads(np.array([2, 0, 1, 2, 0], dtype=np.int32), ["z", "root", "punct", "root", "y"])
    scores = attachment(GOLD, found, np.random.default_rng(0))
    assert scores.uas.value == pytest.approx(2 / 5)
    assert scores.uas_no_punct.value == pytest.approx(2 / 4)
    assert scores.las is not None
    assert scores.las.value == pytest.approx(1 / 5)
    assert scores.uas.low <= scores.uas.value <= scores.uas.high
    assert scores.n_words == 5


def test_without_labels_there_is_no_las() -> None:
    plain = GOLD.with_heads(GOLD.head, ["_"] * 5)
    scores = attachment(plain, plain, np.random.default_rng(0))
    assert scores.las is None
    assert scores.uas.value == scores.uas.low == 1.0


def test_punctuation_by_tag_or_by_its_signs() -> None:
    assert punctuation(GOLD).tolist() == [False, False, True, False, False]
    other = DependencyTreebank.of([["a", "``", ",", "-LRB-", "$"]], [["A", "B", "C", "D", "E"]])
    assert punctuation(other).tolist() == [False, True, True, True, False]


def test_other_words_are_refused() -> None:
    other = DependencyTreebank.of([["a"]], [["X"]], [[0]])
    with pytest.raises(ValueError, match="different words"):
        attachment(GOLD, other, np.random.default_rng(0))
