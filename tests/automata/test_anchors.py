from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from automata.random_automata import SEEDS, strings_of
from automata.random_corpora import corpora, corpus_of
from automata.test_context_models import TRUTH, counted
from oracles import words_up_to
from sigmastar.automata.learn.anchors import (
    anchor_states,
    background,
    memberships,
    shrunk_states,
    to_probabilistic,
)
from sigmastar.automata.learn.context_operators import learn_contexts
from sigmastar.automata.learn.convex import SliceEntries, expected_moves, learn_anchor_model, ratio_sums


@settings(max_examples=40)
@given(corpora(min_strings=1), st.integers(1, 8))
def test_there_are_as_many_anchors_as_states(corpus, max_states):
    contexts = learn_contexts(counted(corpus.strings, 20, 1), max_states)
    anchors = anchor_states(contexts)
    assert anchors.shape == (contexts.n_states, contexts.n_states)
    np.testing.assert_allclose(anchors[:, 0], 1.0)
    automaton = to_probabilistic(contexts, anchors)
    assert automaton.is_stochastic()
    assert automaton.n_states == contexts.n_states


@settings(max_examples=20)
@given(corpora(min_strings=1), st.integers(1, 5))
def test_concave_stages_give_proper_automata(corpus, max_states):
    contexts = learn_contexts(counted(corpus.strings, 20, 1), max_states)
    model = learn_anchor_model(contexts)
    assert model.automaton.is_stochastic()
    assert (model.memberships >= 0).all()
    np.testing.assert_allclose(model.memberships.sum(axis=1), 1.0)


def test_states_of_rare_classes_are_drawn_to_the_mean():
    contexts = learn_contexts(counted(TRUTH.sample(500, np.random.default_rng(0))), 4)
    shrunk, counts = shrunk_states(contexts), contexts.counts.past_counts
    np.testing.assert_array_equal(shrunk[:, 0], 1.0)
    np.testing.assert_allclose(shrunk[:, 1:], contexts.states[:, 1:] * (counts / (counts + 50.0))[:, None])


def test_states_between_anchors_are_their_mixes():
    anchors = np.array([[1.0, 2.0, 0.0], [1.0, -1.0, 1.0], [1.0, -1.0, -1.0]])
    mixes = np.random.default_rng(0).dirichlet(np.ones(3), size=5)
    np.testing.assert_allclose(memberships(anchors, mixes @ anchors), mixes, atol=1e-3)


def test_the_background_is_how_often_symbols_occur():
    contexts = learn_contexts(counted(corpus_of([(0, 1, 1), (1,)], 2).strings), 1)
    assert background(contexts).tolist() == pytest.approx([1 / 6, 3 / 6, 2 / 6])


def test_the_spectral_start_is_near_the_truth():
    contexts = learn_contexts(counted(TRUTH.sample(20_000, np.random.default_rng(0))), 3)
    automaton = to_probabilistic(contexts, anchor_states(contexts))
    short = strings_of(words_up_to(2, 4), TRUTH.alphabet)
    assert np.abs(automaton.value(short) - TRUTH.value(short)).sum() < 0.2


@given(SEEDS, st.integers(1, 4), st.integers(1, 5), st.integers(1, 6))
def test_sums_of_ratios_are_those_of_dense_tables(seed, n, n_rows, n_columns):
    rng = np.random.default_rng(seed)
    table = rng.integers(0, 3, size=(n_rows, n_columns)).astype(float)
    left, right = rng.random((n_rows, n)), rng.random((n_columns, n))
    rows, columns = np.nonzero(table)
    found = ratio_sums(rows, columns, table[rows, columns], left, right)
    ratios = table / (left @ right.T)
    np.testing.assert_allclose(found[0], ratios @ right, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found[1], ratios.T @ left, rtol=1e-9, atol=1e-12)


def test_entries_of_value_zero_are_left_out():
    rows, columns, counts = np.array([0, 1]), np.array([0, 0]), np.array([2.0, 3.0])
    left, right = np.array([[1.0], [0.0]]), np.array([[0.5]])
    left_sums, right_sums = ratio_sums(rows, columns, counts, left, right)
    assert left_sums.tolist() == [[2.0], [0.0]]
    assert right_sums.tolist() == [[4.0]]


@given(SEEDS)
def test_multiplicative_updates_climb(seed):
    """The step that the sums are for never lowers the likelihood."""
    rng = np.random.default_rng(seed)
    table = rng.integers(0, 4, size=(4, 5)).astype(float) + 0.1
    rows, columns = np.nonzero(table)
    left, right = rng.dirichlet(np.ones(2), size=4), rng.dirichlet(np.ones(5), size=2).T.copy()
    reached = -np.inf
    for _ in range(5):
        log_likelihood = (table * np.log(left @ right.T)).sum()
        assert log_likelihood >= reached - 1e-9
        reached = log_likelihood
        right = right * ratio_sums(rows, columns, table.ravel(), left, right)[1]
        right /= right.sum(axis=0)


@settings(max_examples=25)
@given(SEEDS, st.integers(1, 4))
def test_expected_moves_are_those_of_dense_slices(seed, n):
    rng = np.random.default_rng(seed)
    slices = rng.integers(0, 2, size=(3, 4, 5)) * rng.random((3, 4, 5))
    mixes, moves, emissions = rng.random((4, n)), rng.random((3, n, n)), rng.random((5, n))
    symbol, row, column = np.nonzero(slices)
    run_starts = np.flatnonzero(np.diff(symbol * 4 + row, prepend=-1))
    symbol_starts = np.flatnonzero(np.diff(symbol[run_starts], prepend=-1))
    entries = SliceEntries(
        symbol[run_starts][symbol_starts],
        np.append(symbol_starts, len(run_starts)),
        row[run_starts],
        np.append(run_starts, len(symbol)),
        column,
        slices[symbol, row, column],
    )
    ratios = slices / (mixes @ moves @ emissions.T)
    expected = moves * (mixes.T @ ratios @ emissions)
    np.testing.assert_allclose(expected_moves(entries, mixes, moves, emissions), expected, rtol=1e-9)
