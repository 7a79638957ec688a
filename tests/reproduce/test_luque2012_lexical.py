"""Lexicalised deterministic grammars: probabilities, classes, and the product with hidden states."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest

from oracles import backed_off, projective_trees, tree_weight
from sigmastar.core.alphabet import Alphabet
from sigmastar.dependency.data.treebank import DependencyTreebank
from sigmastar.dependency.kernels.inside_outside import Automata, sentence_marginals
from sigmastar.dependency.learn.parser import Recipe, learn_parser
from sigmastar.dependency.model.head_automata import HeadAutomata
from sigmastar.reproduce.luque2012.lexical import (
    STATES,
    BackOff,
    LexicalGrammar,
    learn_lexical,
    lexical_scores,
    parse_sentence,
    product_automata,
)

TREEBANK = DependencyTreebank.of(
    [["the", "dog", "barks"], ["dogs", "see", "the", "cat"], ["the", "cat", "sees", "dogs"]] * 4,
    [["D", "N", "V"], ["N", "V", "D", "N"], ["D", "N", "V", "N"]] * 4,
    [[2, 3, 0], [2, 0, 4, 2], [2, 3, 0, 3]] * 4,
)


def test_back_off_goes_from_coarse_to_fine() -> None:
    rng = np.random.default_rng(0)
    fine, coarse, events = rng.integers(0, 4, 60), rng.integers(0, 2, 60), rng.integers(0, 5, 60)
    model = BackOff((fine, coarse), events, np.ones(60, dtype=np.int64), 6)
    seen = list(zip(events, zip(fine, coarse, strict=True), strict=True))
    for f, c, e in product(range(5), range(3), range(6)):
        found = model.probability((np.array([f]), np.array([c])), np.array([e]))
        assert found[0] == pytest.approx(backed_off(e, (f, c), seen))


def events_of(treebank: DependencyTreebank, states: str) -> list[tuple]:
    """(head word, head tag, direction, class, tag, word) of all modifiers and ends, one by one."""
    grammar, events = learn_lexical(treebank, states, least_count=1), []
    for low, high in pairwise(treebank.sentence_offsets.tolist()):
        words, tags = ["*", *treebank.form[low:high]], ["*", *treebank.xpos[low:high]]
        heads = [-1, *treebank.head[low:high].tolist()]
        for head, direction in product(range(len(words)), (0, 1)):
            mine = [w for w in range(1, len(words)) if heads[w] == head and (w > head) == direction]
            if head == 0 and direction == 0:
                continue
            state = 0
            for word in sorted(mine, key=lambda w, head=head: abs(w - head)):
                events.append((words[head], tags[head], direction, state, tags[word], words[word]))
                state = grammar.class_of(tags[word])
            events.append((words[head], tags[head], direction, state, None, None))
    return events


@pytest.mark.parametrize("states", STATES)
def test_probabilities_are_those_of_the_formulas(states: str) -> None:
    events = events_of(TREEBANK, states)
    tags = [(tag, ((w, t, d, s), (t, d, s))) for w, t, d, s, tag, _ in events]
    words = [(word, ((tag, w, t, d, s), (tag, t, d, s), tag)) for w, t, d, s, tag, word in events if tag]
    total = 0.0
    for w, t, d, s, tag, word in events_of(TREEBANK.select([1]), states):
        total += np.log(backed_off(tag, ((w, t, d, s), (t, d, s)), tags))
        if tag:
            total += np.log(backed_off(word, ((tag, w, t, d, s), (tag, t, d, s), tag), words))
    grammar = learn_lexical(TREEBANK, states, least_count=1)
    arrays = HeadAutomata.neutral(Alphabet("x")).arrays
    automata = together(grammar, arrays, [1, 0, 0, 0, 0], ["dogs", "see", "the", "cat"], ["N", "V", "D", "N"])
    codes = np.array([4, 0, 1, 2, 3])
    assert np.log(tree_weight((2, 0, 4, 2), codes, automata, np.ones((5, 5)))) == pytest.approx(total)


def together(
    grammar: LexicalGrammar, arrays: Automata, codes: list[int], words: list[str], tags: list[str]
) -> Automata:
    weights, stops, classes = grammar.weights(words, tags)
    return product_automata(arrays, np.array(codes, dtype=np.int32), weights, stops, classes)


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
    assert stops[0, 0, 1] > 0.4  # nothing stands before determiners


def test_its_product_with_hidden_states_has_the_marginals_of_all_trees() -> None:
    grammar = learn_lexical(TREEBANK, "lex+fcp", least_count=1)
    parser = learn_parser(TREEBANK, Recipe("spectral+em", 2, "upos"), np.random.default_rng(0))
    known = np.append(3, parser.vocabulary.codes(TREEBANK)[:3]).tolist()
    automata = together(grammar, parser.automata.arrays, known, ["the", "dog", "barks"], ["D", "N", "V"])
    codes, ones = np.array([3, 0, 1, 2], dtype=np.int32), np.ones((4, 4))
    total = sum(tree_weight(heads, codes, automata, ones) for heads in projective_trees(3))
    sign, log, marginals = sentence_marginals(codes, automata, ones, np.ones(4))
    assert sign * np.exp(log) == pytest.approx(total)
    np.testing.assert_allclose(marginals[:, 1:].sum(axis=0), 1.0, atol=1e-10)
    one = TREEBANK.select([0])
    heads = parse_sentence(parser, parser.automata, one, *grammar.weights(one.form, one.xpos))
    assert heads.tolist() == [2, 3, 0]


def test_scores_of_figure_2() -> None:
    parser = learn_parser(TREEBANK, Recipe("spectral+em", 2, "upos"), np.random.default_rng(0))
    scores = lexical_scores(TREEBANK, TREEBANK, parser, {2: parser.automata})
    assert set(scores) == {(states, n) for states in STATES for n in (None, 2)}
    assert np.mean(scores["lex+fcp", 2]) == pytest.approx(1.0)


def test_unknown_states_are_refused() -> None:
    with pytest.raises(ValueError, match="states='x'"):
        learn_lexical(TREEBANK, "x")
