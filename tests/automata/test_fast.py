"""`fast`: what it chooses among, and what leaves no trace in the model."""

from __future__ import annotations

import numpy as np
import pytest

from automata.test_context_models import TRUTH
from sigmastar.automata.estimator.spectral import SpectralAutomaton
from sigmastar.automata.learn import fast as module
from sigmastar.automata.learn.fast import CLASSES, learn_fast


@pytest.mark.parametrize("limit", [0, 10**9])
def test_threads_leave_no_trace_in_the_model(monkeypatch, limit):
    strings = TRUTH.sample(600, np.random.default_rng(0))
    whole = learn_fast(strings, np.random.default_rng(0), n_classes=(5, 10, 20))
    monkeypatch.setattr(module, "_FEW_ENTRIES", limit)
    other = learn_fast(strings, np.random.default_rng(0), n_classes=(5, 10, 20))
    assert other.held_out_score == whole.held_out_score
    np.testing.assert_array_equal(other.model.log_probability(strings), whole.model.log_probability(strings))


def test_every_number_of_classes_is_tried_and_the_best_is_taken():
    strings, told = TRUTH.sample(600, np.random.default_rng(0)), list[str]()
    fit = learn_fast(strings, np.random.default_rng(0), n_classes=(2, 20), progress=told.append)
    assert sum("on 2 context classes" in line for line in told) == 1
    assert sum("on 20 context classes" in line for line in told) == 1
    alone = [learn_fast(strings, np.random.default_rng(0), n_classes=(size,)) for size in (2, 20)]
    best = max(alone, key=lambda each: each.held_out_score)
    assert fit.held_out_score == pytest.approx(best.held_out_score, abs=1e-4)
    assert fit.contexts.counts.pasts.n_classes == best.contexts.counts.pasts.n_classes


def test_the_estimator_and_the_learner_have_one_default():
    assert SpectralAutomaton().n_classes == CLASSES


def test_the_number_of_states_asked_for_is_kept():
    strings = TRUTH.sample(600, np.random.default_rng(0))
    assert learn_fast(strings, np.random.default_rng(0), n_states=3).model.automaton.n_states == 3
