"""The estimator of grammars: every method, on trees and on strings, and what it refuses."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sigmastar import ERMGrammar
from sigmastar.automata.data.strings import Strings
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.errors import InputError, NotFittedError, UnknownSymbolError
from sigmastar.pcfg.data.binary_form import BinaryForm
from sigmastar.pcfg.data.rules import parse_rules
from sigmastar.pcfg.learn import learn_supervised, truncated
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
    with pytest.raises(ValueError, match="needs the states of all strings; where some have none use em, erm"):
        ERMGrammar(method="mle").fit(strings, [[0, 1], None])


def test_the_margin_of_the_paper_and_that_of_visits(trees):
    """Both lie in the truncated space of n^-s; the paper's is as near to frequencies as that allows."""
    free = ERMGrammar(RULES, "mle").fit(trees).model_.parameters
    near, far = (ERMGrammar(RULES, margin=name).fit(trees) for name in ("samples", "reached"))
    for model in (near, far):
        form = BinaryForm(model.model_.events)
        sticks = form.sticks(model.model_.parameters)[~form.is_last]
        assert min(sticks.min(), 1 - sticks.max()) >= model.margin_ * (1 - 1e-9)
    assert np.abs(near.model_.parameters - free).max() <= 3 * near.margin_
    with pytest.raises(ValueError, match="margin='wide' must be one of"):
        ERMGrammar(RULES, margin="wide").fit(trees)


def test_trees_of_any_kind(trees):
    class Other:
        """As nltk's trees are."""

        def __init__(self, label, parts):
            self._label, self._parts = label, parts

        def label(self):
            return self._label

        def __iter__(self):
            return iter(self._parts)

    text = "(S (N a) (V b))"
    other = Other("S", [Other("N", ["a"]), Other("V", ["b"])])
    for data in ([text] * 5, text * 5, [other] * 5):
        model = ERMGrammar().fit(data)
        assert model.n_samples_ == 5
        assert model.score(data) == 0.0


def _some_states(n: int) -> tuple[HiddenMarkovModel, Strings, list[list[int]]]:
    rng = np.random.default_rng(1)
    truth = HiddenMarkovModel.random(Alphabet("abcdef"), 3, rng, stop=0.15)
    strings = truth.sample(n, rng)
    return truth, strings, [list(path) for path in truth.best_paths(strings)]


@pytest.mark.parametrize("method", ["erm", "em", "viterbi"])
def test_states_of_no_string_are_expectation_maximization(method):
    _, strings, _ = _some_states(60)
    settings = {"method": method, "n_states": 3, "max_iter": 5, "random_state": 3}
    alone, none = (ERMGrammar(**settings).fit(strings, y) for y in (None, [None] * 60))
    np.testing.assert_array_equal(alone.model_.parameters, none.model_.parameters)


def test_states_of_all_strings_are_counting():
    """Strings without states do not count either where their weight is nothing."""
    _, strings, states = _some_states(60)
    counted = ERMGrammar(margin="samples").fit(strings, states)
    some = ERMGrammar(max_iter=3, string_weight=0.0).fit(strings, [*states[:-1], None])
    paths = [[counted.states_.index(state) for state in row] for row in states[:-1]]
    known = counted.model_.derivations(paths, strings.select(range(59)))
    less = learn_supervised(counted.model_, known, truncated(counted.margin_))
    np.testing.assert_allclose(some.model_.parameters, less.parameters, atol=1e-12)
    assert counted.states_ == some.states_


def test_strings_without_states_help_those_with():
    """Held-out log-loss: few states, few states and many strings, all states; true states, 3 seeds."""
    losses = np.zeros(3)
    for seed in range(3):
        rng = np.random.default_rng(seed)
        truth = HiddenMarkovModel.random(Alphabet("abcdef"), 3, rng, stop=0.15)
        drawn = sample_derivations(truth, 1200, rng)
        strings, new = truth.strings(drawn), truth.sample(1000, rng)
        first = truth.events.offsets[1 + truth.n_states]
        paths = [[int((e - first) // 6) for e in row if e >= first] for row in drawn]
        few = ERMGrammar(n_states=3).fit(strings.select(range(15)), paths[:15])
        some = ERMGrammar(n_states=3, max_iter=30).fit(strings, paths[:15] + [None] * 1185)
        every = ERMGrammar(n_states=3).fit(strings, paths)
        losses += [-model.score(new) for model in (few, some, every)]
    assert losses[0] > losses[1] + 0.1
    assert losses[1] < losses[2] + 0.5


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
