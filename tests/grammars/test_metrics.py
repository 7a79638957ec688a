"""Brackets against gold ones; grammars against frequencies and other grammars."""

from __future__ import annotations

import numpy as np
import pytest

from sigmastar.automata.data.strings import Strings
from sigmastar.core.alphabet import Alphabet
from sigmastar.grammars.data.bracketings import Bracketings, right_branching
from sigmastar.grammars.metrics import (
    baselines,
    bracket_counts,
    bracket_score,
    empirical_l1,
    grammar_distances,
)
from sigmastar.grammars.model.grammar import WeightedGrammar
from sigmastar.grammars.model.mass import grammar_values_up_to


def test_whole_strings_and_repetitions_do_not_count() -> None:
    strings = Strings.of(["abcd", "ab", "abc"])
    gold = Bracketings.of_spans(strings, [[(0, 4), (0, 2), (0, 2)], [(0, 2)], [(0, 3), (1, 3)]])
    found = Bracketings.of_spans(strings, [[(0, 4), (0, 2), (2, 4)], [(0, 2)], [(0, 3), (0, 2)]])
    assert bracket_counts(found, gold).tolist() == [[1, 2, 1], [0, 0, 0], [0, 1, 1]]
    score = bracket_score(found, gold)
    assert score.precision == pytest.approx(1 / 3)
    assert score.recall == pytest.approx(1 / 2)
    assert score.f1 == pytest.approx(2 / 5)


def test_baselines() -> None:
    strings = Strings.of(["abcd"])
    found = baselines(right_branching(strings))
    assert found["right-branching"].f1 == 1.0
    assert found["left-branching"].f1 == 0.0


def test_other_strings_are_refused() -> None:
    with pytest.raises(ValueError, match="cannot be compared"):
        bracket_score(right_branching(Strings.of(["ab"])), right_branching(Strings.of(["abc"])))


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
