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

X = [["D", "N", "V"], ["N", "V", "D", "N"], ["D", "N", "V", "N"]] * 5
Y = [[2, 3, 0], [2, 0, 4, 2], [2, 3, 0, 3]] * 5
ALL = [
    SpectralDependencyGrammar(n_states=2),
    SpectralDependencyGrammar(n_states=2, refine=True, arcs=True),
    EMDependencyGrammar(n_states=2),
    SpectralDependencyGrammar(n_states="auto"),
    DeterministicDependencyGrammar(),
    DeterministicDependencyGrammar(first=False),
    DeterministicDependencyGrammar(decoding="viterbi"),
    DeterministicDependencyGrammar(counted="lex+f"),
    SpectralDependencyGrammar(n_states=2, counted="lex+fcp"),
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
    grammar = SpectralDependencyGrammar(n_states=2, refine=True, lexical=True).fit(sentences, Y)
    assert grammar.predict(sentences) == Y
    treebank = DependencyTreebank.of(X, X, Y, [["x"] * len(sentence) for sentence in X])
    grammar = DeterministicDependencyGrammar(symbols="upos").fit(treebank)
    assert grammar.predict_labels(treebank)[0] == ["x", "x", "x"]


@pytest.mark.parametrize(
    ("sentences", "heads", "words"),
    [
        (X, Y[:3], "15 sentences, but heads of 3"),
        ([["D"]], [[2]], "sentence 1"),
        ([["D", "N"]], [[2, 1]], "cycle"),
        ([[]], [[]], "without words"),
        ([[("a", "b", "c", "d")]], [[0]], "a word is"),
        ([["D"]], None, "no trees"),
    ],
)
def test_wrong_input_is_refused(sentences: list, heads: list, words: str) -> None:
    with pytest.raises(InputError, match=words):
        SpectralDependencyGrammar().fit(sentences, heads)


def test_wrong_parameters_are_refused() -> None:
    with pytest.raises(ValueError, match="symbols"):
        SpectralDependencyGrammar(symbols="words").fit(X, Y)
    with pytest.raises(ValueError, match="decoding='best' must be one of 'mbr', 'viterbi'"):
        DeterministicDependencyGrammar(decoding="best").fit(X, Y)
    with pytest.raises(ValueError, match="counted='words' must be None or one of 'lex'"):
        EMDependencyGrammar(counted="words").fit(X, Y)
    with pytest.raises(ValueError, match="no counted words"):
        DeterministicDependencyGrammar(counted="lex", decoding="viterbi").fit(X, Y)
    with pytest.raises(ValueError, match="counted='lex' does not go with trained arcs"):
        SpectralDependencyGrammar(counted="lex", arcs=True).fit(X, Y)
    with pytest.raises(ValueError, match="n_states"):
        SpectralDependencyGrammar(n_states=0).fit(X, Y)
    with pytest.raises(ValueError, match="n_states='many' must be 'auto' or"):
        EMDependencyGrammar(n_states="many").fit(X, Y)
