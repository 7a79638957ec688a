"""Repairs: proper distributions from automata with signed weights."""

from __future__ import annotations

import numpy as np
import pytest

from automata.random_automata import signed, strings_of
from automata.test_context_models import TRUTH
from oracles import words_up_to
from sigmastar.automata.counts.bases import most_frequent
from sigmastar.automata.data.contexts import grow_contexts
from sigmastar.automata.data.strings import Strings
from sigmastar.automata.learn.repair import REPAIRS, class_states
from sigmastar.automata.learn.spectral import learn_automaton
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.core.alphabet import Alphabet

PROPER = ["filter", "project", "em"]
every_proper_repair = pytest.mark.parametrize("name", PROPER)


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.fixture(scope="module")
def strings() -> Strings:
    return TRUTH.sample(1_500, np.random.default_rng(1))


@pytest.fixture(scope="module")
def spectral(strings) -> WeightedAutomaton:
    return learn_automaton(strings, most_frequent(strings, 15, 15), 4)


@every_proper_repair
def test_repaired_automata_are_proper(name, spectral, strings):
    assert not spectral.is_stochastic()
    repaired = REPAIRS[name](spectral, strings, rng())
    rows = repaired.gap_distributions(strings)
    assert (rows >= 0).all()
    np.testing.assert_allclose(rows.sum(axis=1), 1.0, atol=1e-12)
    short = strings_of(words_up_to(2, 10), TRUTH.alphabet)
    assert 0.5 < np.exp(repaired.log_probability(short)).sum() <= 1.0 + 1e-9
    fresh = TRUTH.sample(500, np.random.default_rng(2))
    assert np.isfinite(repaired.log_probability(fresh)).all()
    assert TRUTH.log_probability(fresh).mean() - repaired.log_probability(fresh).mean() < 0.3
    if name != "filter":
        assert repaired.is_stochastic()
        assert repaired.n_states == spectral.n_states


def test_nothing_is_a_repair_too(spectral, strings):
    assert REPAIRS["none"](spectral, strings, rng()) is spectral


@every_proper_repair
def test_repairs_are_repeatable(name, spectral, strings):
    first, second = (REPAIRS[name](spectral, strings, rng()).to_parts()[0] for _ in range(2))
    for key in first:
        np.testing.assert_array_equal(first[key], second[key])


@every_proper_repair
@pytest.mark.parametrize("n_states", [1, 3])
@pytest.mark.parametrize("seed", range(5))
def test_whatever_comes_in_what_comes_out_is_proper(name, n_states, seed):
    """Automata that have nothing to do with the strings, some of negative mass."""
    automaton = signed(np.random.default_rng(seed), n_states)
    strings = Strings.of(["ab", "abb", "", "b"] * 5, alphabet=automaton.alphabet)
    repaired = REPAIRS[name](automaton, strings, rng())
    rows = repaired.gap_distributions(strings)
    assert (rows >= 0).all()
    np.testing.assert_allclose(rows.sum(axis=1), 1.0, atol=1e-12)
    assert np.isfinite(repaired.log_probability(strings)).all()
    if name != "filter":
        assert repaired.is_stochastic()
        assert repaired.n_states == n_states


@every_proper_repair
@pytest.mark.parametrize("words", [["ab"], [""], ["", ""], ["ab"] * 10])
def test_few_strings(name, words):
    strings = Strings.of(words, alphabet=Alphabet("ab"))
    repaired = REPAIRS[name](TRUTH, strings, rng())
    rows = repaired.gap_distributions(strings)
    np.testing.assert_allclose(rows.sum(axis=1), 1.0, atol=1e-12)


@every_proper_repair
def test_strings_over_another_alphabet_are_coded_anew(name):
    words = ["ab", "abb", "", "b"] * 5
    one, other = (
        REPAIRS[name](TRUTH, Strings.of(words, alphabet=Alphabet(symbols)), rng()) for symbols in ("ab", "ba")
    )
    fresh = Strings.of(["ba", "a"])
    np.testing.assert_allclose(one.log_probability(fresh), other.log_probability(fresh))


def test_class_states_are_mean_states_of_mass_one(strings):
    pasts = grow_contexts(strings, "past", 10)
    states, counts = class_states(TRUTH, pasts, strings)
    assert counts.sum() == strings.n_gaps
    np.testing.assert_allclose(states @ TRUTH.continuation_mass, 1.0)
    classes = pasts.classify(strings)
    total, number, gap = np.zeros(3), 0, 0
    for i in range(len(strings)):
        forward = TRUTH.forward(strings.codes[strings.offsets[i] : strings.offsets[i + 1]]).mantissas
        for row in forward:
            if classes[gap] == 1:
                total, number = total + row / row.sum(), number + 1
            gap += 1
    assert counts[1] == number
    np.testing.assert_allclose(states[1], total / number)
