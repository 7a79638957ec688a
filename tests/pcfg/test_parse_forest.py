"""The forest of a string and its chart say the same, and what the forest cannot hold goes to the chart."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles import derivations_by_search
from pcfg.random_grammars import random_pcfg
from sigmastar.automata.data.strings import Strings
from sigmastar.pcfg.data.rule_trie import RuleTrie
from sigmastar.pcfg.data.rules import Grammar, Rule, Word
from sigmastar.pcfg.kernels.chart import add_chart_counts, inside_chart, log_insides
from sigmastar.pcfg.kernels.parse_forest import LONGEST, forest_events, word_scales
from sigmastar.pcfg.model.pcfg import ProbabilisticCFG


def by_chart(model: ProbabilisticCFG, coded: Strings) -> tuple[np.ndarray, np.ndarray]:
    """Log-probabilities and expected counts without the forest."""
    rules, counts = model.chart_rules, np.zeros(model.events.n_events)
    logs = log_insides(coded.codes, coded.offsets, rules, model.parameters, False)
    for number in np.flatnonzero(np.isfinite(logs)):
        codes = coded.codes[coded.offsets[number] : coded.offsets[number + 1]]
        chart = inside_chart(codes, rules, model.parameters, False)
        add_chart_counts(codes, rules, model.parameters, chart, 1.0, counts)
    return logs, counts


@settings(max_examples=25)
@given(st.integers(0, 10_000), st.booleans())
def test_forest_agrees_with_chart(seed, zeros):
    rng = np.random.default_rng(seed)
    model = random_pcfg(rng, n_nonterminals=4, zeros=zeros)
    words = [[f"w{k}" for k in rng.integers(2, size=n)] for n in (1, 2, 7, 20, LONGEST, LONGEST + 9)]
    coded = Strings.of(words, alphabet=model.alphabet)
    logs, counts = by_chart(model, coded)
    found, expected = model.expected_counts(coded)
    np.testing.assert_allclose(found, logs, rtol=1e-10)
    np.testing.assert_allclose(expected, counts, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(model.log_probability(coded), logs, rtol=1e-10)


@settings(max_examples=25)
@given(st.integers(0, 10_000), st.booleans())
def test_chart_agrees_with_enumeration(seed, zeros):
    rng = np.random.default_rng(seed)
    model = random_pcfg(rng, zeros=zeros)
    words = [f"w{k}" for k in rng.integers(2, size=int(rng.integers(1, 5)))]
    logs, counts = by_chart(model, Strings.of([words], alphabet=model.alphabet))
    found = derivations_by_search(list(model.grammar.rules), model.grammar.start, tuple(words))
    values = np.array([np.prod(model.parameters[d]) for d in found] or [0.0])
    np.testing.assert_allclose(np.exp(logs[0]), values.sum(), rtol=1e-10)
    expected = np.zeros(len(counts))
    for derivation, value in zip(found, values, strict=False):
        np.add.at(expected, derivation, value / values.sum() if value > 0 else 0.0)
    np.testing.assert_allclose(counts, expected, atol=1e-9)


def test_values_beyond_floats_are_left_to_the_chart():
    grammar = Grammar.of([Rule("S", ("S", "S")), Rule("S", (Word("a"),))])
    model = ProbabilisticCFG(grammar, np.array([1e-20, 1 - 1e-20]))
    strings = Strings.of([["a"] * 4, ["a"] * 30, ["a"] * (LONGEST + 1), []], alphabet=model.alphabet)
    rules = RuleTrie(grammar).chart
    *_, left_out = forest_events(strings.codes, strings.offsets, np.ones(4), rules, model.parameters)
    assert left_out.tolist() == [False, True, True, False]
    logs, counts = model.expected_counts(strings)
    for log, n in zip(logs, (4, 30, LONGEST + 1), strict=False):
        n_trees = math.comb(2 * n - 2, n - 1) // n
        assert log == pytest.approx(math.log(n_trees) + (n - 1) * math.log(1e-20))
    assert logs[3] == -np.inf
    np.testing.assert_allclose(counts, [3 + 29 + LONGEST, 4 + 30 + LONGEST + 1])


def test_weights_of_strings_and_unknown_words(rng):
    model = random_pcfg(rng)
    strings = Strings.of([["w0", "w0"], ["w0", "new"], ["w0"]])
    logs, counts = model.expected_counts(strings, np.array([2.0, 5.0, 0.0]))
    alone, once = model.expected_counts(strings.select([0]))
    assert logs[1] == -np.inf
    assert logs[0] == alone[0]
    np.testing.assert_allclose(counts, 2 * once)


def test_words_are_scaled_by_powers_of_two(rng):
    model = random_pcfg(rng)
    scales = word_scales(RuleTrie(model.grammar).chart, model.parameters)
    assert np.log2(scales).tolist() == np.log2(scales).round().tolist()
    assert scales.min() >= 1.0
