"""Exact and approximate minimization, distances, equivalence."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from automata.random_automata import SEEDS, signed, signed_automata, strings_of
from oracles import hankel_rank, string_value, words_up_to
from sigmastar.automata.model.algebra import add, difference, hadamard
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.automata.model.distances import (
    equivalent,
    l1_up_to,
    l2_distance,
    l2_norm,
    values_up_to,
)
from sigmastar.automata.model.generators import make_automaton
from sigmastar.automata.model.minimize import (
    SingularValueAutomaton,
    approximate,
    minimal_rank,
    minimize,
    observe_gramian,
    reach_gramian,
    solve_series,
)
from sigmastar.core.alphabet import Alphabet


@given(SEEDS, st.integers(1, 4), st.integers(1, 3))
def test_duplicates_cost_no_states(seed, n, m):
    rng = np.random.default_rng(seed)
    f, g = signed(rng, n), signed(rng, m)
    doubled = add(f, g.change_basis(rng.normal(size=(m, m)) + 3 * np.eye(m)), f, 0.5 * g)
    minimal = minimize(doubled)
    assert minimal.n_states == n + m
    strings, values = values_up_to(doubled, 4)
    np.testing.assert_allclose(minimal.value(strings), values, atol=1e-9)


@settings(max_examples=25)
@given(SEEDS, st.integers(1, 3))
def test_the_rank_is_that_of_the_hankel_matrix(seed, n):
    rng = np.random.default_rng(seed)
    f = signed(rng, n, radius=2.0)
    mask = rng.random((2, n, n)) < 0.5  # sparse: some states cannot be reached, some lead nowhere
    sparse = WeightedAutomaton(f.alphabet, f.initial * (rng.random(n) < 0.7), f.transitions * mask, f.final)
    expected = hankel_rank(sparse.initial, sparse.transitions, sparse.final, 3)
    assert minimal_rank(sparse) == expected


def test_zero_functions_have_rank_zero(rng):
    f = signed(rng, 3)
    for zero in (difference(f, f), 0.0 * f, difference(f, f.change_basis(rng.normal(size=(3, 3))))):
        assert minimal_rank(zero) == 0
        assert minimize(zero).n_states == 1
        np.testing.assert_allclose(values_up_to(minimize(zero), 3)[1], 0.0, atol=1e-9)
    assert minimal_rank(signed(rng, 1)) == 1


@given(SEEDS, st.integers(1, 2))
def test_l2_by_enumeration(seed, n_symbols):
    rng = np.random.default_rng(seed)
    f, g = signed(rng, 3, n_symbols, radius=0.2), signed(rng, 2, n_symbols, radius=0.2)
    words = words_up_to(n_symbols, 7)
    a, b = (np.array([string_value(x.initial, x.transitions, x.final, w) for w in words]) for x in (f, g))
    assert l2_norm(f) == pytest.approx(np.linalg.norm(a), rel=1e-6)
    assert l2_distance(f, g) == pytest.approx(np.linalg.norm(a - b), rel=1e-6)
    assert l1_up_to(f, g, 7) == pytest.approx(np.abs(a - b).sum())


def test_l2_needs_square_summable_functions(rng):
    f = signed(rng, 2)
    wild = WeightedAutomaton(f.alphabet, np.ones(1), np.full((2, 1, 1), 0.8), np.ones(1))
    for ask in (l2_norm, SingularValueAutomaton.of):
        with pytest.raises(ValueError, match="not in l2"):
            ask(wild)
    hidden = add(f, 0.0 * wild)  # the wild state has no part in the function
    assert l2_norm(hidden) == pytest.approx(l2_norm(f))


def test_large_gramians_are_solved_iteratively(rng):
    n = 45
    operators = rng.normal(size=(3, n, n)) * np.sqrt(0.8 / 3 / n)
    constant = rng.normal(size=(n, n))
    solved = solve_series(operators, operators, constant)
    summed = constant + (operators @ solved @ operators.transpose(0, 2, 1)).sum(axis=0)
    np.testing.assert_allclose(solved, summed, atol=1e-10)
    f = WeightedAutomaton(Alphabet("abc"), rng.normal(size=n), operators, rng.normal(size=n))
    assert l2_norm(f) == pytest.approx(l2_norm(SingularValueAutomaton.of(f).automaton))
    with pytest.raises(ValueError, match="not in l2"):
        l2_norm(WeightedAutomaton(f.alphabet, f.initial, 1.5 * operators, f.final))


@given(signed_automata())
def test_both_gramians_of_the_canonical_form_are_the_singular_values(automaton):
    canonical = SingularValueAutomaton.of(automaton)
    expected = np.diag(canonical.singular_values)
    np.testing.assert_allclose(reach_gramian(canonical.automaton), expected, atol=1e-6 * expected[0, 0])
    np.testing.assert_allclose(observe_gramian(canonical.automaton), expected, atol=1e-6 * expected[0, 0])
    strings, values = values_up_to(automaton, 4)
    np.testing.assert_allclose(canonical.automaton.value(strings), values, atol=1e-6 * expected[0, 0])


@settings(max_examples=10)
@given(SEEDS)
def test_singular_values_are_those_of_the_hankel_matrix(seed):
    f = signed(np.random.default_rng(seed), 2, radius=0.15)
    words = words_up_to(2, 4)
    hankel = [[string_value(f.initial, f.transitions, f.final, u + v) for v in words] for u in words]
    singular_values = np.linalg.svd(np.array(hankel), compute_uv=False)
    found = SingularValueAutomaton.of(f).singular_values
    np.testing.assert_allclose(found, singular_values[: len(found)], atol=1e-3 * singular_values[0])


@given(SEEDS, st.integers(2, 6), st.integers(1, 3), st.floats(0.2, 0.97))
def test_the_cut_obeys_its_bound(seed, n, n_symbols, radius):
    f = signed(np.random.default_rng(seed), n, n_symbols, radius=radius)
    canonical = SingularValueAutomaton.of(f)
    norm = l2_norm(f)
    for n_states in range(1, canonical.automaton.n_states + 1):
        assert l2_distance(f, canonical.cut(n_states)) <= canonical.error_bound(n_states) + 1e-6 * norm
    assert canonical.error_bound(canonical.automaton.n_states) == 0.0


def test_the_bound_is_sharp_and_drives_the_approximation(rng):
    weak = WeightedAutomaton(Alphabet("ab"), np.array([1e-3]), np.zeros((2, 1, 1)), np.ones(1))
    loop = WeightedAutomaton(Alphabet("ab"), np.ones(1), np.array([0.5, 0.0])[:, None, None], np.ones(1))
    f = add(loop, weak)
    small = approximate(f, max_error=2e-3)
    assert small.n_states == 1
    error = l2_distance(f, small)
    assert 0.5 * SingularValueAutomaton.of(f).error_bound(1) < error <= 2e-3
    assert approximate(f, max_error=0.0).n_states == 2
    with pytest.raises(ValueError, match=r"n_states=3 must be within 1..2"):
        SingularValueAutomaton.of(f).cut(3)
    assert approximate(0.0 * f, max_error=0.1).n_states == 1


@given(signed_automata(), SEEDS)
def test_equal_functions_are_found_equal(automaton, seed):
    rng = np.random.default_rng(seed)
    n = automaton.n_states
    turned = automaton.change_basis(rng.normal(size=(n, n)) + 3 * np.eye(n))
    verdict = equivalent(automaton, turned)
    assert verdict.equal
    assert verdict.witness is None


@given(SEEDS, st.integers(1, 4), st.integers(0, 4))
def test_the_witness_is_a_shortest_string_that_differs(seed, n, length):
    rng = np.random.default_rng(seed)
    f = signed(rng, n, radius=1.5)
    word = rng.integers(0, 2, length)
    spike = only_word(word)
    verdict = equivalent(f, f + spike)
    assert not verdict.equal
    assert verdict.witness == f.alphabet.decode(word.tolist())
    g = hadamard(f, spike)  # f on that one word
    at = strings_of([word.tolist()], f.alphabet)
    assert equivalent(g, 2.0 * g).equal == (abs(f.value(at)[0]) < 1e-12)


def only_word(word) -> WeightedAutomaton:
    """One on `word`, zero elsewhere."""
    n = len(word) + 1
    transitions = np.zeros((2, n, n))
    transitions[word, np.arange(n - 1), np.arange(1, n)] = 1.0
    return WeightedAutomaton(Alphabet("ab"), np.eye(n)[0], transitions, np.eye(n)[-1])


@given(SEEDS)
def test_different_functions_differ_on_the_witness(seed):
    rng = np.random.default_rng(seed)
    f, g = signed(rng, 3), signed(rng, 2)
    witness = equivalent(f, g).witness
    at = strings_of([f.alphabet.encode(witness)], f.alphabet)
    assert abs(f.value(at) - g.value(at))[0] > 1e-9


def test_enumeration_lists_every_string_once():
    f = signed(np.random.default_rng(0), 2, 3)
    strings, values = values_up_to(f, 3)
    assert [tuple(f.alphabet.encode(s)) for s in strings] == words_up_to(3, 3)
    np.testing.assert_allclose(values, f.value(strings), atol=1e-14)
    assert len(values_up_to(f, 0)[0]) == 1
    with pytest.raises(ValueError, match="smaller max_length"):
        values_up_to(f, 40)
    with pytest.raises(ValueError, match="negative"):
        values_up_to(f, -1)


def test_strings_that_cannot_be_read_do_not_tell_automata_apart():
    """Behind them one automaton has zeros and the other rounding errors."""
    drawn = make_automaton(3, 3, np.random.default_rng(5), stop=0.2)
    doubled = (drawn + drawn) * 0.5
    assert equivalent(minimize(doubled), doubled).equal
