"""Whole trees that grammars agree on: worths by hand, and the best of the candidates."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sigmastar import PCFG, SpectralTreebankGrammar
from sigmastar.treebanks import TreebankParser, phrases
from sigmastar.treebanks.model.tree_products import tree_products
from sigmastar.trees.data.brackets import parse_brackets
from sigmastar.trees.data.tree import Tree

TREES = [
    tree
    for subject in ("(NP (D the) (N dog))", "(NP (N cats))", "(NP (NP (N men)) (PP (P in) (NP (N hats))))")
    for verb in ("saw", "ate")
    for tree in parse_brackets(
        f"(S {subject} (VP (V {verb}) (NP (N fish))))"
        f"(S {subject} (VP (V {verb}) (NP (NP (N fish)) (PP (P in) (NP (N hats))))))"
        f"(S {subject} (VP (V {verb}) (NP (N fish)) (PP (P in) (NP (N hats)))))"
    )
]
HIGH, LOW, NEVER = parse_brackets(
    "(S (NP (N cats)) (VP (V saw) (NP (N fish)) (PP (P in) (NP (N hats)))))"
    "(S (NP (N cats)) (VP (V saw) (NP (NP (N fish)) (PP (P in) (NP (N hats))))))"
    "(S (V cats) (VP (V saw) (NP (NP (N fish)) (PP (P in) (NP (N hats))))))"
)


@pytest.fixture(scope="module")
def parser() -> TreebankParser:
    return replace(SpectralTreebankGrammar("best", 2, span_scorer=False).fit(TREES).model_, decoding="trees")


def alone(parser: TreebankParser, number: int, tree: Tree) -> float:
    """log P of one tree under one of the grammars."""
    return float(
        replace(parser, members=parser.members[number : number + 1]).tree_log_probabilities(phrases([tree]))[
            0
        ]
    )


def test_worths_are_sums_over_grammars(parser: TreebankParser) -> None:
    assert len(parser.members) == 5
    expected = [sum(alone(parser, number, tree) for number in range(5)) for tree in (HIGH, LOW)]
    np.testing.assert_allclose(tree_products(parser.members, [HIGH, LOW]), expected, rtol=1e-12)


def test_no_grammar_has_a_veto(parser: TreebankParser) -> None:
    plain = PCFG().fit([NEVER]).model_.members[0]  # it has no rule for the others, which it counts 30 below
    worth = tree_products([*parser.members, plain], [HIGH, LOW, NEVER])
    without = tree_products(parser.members, [HIGH, LOW])
    own = float(PCFG().fit([NEVER]).model_.tree_log_probabilities(phrases([NEVER]))[0])
    np.testing.assert_allclose(worth[:2], without + own - 30.0, rtol=1e-12)
    floor = sum(max(alone(parser, number, tree) for tree in (HIGH, LOW)) - 30.0 for number in range(5))
    assert worth[2] == pytest.approx(floor + own, rel=1e-12)


def test_trees_that_nobody_can_build_are_worth_nothing(parser: TreebankParser) -> None:
    assert np.isneginf(tree_products(parser.members, [NEVER])).all()
    assert len(tree_products(parser.members, [])) == 0


def test_the_tree_is_the_best_of_what_all_ways_propose(parser: TreebankParser) -> None:
    for sentence in (
        list(HIGH.words()),
        ["men", "in", "hats", "saw", "fish", "in", "hats"],
        ["dog", "ate", "fish"],
    ):
        (tree, worth), *others = parser.parse_nbest(sentence, n_best=5)
        assert worth == tree_products(parser.members, [tree])[0]
        for decoding in ("labels", "rules"):
            other = replace(parser, decoding=decoding).parse_one(sentence).tree
            assert tree_products(parser.members, [tree, other])[1] <= worth
        assert all(score <= worth for _, score in others)
        found = parser.parse_one(sentence)
        assert (found.tree, found.how) == (tree, "full")
        assert found.log_probability == pytest.approx(
            replace(parser, decoding="labels").parse_one(sentence).log_probability, rel=1e-9
        )


def test_one_grammar_gives_its_most_probable_tree() -> None:
    """Of a PCFG every tree of the words is a candidate: short sentences have few."""
    model = replace(PCFG(decoding="trees").fit(TREES).model_, decoding="trees")
    for tree in (HIGH, LOW):
        best = model.parse_nbest(list(tree.words()), n_best=50)
        logs = model.tree_log_probabilities(phrases([found for found, _ in best]))
        possible = np.isfinite(logs)
        np.testing.assert_allclose(
            np.array([worth for _, worth in best])[possible], logs[possible], rtol=1e-12
        )
        assert [worth for (_, worth), good in zip(best, possible, strict=True) if not good] == [
            logs.max() - 30.0
        ] * int((~possible).sum())
        assert {HIGH, LOW} <= {found for found, _ in best}
        assert best[0][1] == logs.max()
