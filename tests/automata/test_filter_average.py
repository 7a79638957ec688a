"""The weight of a second filter: the root of a slope, against a fine grid."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sigmastar.automata.learn.fast import learn_fast
from sigmastar.automata.learn.filter_average import Candidate, best_share, held_steps, tune_average
from sigmastar.automata.learn.held_strings import HeldOut
from sigmastar.automata.model.generators import make_hmm


@given(st.integers(0, 2**32 - 1))
def test_the_share_is_the_most_likely_one(seed):
    rng = np.random.default_rng(seed)
    own, other, weights = rng.uniform(0.01, 1.0, 20), rng.uniform(0.01, 1.0, 20), rng.uniform(0.0, 3.0, 20)

    def likelihood(share):
        return weights @ np.log((1.0 - share) * own + share * other)

    found = best_share(own, other, weights)
    assert 0.0 <= found < 1.0
    assert likelihood(found) >= max(likelihood(share) for share in np.linspace(0.0, 0.999, 200)) - 1e-6


@pytest.fixture(scope="module")
def candidates():
    rng = np.random.default_rng(0)
    machine = make_hmm(5, 4, rng)
    many, few = (machine.sample(size, rng) for size in (4000, 60))
    good = learn_fast(many, np.random.default_rng(1)).model
    poor = learn_fast(few, np.random.default_rng(1), n_states=1).model
    return candidate(good, many), candidate(poor, few), machine.sample(1000, rng)


def candidate(model, strings):
    pasts = model.backoff.contexts
    return Candidate(model, np.bincount(pasts.classify(strings), minlength=pasts.n_classes))


def score(model, held):
    held_out = HeldOut.of(held)
    return held_out.weights @ np.log(held_steps(model, held_out)) / held_out.n_strings


def test_steps_multiply_to_strings(candidates):
    good, _, held = candidates
    assert score(good.model, held) == pytest.approx(good.model.log_probability(held).mean())


def test_a_poor_filter_adds_nothing(candidates):
    good, poor, held = candidates
    tuned = tune_average(good, poor, held)
    assert tuned.share == 0.0
    assert tuned.score == pytest.approx(score(good.model, held))


def test_a_good_filter_takes_over_a_poor_one(candidates):
    good, poor, held = candidates
    tuned = tune_average(poor, good, held)
    assert tuned.share > 0.9
    assert tuned.score > score(poor.model, held)


def test_a_filter_gains_nothing_from_itself(candidates):
    good, _, held = candidates
    assert tune_average(good, good, held).share == 0.0


def test_one_string_is_judged_by_itself(candidates):
    good, poor, held = candidates
    assert np.isfinite(tune_average(poor, good, held.select(np.arange(1))).score)
