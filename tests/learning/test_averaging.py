"""The weight of a second filter: the root of a slope, against a fine grid."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sigmastar.data.generators import make_hmm
from sigmastar.learning.averaging import best_share, held_steps, tune_average
from sigmastar.learning.fast import learn_fast
from sigmastar.learning.holdout import HeldOut


@given(st.integers(0, 2**32 - 1))
def test_the_share_is_the_most_likely_one(seed):
    rng = np.random.default_rng(seed)
    own, other, weights = rng.uniform(0.01, 1.0, 20), rng.uniform(0.01, 1.0, 20), rng.uniform(0.0, 3.0, 20)

    def score(share):
        return weights @ np.log((1.0 - share) * own + share * other)

    found = best_share(own, other, weights)
    assert 0.0 <= found < 1.0
    assert score(found) >= max(score(share) for share in np.linspace(0.0, 0.999, 200)) - 1e-6


@pytest.fixture(scope="module")
def filters():
    rng = np.random.default_rng(0)
    machine = make_hmm(5, 4, rng)
    good = learn_fast(machine.sample(4000, rng), np.random.default_rng(1)).model
    poor = learn_fast(machine.sample(60, rng), np.random.default_rng(1), n_states=1).model
    return good, poor, HeldOut.of(machine.sample(1000, rng))


def test_a_poor_filter_adds_nothing(filters):
    good, poor, held_out = filters
    alone = held_out.weights @ np.log(held_steps(good, held_out)) / held_out.n_strings
    tuned = tune_average(good, poor, held_out)
    assert tuned.share == 0.0
    assert tuned.score == pytest.approx(alone)


def test_a_good_filter_takes_over_a_poor_one(filters):
    good, poor, held_out = filters
    tuned = tune_average(poor, good, held_out)
    assert tuned.share > 0.9
    assert tuned.score > held_out.weights @ np.log(held_steps(poor, held_out)) / held_out.n_strings


def test_a_filter_gains_nothing_from_itself(filters):
    good, _, held_out = filters
    assert tune_average(good, good, held_out).share == 0.0
