"""Bracket scores counted by hand."""

from __future__ import annotations

import numpy as np
import pytest

from sigmastar.core.errors import InputError
from sigmastar.treebanks.metrics import Conventions, paired_f1, score_brackets, spans_of
from sigmastar.trees.data.brackets import parse_brackets, read_brackets


def scores(gold, found, **options):
    parses = [None if text is None else parse_brackets(text)[0] for text in found]
    return score_brackets(
        [parse_brackets(text)[0] for text in gold], parses, np.random.default_rng(0), **options
    )


GOLD = (
    "(TOP (S (NP-SBJ (DT the) (NN dog)) "
    "(VP (VBZ sees) (NP (NP (DT a) (NN man)) (PP (IN in) (NP (NN rain))))) (. .)))"
)
# PP hung to the verb, one wrong tag, the period inside of VP
WRONG = "(S (NP (DT the) (NN dog)) (VP (VB sees) (NP (DT a) (NN man)) (PP (IN in) (NP (NN rain))) (. .)))"


def test_the_attachment_of_a_phrase():
    found = scores([GOLD], [WRONG])
    # gold: S NP VP NP NP PP NP = 7; found: S NP VP NP PP NP = 6, all of them right
    assert found.precision.value == 1.0
    assert found.recall.value == pytest.approx(6 / 7)
    assert found.f1.value == pytest.approx(12 / 13)
    assert found.exact.value == 0.0
    assert found.crossing.value == 0.0
    assert found.tagging.value == pytest.approx(6 / 7)  # the period does not count
    assert found.n_sentences == 1


def test_punctuation_moves_nothing():
    # the comma is inside NP on one side and outside on the other: the same brackets
    found = scores(["(S (NP (NN a) (, ,)) (VP (VB b)))"], ["(S (NP (NN a)) (, ,) (VP (VB b)))"])
    assert found.f1.value == found.exact.value == 1.0
    # a phrase of punctuation alone is no bracket; gold tags say which words are left out
    other = scores(["(S (NP (NN a)) (X (: --)) (. .))"], ["(S (NP (NN a)) (NN --) (. .))"])
    assert other.f1.value == 1.0
    assert other.tagging.value == 1.0


def test_labels_that_are_the_same_and_labels_that_are_not():
    gold, parse = "(S (VP (VB go) (PRT (RP on))))", "(S (VP (VB go) (ADVP (RP on))))"
    assert scores([gold], [parse]).f1.value == 1.0
    strict = scores([gold], [parse], conventions=Conventions(same={}))
    assert strict.f1.value == pytest.approx(2 / 3)
    assert strict.unlabelled_f1.value == 1.0


def test_chains_are_matched_as_often_as_they_stand_there():
    found = scores(["(S (NP (NP (NN a))) (VB b))"], ["(S (NP (NN a)) (VB b))"])
    assert (found.precision.value, found.recall.value) == (1.0, pytest.approx(2 / 3))
    twice = scores(["(S (NP (NN a)) (VB b))"], ["(S (NP (NP (NN a))) (VB b))"])
    assert (twice.precision.value, twice.recall.value) == (pytest.approx(2 / 3), 1.0)


def test_crossing_brackets():
    gold = "(S (A (X a) (X b)) (B (X c) (X d)))"
    parse = "(S (X a) (C (X b) (D (X c) (X d))))"
    # C covers b c d: crosses A; D is B's span with another label
    found = scores([gold, gold], [parse, gold])
    assert found.crossing.value == 0.5
    assert found.no_crossing.value == 0.5
    assert found.exact.value == 0.5
    assert found.f1.value == pytest.approx(2 * (1 + 3) / (6 + 6))
    assert found.unlabelled_f1.value == pytest.approx(2 * (2 + 3) / (6 + 6))


def test_traces_count_neither_as_words_nor_as_brackets():
    gold = "(S (NP-SBJ (-NONE- *)) (VP (VB go)))"
    found = scores([gold], ["(S (VP (VB go)))"], max_length=1)
    assert found.exact.value == 1.0
    assert spans_of(parse_brackets(gold)[0]).words == ["go"]


def test_long_sentences_are_left_out_and_failures_count():
    short, long = "(S (X a) (X .))", "(S (X a) (X b) (X c))"
    found = scores([short, long], [None, None], max_length=2)
    assert (found.n_sentences, found.n_left_out) == (1, 1)
    assert (found.recall.value, found.precision.value, found.exact.value) == (0.0, 0.0, 0.0)
    with pytest.raises(InputError, match="no sentences"):
        scores([long], [long], max_length=2)


def test_other_words_are_refused():
    with pytest.raises(InputError, match=r"sentence 1.*'a' against 'b'"):
        scores(["(S (X a))"], ["(S (X b))"])
    with pytest.raises(ValueError, match="one to each"):
        scores(["(S (X a))"], [])


def test_intervals_hold_the_value_and_comparison_knows_the_better_one():
    good, bad = scores([GOLD] * 20, [GOLD] * 12 + [WRONG] * 8), scores([GOLD] * 20, [WRONG] * 20)
    assert good.f1.low < good.f1.value < good.f1.high <= 1.0
    assert paired_f1(good, bad, np.random.default_rng(0)) > 0.99
    assert paired_f1(bad, bad, np.random.default_rng(0)) == 0.5


def test_a_treebank_agrees_with_itself(data_folder):
    trees = read_brackets(data_folder / "ptb_sample" / "wsj-dev.mrg")
    found = score_brackets(trees, trees, np.random.default_rng(0), max_length=40)
    assert found.f1.value == found.exact.value == found.tagging.value == 1.0
    assert found.n_sentences + found.n_left_out == 273
