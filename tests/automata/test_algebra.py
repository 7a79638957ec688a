"""Conversions, sums, products, reversal and restriction to a language, against values string by string."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from automata.random_automata import SEEDS, proper, signed, signed_automata, strings_of
from oracles import dfa_accepts, string_value, words_up_to
from sigmastar.automata.data.strings import Strings
from sigmastar.automata.model import algebra as conversions
from sigmastar.automata.model.algebra import add, difference, hadamard, mixture, reverse, scale
from sigmastar.automata.model.dfa import DFA, intersect
from sigmastar.automata.model.diagnosis import diagnose
from sigmastar.automata.model.distances import values_up_to
from sigmastar.core.alphabet import Alphabet

THERE_AND_BACK = [
    (conversions.string_to_prefix, conversions.prefix_to_string),
    (conversions.string_to_substring, conversions.substring_to_string),
    (conversions.prefix_to_substring, conversions.substring_to_prefix),
]


@given(signed_automata(), st.sampled_from(THERE_AND_BACK))
def test_conversions_invert(automaton, ways):
    there, back = ways
    again = back(there(automaton))
    np.testing.assert_allclose(again.initial, automaton.initial, atol=1e-10)
    np.testing.assert_allclose(again.final, automaton.final, atol=1e-10)


@given(signed_automata())
def test_conversions_are_the_masses_and_commute(automaton):
    strings, _ = values_up_to(automaton, 3)
    prefix, substring = conversions.string_to_prefix(automaton), conversions.string_to_substring(automaton)
    np.testing.assert_allclose(prefix.value(strings), automaton.prefix_mass(strings), atol=1e-12)
    np.testing.assert_allclose(substring.value(strings), automaton.substring_mass(strings), atol=1e-12)
    through = conversions.prefix_to_substring(prefix)
    np.testing.assert_allclose(through.value(strings), substring.value(strings), atol=1e-10)


@given(SEEDS, st.integers(1, 3), st.integers(1, 3), st.floats(-3, 3))
def test_sum_scale_product_reverse(seed, n, m, factor):
    rng = np.random.default_rng(seed)
    f, g = signed(rng, n), signed(rng, m)
    words = words_up_to(2, 4)
    strings = strings_of(words, f.alphabet)
    a, b = (np.array([string_value(x.initial, x.transitions, x.final, w) for w in words]) for x in (f, g))
    backwards = [words.index(word[::-1]) for word in words]
    for made, expected in [
        (add(f, g), a + b),
        (f + g + f, 2 * a + b),
        (difference(f, g), a - b),
        (scale(f, factor), factor * a),
        (factor * f, factor * a),
        (hadamard(f, g), a * b),
        (mixture([f, g], [0.25, 0.75]), a / 4 + 3 * b / 4),
        (reverse(f), a[backwards]),
    ]:
        np.testing.assert_allclose(made.value(strings), expected, atol=1e-12)


def test_alphabets_meet_in_their_union(rng):
    f, g = signed(rng, 2, 2), signed(rng, 2, 3).over(Alphabet("cb"))
    strings = Strings.of(["", "a", "ab", "b", "bb", "c", "cb", "z"])
    total = f + g
    assert total.alphabet.symbols == ("a", "b", "c")
    np.testing.assert_allclose(total.value(strings), f.value(strings) + g.value(strings))
    np.testing.assert_allclose(hadamard(f, g).value(strings), f.value(strings) * g.value(strings))


def test_bad_mixtures_are_refused(rng):
    f = proper(rng, 2)
    assert mixture([f, f], [0.5, 0.5]).is_stochastic()
    with pytest.raises(ValueError, match="sum to 1"):
        mixture([f, f], [0.5, 0.6])
    with pytest.raises(ValueError, match="1 weights for 2 automata"):
        mixture([f, f], [1.0])
    with pytest.raises(ValueError, match="at least one"):
        add()


@st.composite
def dfas(draw) -> DFA:
    n = draw(st.integers(1, 4))
    table = draw(st.lists(st.lists(st.integers(-1, n - 1), min_size=2, max_size=2), min_size=n, max_size=n))
    accepting = draw(st.lists(st.booleans(), min_size=n, max_size=n))
    return DFA(Alphabet("ab"), draw(st.integers(0, n - 1)), np.array(table), np.array(accepting))


@given(signed_automata(max_states=3), dfas())
def test_intersection_is_the_function_on_the_language(automaton, dfa):
    strings, values = values_up_to(automaton, 4)
    codes = {"a": 0, "b": 1}  # the third symbol of an automaton is unknown to the DFA
    inside = [
        dfa_accepts(dfa.start, dfa.next_state, dfa.accepting, [codes.get(s, -1) for s in string])
        for string in strings
    ]
    assert dfa.accepts(strings).tolist() == inside
    np.testing.assert_allclose(
        intersect(automaton, dfa).value(strings), np.where(inside, values, 0.0), atol=1e-13
    )


def test_mass_of_a_language(rng):
    automaton = proper(rng, 3)
    even = DFA(automaton.alphabet, 0, np.array([[1, 0], [0, 1]]), np.array([True, False]))
    odd = DFA(automaton.alphabet, 0, even.next_state, np.array([False, True]))
    masses = [intersect(automaton, language).total_mass() for language in (even, odd)]
    assert sum(masses) == pytest.approx(1.0)
    sampled = even.accepts(automaton.sample(20_000, np.random.default_rng(0))).mean()
    assert sampled == pytest.approx(masses[0], abs=0.02)


def test_bad_dfas_are_refused():
    with pytest.raises(ValueError, match="do not fit"):
        DFA(Alphabet("ab"), 2, np.zeros((1, 2)), np.ones(1))
    with pytest.raises(ValueError, match="next states"):
        DFA(Alphabet("ab"), 0, np.full((1, 2), 1), np.ones(1))


def test_diagnosis_of_a_distribution_and_of_a_signed_automaton(rng):
    good = proper(rng, 3)
    report = diagnose(good, good.sample(100, rng))
    assert report.total_mass == pytest.approx(1.0)
    assert report.share_not_positive == 0.0
    assert report.negative_mass == pytest.approx(0.0, abs=1e-12)
    assert (report.smallest_sum, report.largest_sum) == pytest.approx((1.0, 1.0))
    assert "weight of all strings is 1 " in str(report)
    bad = difference(2.0 * good, proper(rng, 3))
    report = diagnose(bad, values_up_to(bad, 5)[0])
    assert report.total_mass == pytest.approx(1.0)
    assert 0.0 < report.negative_mass < 1.0
    assert report.share_not_positive > 0.0
    assert report.largest_sum > 1.0


def test_diagnosis_survives_infinite_mass_and_dead_ends():
    wild = signed(np.random.default_rng(0), 2, radius=5.0)
    assert wild.spectral_radius > 1
    assert "infinite" in str(diagnose(wild, Strings.of(["ab"])))
    dead = diagnose(0.0 * wild, Strings.of(["ab"]))
    assert (dead.negative_mass, dead.share_not_positive) == (0.0, 1.0)
    with pytest.raises(ValueError, match="no strings"):
        diagnose(wild, Strings.of([]))
