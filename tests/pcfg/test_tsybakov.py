from __future__ import annotations

import numpy as np
import pytest

from pcfg.random_grammars import random_hmm, random_pcfg
from sigmastar.pcfg.data.rules import Grammar, Rule, Word
from sigmastar.pcfg.model.pcfg import ProbabilisticCFG
from sigmastar.pcfg.model.probabilistic_grammar import divergence, log_probability_of, sample_derivations
from sigmastar.pcfg.theory.assumptions import counterexample, distance, log_ratio_vector, moment_matrix


def two_coins() -> ProbabilisticCFG:
    words = [Rule(left, (Word(word),)) for left in "AB" for word in "xy"]
    return ProbabilisticCFG(Grammar.of([Rule("S", ("A", "B")), *words]), np.array([1, 0.3, 0.7, 0.3, 0.7]))


@pytest.mark.parametrize("make", [random_hmm, random_pcfg])
def test_moment_matrix_is_positive_semi_definite(make, rng):
    values = np.linalg.eigvalsh(moment_matrix(make(rng)))
    assert values.min() > -1e-9 * values.max()


def test_distance_is_exact(rng):
    truth, other = random_pcfg(rng), random_pcfg(np.random.default_rng(0))
    other = truth.with_parameters(truth.events.normalized(rng.exponential(size=truth.events.n_events)))
    drawn = sample_derivations(truth, 100_000, rng)
    squares = (log_probability_of(truth, drawn) - log_probability_of(other, drawn)) ** 2
    assert distance(truth, other) == pytest.approx(np.sqrt(squares.mean()), rel=0.05)
    assert log_ratio_vector(truth, other).sum() == pytest.approx(divergence(truth, other))


def test_counterexample_of_theorem_5():
    """For kappa below 2 the ratio grows without bound; for kappa = 2 it stays."""
    shifts = [1e-1, 1e-2, 1e-3]
    steep = [counterexample(two_coins(), 1, 2, shift, 1.0).ratio for shift in shifts]
    assert steep[1] > 5 * steep[0]
    assert steep[2] > 5 * steep[1]
    flat = [counterexample(two_coins(), 1, 2, shift, 2.0).ratio for shift in shifts]
    assert max(flat) < 1.2 * min(flat)
    with pytest.raises(ValueError, match="needs 2"):
        counterexample(two_coins(), 0, 1, 0.1, 1.0)
