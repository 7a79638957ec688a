"""Values, masses, next-symbol distributions and samples of automata against brute force."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from automata.random_automata import SEEDS, proper, proper_automata, signed, signed_automata, strings_of
from oracles import string_value, words_up_to
from sigmastar.automata.data.strings import Strings
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.automata.model.distances import values_up_to
from sigmastar.automata.model.sequence import SequenceModel, next_distribution
from sigmastar.core.alphabet import Alphabet


def brute_values(automaton, words):
    return [string_value(automaton.initial, automaton.transitions, automaton.final, word) for word in words]


@given(signed_automata(), st.lists(st.lists(st.integers(-1, 0), max_size=6), max_size=4))
def test_values_with_unknown_symbols(automaton, words):
    strings = strings_of(words, automaton.alphabet)
    np.testing.assert_allclose(automaton.value(strings), brute_values(automaton, words), atol=1e-14)


@given(signed_automata())
def test_forward_and_backward_meet_in_the_value(automaton):
    codes = np.array([0, -1, 0] if len(automaton.alphabet) == 1 else [0, 1, 1, 0], dtype=np.int32)
    forward, backward = automaton.forward(codes), automaton.backward(codes)
    products = (forward.mantissas * backward.mantissas).sum(axis=1)
    values = np.ldexp(products, forward.exponents + backward.exponents)
    np.testing.assert_allclose(values, brute_values(automaton, [codes.tolist()])[0], atol=1e-14)
    np.testing.assert_allclose(np.ldexp(forward.mantissas[0], forward.exponents[0]), automaton.initial)
    np.testing.assert_allclose(np.ldexp(backward.mantissas[-1], backward.exponents[-1]), automaton.final)


@settings(max_examples=20)
@given(SEEDS, st.integers(1, 2))
def test_masses_by_enumeration(seed, n_symbols):
    automaton = signed(np.random.default_rng(seed), 3, n_symbols, radius=0.05)
    words = words_up_to(n_symbols, 8)
    values = np.array(brute_values(automaton, words))
    size = np.linalg.norm(automaton.initial) * np.linalg.norm(automaton.final)
    asked = [(), (0,), (0, n_symbols - 1)]
    strings = strings_of(asked, automaton.alphabet)
    prefix = [sum(v for w, v in zip(words, values, strict=True) if w[: len(a)] == a) for a in asked]
    np.testing.assert_allclose(automaton.prefix_mass(strings), prefix, atol=1e-9 * size)
    occurs = [
        sum(
            v * sum(w[k : k + len(a)] == a for k in range(len(w) - len(a) + 1))
            for w, v in zip(words, values, strict=True)
        )
        for a in asked
    ]
    np.testing.assert_allclose(automaton.substring_mass(strings), occurs, atol=1e-7 * size)
    np.testing.assert_allclose(automaton.total_mass(), values.sum(), atol=1e-9 * size)
    lengths = np.array([len(word) for word in words])
    expected = automaton.expected_length() * automaton.total_mass()
    np.testing.assert_allclose(expected, lengths @ values, atol=1e-7 * size)


def test_infinite_mass_is_refused_and_says_why():
    automaton = WeightedAutomaton(Alphabet("a"), np.ones(1), np.full((1, 1, 1), 1.0), np.ones(1))
    strings = Strings.of(["a"])
    for ask in (automaton.total_mass, automaton.expected_length, lambda: automaton.prefix_mass(strings)):
        with pytest.raises(ValueError, match="spectral radius 1 >= 1"):
            ask()
    with pytest.raises(ValueError, match="singular"):
        automaton.gap_distributions(strings)


def test_above_radius_one_conditionals_still_stand():
    automaton = WeightedAutomaton(Alphabet("a"), np.ones(1), np.full((1, 1, 1), 1.5), np.ones(1))
    np.testing.assert_allclose(automaton.gap_distributions(Strings.of(["a"])), [[0, 1], [0, 1]])


@given(proper_automata())
def test_gap_distributions_are_ratios_of_prefix_masses(automaton):
    n_symbols = len(automaton.alphabet)
    words = words_up_to(n_symbols, 3)
    strings = strings_of(words, automaton.alphabet)
    longer = strings_of([(*w, a) for w in words for a in range(n_symbols)], automaton.alphabet)
    weights = np.column_stack(
        [automaton.prefix_mass(longer).reshape(-1, n_symbols), automaton.value(strings)]
    )
    reached = automaton.prefix_mass(strings) > 1e-12
    got = next_distribution(automaton, strings)[reached]
    np.testing.assert_allclose(got, (weights / weights.sum(axis=1, keepdims=True))[reached], atol=1e-9)


@given(signed_automata())
def test_gap_distributions_are_distributions_at_every_gap(automaton):
    strings = strings_of([(0, 0, -1, 0), (), (0,)], automaton.alphabet)
    gaps = automaton.gap_distributions(strings)
    assert gaps.shape == (8, len(automaton.alphabet) + 1)
    assert (gaps >= 0).all()
    np.testing.assert_allclose(gaps.sum(axis=1), 1.0, atol=1e-12)
    np.testing.assert_allclose(gaps[[3, 4]], 1 / gaps.shape[1])  # after the unknown symbol
    np.testing.assert_allclose(gaps[5], gaps[0])  # the start of every string
    assert isinstance(automaton, SequenceModel)


def test_a_negative_prefix_weight_cancels_in_its_ratios():
    operators = np.array([[[0.2, 0.0], [0.0, -0.5]], [[0.0, 0.0], [0.1, 0.3]]])
    automaton = WeightedAutomaton(Alphabet("ab"), np.array([0.2, 1.0]), operators, np.array([0.4, 0.6]))
    found = automaton.gap_distributions(Strings.of(["ab"], alphabet=automaton.alphabet))
    for row, prefix in zip(found, ["", "a", "ab"], strict=True):
        words = Strings.of([prefix, prefix + "a", prefix + "b"], alphabet=automaton.alphabet)
        whole, *longer = automaton.prefix_mass(words)
        stop = automaton.value(words)[0]
        ratios = np.maximum([*longer / whole, stop / whole], 0.0)
        np.testing.assert_allclose(row, ratios / ratios.sum(), rtol=1e-9, atol=1e-12)
    assert automaton.prefix_mass(Strings.of(["a"], alphabet=automaton.alphabet))[0] < 0.0


def string_probabilities(automaton, strings):
    """Of each string, as the product of the gap distributions along it."""
    gaps = automaton.gap_distributions(strings)
    moves = np.full(strings.n_gaps, len(automaton.alphabet))
    ends = strings.offsets[1:] + np.arange(len(strings))
    moves[np.setdiff1d(np.arange(strings.n_gaps), ends)] = strings.codes
    chosen = np.append(gaps[np.arange(len(gaps)), moves], 1.0)
    starts = strings.offsets[:-1] + np.arange(len(strings))
    return np.multiply.reduceat(chosen, np.column_stack([starts, ends + 1]).ravel())[::2]


@pytest.mark.parametrize("kind", ["proper", "turned", "signed"])
def test_sample_frequencies_follow_the_distribution(kind):
    rng = np.random.default_rng(5)
    automaton = signed(rng, 3) if kind == "signed" else proper(rng, 3)
    if kind == "turned":
        automaton = automaton.change_basis(rng.normal(size=(3, 3)))
    n = 40_000
    sample = automaton.sample(n, np.random.default_rng(1))
    strings, _ = values_up_to(automaton, 4)
    probabilities = string_probabilities(automaton, strings)
    if kind != "signed":
        np.testing.assert_allclose(probabilities, automaton.value(strings), atol=1e-12)
    counts: dict = {}
    for word in sample:
        counts[word] = counts.get(word, 0) + 1
    observed = np.array([counts.get(word, 0) for word in strings])
    frequent = n * probabilities > 5
    deviations = (observed - n * probabilities)[frequent] / np.sqrt(n * probabilities * (1 - probabilities))[
        frequent
    ]
    assert frequent.sum() > 5
    assert np.abs(deviations).max() < 4.5
    assert (deviations**2).mean() < 2.5
    assert (observed[probabilities == 0] == 0).all()


def test_samples_repeat_with_the_seed_and_stop_at_the_limit(rng):
    for automaton in (proper(rng, 3, stop=0.0), signed(rng, 3), proper(rng, 2).change_basis(np.eye(2) + 0.5)):
        first, again = (automaton.sample(50, np.random.default_rng(3), max_length=7) for _ in range(2))
        assert list(first) == list(again)
        assert first.lengths.max() <= 7
        assert len(automaton.sample(0, rng)) == 0
        assert automaton.sample(3, rng, max_length=0).n_symbols == 0
    assert (proper(rng, 3, stop=0.0).sample(9, rng, max_length=7).lengths == 7).all()


def test_long_strings_stay_finite(rng):
    codes = rng.integers(0, 2, 100_000).astype(np.int32)
    strings = Strings(Alphabet("ab"), codes, np.array([0, len(codes)]))
    for automaton in (proper(rng, 3), signed(rng, 3), 3.0 * signed(rng, 2)):
        assert np.isfinite(automaton.log_value(strings).log).all()
        gaps = automaton.gap_distributions(strings)
        np.testing.assert_allclose(gaps.sum(axis=1), 1.0, atol=1e-12)
        forward, backward = automaton.forward(codes), automaton.backward(codes)
        dots = (forward.mantissas * backward.mantissas).sum(axis=1)
        logs = np.log(np.abs(dots[[0, -1]])) + np.log(2) * (forward.exponents + backward.exponents)[[0, -1]]
        np.testing.assert_allclose(logs, automaton.log_value(strings).log[0], rtol=1e-9)
    stopless = proper(rng, 2, stop=0.0)
    assert stopless.sample(1, rng, max_length=100_000).n_symbols == 100_000


def test_single_state_and_zero_automaton():
    coin = WeightedAutomaton(Alphabet("ab"), np.ones(1), np.full((2, 1, 1), 0.25), np.full(1, 0.5))
    assert coin.is_stochastic()
    np.testing.assert_allclose(
        coin.value(Strings.of(["", "ab", "bbb"], alphabet=coin.alphabet)), [0.5, 1 / 32, 1 / 128]
    )
    assert coin.expected_length() == pytest.approx(1.0)
    zero = WeightedAutomaton(Alphabet("ab"), np.zeros(1), np.zeros((2, 1, 1)), np.zeros(1))
    np.testing.assert_allclose(zero.gap_distributions(Strings.of([""])), np.full((1, 3), 1 / 3))
    assert zero.total_mass() == 0.0
    assert not zero.is_stochastic()
    assert (zero.log_probability(Strings.of(["a"])) == -np.inf).all()
    with pytest.raises(ValueError, match="no expected length"):
        zero.expected_length()


@given(signed_automata(), SEEDS)
def test_change_of_basis_keeps_the_function(automaton, seed):
    basis = np.random.default_rng(seed).normal(size=(automaton.n_states,) * 2) + 3 * np.eye(
        automaton.n_states
    )
    strings, values = values_up_to(automaton, 3)
    turned = automaton.change_basis(basis)
    np.testing.assert_allclose(turned.value(strings), values, atol=1e-9 * np.linalg.cond(basis))


def test_bad_weights_are_refused():
    with pytest.raises(ValueError, match="finite"):
        WeightedAutomaton(Alphabet("a"), np.array([np.nan]), np.zeros((1, 1, 1)), np.ones(1))
    with pytest.raises(ValueError, match="do not fit 2 symbols"):
        WeightedAutomaton(Alphabet("ab"), np.ones(1), np.zeros((1, 1, 1)), np.ones(1))
    with pytest.raises(ValueError, match="must not be negative"):
        proper(np.random.default_rng(0), 2).sample(-1, np.random.default_rng(0))
