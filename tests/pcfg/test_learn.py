"""Learners of probabilistic grammars: estimates against hand-made ones, EM that never falls."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from pcfg.random_grammars import random_hmm, random_pcfg
from sigmastar.automata.data.strings import Strings
from sigmastar.core.errors import InputError
from sigmastar.pcfg.data.binary_form import BinaryForm
from sigmastar.pcfg.data.events import Derivations, EventSystem
from sigmastar.pcfg.learn import (
    Ascent,
    Labelled,
    dirichlet_map,
    learn_em,
    learn_supervised,
    margin_of,
    maximum_likelihood,
    project,
    random_start,
    truncated,
    truncated_by_reach,
)
from sigmastar.pcfg.model.probabilistic_grammar import divergence, sample_derivations

COIN = EventSystem.of([2], [[], []])


def test_estimates_by_hand():
    counts = np.array([9.0, 1.0])
    np.testing.assert_allclose(maximum_likelihood(COIN, counts), [0.9, 0.1])
    np.testing.assert_allclose(dirichlet_map(2.0)(COIN, counts), [10 / 12, 2 / 12])
    np.testing.assert_allclose(truncated(0.2)(COIN, counts), [0.8, 0.2])
    np.testing.assert_allclose(truncated(0.05)(COIN, counts), [0.9, 0.1])
    by_reach = truncated_by_reach(100, 1.5)  # 4 visits: a margin of 4^-1.5 = 1/8
    np.testing.assert_allclose(by_reach(COIN, np.array([4.0, 0.0])), [7 / 8, 1 / 8])
    np.testing.assert_allclose(by_reach(COIN, np.array([1e6, 0.0])), [0.999, 0.001])
    np.testing.assert_allclose(by_reach(COIN, np.zeros(2)), [0.5, 0.5])
    assert margin_of(100, 1.5) == pytest.approx(0.001)
    assert margin_of(1, 2) == 0.5
    with pytest.raises(ValueError, match="alpha"):
        dirichlet_map(0.5)
    with pytest.raises(ValueError, match="s=0"):
        margin_of(10, 0)


@settings(max_examples=10)
@given(st.integers(0, 1000))
def test_truncated_estimate_is_the_optimum_of_equation_22(seed):
    rng = np.random.default_rng(seed)
    events = EventSystem.of([4], [[]] * 4)
    form, counts, margin = BinaryForm(events), rng.integers(0, 8, 4).astype(float), 0.1

    def loss(sticks: np.ndarray) -> float:
        return float(-counts @ np.log(form.probabilities(np.append(sticks, 1.0))))

    best = minimize(loss, np.full(3, 0.4), bounds=[(margin, 1 - margin)] * 3, method="L-BFGS-B")
    ours = form.sticks(truncated(margin)(events, counts))[:3]
    assert loss(ours) <= best.fun + 1e-9


@pytest.mark.parametrize("make", [random_hmm, random_pcfg])
@pytest.mark.parametrize("s", [0.5, 1.1, 2.0])
def test_em_with_proper_approximation_never_falls(make, s):
    """20 random grammars of each kind, from starts that may lie outside the truncated space."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        truth = make(rng)
        drawn = truth.sample(40, rng)
        strings = drawn.select(np.flatnonzero(drawn.lengths <= 8))
        margin = margin_of(len(strings), s)
        fit = learn_em([random_start(truth, rng)], strings, margin, ascent=Ascent(max_iter=12, tolerance=-1))
        steps = np.diff(fit.objectives)
        assert len(steps) == 12
        assert steps.min() > -1e-9 * abs(fit.objectives[0])
        sticks = BinaryForm(truth.events).sticks(fit.model.parameters)
        inner = sticks[~BinaryForm(truth.events).is_last]
        assert inner.min() >= margin * (1 - 1e-6)
        assert inner.max() <= 1 - margin * (1 - 1e-6)


def test_a_start_outside_the_space_is_projected(rng):
    truth = random_pcfg(rng, zeros=True)
    assert (truth.parameters == 0).any()
    assert (project(truth, 0.01).parameters > 0).all()


@pytest.mark.parametrize("make", [random_hmm, random_pcfg])
def test_viterbi_em_raises_its_own_objective(make, rng):
    truth = make(rng)
    strings = truth.sample(60, rng)
    strings = strings.select(np.flatnonzero(strings.lengths <= 8))
    fit = learn_em([random_start(truth, rng)], strings, 0.001, ascent=Ascent(True, 10, -1))
    assert np.diff(fit.objectives).min() > -1e-9


def test_trees_beside_strings(rng):
    truth = random_pcfg(rng)
    derivations, strings = sample_derivations(truth, 30, rng), truth.sample(80, rng)
    strings = strings.select(np.flatnonzero(strings.lengths <= 8))
    labelled = Labelled(derivations, 0.5)
    starts = [random_start(truth, rng) for _ in range(2)]
    fit = learn_em(starts, strings, 0.001, labelled, Ascent(max_iter=15, tolerance=-1))
    assert fit.n_starts == 2
    assert np.diff(fit.objectives).min() > -1e-9
    alone = learn_em(starts[:1], strings, 0.001, ascent=Ascent(max_iter=15))
    assert divergence(truth, fit.model) < divergence(truth, alone.model)


def test_more_derivations_are_better(rng):
    truth = random_hmm(rng)
    risks = [
        divergence(
            truth, learn_supervised(truth, sample_derivations(truth, n, rng), truncated(margin_of(n, 1.1)))
        )
        for n in (30, 3000)
    ]
    assert risks[1] < 0.05 * risks[0]


def test_what_cannot_be_derived_is_told(rng):
    model = random_pcfg(rng)
    with pytest.raises(InputError, match="string 2, which is empty, has no derivation"):
        learn_em([model], Strings.of([["w0"], []], alphabet=model.alphabet), 0.01)
    with pytest.raises(InputError, match="no derivations to learn from"):
        learn_supervised(model, Derivations.of([]), maximum_likelihood)
