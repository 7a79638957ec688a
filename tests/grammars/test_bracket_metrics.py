"""Unlabelled precision, recall and F1."""

from __future__ import annotations

import pytest

from sigmastar.automata.data.strings import Strings
from sigmastar.grammars.data.bracketings import Bracketings, right_branching
from sigmastar.grammars.metrics.brackets import baselines, bracket_counts, bracket_score


def test_whole_strings_and_repetitions_do_not_count() -> None:
    strings = Strings.of(["abcd", "ab", "abc"])
    gold = Bracketings.of_spans(strings, [[(0, 4), (0, 2), (0, 2)], [(0, 2)], [(0, 3), (1, 3)]])
    found = Bracketings.of_spans(strings, [[(0, 4), (0, 2), (2, 4)], [(0, 2)], [(0, 3), (0, 2)]])
    assert bracket_counts(found, gold).tolist() == [[1, 2, 1], [0, 0, 0], [0, 1, 1]]
    score = bracket_score(found, gold)
    assert score.precision == pytest.approx(1 / 3)
    assert score.recall == pytest.approx(1 / 2)
    assert score.f1 == pytest.approx(2 / 5)


def test_baselines() -> None:
    strings = Strings.of(["abcd"])
    found = baselines(right_branching(strings))
    assert found["right-branching"].f1 == 1.0
    assert found["left-branching"].f1 == 0.0


def test_other_strings_are_refused() -> None:
    with pytest.raises(ValueError, match="cannot be compared"):
        bracket_score(right_branching(Strings.of(["ab"])), right_branching(Strings.of(["abc"])))
