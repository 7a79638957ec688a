"""Lexicalised deterministic grammars: probabilities, classes, and the product with hidden states."""

from __future__ import annotations

import numpy as np
import pytest

from oracles import projective_trees, tree_weight
from sigmastar.inference.eisner import sentence_marginals
from sigmastar.learning.dependency import learn_parser
from sigmastar.learning.heads_lexical import STATES, STOP, BackOff, learn_lexical
from sigmastar.reproduce.luque2012_lexical import lexical_scores, neutral
from sigmastar.structures.dependencies import DependencyTreebank

TREEBANK = DependencyTreebank.of(
    [["the", "dog", "barks"], ["dogs", "see", "the", "cat"], ["the", "cat", "sees", "dogs"]] * 4,
    [["D", "N", "V"], ["N", "V", "D", "N"], ["D", "N", "V", "N"]] * 4,
    [[2, 3, 0], [2, 0, 4, 2], [2, 3, 0, 3]] * 4,
)


def test_back_off_goes_from_coarse_to_fine() -> None:
    coarse, fine = ("c",), ("f",)
    model = BackOff([("x", (fine, coarse))] * 3 + [("y", (coarse,))])
    n, kinds = 3, 1
    share = n / (n + 5 * kinds)
    rough = 4 / (4 + 10) * 3 / 4 + (1 - 4 / 14) * 1e-6
    assert model.probability("x", (fine, coarse)) == pytest.approx(share + (1 - share) * rough)
    assert model.probability("z", (fine, coarse)) > 0


@pytest.mark.parametrize("states", STATES)
def test_weights_are_probabilities_of_tags_and_words(states: str) -> None:
    grammar = learn_lexical(TREEBANK, states, least_count=1)
    weights, stops, classes = grammar.weights(["the", "dog", "barks"], ["D", "N", "V"])
    assert weights.shape == (grammar.n_classes, 4, 4)
    assert classes[0] == 0
    assert classes.max() < grammar.n_classes
    assert ((weights >= 0) & (weights <= 1)).all()
    assert ((stops > 0) & (stops <= 1)).all()
    assert weights[0, 2, 1] > weights[0, 1, 2]  # dogs have determiners, not the other way
    assert grammar.tags.probability(STOP, (("t", "D", 0, 0),)) > 0.4


def test_alone_its_marginals_are_those_of_all_trees() -> None:
    grammar = learn_lexical(TREEBANK, "lex+f", least_count=1)
    parser = learn_parser(TREEBANK, "det", symbols="upos", rng=np.random.default_rng(0))
    arrays = neutral(parser.alphabet).arrays
    codes = np.append(3, parser.vocabulary.codes(TREEBANK)[:3]).astype(np.int32)
    weights, stops, classes = grammar.weights(["the", "dog", "barks"], ["D", "N", "V"])
    total = sum(tree_weight(heads, codes, classes, arrays, weights, stops) for heads in projective_trees(3))
    _, log, _ = sentence_marginals(codes, classes, arrays, weights, stops, np.ones(4))
    assert np.exp(log) == pytest.approx(total)


def test_scores_of_figure_2() -> None:
    parser = learn_parser(TREEBANK, "spectral+em", 2, "upos", rng=np.random.default_rng(0))
    scores = lexical_scores(TREEBANK, TREEBANK, parser, {2: parser.automata})
    assert set(scores) == {(states, n) for states in STATES for n in (None, 2)}
    assert scores["lex+fcp", 2] == 1.0


def test_unknown_states_are_refused() -> None:
    with pytest.raises(ValueError, match="states='x'"):
        learn_lexical(TREEBANK, "x")
