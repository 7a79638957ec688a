"""The estimator of grammars: every method, on trees and on strings, and what it refuses."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sigmastar import ERMGrammar
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.errors import InputError, NotFittedError, UnknownSymbolError
from sigmastar.pcfg.data.rules import parse_rules
from sigmastar.pcfg.model.hidden_markov import HiddenMarkovModel
from sigmastar.pcfg.model.pcfg import ProbabilisticCFG
from sigmastar.pcfg.model.probabilistic_grammar import divergence, sample_derivations

RULES = """S -> NP VP 1
NP -> the N 0.7
NP -> NP PP 0.3
VP -> V NP 0.8
VP -> VP PP 0.2
PP -> with NP 1
N -> dog 0.6
N -> park 0.4
V -> saw 0.9
V -> fed 0.1"""


@pytest.fixture(scope="module")
def truth() -> ProbabilisticCFG:
    found = parse_rules(RULES.splitlines())
    return ProbabilisticCFG.of_weights(found.grammar, found.weights)


@pytest.fixture(scope="module")
def trees(truth):
    return truth.trees(sample_derivations(truth, 200, np.random.default_rng(0)))


@pytest.mark.parametrize("method", ["erm", "mle", "map"])
def test_learns_from_trees(truth, trees, method):
    model = ERMGrammar(RULES, method).fit(trees)
    assert divergence(truth, model.model_) < 0.1
    assert model.n_samples_ == 200
    assert model.score(trees) == pytest.approx(model.score_samples([str(tree) for tree in trees]).mean())
    assert isinstance(model.bound(0.5, 0.05).samples, float)
    assert model.bound(0.5, 0.05, supervised=False).samples > model.bound(0.5, 0.05).samples
    assert math.isinf(model.guarantee(200, 0.05))


@pytest.mark.parametrize("method", ["em", "erm", "viterbi"])
def test_learns_from_strings(trees, method):
    strings = [tuple(tree.words()) for tree in trees if len(list(tree.words())) < 20]
    model = ERMGrammar(RULES, method, n_seeds=2, max_iter=15).fit(strings)
    assert np.diff(model.objectives_).min() > -1e-6
    assert np.isfinite(model.score_samples(strings)).all()
    assert list(model.predict(strings[:1])[0].words()) == list(strings[0])
    assert model.score_samples([["cat"]]).tolist() == [-math.inf]
    assert len(model.sample(3)) == 3


def test_trees_tell_the_rules_and_help_strings(trees):
    strings = [tuple(tree.words()) for tree in trees[100:] if len(list(tree.words())) < 20]
    model = ERMGrammar(method="em", max_iter=5).fit(strings, trees=trees[:100])
    assert model.model_.grammar.start == "S"
    assert ERMGrammar().fit(trees).model_.events.n_events == 10


def test_hidden_markov_model_of_strings():
    strings = [list("abab"), list("aab"), list("b")] * 5
    model = ERMGrammar(method="em", n_states=2, max_iter=5).fit(strings)
    assert len(model.predict(strings[:1])[0]) == 4
    assert len(model.sample(4)) == 4


@pytest.mark.parametrize("method", ["erm", "mle", "map"])
def test_hidden_markov_model_of_strings_and_states(method):
    rng = np.random.default_rng(0)
    truth = HiddenMarkovModel.random(Alphabet("abc"), 2, rng)
    drawn = sample_derivations(truth, 2000, rng)
    strings = truth.strings(drawn)
    moves = truth.events.offsets[1 + truth.n_states]
    paths = [
        [int(e) % 3 if k == 0 else int(e - 2) % 3 for k, e in enumerate(row[row < moves])] for row in drawn
    ]
    named = [[("noun", "verb")[state] for state in path[:-1]] for path in paths]  # the last move is the end
    model = ERMGrammar(method=method).fit(strings, named)
    assert set(model.states_) == {"noun", "verb"}
    order = [model.states_.index(name) for name in ("noun", "verb")]
    learned = model.model_
    np.testing.assert_allclose(learned.initial[order], truth.initial, atol=0.05)
    np.testing.assert_allclose(learned.emissions[order], truth.emissions, atol=0.05)
    np.testing.assert_allclose(learned.moves[order][:, [*order, 2]], truth.moves, atol=0.05)
    assert set(model.predict(strings.select([0]))[0]) <= {"noun", "verb"}
    assert model.n_samples_ == 2000
    assert "states_" not in vars(model.set_params(method="em", n_states=2, max_iter=1).fit(strings))


def test_states_that_do_not_fit():
    strings = [["a", "b"], ["a"]]
    with pytest.raises(ValueError, match="learns from strings alone"):
        ERMGrammar(method="em").fit(strings, [[0, 1], [0]])
    with pytest.raises(ValueError, match="has no rules"):
        ERMGrammar("S -> a").fit(strings, [[0, 1], [0]])
    with pytest.raises(InputError, match="string 2 has 1 symbols and 2 states"):
        ERMGrammar().fit(strings, [[0, 1], [0, 1]])
    with pytest.raises(InputError, match="2 strings, but states for 1"):
        ERMGrammar().fit(strings, [[0, 1]])
    with pytest.raises(InputError, match="no strings"):
        ERMGrammar().fit([], [])


def test_refusals(trees):
    with pytest.raises(ValueError, match="must be one of"):
        ERMGrammar(method="magic").fit(trees)
    with pytest.raises(ValueError, match="learns from strings"):
        ERMGrammar(method="em").fit(trees)
    with pytest.raises(ValueError, match="needs trees"):
        ERMGrammar(RULES, "mle").fit([["the", "dog"]])
    with pytest.raises(ValueError, match="the rules of strings are not known"):
        ERMGrammar(method="em").fit([["the", "dog"]])
    with pytest.raises(UnknownSymbolError, match="'cat'"):
        ERMGrammar(RULES, "em").fit([["the", "cat"]])
    with pytest.raises(InputError, match="no strings to learn from"):
        ERMGrammar(RULES, "em").fit([])
    with pytest.raises(InputError, match="not in the grammar"):
        ERMGrammar(RULES).fit(["(S (X y))"])
    with pytest.raises(NotFittedError):
        ERMGrammar(RULES).score(trees)
    assert ERMGrammar(RULES).set_params(s=2.0).get_params()["s"] == 2.0
