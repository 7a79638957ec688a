"""Charts, sampling and moments of probabilistic grammars against enumeration of derivations."""

from __future__ import annotations

from functools import partial
from itertools import count, product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cli.calls import invoke
from oracles import derivations_by_search
from pcfg.random_grammars import random_hmm, random_pcfg
from sigmastar.automata.data.strings import Strings
from sigmastar.core import resources, time_estimates
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.errors import InputError
from sigmastar.core.model_reading import load_model, save_model
from sigmastar.pcfg.data.rules import Grammar, Rule, Word, as_grammar
from sigmastar.pcfg.model.hidden_markov import HiddenMarkovModel
from sigmastar.pcfg.model.pcfg import ProbabilisticCFG
from sigmastar.pcfg.model.probabilistic_grammar import (
    ProbabilisticGrammar,
    derivation_entropy,
    divergence,
    event_moments,
    expected_events,
    log_probability_of,
    sample_derivations,
)
from sigmastar.trees.data.tree import Tree

seeds = st.integers(0, 10_000)


def by_search(model: ProbabilisticCFG, words: tuple) -> list:
    return derivations_by_search(list(model.grammar.rules), model.grammar.start, words)


@settings(max_examples=25)
@given(seeds, st.booleans())
def test_chart_agrees_with_enumeration(seed, zeros):
    rng = np.random.default_rng(seed)
    model = random_pcfg(rng, zeros=zeros)
    words = [w for n in range(1, 5) for w in product(model.alphabet.symbols, repeat=n)]
    chosen = [words[i] for i in rng.choice(len(words), 5, replace=False)]
    strings = Strings.of(chosen, alphabet=model.alphabet)
    logs, counts = model.expected_counts(strings, np.arange(1.0, 6.0))
    expected = np.zeros(len(counts))
    for number, string in enumerate(chosen):
        found = by_search(model, string)
        values = np.array([np.prod(model.parameters[d]) for d in found] or [0.0])
        np.testing.assert_allclose(np.exp(logs[number]), values.sum(), rtol=1e-10)
        for derivation, value in zip(found, values, strict=False):
            if value > 0:
                np.add.at(expected, derivation, (number + 1) * value / values.sum())
        best = model.best_derivations(strings.select([number]))[0]
        np.testing.assert_allclose(
            np.prod(model.parameters[best]) if len(best) else 0.0, values.max(), rtol=1e-10
        )
    np.testing.assert_allclose(counts, expected, atol=1e-9)
    np.testing.assert_allclose(model.log_probability(strings), logs)


@settings(max_examples=20)
@given(seeds)
def test_hidden_markov_agrees_with_enumeration(seed):
    rng = np.random.default_rng(seed)
    model = random_hmm(rng, 2, 2)
    strings = Strings.of([("w0",), ("w1", "w0"), ("w0", "w0", "w1")], alphabet=model.alphabet)
    logs, counts = model.expected_counts(strings, np.array([1.0, 2.0, 3.0]))
    expected = np.zeros(len(counts))
    for number, string in enumerate(strings):
        paths = list(product(range(2), repeat=len(string)))
        rows = model.derivations(paths, Strings.of([string] * len(paths), alphabet=model.alphabet))
        values = np.exp(log_probability_of(model, rows))
        np.testing.assert_allclose(np.exp(logs[number]), values.sum())
        expected += (number + 1) * rows.counts(len(counts), values / values.sum())
        best = model.best_derivations(strings.select([number]))
        np.testing.assert_allclose(np.exp(log_probability_of(model, best)), values.max())
    np.testing.assert_allclose(counts, expected, atol=1e-9)


@pytest.mark.parametrize("make", [random_pcfg, random_hmm])
def test_moments_agree_with_samples(make, rng):
    model = make(rng)
    assert isinstance(model, ProbabilisticGrammar)
    drawn = sample_derivations(model, 40_000, rng)
    table = drawn.count_table(model.events.n_events)
    np.testing.assert_allclose(table.mean(axis=0), expected_events(model), atol=0.05)
    moments = table.T @ table / len(table)
    np.testing.assert_allclose(moments, event_moments(model), atol=0.15 * (1 + moments.max()))
    logs = -log_probability_of(model, drawn)
    assert logs.mean() == pytest.approx(derivation_entropy(model), abs=4 * logs.std() / 200)
    assert divergence(model, model) == pytest.approx(0, abs=1e-12)


def test_endless_derivations_have_infinite_entropy_and_divergence():
    rules = [Rule("S", ("S", "S")), Rule("S", (Word("a"),)), Rule("S", (Word("b"),))]
    of = partial(ProbabilisticCFG.of_weights, Grammar.of(rules))
    endless, other, finite = (
        of(np.array([0.6, 0.4, 0])),
        of(np.array([0.6, 0.2, 0.2])),
        of(np.array([0.2, 0.8, 0])),
    )
    np.testing.assert_array_equal(expected_events(endless), [np.inf, np.inf, 0])
    assert derivation_entropy(endless) == np.inf
    assert divergence(endless, other) == divergence(endless, finite) == np.inf
    assert divergence(endless, endless) == 0
    assert divergence(finite, endless) > 0
    gap = 0.2 * np.log(0.2 / 0.6) + 0.8 * np.log(0.8 / 0.4)
    assert divergence(finite, endless) == pytest.approx(gap / (1 - 0.4))
    assert divergence(other, finite) == np.inf


def test_trees_and_derivations_are_two_views(rng):
    model = random_pcfg(rng)
    drawn = sample_derivations(model, 50, rng)
    trees = model.trees(drawn)
    again = model.derivations(trees)
    assert again.events.tolist() == drawn.events.tolist()
    assert list(model.strings(drawn)) == [tuple(tree.words()) for tree in trees]
    assert model.best_trees(Strings.of([["w0", "unknown"]])) == [None]


def test_long_strings_stay_finite():
    grammar = Grammar.of([Rule("S", ("S", "S")), Rule("S", (Word("a"),)), Rule("S", (Word("b"),))])
    model = ProbabilisticCFG(grammar, np.array([0.1, 0.899999, 0.000001]))
    string = Strings.of([["b"] * 300], alphabet=model.alphabet)
    logs, counts = model.expected_counts(string)
    assert -5000 < logs[0] < -4000
    np.testing.assert_allclose(counts, [299, 0, 300])


def test_what_cannot_be_is_told(rng):
    model = random_pcfg(rng)
    with pytest.raises(InputError, match="tree 1: the rule N0 -> X is not in the grammar"):
        model.derivations([Tree("N0", (Tree("X", ("y",)),))])
    with pytest.raises(InputError, match="begins with 'X'"):
        model.derivations([Tree("X", ("y",))])
    with pytest.raises(ValueError, match="sum to"):
        model.with_parameters(np.ones(model.events.n_events))
    endless = ProbabilisticCFG.of_weights(
        Grammar.of([Rule("S", ("S", "S")), Rule("S", (Word("a"),))]), np.array([0.9, 0.1])
    )
    with pytest.raises(ValueError, match="need not end"):
        sample_derivations(endless, 50, rng)
    assert np.isinf(expected_events(endless)).all()
    with pytest.raises(ValueError, match="do not fit"):
        HiddenMarkovModel(Alphabet("ab"), np.ones(1), np.ones((1, 1)), np.ones((1, 2)) / 2)


@pytest.mark.parametrize("make", [random_pcfg, random_hmm])
def test_files_keep_grammars(make, rng, tmp_path):
    model = make(rng)
    save_model(model, tmp_path / "m")
    again = load_model(tmp_path / "m")
    np.testing.assert_array_equal(again.parameters, model.parameters)
    drawn = model.sample(20, rng)
    np.testing.assert_array_equal(again.log_probability(drawn), model.log_probability(drawn))
    assert model.sample(20, rng, max_length=1).lengths.max() == 1


def test_strings_whose_charts_do_not_fit_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resources, "_free_on_machine", lambda: 1 << 20)
    model = ProbabilisticCFG.of_weights(as_grammar(["S -> S S", "S -> a"]))
    assert model.best_trees(Strings.of(["a" * 20]))[0] is not None
    with pytest.raises(
        InputError, match=r"the chart of a string of 900 words needs about 3\d\d MB, 1 MB are free"
    ):
        model.best_trees(Strings.of(["a", "a" * 900]))


def test_long_strings_are_told_of_before_they_are_parsed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = ProbabilisticCFG.of_weights(as_grammar(["S -> a S", "S -> a"]))
    save_model(model, tmp_path / "m")
    (tmp_path / "strings").write_text("a " * 301 + "\n")
    monkeypatch.setattr(time_estimates, "_clock", count(step=1.0).__next__)
    for command, work in (("predict", "parsing"), ("score", "scoring"), ("evaluate", "evaluating")):
        said = invoke(command, tmp_path / "m", tmp_path / "strings").stderr
        assert f"{work}: about 27 s on one core; the longest input has 301 symbols" in said
