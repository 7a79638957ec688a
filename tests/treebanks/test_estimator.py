"""Treebank grammars from trees to trees: every method, marginals, probabilities, files, bad input."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sigmastar import PCFG, EMTreebankGrammar, InputError, SpectralTreebankGrammar, load_model, save_model
from sigmastar.treebanks import INSIDE, OUTSIDE
from sigmastar.treebanks.estimator import TreebankEstimator
from sigmastar.treebanks.model.parser import DECODINGS
from sigmastar.trees.data.brackets import parse_brackets
from sigmastar.trees.data.tree import Tree

SUBJECTS = ["(NP (D the) (N dog))", "(NP (N cats))", "(NP (NP (D the) (N man)) (PP (P in) (NP (N hats))))"]
OBJECTS = ["(NP (D a) (N bone))", "(NP (D the) (A old) (N house))", "(NP (N fish))"]
VERBS = ["saw", "ate", "liked"]
TREES = [
    tree
    for s, v, o in product(SUBJECTS, VERBS, OBJECTS)
    for tree in parse_brackets(
        f"(S {s} (VP (V {v}) {o}) (. .))(S {s} (VP (V {v}) {o} (PP (P in) {o})) (. .))"
    )
] * 2
SENTENCE = ["the", "old", "man", "saw", "a", "dog", "in", "the", "house", "."]

METHODS: list[TreebankEstimator] = [
    PCFG(),
    PCFG("head", 1, 2),
    SpectralTreebankGrammar("spectral", 3),
    SpectralTreebankGrammar("cluster", 3),
    SpectralTreebankGrammar("spectral+em", 6, direction="left"),
    SpectralTreebankGrammar("best", 3),
    EMTreebankGrammar(2, max_iter=5),
    SpectralTreebankGrammar("spectral+em", 3, decoding="rules"),
    PCFG(decoding="rules"),
]


@pytest.fixture(scope="module", params=METHODS, ids=repr)
def grammar(request: pytest.FixtureRequest) -> TreebankEstimator:
    return request.param.fit(TREES)


def test_sentences_become_trees_over_their_words(grammar: TreebankEstimator) -> None:
    (parse,) = grammar.parse([SENTENCE])
    assert list(parse.tree.words()) == SENTENCE
    assert parse.tree.label == "S"
    assert parse.how in ("full", "pruned grammar")
    assert np.isfinite(parse.log_probability)


def test_training_sentences_come_back(grammar: TreebankEstimator) -> None:
    right = [tree == found for tree, found in zip(TREES, grammar.predict(TREES), strict=True)]
    assert np.mean(right) > 0.6


@pytest.mark.parametrize("decoding", DECODINGS)
def test_the_first_of_the_best_trees_is_the_tree(grammar: TreebankEstimator, decoding: str) -> None:
    parser = replace(grammar.model_, decoding=decoding)
    for words in (SENTENCE, ["cats", "ate", "fish", "."]):
        best = parser.parse_nbest(words, n_best=6)
        assert best[0][0] == parser.parse_one(words).tree
        assert len({str(tree) for tree, _ in best}) == len(best)
        assert [score for _, score in best] == sorted((score for _, score in best), reverse=True)
        assert all(list(tree.words()) == list(words) for tree, _ in best)


def test_tags_are_obeyed(grammar: TreebankEstimator) -> None:
    words, tags = ["the", "saw", "ate", "fish", "."], ["D", "N", "V", "N", "."]
    (tree,) = grammar.predict([(words, tags)])
    assert [node.label for node in tree.nodes() if isinstance(node.children[0], str)] == tags


def test_marginals_are_shares_of_trees(grammar: TreebankEstimator) -> None:
    (found,) = grammar.marginals([SENTENCE])
    n = len(SENTENCE)
    np.testing.assert_allclose(sum(v for (_, i, j), v in found.items() if (i, j) == (0, n)), 1.0, atol=1e-3)
    for position in range(n):
        tags = [
            v for (label, i, j), v in found.items() if (i, j) == (position, position + 1) and label != "NP"
        ]
        np.testing.assert_allclose(sum(tags), 1.0, atol=2e-2)


def test_a_tree_is_less_probable_than_its_sentence(grammar: TreebankEstimator) -> None:
    tree = TREES[0]
    alone, together = grammar.score_samples([tree, list(tree.words())])
    assert np.isfinite(alone)
    assert alone <= together + 1e-6


def test_a_file_holds_all_of_it(grammar: TreebankEstimator, tmp_path: Path) -> None:
    save_model(grammar.model_, tmp_path / "model")
    other = load_model(tmp_path / "model", "treebank")
    (before,), (after,) = grammar.parse([SENTENCE]), other.parse([(SENTENCE, None)])
    assert before.tree == after.tree
    np.testing.assert_allclose(before.log_probability, after.log_probability, rtol=1e-4)


def test_samples_are_trees_of_the_grammar(grammar: TreebankEstimator) -> None:
    trees = grammar.sample(5, random_state=1)
    assert trees == grammar.sample(5, random_state=1)
    assert all(isinstance(tree, Tree) for tree in trees)
    assert {word for tree in trees for word in tree.words()} <= {w for tree in TREES for w in tree.words()}


def test_threads_change_nothing(grammar: TreebankEstimator) -> None:
    sentences = [(list(tree.words()), None) for tree in TREES[:40]]
    one, two = (grammar.parser_.parse(sentences, n_threads) for n_threads in (1, 2))
    assert [parse.tree for parse in one] == [parse.tree for parse in two]


def test_the_plain_grammar_counts_rules() -> None:
    trees = parse_brackets("(S (A x) (B y)) (S (A x) (A x)) (S (A x) (B z)) (S (B y) (B y))")
    grammar = PCFG().fit(trees)
    # S -> A B half of the time; words: P(x | A) = 1 but for what backs off, so compare two trees of one shape
    first, second = grammar.score_samples(trees[:2])
    assert first > second
    total = np.exp(grammar.score_samples([["x", "y"]]))[0]
    by_hand = np.exp(grammar.score_samples(parse_brackets("(S (A x) (B y)) (S (B x) (B y)) (S (A x) (A y))")))
    np.testing.assert_allclose(total, by_hand.sum(), rtol=1e-6)


@pytest.mark.parametrize("n", [1, 2, 250])
def test_any_length_gets_a_tree(n: int) -> None:
    grammar = PCFG().fit(TREES)
    words = (["the", "dog", "saw", "a", "bone"] * 50)[:n]
    (parse,) = grammar.parse([words])
    assert list(parse.tree.words()) == words


def test_what_cannot_be_parsed_is_flat_and_says_so() -> None:
    grammar = PCFG().fit(parse_brackets("(S (A x) (B y))" * 4))
    (parse,) = grammar.parse([["x", "y", "x"]])
    assert parse.how == "flat"
    assert str(parse.tree) == "(S (A x) (B y) (A x))"
    assert np.isneginf(grammar.score_samples([["x", "y", "x"]])[0])


def test_an_unknown_rule_has_no_probability() -> None:
    grammar = PCFG().fit(TREES)
    odd = parse_brackets("(S (VP (V saw)) (NP (N cats)) (. .)) (Q (V saw) (N cats))")
    assert np.isneginf(grammar.score_samples(odd)).all()


def test_latent_states_explain_more_than_one_state() -> None:
    plain, latent = PCFG().fit(TREES), SpectralTreebankGrammar("spectral+em", 4).fit(TREES)
    assert latent.score_samples(TREES).mean() > plain.score_samples(TREES).mean()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: PCFG().fit([]), "no tree has a word"),
        (lambda: PCFG("up").fit(TREES), "direction='up' must be one of"),
        (lambda: SpectralTreebankGrammar("magic").fit(TREES), "method='magic' must be one of 'best'"),
        (lambda: PCFG(decoding="magic").fit(TREES), "decoding='magic' must be one of"),
        (lambda: SpectralTreebankGrammar(n_states=0).fit(TREES), "n_states=0 must be"),
        (lambda: PCFG().fit(TREES).predict(["the dog"]), "split it into words"),
        (lambda: PCFG().fit(TREES).predict([[]]), "a sentence without words"),
        (lambda: PCFG().fit(TREES).predict([(["a", "b"], ["D"])]), "2 words, but 1 tags"),
        (lambda: PCFG().fit(parse_brackets("(S the (N dog))")), "tree 1: a word stands beside"),
    ],
)
def test_wrong_input_speaks(wrong: object, message: str) -> None:
    with pytest.raises((InputError, ValueError), match=message):
        wrong()  # type: ignore[operator]


def test_features_of_both_views_are_parameters() -> None:
    few = {"rule": INSIDE["rule"]}
    seen = []

    def rule_of_parent(nodes: Any) -> Any:
        seen.append(len(nodes.symbol))
        return OUTSIDE["parent"](nodes)

    grammar = SpectralTreebankGrammar("cluster", n_states=2, inside=few, outside={"parent": rule_of_parent})
    assert all(parse.how == "full" for parse in grammar.fit(TREES).parse(TREES[:3]))
    assert seen
    assert grammar.specs()[0].inside is few


def test_sentences_of_thousands_of_words_do_not_stop_learning() -> None:
    """The span scorer leaves them out: it looks at every span."""
    long = "(S (A x) " * 3_000 + "(B y)" + ")" * 3_000
    model = SpectralTreebankGrammar(n_states=2, max_iter=1).fit([long, *["(S (A x) (B y))"] * 8])
    assert str(model.predict([["x", "y"]])[0]) == "(S (A x) (B y))"


def test_a_warm_start_goes_on_where_the_last_fit_ended() -> None:
    """Twice three rounds are six; a larger treebank begins from the states of a smaller one."""
    twice = EMTreebankGrammar(3, max_iter=3, warm_start=True).fit(TREES).fit(TREES)
    whole = EMTreebankGrammar(3, max_iter=6).fit(TREES)
    np.testing.assert_array_equal(twice.score_samples(TREES), whole.score_samples(TREES))
    assert (
        EMTreebankGrammar(3, max_iter=3).fit(TREES).score_samples(TREES) != whole.score_samples(TREES)
    ).any()
    more = [*TREES, *parse_brackets("(S (NP (X foxes)) (VP (V ran) (Y far)))" * 4)]
    known = EMTreebankGrammar(3, max_iter=30).fit(TREES)
    sizes = known.model_.members[0].grammar.n_states.max()
    once = known.set_params(warm_start=True, max_iter=1).fit(more).score_samples(more).sum()
    assert once > EMTreebankGrammar(3, max_iter=1).fit(more).score_samples(more).sum()
    assert known.model_.members[0].grammar.n_states.max() == sizes
    assert str(known.predict([["foxes", "ran", "far"]])[0]) == "(S (NP (X foxes)) (VP (V ran) (Y far)))"


class NltkTree(list[Any]):
    """A tree as nltk has them: a list of children with a label."""

    def label(self) -> str:
        return "S" if isinstance(self[0], NltkTree) else "N"


def test_trees_of_nltk_are_scored_and_parsed_as_trees() -> None:
    grammar = PCFG().fit(["(S (N dogs) (N bark))", "(S (N cats) (N bark))"] * 5)
    theirs = NltkTree([NltkTree(["cats"]), NltkTree(["bark"])])
    (ours,) = parse_brackets("(S (N cats) (N bark))")
    assert grammar.score_samples([theirs]) == grammar.score_samples([ours])
    assert grammar.predict([theirs]) == [ours]
    with pytest.raises(InputError, match="'cats' is one word where a list of words should stand"):
        grammar.predict(["cats", "bark"])
