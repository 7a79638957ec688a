"""Lexicalised deterministic grammars: probabilities, classes, and the product with hidden states."""

from __future__ import annotations

from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pytest

from oracles import backed_off, projective_trees, tree_weight
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.model_files import load_model, save_model
from sigmastar.dependency.data.treebank import DependencyTreebank
from sigmastar.dependency.kernels.eisner import sentence_marginals
from sigmastar.dependency.learn.lexical import STATES, learn_lexical
from sigmastar.dependency.learn.methods import learn_parser
from sigmastar.dependency.model.head_automata import HeadAutomata
from sigmastar.dependency.model.lexical import BackOff
from sigmastar.reproduce.luque2012.lexical import lexical_scores, parse_sentence

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
    assert grammar.log_probability(TREEBANK)[1] == pytest.approx(total)
    weights, stops, classes = grammar.weights(["dogs", "see", "the", "cat"], ["N", "V", "D", "N"])
    arrays = HeadAutomata.neutral(Alphabet("x")).arrays
    codes = np.array([1, 0, 0, 0, 0])
    assert np.log(tree_weight((2, 0, 4, 2), codes, classes, arrays, weights, stops)) == pytest.approx(total)


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


def test_alone_its_marginals_are_those_of_all_trees() -> None:
    grammar = learn_lexical(TREEBANK, "lex+f", least_count=1)
    parser = learn_parser(TREEBANK, "det", symbols="upos", rng=np.random.default_rng(0))
    arrays = HeadAutomata.neutral(parser.alphabet).arrays
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


@pytest.mark.parametrize("states", STATES)
@pytest.mark.parametrize("method", [None, "spectral"])
def test_parsers_with_counted_words(states: str, method: str | None, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    parser = learn_parser(TREEBANK, method or states, 2, "upos", rng=rng, counted=states if method else None)
    save_model(parser, tmp_path / "m", {})
    again = load_model(tmp_path / "m", "dependency")
    new = DependencyTreebank.of([["the", "cat", "barks", "loudly"]], [["D", "N", "V", "R"]])
    for treebank in (TREEBANK, new):
        parse = again.parse(treebank, marginals=True)
        assert parse.heads.tolist() == parser.parse(treebank).heads.tolist()
        for table in parse.marginals:
            np.testing.assert_allclose(table[:, 1:].sum(axis=0), 1.0, atol=1e-10)
    assert (again.parse(TREEBANK).heads == TREEBANK.head).all()
    assert np.isfinite(again.log_probability(TREEBANK)).all()
    if method is None:
        grammar = learn_lexical(TREEBANK, states)
        np.testing.assert_allclose(again.log_probability(TREEBANK), grammar.log_probability(TREEBANK))


def test_one_at_a_time_is_the_same() -> None:
    parser = learn_parser(TREEBANK, "lex+fcp", symbols="upos", rng=np.random.default_rng(0))
    grammar = parser.counted
    one = TREEBANK.select([1])
    heads = parse_sentence(parser, parser.automata, one, *grammar.weights(one.form, one.xpos))
    assert heads.tolist() == parser.parse(one).heads.tolist()


def test_unknown_states_are_refused() -> None:
    with pytest.raises(ValueError, match="states='x'"):
        learn_lexical(TREEBANK, "x")
