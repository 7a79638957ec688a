"""Unary rules in a circle: closed forms against grammars whose loops are unrolled, deep."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles import derivations_by_search
from pcfg.random_grammars import random_pcfg
from pcfg.test_parse_forest import by_chart
from sigmastar.automata.data.strings import Strings
from sigmastar.pcfg.data.rules import Grammar, Rule, Word, parse_rules
from sigmastar.pcfg.model.pcfg import ProbabilisticCFG
from sigmastar.pcfg.model.probabilistic_grammar import event_moments, expected_events, sample_derivations
from sigmastar.trees.data.brackets import parse_brackets

DEEP = 40


def looping(rng: np.random.Generator, weight: float = 2.0, n_nonterminals: int = 4) -> ProbabilisticCFG:
    """A random grammar with unary rules between any two non-terminals, also from one to itself."""
    base = random_pcfg(rng, n_nonterminals)
    rules = dict(zip(base.grammar.rules, 6 * base.parameters, strict=True))
    names = base.grammar.nonterminals
    for _ in range(5):
        left, child = (names[int(k)] for k in rng.integers(len(names), size=2))
        rules[Rule(left, (child,))] = weight * rng.random()
    grammar = Grammar.of(rules)
    return ProbabilisticCFG.of_weights(grammar, np.array([rules[rule] for rule in grammar.rules]))


def is_unary(rule: Rule) -> bool:
    return len(rule.right) == 1 and not isinstance(rule.right[0], Word)


def unrolled(model: ProbabilisticCFG, depth: int) -> tuple[ProbabilisticCFG, np.ndarray]:
    """Unary chains of at most so many rules: an acyclic grammar, and the rule that each of its rules was."""
    rules, origin = dict[Rule, float](), dict[Rule, int]()
    for level in range(depth + 1):
        for number, rule in enumerate(model.grammar.rules):
            below = level + 1 if is_unary(rule) else 0
            parts = tuple(part if isinstance(part, Word) else f"{part}@{below}" for part in rule.right)
            if below > depth:
                parts = (Word(f"never {number}"),)
            made = Rule(f"{rule.left}@{level}", parts)
            rules[made], origin[made] = float(model.parameters[number]), number
    grammar = Grammar.of(rules, f"{model.grammar.start}@0")
    weights = np.array([rules[rule] for rule in grammar.rules])
    return ProbabilisticCFG.of_weights(grammar, weights), np.array([origin[rule] for rule in grammar.rules])


@settings(max_examples=20)
@given(st.integers(0, 10_000))
def test_loops_agree_with_unrolled_grammars(seed):
    rng = np.random.default_rng(seed)
    model = looping(rng)
    deep, origin = unrolled(model, DEEP)
    words = [[f"w{k}" for k in rng.integers(2, size=n)] for n in (1, 2, 3, 6)]
    logs, counts = deep.expected_counts(Strings.of(words, alphabet=deep.alphabet), np.arange(1.0, 5.0))
    strings = Strings.of(words, alphabet=model.alphabet)
    found, expected = model.expected_counts(strings, np.arange(1.0, 5.0))
    np.testing.assert_allclose(found, logs, rtol=1e-9)
    np.testing.assert_allclose(expected, np.bincount(origin, counts, len(expected)), rtol=1e-7, atol=1e-9)
    best = deep.best_derivations(Strings.of(words, alphabet=deep.alphabet))
    for number, row in enumerate(model.best_derivations(strings)):
        value = np.prod(deep.parameters[best[number]]) if len(best[number]) else 0.0
        assert (np.prod(model.parameters[row]) if len(row) else 0.0) == pytest.approx(value, rel=1e-10)


@settings(max_examples=20)
@given(st.integers(0, 10_000))
def test_the_chart_agrees_with_the_forest(seed):
    rng = np.random.default_rng(seed)
    model = looping(rng)
    coded = Strings.of(
        [[f"w{k}" for k in rng.integers(2, size=n)] for n in (1, 2, 9, 70)], alphabet=model.alphabet
    )
    logs, counts = by_chart(model, coded)
    found, expected = model.expected_counts(coded)
    np.testing.assert_allclose(found, logs, rtol=1e-10)
    np.testing.assert_allclose(expected, counts, rtol=1e-8, atol=1e-8)


@settings(max_examples=5)
@given(st.integers(0, 10_000))
def test_loops_agree_with_enumeration(seed):
    """Loops of little weight, so that four rules in a chain are enough."""
    rng = np.random.default_rng(seed)
    model = looping(rng, weight=0.002, n_nonterminals=3)
    deep, origin = unrolled(model, 4)
    words = tuple(f"w{k}" for k in rng.integers(2, size=2))
    all_of_them = derivations_by_search(list(deep.grammar.rules), deep.grammar.start, words)
    values = np.array([np.prod(deep.parameters[row]) for row in all_of_them] or [0.0])
    logs, counts = model.expected_counts(Strings.of([words], alphabet=model.alphabet))
    assert np.exp(logs[0]) == pytest.approx(values.sum(), rel=1e-4)
    if values.sum() > 0:
        expected = np.zeros(len(counts))
        for row, value in zip(all_of_them, values, strict=True):
            np.add.at(expected, origin[row], value / values.sum())
        np.testing.assert_allclose(counts, expected, atol=1e-3)


def test_a_symbol_that_turns_forever_has_no_strings():
    rules = parse_rules(["S -> A 0.5", "S -> x 0.5", "A -> B 1", "B -> A 1", "B -> x 0"])
    model = ProbabilisticCFG.of_weights(rules.grammar, rules.weights)
    logs, counts = model.expected_counts(Strings.of([["x"]]))
    assert np.exp(logs[0]) == pytest.approx(0.5)
    np.testing.assert_allclose(counts, [0, 1, 0, 0, 0], atol=1e-12)


def test_a_loop_by_hand():
    rules = parse_rules(["S -> S 0.25", "S -> x 0.75"])
    model = ProbabilisticCFG.of_weights(rules.grammar, rules.weights)
    logs, counts = model.expected_counts(Strings.of([["x"]]))
    assert np.exp(logs[0]) == pytest.approx(1.0)
    np.testing.assert_allclose(counts, [1 / 3, 1])  # 0.25 / 0.75 turns on average
    assert str(model.best_trees(Strings.of([["x"]]))[0]) == "(S x)"


def test_expected_counts_given_drawn_strings_have_the_mean_of_all(rng):
    model, n = looping(rng), 1000
    _, counts = model.expected_counts(model.strings(sample_derivations(model, n, rng)))
    errors = np.sqrt(np.diag(event_moments(model)) / n)
    assert (np.abs(counts / n - expected_events(model)) <= 5 * errors).all()


def test_trees_with_different_roots_get_one_above_them():
    trees = parse_brackets("(S (N a) (V b)) (N a) (S (N a) (V b)) (TOP x)")
    grammar = Grammar.of_trees(trees)
    assert grammar.start == "TOP'"
    model = ProbabilisticCFG.of_weights(grammar)
    tops = [str(tree) for tree in model.trees(model.derivations(trees))]
    assert tops[:2] == ["(TOP' (S (N a) (V b)))", "(TOP' (N a))"]
    again = model.derivations(parse_brackets("".join(tops)))
    assert again.events.tolist() == model.derivations(trees).events.tolist()
    assert Grammar.of_trees(trees[:1]).start == "S"
    assert Grammar.of_trees(trees, "S").start == "S"
