"""Weighted grammars against trees one by one."""

from __future__ import annotations

import io
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles_grammar import bracketings, random_grammar, random_pcfg, slow_cut, slow_value, spans_of_tree
from sigmastar.automata.data.strings import Strings
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.errors import InputError, ModelFileError
from sigmastar.core.model_reading import load_model, save_model
from sigmastar.grammars.model.grammar import WeightedGrammar
from sigmastar.grammars.model.mass import (
    expected_length,
    grammar_values_up_to,
    length_masses,
    normalized,
    state_masses,
    total_mass,
)
from sigmastar.grammars.model.rules import of_rules, to_rules
from sigmastar.pcfg.data.rules import parse_rules, write_rules

corpora = st.lists(st.lists(st.integers(0, 1), min_size=1, max_size=6), min_size=1, max_size=5)


@given(corpora, st.integers(0, 50), st.integers(1, 3))
def test_values_are_sums_over_trees(rows: list[list[int]], seed: int, n_states: int) -> None:
    grammar = random_grammar(n_states, 2, np.random.default_rng(seed))
    strings = Strings.of([["ab"[c] for c in row] for row in rows], alphabet=grammar.alphabet)
    expected = [slow_value(grammar, row) for row in rows]
    np.testing.assert_allclose(grammar.value(strings), expected, rtol=1e-9, atol=1e-12)


@given(st.lists(st.integers(0, 1), min_size=1, max_size=6), st.integers(0, 50), st.data())
def test_cuts_are_sums_over_trees_with_the_constituent(
    row: list[int], seed: int, data: st.DataObject
) -> None:
    grammar = random_grammar(2, 2, np.random.default_rng(seed))
    begin = data.draw(st.integers(0, len(row) - 1))
    end = data.draw(st.integers(begin + 1, len(row)))
    expected = slow_cut(grammar, row, begin, end)
    found = grammar.cut_value(row[:begin], row[begin:end], row[end:])
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-12)
    strings = Strings(grammar.alphabet, np.array(row, dtype=np.int32), np.array([0, len(row)]))
    share = grammar.span_posteriors(strings)[0][begin, end]
    assert share * slow_value(grammar, row) == pytest.approx(expected, rel=1e-7, abs=1e-9)


def test_brackets_collect_the_most_expected_constituents(rng: np.random.Generator) -> None:
    grammar = random_pcfg(3, 2, rng)
    strings = Strings.of(["abbab", "ba", "a", "abaaba"], alphabet=grammar.alphabet)
    shares, found = grammar.span_posteriors(strings), grammar.brackets(strings)
    assert found.is_binary
    for number, length in enumerate(strings.lengths.tolist()):

        def expected(spans: set[tuple[int, int]], table: np.ndarray = shares[number]) -> float:
            return float(sum(table[span] for span in spans if span[1] - span[0] > 1))

        best = max(expected(spans_of_tree(tree)[0]) for tree in bracketings(0, length))
        assert expected(set(found.spans(number))) == pytest.approx(best)


def test_long_strings_do_not_underflow(rng: np.random.Generator) -> None:
    grammar = WeightedGrammar(Alphabet("a"), np.ones(1), np.array([[1e-3]]), np.array([[[1e-3]]]))
    strings = Strings.of(["a" * 300])
    trees = math.lgamma(2 * 299 + 1) - math.lgamma(300) - math.lgamma(301)
    expected = trees + 300 * math.log(1e-3) + 299 * math.log(1e-3)
    assert grammar.log_probability(strings)[0] == pytest.approx(expected, rel=1e-12)
    assert grammar.value(strings)[0] == 0.0


def test_strings_without_weight(rng: np.random.Generator) -> None:
    grammar = random_pcfg(2, 2, rng)
    logs = grammar.log_probability(Strings.of([["a", "z"], [], ["b"]]))
    assert logs[0] == logs[1] == -np.inf
    assert np.isfinite(logs[2])


def test_a_change_of_basis_changes_no_value(rng: np.random.Generator) -> None:
    grammar = random_grammar(3, 2, rng)
    strings = Strings.of(["abab", "b", "bba"], alphabet=grammar.alphabet)
    turned = grammar.change_basis(rng.standard_normal((3, 3)))
    np.testing.assert_allclose(turned.value(strings), grammar.value(strings), rtol=1e-9)
    assert not np.allclose(turned.initial, grammar.initial)


def test_enumeration_and_masses_agree(rng: np.random.Generator) -> None:
    grammar = random_pcfg(3, 2, rng, stop=0.8)
    strings, values = grammar_values_up_to(grammar, 9)
    assert len(strings) == 2**10 - 2
    np.testing.assert_allclose(values, grammar.value(strings), rtol=1e-10)
    by_length = np.bincount(strings.lengths, values)[1:]
    np.testing.assert_allclose(by_length, length_masses(grammar, 9), rtol=1e-10)
    assert grammar.is_probabilistic()
    assert total_mass(grammar) == pytest.approx(1.0)
    masses = length_masses(grammar, 200)
    assert masses.sum() == pytest.approx(1.0)
    assert expected_length(grammar) == pytest.approx(float(masses @ np.arange(1, 201)), rel=1e-8)


def test_derivations_that_need_not_end_lose_mass() -> None:
    grammar = WeightedGrammar(Alphabet("a"), np.ones(1), np.array([[0.25]]), np.array([[[0.75]]]))
    assert state_masses(grammar)[0] == pytest.approx(1 / 3)
    proper = normalized(grammar)
    assert proper.is_probabilistic()
    assert total_mass(proper) == pytest.approx(1.0)
    strings = Strings.of(["a", "aaa"])
    np.testing.assert_allclose(proper.value(strings), 3 * grammar.value(strings))


def test_samples_have_the_probabilities_of_the_grammar(rng: np.random.Generator) -> None:
    grammar = random_pcfg(2, 2, rng)
    drawn = grammar.sample_brackets(200_000, rng)
    strings, values = grammar_values_up_to(grammar, 3)
    counts = dict.fromkeys(strings, 0)
    for string in drawn.strings:
        if string in counts:
            counts[string] += 1
    found = np.array(list(counts.values())) / len(drawn)
    np.testing.assert_allclose(found, values, atol=5e-3)
    assert drawn.is_binary
    cut = np.mean(
        [
            (0, 2) in spans
            for spans, string in zip(drawn, drawn.strings, strict=True)
            if string == ("a", "b", "a")
        ]
    )
    assert cut == pytest.approx(
        grammar.cut_value([], [0, 1], [0]) / grammar.value(Strings.of(["aba"]))[0], abs=0.05
    )


def test_samples_are_cut_and_improper_grammars_refused(rng: np.random.Generator) -> None:
    grammar = random_pcfg(2, 2, rng)
    assert grammar.sample(2000, rng, max_length=3).lengths.max() == 3
    with pytest.raises(ValueError, match="only a probabilistic grammar"):
        random_grammar(2, 2, rng).sample(1, rng)


def test_rules_of_any_length_keep_their_values() -> None:
    rules = parse_rules(["S -> S S 0.2", "S -> a S b 0.4", "S -> T 0.4", "T -> a b 1"])
    grammar = of_rules(rules.grammar, rules.weights)
    assert grammar.is_probabilistic()
    strings = Strings.of(["ab", "aabb", "abab", "ba"])
    np.testing.assert_allclose(grammar.value(strings), [0.4, 0.16, 0.2 * 0.16, 0.0], atol=1e-15)


def test_the_classic_form_is_the_same_function(rng: np.random.Generator) -> None:
    grammar = random_pcfg(3, 2, rng)
    back = of_rules(*to_rules(grammar))
    strings = Strings.of(["ab", "aabb", "b"], alphabet=grammar.alphabet)
    np.testing.assert_allclose(back.value(strings), grammar.value(strings), rtol=1e-12)


def test_signed_rules_come_back_from_text(rng: np.random.Generator) -> None:
    grammar = random_grammar(2, 2, rng)
    stream = io.StringIO()
    classic, weights = to_rules(grammar)
    write_rules(classic, stream, weights)
    rules = parse_rules(stream.getvalue().splitlines(), signed=True)
    strings = Strings.of(["ab", "bba"], alphabet=grammar.alphabet)
    np.testing.assert_allclose(
        of_rules(rules.grammar, rules.weights).value(strings), grammar.value(strings), rtol=1e-12
    )
    with pytest.raises(InputError, match=r"f.rules:\d+: the weight"):
        parse_rules(stream.getvalue().splitlines(), file="f.rules")


def test_model_files(rng: np.random.Generator, tmp_path: Path) -> None:
    grammar = random_grammar(3, 2, rng)
    save_model(grammar, tmp_path / "m")
    found = load_model(tmp_path / "m", "grammar")
    np.testing.assert_array_equal(found.composition, grammar.composition)
    with pytest.raises(ModelFileError, match="holds a model of family 'grammar'"):
        load_model(tmp_path / "m", "automaton")


def test_what_does_not_fit_is_refused(rng: np.random.Generator) -> None:
    with pytest.raises(ValueError, match="do not fit each other"):
        WeightedGrammar(Alphabet("ab"), np.ones(2), np.ones((2, 2)), np.ones((2, 2, 3)))
    with pytest.raises(InputError, match="string 2 is empty"):
        random_pcfg(2, 2, rng).brackets(Strings.of(["ab", ""]))
