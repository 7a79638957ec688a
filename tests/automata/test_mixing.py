"""Mixing rates of the restart filter: both models' shares of every held-out step, and the fit to them."""

from __future__ import annotations

import numpy as np
import pytest

from automata.test_context_models import TRUTH, counted
from sigmastar.automata.kernels.mixing_rates import climb_rate, climb_rates
from sigmastar.automata.learn.context_model import learn_contexts
from sigmastar.automata.learn.mixing import START_RATE, HeldOut, Steps, fit_rates, held_out_score, tune_mixing
from sigmastar.automata.learn.rank_search import filtered


@pytest.fixture(scope="module")
def setting():
    strings = TRUTH.sample(1_500, np.random.default_rng(0))
    counts = counted(strings.select(range(1_000)))
    return filtered(learn_contexts(counts, 3)), counts, strings.select(range(1_000, 1_500))


def test_steps_are_mixtures_of_both_predictions(setting):
    model, _, held = setting
    steps = Steps.of(model, HeldOut.of(held))
    assert steps.score(model.mixing) == pytest.approx(model.log_probability(held).mean())
    assert held_out_score(model, HeldOut.of(held)) == pytest.approx(model.log_probability(held).mean())
    assert steps.weights.sum() == held.n_gaps
    mixed = (1 - START_RATE) * steps.automaton + START_RATE * steps.backoff
    assert steps.weights @ np.log(mixed) / len(held) == pytest.approx(steps.score(model.mixing))
    assert ((steps.backoff > 0) & (steps.backoff <= 1 + 1e-9)).all()
    assert ((steps.automaton >= 0) & (steps.automaton <= 1 + 1e-9)).all()


def test_tuned_rates_serve_held_out_strings(setting):
    model, counts, held = setting
    held_out = HeldOut.of(held)
    tuned = tune_mixing(model, counts.past_counts, held_out, 3)
    assert tuned.mixing.shape == model.mixing.shape
    assert ((tuned.mixing > 0) & (tuned.mixing < 1)).all()
    assert held_out_score(tuned, held_out) > held_out_score(model, held_out)
    assert tune_mixing(model, counts.past_counts, held_out, 0) is model


def steps_of(automaton, backoff, n_classes: int) -> Steps:
    n = len(automaton)
    classes = np.arange(n) % n_classes
    return Steps(classes, np.ones(n), np.asarray(automaton), np.asarray(backoff), 1.0)


def test_rates_follow_whoever_predicts_better():
    n_classes, n = 4, 4_000
    counts = np.array([5, 50, 500, 5_000])
    better = fit_rates(steps_of(np.full(n, 0.5), np.full(n, 0.01), n_classes), counts)
    worse = fit_rates(steps_of(np.full(n, 0.01), np.full(n, 0.5), n_classes), counts)
    assert (better < START_RATE).all()
    assert (worse > 0.5).all()


def test_rates_of_many_steps_are_the_most_likely_ones():
    """One class with so many steps that priors do not matter: against a search on a grid."""
    rng = np.random.default_rng(0)
    automaton, backoff = rng.random(50_000), rng.random(50_000)
    rate = fit_rates(steps_of(automaton, backoff, 1), np.array([1000]))[0]
    grid = np.linspace(0.01, 0.99, 99)
    scores = [np.log((1 - r) * automaton + r * backoff).sum() for r in grid]
    assert rate == pytest.approx(grid[int(np.argmax(scores))], abs=0.06)


def test_classes_without_steps_have_the_rate_of_their_kind():
    steps = steps_of(np.full(400, 0.5), np.full(400, 0.01), 1)
    rates = fit_rates(steps, np.array([100, 100, 1]))
    assert rates[1] < START_RATE
    assert (rates > 0).all()


def test_one_rate_is_that_of_one_cell():
    rng = np.random.default_rng(0)
    weights, first, second = rng.random((3, 500))
    of_many = climb_rates(np.zeros(500, np.int32), weights, first, second, np.full(1, 0.3), 2.0, 7)
    assert climb_rate(weights, first, second, 0.3, 2.0, 7) == pytest.approx(of_many[0], rel=1e-12)


def test_logs_of_strings_are_those_of_the_model(setting):
    model, _, held = setting
    held_out = HeldOut.of(held)
    logs = Steps.of(model, held_out).string_logs(model.mixing, held_out)
    of_node = dict(zip(held_out.trie.string_node.tolist(), model.log_probability(held), strict=True))
    np.testing.assert_allclose(logs, [of_node[node] for node in held_out.ending], rtol=1e-12)
