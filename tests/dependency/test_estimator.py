"""Dependency grammars in the manner of scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest

from sigmastar import (
    DependencyTreebank,
    DeterministicDependencyGrammar,
    EMDependencyGrammar,
    InputError,
    NotFittedError,
    SpectralDependencyGrammar,
)
from sigmastar.dependency.data.treebank import as_treebank

X = [["D", "N", "V"], ["N", "V", "D", "N"], ["D", "N", "V", "N"]] * 5
Y = [[2, 3, 0], [2, 0, 4, 2], [2, 3, 0, 3]] * 5
ALL = [
    SpectralDependencyGrammar(method="spectral", n_states=2, arcs="none"),
    SpectralDependencyGrammar(n_states=2),
    EMDependencyGrammar(n_states=2),
    SpectralDependencyGrammar(method="bigram", n_states="auto", arcs="none"),
    DeterministicDependencyGrammar(),
    DeterministicDependencyGrammar(first=False),
    DeterministicDependencyGrammar(decoding="viterbi"),
]


@pytest.mark.parametrize("estimator", ALL, ids=repr)
def test_contract(estimator: SpectralDependencyGrammar) -> None:
    fresh = type(estimator)(**estimator.get_params())
    with pytest.raises(NotFittedError):
        fresh.predict(X)
    assert fresh.fit(X, Y) is fresh
    assert fresh.score(X, Y) == 1.0
    assert fresh.predict(X) == Y
    tables = fresh.marginals([["D", "N", "V", "D", "N"]])
    assert tables[0].shape == (6, 5)
    np.testing.assert_allclose(tables[0].sum(axis=0), 1.0, atol=1e-10)
    assert fresh.score_samples(X, Y).shape == (15,)


def test_words_may_have_forms_and_two_tags() -> None:
    sentences = [[(f"w{tag}", tag, tag.lower()) for tag in sentence] for sentence in X]
    grammar = SpectralDependencyGrammar(n_states=2, arcs="lexical").fit(sentences, Y)
    assert grammar.predict(sentences) == Y
    treebank = DependencyTreebank.of(X, X, Y, [["x"] * len(sentence) for sentence in X])
    grammar = DeterministicDependencyGrammar(symbols="upos").fit(treebank)
    assert grammar.predict_labels(treebank)[0] == ["x", "x", "x"]


@pytest.mark.parametrize(
    ("sentences", "heads", "words"),
    [
        (X, Y[:3], "15 sentences, but heads of 3"),
        ([["D"]], [[2]], "sentence 1"),
        ([["N"], ["D", "N"]], [[0], [2, 1]], "sentence 2: the heads form a cycle"),
        ([[]], [[]], "without words"),
        ([[("a", "b", "c", "d")]], [[0]], "a word is"),
        ([["D"]], None, "no trees"),
    ],
)
def test_wrong_input_is_refused(sentences: list, heads: list, words: str) -> None:
    with pytest.raises(InputError, match=words):
        SpectralDependencyGrammar().fit(sentences, heads)


def test_no_treebank_has_a_sentence_without_words() -> None:
    with pytest.raises(InputError, match="without words"):  # trained arcs ended in a segmentation fault
        DependencyTreebank.of([["D", "N"], []], [["D", "N"], []], [[2, 0], []])


def test_wrong_parameters_are_refused() -> None:
    with pytest.raises(ValueError, match="symbols"):
        SpectralDependencyGrammar(symbols="words").fit(X, Y)
    with pytest.raises(ValueError, match="decoding='best' must be one of 'mbr', 'viterbi'"):
        DeterministicDependencyGrammar(decoding="best").fit(X, Y)
    with pytest.raises(ValueError, match="method='em' must be one of 'spectral\\+em', 'spectral', 'bigram'"):
        SpectralDependencyGrammar(method="em").fit(X, Y)
    with pytest.raises(ValueError, match="arcs='some' must be one of 'none', 'trained', 'lexical'"):
        EMDependencyGrammar(arcs="some").fit(X, Y)
    with pytest.raises(ValueError, match="decoding='viterbi' is for automata alone"):
        DeterministicDependencyGrammar(arcs="trained", decoding="viterbi").fit(X, Y)
    with pytest.raises(ValueError, match="max_iter=0"):
        EMDependencyGrammar(max_iter=0).fit(X, Y)
    with pytest.raises(ValueError, match="n_states"):
        SpectralDependencyGrammar(n_states=0).fit(X, Y)
    with pytest.raises(ValueError, match="n_states='many' must be 'auto' or"):
        EMDependencyGrammar(n_states="many").fit(X, Y)


def test_treebanks_can_be_taken_apart_and_given_in_pieces() -> None:
    treebank = DependencyTreebank.of(X, X, Y)
    grammar = DeterministicDependencyGrammar().fit(treebank)
    assert grammar.predict([treebank[0], treebank[4]]) == [Y[0], Y[4]]
    assert grammar.predict([]) == []
    assert grammar.score(treebank[-3:]) == 1.0
    joined = DependencyTreebank.joined([treebank[k] for k in range(len(treebank))])
    assert joined.form == treebank.form
    assert joined.head.tolist() == treebank.head.tolist()
    assert joined.sentence_offsets.tolist() == treebank.sentence_offsets.tolist()
    with pytest.raises(IndexError, match="no sentence 15 among 15"):
        treebank[15]


def test_stages_and_epochs_are_reported() -> None:
    told: list[tuple[str, float | None]] = []
    grammar = SpectralDependencyGrammar(n_states=2, arc_epochs=2, progress=lambda *given: told.append(given))
    treebank = DependencyTreebank.of(X, X, Y, [["x"] * len(sentence) for sentence in X])
    grammar.fit(treebank)
    text = " ".join(message for message, _ in told)
    for part in (
        "head automata: counting",
        "EM of head automata, iteration 1",
        "epoch 2 of 2",
        "labels of arcs",
    ):
        assert part in text
    shares = [done for _, done in told if done is not None]
    assert shares == sorted(shares)
    assert 0.0 <= shares[0] < shares[-1] <= 1.0


def test_scores_of_sentences_sum_over_trees() -> None:
    grammar = EMDependencyGrammar(n_states=2).fit(X, Y)
    with_tree, alone = grammar.score_samples(X[:3], Y[:3]), grammar.score_samples(X[:3])
    assert (with_tree <= alone + 1e-9).all()
    assert (with_tree > -np.inf).all()


def test_a_warm_start_goes_on_where_the_last_fit_ended() -> None:
    """Twice three rounds are six; symbols may be new."""
    sentences, heads = X * 8, Y * 8
    twice = EMDependencyGrammar(n_states=3, max_iter=3, warm_start=True).fit(sentences, heads)
    first = twice.model_.automata
    whole = EMDependencyGrammar(n_states=3, max_iter=6).fit(sentences, heads)
    assert (first.operators != whole.model_.automata.operators).any()
    twice.fit(sentences, heads)
    np.testing.assert_array_equal(twice.model_.automata.operators, whole.model_.automata.operators)
    more, theirs = [*sentences, *[["R", "D", "N", "V"]] * 5], [*heads, *[[4, 3, 4, 0]] * 5]
    known = EMDependencyGrammar(n_states=3, max_iter=40).fit(sentences, heads)
    known.set_params(warm_start=True, max_iter=1).fit(more, theirs)
    cold = EMDependencyGrammar(n_states=3, max_iter=1).fit(more, theirs)
    assert known.score_samples(more, theirs).sum() > cold.score_samples(more, theirs).sum()
    assert known.predict([["R", "D", "N", "V"]]) == [[4, 3, 4, 0]]
    automata = known.model_.automata
    mass = automata.operators.sum(axis=(1, 3)) + automata.final
    np.testing.assert_allclose(mass[np.arange(mass.shape[1]) < automata.n_states[:, None]], 1.0)


class NltkGraph:
    """What is seen of nltk's `DependencyGraph`: nodes by number, of which 0 is above all words."""

    root: object = None

    def __init__(self) -> None:
        rows = [("the", "DT", 2, "det"), ("dog", "NN", 3, "nsubj"), ("runs", "VB", 0, "root")]
        empty = {"word": None, "ctag": "TOP", "tag": "TOP", "head": None, "rel": None}
        self.nodes = {0: empty} | {
            at: {"word": word, "ctag": tag, "tag": tag, "head": head, "rel": label}
            for at, (word, tag, head, label) in enumerate(rows, 1)
        }


def test_graphs_of_nltk_are_sentences() -> None:
    found = as_treebank([NltkGraph(), NltkGraph()])
    assert found.form == ["the", "dog", "runs"] * 2
    assert (found.upos[:3], found.deprel[:3]) == (["DT", "NN", "VB"], ["det", "nsubj", "root"])
    assert found.head.tolist() == [2, 3, 0] * 2
    parser = DeterministicDependencyGrammar().fit([NltkGraph()] * 5)
    assert [list(row) for row in parser.predict([["DT", "NN", "VB"]])] == [[2, 3, 0]]
