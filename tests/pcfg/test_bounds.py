"""Bounds against figures worked out by hand and against measured deviations."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pcfg.random_grammars import random_hmm, random_pcfg
from sigmastar.pcfg.data.binary_form import BinaryForm
from sigmastar.pcfg.laws import GrammarLaws
from sigmastar.pcfg.learn import learn_supervised, margin_of, truncated
from sigmastar.pcfg.model.hidden_markov import HiddenMarkovModel
from sigmastar.pcfg.model.probabilistic_grammar import (
    derivation_entropy,
    divergence,
    expected_events,
    log_loss_of,
    log_probability_of,
    sample_derivations,
)
from sigmastar.pcfg.theory.assumptions import (
    Assumptions,
    estimate_assumptions,
    fit_tail,
    log_derivation_counts,
)
from sigmastar.pcfg.theory.bounds import (
    Complexity,
    automaton_samples,
    describe,
    entropy_bound,
    latent_pcfg_samples,
    level,
    log_excess,
    multiplicative_samples,
    multiplicative_samples_from_strings,
    tail,
)

HALF = Assumptions(2.0, 1.0, 0.25, 0.5, 4.0)


def test_constants_by_hand():
    assert level(math.log(1000), 10, 1.5) == pytest.approx(1.5 * 10 * 6.907755**3, rel=1e-6)
    assert tail(1000, 10, 1.5) == pytest.approx(10 * 6.907755**2 / (10**4.5 - 1), rel=1e-6)
    assert margin_of(100, 1.5) == pytest.approx(1e-3)
    first = math.floor(math.log(1000) ** 2) + 1
    tail_sum = sum(k * 0.5**k for k in range(first, first + 200))
    assert math.exp(log_excess(math.log(1000), 1.5, HALF)) == pytest.approx(1.5 * math.log(1000) * tail_sum)


def test_certified_number_is_the_least():
    family = Complexity(10, 1.5, HALF)
    for supervised in (True, False):
        family = Complexity(10, 1.5, HALF, supervised)
        bound = family.bound(1.0, 0.05)
        assert family.certifies(bound.log_samples, 1.0, 0.05)
        assert not family.certifies(bound.log_samples - 1e-6, 1.0, 0.05)
        assert family.guarantee(bound.samples, 0.05) == pytest.approx(1.0, rel=1e-6)
        assert "very loose" in str(bound)
        assert describe(bound)["samples"] == bound.samples
    assert (
        Complexity(10, 1.5, HALF, False).bound(1.0, 0.05).samples
        > Complexity(10, 1.5, HALF).bound(1.0, 0.05).samples
    )
    assert Complexity(10, 1.5, HALF).relative_bound(0.1, 20.0, 0.05).epsilon == pytest.approx(1.0)
    assert Complexity(10, 1.5, HALF).guarantee(10, 0.05) == math.inf


def test_theorem_2_by_hand():
    """The right side at n = 10^9, epsilon = 1: 128 K^2 (2 N log(16 e K) + log(32 / delta))."""
    k = 1.5 * 10 * math.log(1e9) ** 3
    by_hand = 128 * k**2 * (20 * math.log(16 * math.e * k) + math.log(640))
    assert Complexity(10, 1.5, HALF).log_required(math.log(1e9), 1.0, 0.05) == pytest.approx(
        math.log(by_hand)
    )
    assert multiplicative_samples(0.1, 0.05, 10) == pytest.approx(
        12800 * (20 * math.log(160 * math.e) + math.log(640))
    )
    assert multiplicative_samples_from_strings(0.1, 0.05, 10, HALF) > multiplicative_samples(0.1, 0.05, 10)


def test_wrong_wishes_are_told():
    with pytest.raises(ValueError, match="s above 1"):
        Complexity(10, 1.0, HALF)
    with pytest.raises(ValueError, match="delta"):
        Complexity(10, 1.5, HALF).bound(1.0, 1.5)
    with pytest.raises(ValueError, match="epsilon"):
        Complexity(10, 1.5, HALF).bound(0.0, 0.5)
    with pytest.raises(ValueError, match="between 0 and 1"):
        Assumptions(1, 1, 1.5, 0.5, 1)


@pytest.mark.parametrize("make", [random_hmm, random_pcfg])
@pytest.mark.parametrize("seed", range(3))
def test_measured_deviations_are_below_certified_ones(make, seed):
    """Empirical against true risk of the learned grammar, where so many derivations certify something."""
    rng = np.random.default_rng(seed)
    truth, n = make(rng), 300_000
    drawn = sample_derivations(truth, n, rng)
    model = learn_supervised(truth, drawn, truncated(margin_of(n, 1.5)))
    losses = -log_probability_of(model, drawn)
    measured = abs(losses.mean() - log_loss_of(expected_events(truth), model.parameters))
    assert measured < 4 * losses.std() / math.sqrt(n)  # the central limit theorem, at four standard errors
    assumptions = estimate_assumptions(truth, drawn.select(range(2000)))
    family = Complexity(BinaryForm(truth.events).binary.n_events, 1.5, assumptions)
    certified = [family.guarantee(size, 0.05) for size in (200, n, 16 * n)]
    assert math.inf == certified[0] > certified[1] > 1.5 * certified[2]
    assert measured < 2 * certified[1]
    assert family.bound(measured, 0.05).samples > n


def even_hmm(rng: np.random.Generator) -> HiddenMarkovModel:
    """No event is rare: then the asymptotics begin early."""
    model = random_hmm(rng)
    return model.with_parameters(model.events.normalized(0.5 + rng.random(model.events.n_events)))


@pytest.mark.parametrize("make", [even_hmm, GrammarLaws().truth])
def test_the_excess_risk_is_half_a_parameter_per_sample(make):
    """The classical asymptotics: an excess risk of (number of free parameters) / (2 n), in the mean."""
    rng = np.random.default_rng(0)
    truth, n = make(rng), 4000
    estimate = truncated(margin_of(n, 1.5))
    samples = [sample_derivations(truth, n, rng) for _ in range(100)]
    risks = [divergence(truth, learn_supervised(truth, sample, estimate)) for sample in samples]
    assert 2 * n * np.mean(risks) == pytest.approx(truth.events.n_parameters, rel=0.12)


@pytest.mark.parametrize("make", [random_hmm, random_pcfg])
def test_approximations_are_proper(make):
    """Containment, boundedness and tightness on sampled grammars and derivations."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        truth = make(rng)
        form = BinaryForm(truth.events)
        n_events, s = form.binary.n_events, 1.5
        drawn = sample_derivations(truth, 3000, rng)
        assumptions = estimate_assumptions(truth, drawn)
        for m in (50, 1000):
            other = truth.events.normalized(
                rng.exponential(size=truth.events.n_events) ** 8
            )  # near the borders
            moved = form.probabilities(form.truncated(form.sticks(other), margin_of(m, s)))
            truth.events.require_distributions(moved)
            losses = drawn.sums(-np.log(moved))
            excess = np.where(losses >= level(math.log(m), n_events, s), losses, 0).mean()
            assert excess <= math.exp(log_excess(math.log(m), s, assumptions)) + 1e-12
            gap = losses - drawn.sums(-np.log(np.maximum(other, 1e-300)))
            assert (gap >= tail(m, n_events, s)).mean() <= tail(m, n_events, s)


@pytest.mark.parametrize("make", [random_hmm, random_pcfg])
def test_entropy_is_below_its_bound(make, rng):
    truth = make(rng)
    found = estimate_assumptions(truth, sample_derivations(truth, 3000, rng))
    assert derivation_entropy(truth) <= entropy_bound(found)
    assert found.to_dict()["q"] == found.string_decay


def test_derivations_are_counted(rng):
    model = random_hmm(rng, 2, 3)  # 2 starts; each further symbol: 3 emissions, then 2 moves or the end
    counts = np.exp(log_derivation_counts(model, 7))
    np.testing.assert_allclose(counts, [0, 0, 0, 6, 0, 36, 0, 216], atol=1e-9)


def test_exponential_tails_are_found():
    rng = np.random.default_rng(0)
    lengths = 10 + rng.geometric(0.1, 200_000)
    fit = fit_tail(np.concatenate([lengths, np.full(30_000, 10)]))
    assert fit.rate == pytest.approx(0.9, abs=0.005)
    assert fit.distance < 0.02
    assert fit.squared_error < 1e-5
    np.testing.assert_allclose(fit.curve(fit.lengths)[:5], fit.frequencies[:5], rtol=0.05)
    with pytest.raises(ValueError, match="too few for a tail"):
        fit_tail(np.array([3, 3, 4]))


def test_spectral_bounds_by_hand():
    step = 1.1 ** (1 / 21) - 1
    expected = 128 * 4 / (step**2 * 0.01 * 1e-4) * math.log(2 * 2 * 50 / 0.05)
    assert latent_pcfg_samples(0.1, 0.05, 2, 50, 10, 0.1, 0.1) == pytest.approx(expected)
    assert automaton_samples(0.1, 4, 2, 10, 0.5) == pytest.approx(4 * 4 * 1e4 / (0.01 * 0.0625))
