"""Distances between grammars on strings that can be listed."""

from __future__ import annotations

import numpy as np
import pytest

from sigmastar.automata.data.strings import Strings
from sigmastar.core.alphabet import Alphabet
from sigmastar.grammars.metrics.distances import empirical_l1, grammar_distances
from sigmastar.grammars.model.enumeration import grammar_values_up_to
from sigmastar.grammars.model.grammar import WeightedGrammar


def random_grammar(seed: int) -> WeightedGrammar:
    rng = np.random.default_rng(seed)
    words, composition = rng.random((2, 2)), 0.3 * rng.random((2, 2, 2))
    sums = words.sum(axis=0) + composition.sum(axis=(1, 2))
    initial = rng.random(2)
    return WeightedGrammar(
        Alphabet("ab"), initial / initial.sum(), words / sums, composition / sums[:, None, None]
    )


def test_distances_are_those_of_the_listed_values() -> None:
    mine, truth = random_grammar(0), random_grammar(1)
    strings, p = grammar_values_up_to(truth, 4)
    q = mine.value(strings)
    found = grammar_distances(mine, truth, 4)
    assert found.l1 == pytest.approx(np.abs(p - q).sum())
    assert found.kl == pytest.approx(np.sum(p / p.sum() * np.log((p / p.sum()) / (q / q.sum()))))
    assert found.mass == pytest.approx(p.sum())


def test_a_grammar_that_forbids_a_string_is_infinitely_far() -> None:
    truth = random_grammar(0)
    nothing = WeightedGrammar(truth.alphabet, truth.initial, truth.words * [[1.0], [0.0]], truth.composition)
    assert grammar_distances(nothing, truth, 3).kl == np.inf
    assert grammar_distances(truth, truth, 3).kl == pytest.approx(0.0, abs=1e-12)


def test_frequencies_of_a_sample_are_compared_with_values() -> None:
    grammar = random_grammar(2)
    strings = Strings.of(["a", "a", "b", "ab"], alphabet=grammar.alphabet)
    values = dict(zip(["a", "b", "ab"], grammar.value(Strings.of(["a", "b", "ab"])), strict=True))
    expected = abs(0.5 - values["a"]) + abs(0.25 - values["b"]) + abs(0.25 - values["ab"])
    assert empirical_l1(grammar, strings) == pytest.approx(expected)
