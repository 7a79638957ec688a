"""Strings with brackets: from trees and back."""

from __future__ import annotations

import pytest

from oracles_grammar import bracketings, spans_of_tree
from sigmastar.automata.data.strings import Strings
from sigmastar.core.errors import InputError
from sigmastar.grammars.data.bracketings import (
    Bracketings,
    its_tag,
    left_branching,
    right_branching,
)
from sigmastar.trees.data.tree import Tree

SENTENCE = Tree(
    "S",
    (
        Tree("NP", (Tree("DT", ("the",)), Tree("NN", ("cat",)))),
        Tree("VP", (Tree("VP", (Tree("VB", ("sat",)), Tree("-NONE-", ("*",)))), Tree("RB", ("down",)))),
    ),
)


def test_trees_lose_labels_traces_and_chains() -> None:
    found = Bracketings.of_trees([SENTENCE])
    assert list(found.strings) == [("the", "cat", "sat", "down")]
    assert found.spans(0) == [(0, 4), (0, 2), (2, 4)]
    assert list(Bracketings.of_trees([SENTENCE], its_tag).strings) == [("DT", "NN", "VB", "RB")]


def test_trees_come_back() -> None:
    found = Bracketings.of_trees([SENTENCE, Tree("X", ("a",))])
    assert [str(tree) for tree in found.trees()] == ["(X (X the cat) (X sat down))", "(X a)"]


def test_binary_trees_are_known() -> None:
    strings = Strings.of(["abcd"])
    for tree in bracketings(0, 4):
        spans = sorted(span for span in spans_of_tree(tree)[0] if span[1] - span[0] > 1)
        found = Bracketings.of_spans(strings, [spans])
        assert found.is_binary
        assert sorted(found.binary().spans(0)) == spans
    assert not Bracketings.of_spans(strings, [[(0, 4)]]).is_binary


def test_branching() -> None:
    strings = Strings.of(["abc", "a", "ab"])
    assert list(right_branching(strings)) == [[(0, 3), (1, 3)], [], [(0, 2)]]
    assert list(left_branching(strings)) == [[(0, 3), (0, 2)], [], [(0, 2)]]
    assert right_branching(strings).select([2, 0]).spans(1) == [(0, 3), (1, 3)]


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(InputError, match="1 strings, but spans of 2"):
        Bracketings.of_spans(Strings.of(["ab"]), [[], []])
