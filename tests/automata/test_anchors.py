from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from automata.random_automata import strings_of
from automata.random_corpora import corpora, corpus_of
from automata.test_context_models import TRUTH, counted
from oracles import words_up_to
from sigmastar.automata.learn.anchor_updates import learn_anchor_model
from sigmastar.automata.learn.anchors import (
    anchor_states,
    background,
    memberships,
    shrunk_states,
    to_probabilistic,
)
from sigmastar.automata.learn.context_model import learn_contexts


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
