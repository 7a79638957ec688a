from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sigmastar import load_model, save_model
from sigmastar.treebanks.data.phrases import phrases
from sigmastar.treebanks.learn.methods import (
    GrammarSpec,
    SpanScorerSpec,
    _gold,
    _labels,
    learn_span_scorer,
    learn_treebank,
)
from sigmastar.trees.data.brackets import parse_brackets

SUBJECTS = ("(NP (D the) (N dog))", "(NP (N cats))")
OBJECTS = ("(NP (D a) (N bone))", "(NP (N fish))")
TREES = [
    tree
    for s, o in itertools.product(SUBJECTS, OBJECTS)
    for tree in parse_brackets(f"(S {s} (VP (V saw) {o}) (. .))(S {s} (VP (V ran)))")
] * 5


def test_gold_cells_hold_the_labels_of_phrases() -> None:
    bank = phrases(parse_brackets("(S (NP (N cats)) (VP (V saw) (NP (D a) (N bone))))"))
    labels, column = _labels(bank, 1)
    assert labels == (("NP",), ("S",), ("VP",))
    cell_starts, gold = _gold(bank, column)
    assert cell_starts.tolist() == [0, 10]
    expected = {0: 0, 6: 0, 8: 2, 9: 1}  # cells by width: cats, a bone, saw a bone, all
    assert gold.tolist() == [expected.get(c, -1) for c in range(10)]


def test_rare_chains_count_as_their_first_label() -> None:
    bank = phrases(TREES + parse_brackets("(S (NP (QP (N cats))) (VP (V ran)))"))
    labels, column = _labels(bank, 2)
    assert ("NP", "QP") not in labels
    assert column.max() < len(labels)
    row = next(r for r in range(len(bank.label)) if bank.labels[bank.label[r]] == ("NP", "QP", "N"))
    assert labels[column[row]] == ("NP",)


@pytest.fixture(scope="module")
def parser():  # type: ignore[no-untyped-def]
    return learn_treebank(TREES, [GrammarSpec("pcfg", n_states=1)], spans=SpanScorerSpec(n_passes=8))


def test_spans_take_their_share_of_the_marginals(parser) -> None:  # type: ignore[no-untyped-def]
    words = ["cats", "saw", "the", "bone", "."]
    alone = replace(parser, span_scorer=None).chart(words)
    whole, half = (
        replace(parser, span_scorer=replace(parser.span_scorer, share=share)).chart(words)
        for share in (1.0, 0.5)
    )
    np.testing.assert_allclose(half.values, 0.5 * alone.values + 0.5 * whole.values, atol=1e-9)
    right = [
        chart.values[chart.cell(2, 4)][
            [parser.labels[k] == ("NP",) for k in chart.labels[chart.cell(2, 4)].tolist()]
        ]
        for chart in (whole, half)
    ]
    assert right[0][0] > 0.9
    assert whole.values.max() < 1.0 + 1e-6
    assert str(parser.parse_one(words).tree) == "(S (NP (N cats)) (VP (V saw) (NP (D the) (N bone))) (. .))"


def test_they_are_part_of_the_file(parser, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    save_model(parser, tmp_path / "m", {})
    read = load_model(tmp_path / "m")
    words = ["the", "bone", "saw", "cats", "."]
    np.testing.assert_allclose(read.chart(words).values, parser.chart(words).values, atol=1e-3)
    assert read.span_scorer.labels == parser.span_scorer.labels
    assert read.threshold == parser.threshold == 0.44


def test_one_seed_gives_one_model_and_words_beyond_training_are_scored(parser) -> None:  # type: ignore[no-untyped-def]
    bank = phrases(TREES)
    first, second = (
        learn_span_scorer(bank, parser.forest, SpanScorerSpec(), np.random.default_rng(2)).weights
        for _ in range(2)
    )
    np.testing.assert_array_equal(first, second)
    words, tags = ["dogs", "saw", "a", "cat", "."], ["N", "V", "D", "N", "."]
    assert (
        str(parser.parse_one(words, tags).tree) == "(S (NP (N dogs)) (VP (V saw) (NP (D a) (N cat))) (. .))"
    )


def test_trees_without_phrases_score_nothing() -> None:
    flat = learn_treebank(
        parse_brackets("(N a)(N b)") * 3, [GrammarSpec("pcfg", n_states=1)], spans=SpanScorerSpec()
    )
    assert str(flat.parse_one(["a"]).tree) == "(N a)"


def test_spans_alone_stand_in_where_no_grammar_has_a_parse(parser) -> None:  # type: ignore[no-untyped-def]
    words, tags = ["the", "dog", "saw", "a", "bone", ".", "."], ["D", "N", "V", "D", "N", ".", "."]
    found = parser.parse_one(words, tags)
    assert found.how == "spans"
    assert list(found.tree.words()) == words
    assert "(NP (D a) (N bone))" in str(found.tree)
    assert replace(parser, span_scorer=None).parse_one(words, tags).how == "flat"
    assert parser.parse_one(words, [*tags[:-1], "NEW"]).how == "flat"
    assert parser.parse_one(["the", "the"]).how in ("spans", "flat")
