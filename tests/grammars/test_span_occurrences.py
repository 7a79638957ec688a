"""Spans and cuts of strings under priors on brackets."""

from __future__ import annotations

import numpy as np
import pytest

from oracles_grammar import bracketings, spans_of_tree
from sigmastar.automata.data.strings import Strings
from sigmastar.grammars.counts.span_occurrences import flat_table, right_table, span_occurrences


def test_right_branching_trees() -> None:
    strings = Strings.of(["abc", "a"])
    found = span_occurrences(strings, np.array([2.0, 1.0]), right_table)
    spans = {
        (s, b, n): w for s, b, n, w in zip(found.string, found.begin, found.length, found.weight, strict=True)
    }
    assert spans == pytest.approx(
        {(0, 0, 3): 2, (0, 1, 2): 2, (0, 0, 1): 2, (0, 1, 1): 2, (0, 2, 1): 2, (1, 3, 1): 1}
    )
    assert found.cut_weight.tolist() == pytest.approx([2.0, 2.0])
    assert found.length[found.whole].tolist() == [3, 1]


def test_uniform_cuts_agree_with_drawing_trees_from_the_top() -> None:
    found = span_occurrences(Strings.of(["abcd"]), np.ones(1), flat_table)

    def chance(tree: object) -> float:
        if isinstance(tree, int):
            return 1.0
        left, right = tree  # type: ignore[misc]
        _, begin, end = spans_of_tree(tree)  # type: ignore[arg-type]
        return chance(left) * chance(right) / (end - begin - 1)

    for begin, length, weight in zip(found.begin, found.length, found.weight, strict=True):
        span = (int(begin), int(begin + length))
        expected = sum(chance(tree) for tree in bracketings(0, 4) if span in spans_of_tree(tree)[0])
        assert weight == pytest.approx(expected)
    assert found.cut_weight.sum() == pytest.approx(3.0)


def test_equal_spans_count_as_one_each() -> None:
    found = span_occurrences(Strings.of(["abc"]), np.ones(1), flat_table, equal=True)
    assert found.weight.tolist() == [1.0] * 6


def test_tables_of_strings_decide() -> None:
    table = np.full((4, 4), 1e-9)
    table[0, 2] = table[0, 1] = table[1, 2] = table[2, 3] = 1.0
    found = span_occurrences(Strings.of(["abc", "abc"]), np.ones(2), [table, right_table(3)])
    chosen = {
        (int(s), int(b), int(n)) for s, b, n in zip(found.string, found.begin, found.length, strict=True)
    }
    assert (0, 0, 2) in chosen
    assert (0, 1, 2) not in chosen
    assert (1, 4, 2) in chosen
