"""The shared machinery gives what the private copies gave. To be deleted once they are gone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from grammars.random_grammars import random_hmm
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from sigmastar.automata.counts.on_classes import ContextCounts
from sigmastar.automata.data.strings import Strings
from sigmastar.automata.learn import em_steps as moves
from sigmastar.automata.learn.context_model import choose_classes, learn_contexts
from sigmastar.core import (
    em,
    held_out,
    log_linear,
    shrinkage,
    views,
)
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.factors import factorize_up_to
from sigmastar.pcfg import learn as erm
from sigmastar.transducers.learn import log_linear_weights as combination
from sigmastar.transducers.learn import refined_chain

seeds = st.integers(0, 10**6)
few = settings(max_examples=20)


def corpus(seed: int = 0, n: int = 150) -> Strings:
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(n):
        state, row = int(rng.integers(2)), ""
        while rng.random() < 0.85:
            row += "ab"[int(rng.random() < (0.2, 0.9)[state])] if rng.random() < 0.8 else "c"
            state = state if rng.random() < 0.8 else 1 - state
        rows.append(row)
    return Strings.of([*rows, "abc", "ba"])


def same_up_to_signs(first: np.ndarray, second: np.ndarray) -> None:
    np.testing.assert_allclose(np.abs(first), np.abs(second), atol=1e-8)
    np.testing.assert_allclose(first @ first.T, second @ second.T, atol=1e-7)


def same_partition(first: np.ndarray, second: np.ndarray) -> None:
    pairs = set(zip(first.tolist(), second.tolist(), strict=True))
    assert len(pairs) == len(set(first.tolist())) == len(set(second.tolist()))


# Two views


def tagged_counts(seed: int) -> sparse.csr_array:
    rng = np.random.default_rng(seed)
    table = rng.poisson(3.0 * rng.dirichlet(np.ones(30), 40).T @ rng.dirichlet(np.ones(25), 40) * 40)
    table[:, 0] += 1
    table[0] += 1
    return sparse.csr_array(table.astype(float))


@few
@given(seeds)
def test_views_of_operators(seed: int) -> None:
    matrix = tagged_counts(seed)
    d_r, d_c = (np.asarray(matrix.sum(axis=axis)).ravel() for axis in (1, 0))
    old = factorize_up_to(views.scaled(matrix, 1 / np.sqrt(d_r), 1 / np.sqrt(d_c)), 5)
    found = views.correlate(matrix, 5, total=1.0)
    np.testing.assert_allclose(found.left(1.0), old.outside / np.sqrt(d_r)[:, None], atol=1e-10)


def test_views_of_chains() -> None:
    strings = corpus()
    settings = refined_chain.Refinement(n_dimensions=4, n_classes=30, min_count=3)
    old = refined_chain._embeddings(strings, settings)
    pasts, futures = choose_classes(strings, settings.n_classes, settings.min_count)
    counts = ContextCounts.of(strings, pasts, futures)
    totals = counts.past_counts.astype(float), counts.future_counts.astype(float)
    found = views.correlate(counts.blocks().matrices["string"], 5, totals=totals).without_constant()
    before = np.arange(strings.n_symbols) + np.repeat(np.arange(len(strings)), strings.lengths)
    after = found.left()[pasts.classify(strings)[before + 1]]
    both = np.hstack([after, found.right(1.0)[futures.classify(strings)[before]]])
    np.testing.assert_allclose(both, old, atol=1e-8)


def test_views_of_automata() -> None:
    strings = corpus()
    counts = ContextCounts.of(strings, *choose_classes(strings, 30))
    old = learn_contexts(counts, 4)
    totals = counts.past_counts.astype(float), counts.future_counts.astype(float)
    matrix = counts.blocks().matrices["string"]
    found = views.correlate(matrix, 4, totals=totals)
    constant = np.sqrt(counts.future_counts / counts.past_counts.sum())
    scaled = views.scaled(matrix, found.left_scale, found.right_scale)
    turned = replace(found, factors=views.constant_first(found.factors, scaled, constant))
    states = turned.left(1.0)
    states[counts.past_counts == 0] = np.eye(1, 4)  # classes that did not occur stay with the caller
    np.testing.assert_allclose(states, old.states, atol=1e-8)
    np.testing.assert_allclose(found.values, old.singular_values, atol=1e-10)


# Clusters


# Shrinkage


def test_shrinkage_of_automata() -> None:
    rng = np.random.default_rng(0)
    counts = moves.MoveCounts(0.0, rng.random(2), rng.random((3, 2, 2)) * 9, rng.random(2))
    old = moves.maximize_smoothed(Alphabet("abc"), counts)
    leaving = counts.transitions.sum(axis=(0, 2)) + counts.final
    seen = np.maximum(np.append(counts.transitions.sum(axis=(1, 2)), counts.final.sum()), 0.5)
    chance = seen / seen.sum()
    found = shrinkage.towards(
        counts.transitions, chance[:-1, None, None] / 2, 0.5, totals=leaving[None, :, None]
    )
    np.testing.assert_allclose(found, old.transitions, rtol=1e-12)
    np.testing.assert_allclose(shrinkage.towards(counts.final, chance[-1], 0.5, totals=leaving), old.final)


# Expectation-maximization


@pytest.mark.parametrize("tolerance", [0.0, 1e-2])
def test_climbs_of_probabilistic_grammars(tolerance: float) -> None:
    rng = np.random.default_rng(3)
    model = random_hmm(rng)
    strings = model.sample(40, rng)
    start = erm.random_start(model, rng)
    old = erm.learn_em(start, strings, 0.01, n_iterations=8, tolerance=tolerance)
    estimate = erm.truncated(0.01)

    def expect(model: object) -> tuple[np.ndarray, float]:
        objective, counts = erm._expectation(model, strings, None, False)  # type: ignore[arg-type]
        return counts, objective

    problem = em.Problem(
        expect, lambda counts: start.with_parameters(estimate(start.events, counts)), len(strings)
    )
    stopping = em.Stopping(em.by_absolute(tolerance), every=1, patience=1)
    found = em.Climb.begin(problem, erm.project(start, 0.01)).run(8 + 1, stopping)  # type: ignore[arg-type]
    assert [len(strings) * log for log in found.log_likelihoods] == pytest.approx(list(old.objectives))
    np.testing.assert_allclose(found.evaluated.parameters, old.model.parameters)  # type: ignore[attr-defined]


# Held-out data


@few
@given(seeds, st.integers(2, 40))
def test_splits(seed: int, n: int) -> None:
    strings = corpus(0, 80)
    strings = strings.select(np.flatnonzero(strings.lengths > 0)[:n])
    old = strings.split_indices(0.1, np.random.default_rng(seed))
    found = held_out.split(n, np.random.default_rng(seed))
    assert found is not None
    assert (found.kept.tolist(), found.held.tolist()) == (old[0].tolist(), old[1].tolist())


@few
@given(seeds)
def test_folds_of_pairs(seed: int) -> None:
    from sigmastar.transducers.data.string_pairs import StringPairs

    rng = np.random.default_rng(seed)
    rows = [("ab"[int(rng.integers(2))] * int(rng.integers(1, 5)), "x") for _ in range(25)]
    pairs = StringPairs.of([*rows, ("ab", "x"), ("ba", "y")])
    old = pairs.folds(0.2, 3, np.random.default_rng(seed))
    numbers: dict[str, int] = {}
    groups = np.array([numbers.setdefault(str(x), len(numbers)) for x, _ in pairs])
    found = held_out.folds(len(pairs), np.random.default_rng(seed), 3, 0.2, groups)
    assert [fold.held.tolist() for fold in found] == [np.flatnonzero(held).tolist() for held in old]


# Mixtures and log-linear weights


@few
@given(seeds)
def test_log_linear_weights(seed: int) -> None:
    rng = np.random.default_rng(seed)
    scores, owner = rng.standard_normal((40, 3)), np.repeat(np.arange(10), 4)
    right = rng.random(40) < 0.3
    np.testing.assert_allclose(
        log_linear.fit_weights(scores, owner, right), combination.fit_weights(scores, owner, right), atol=1e-4
    )
