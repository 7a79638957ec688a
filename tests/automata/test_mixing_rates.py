"""Mixing rates of the restart filter: both models' shares of every held-out step, and the fit to them."""

from __future__ import annotations

import numpy as np
import pytest

from automata.test_context_models import TRUTH, counted
from sigmastar.automata.learn.context_operators import backoff_of, learn_contexts
from sigmastar.automata.learn.fast import (
    START_RATE,
    Steps,
    behind_filter,
    held_out_score,
    tune_mixing,
)
from sigmastar.automata.learn.held_out import Held, HeldOut
from sigmastar.core.mixture import Events


@pytest.fixture(scope="module")
def setting():
    strings = TRUTH.sample(1_500, np.random.default_rng(0))
    counts = counted(strings.select(range(1_000)))
    contexts = learn_contexts(counts, 3)
    model = behind_filter(contexts.automaton, contexts.mass, backoff_of(counts), contexts.states)
    return model, counts, strings.select(range(1_000, 1_500))


def test_steps_are_mixtures_of_both_predictions(setting):
    model, _, held = setting
    steps = Steps.of(model, HeldOut.of(Held.whole(held)))
    assert steps.score(model.mixing) == pytest.approx(model.log_probability(held).mean())
    assert held_out_score(model, HeldOut.of(Held.whole(held))) == pytest.approx(
        model.log_probability(held).mean()
    )
    assert steps.events.counts.sum() == held.n_gaps
    mixed = (1 - START_RATE) * steps.events.first + START_RATE * steps.events.second
    assert steps.events.counts @ np.log(mixed) / len(held) == pytest.approx(steps.score(model.mixing))
    assert ((steps.events.second > 0) & (steps.events.second <= 1 + 1e-9)).all()
    assert ((steps.events.first >= 0) & (steps.events.first <= 1 + 1e-9)).all()


def test_tuned_rates_serve_held_out_strings(setting):
    model, counts, held = setting
    held_out = HeldOut.of(Held.whole(held))
    tuned = tune_mixing(model, counts.past_counts, held_out, 3)
    assert tuned.mixing.shape == model.mixing.shape
    assert ((tuned.mixing > 0) & (tuned.mixing < 1)).all()
    assert held_out_score(tuned, held_out) > held_out_score(model, held_out)
    assert tune_mixing(model, counts.past_counts, held_out, 0) is model


def steps_of(automaton, backoff, n_classes: int) -> Steps:
    n = len(automaton)
    classes = (np.arange(n) % n_classes).astype(np.int32)
    return Steps(classes, Events(np.ones(n), np.asarray(automaton), np.asarray(backoff)), 1.0)


def test_rates_follow_whoever_predicts_better():
    n_classes, n = 4, 4_000
    counts = np.array([5, 50, 500, 5_000])
    better = steps_of(np.full(n, 0.5), np.full(n, 0.01), n_classes).fit_rates(counts)
    worse = steps_of(np.full(n, 0.01), np.full(n, 0.5), n_classes).fit_rates(counts)
    assert (better < START_RATE).all()
    assert (worse > 0.5).all()


def test_rates_of_many_steps_are_the_most_likely_ones():
    """One class with so many steps that priors do not matter: against a search on a grid."""
    rng = np.random.default_rng(0)
    automaton, backoff = rng.random(50_000), rng.random(50_000)
    rate = steps_of(automaton, backoff, 1).fit_rates(np.array([1000]))[0]
    grid = np.linspace(0.01, 0.99, 99)
    scores = [np.log((1 - r) * automaton + r * backoff).sum() for r in grid]
    assert rate == pytest.approx(grid[int(np.argmax(scores))], abs=0.06)


def test_classes_without_steps_have_the_rate_of_their_kind():
    steps = steps_of(np.full(400, 0.5), np.full(400, 0.01), 1)
    rates = steps.fit_rates(np.array([100, 100, 1]))
    assert rates[1] < START_RATE
    assert (rates > 0).all()
