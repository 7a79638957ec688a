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
from sigmastar.automata.kernels.mixing_rates import climb_rate, climb_rates
from sigmastar.automata.learn import em_driver as ascent
from sigmastar.automata.learn import em_steps as moves
from sigmastar.automata.learn import filter_average as averaging
from sigmastar.automata.learn import rank_search
from sigmastar.automata.learn.context_model import choose_classes, learn_contexts
from sigmastar.automata.learn.held_strings import HeldOut, hold_out
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.core import (
    clusters,
    em,
    held_out,
    log_linear,
    mixture,
    race,
    rates,
    shrinkage,
    views,
)
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.factors import factorize_up_to
from sigmastar.dependency.learn import em as heads_em
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


@few
@given(seeds, st.integers(2, 6), st.sampled_from([8, 20]))
def test_k_means_of_heads_and_tags(seed: int, n: int, n_rounds: int) -> None:
    rng = np.random.default_rng(seed)
    points, weights = rng.standard_normal((200, 3)), rng.random(200) + 0.1
    old = heads_em.clustered(points, weights, n, np.random.default_rng(seed), n_rounds)
    found = clusters.k_means(
        points, n, np.random.default_rng(seed), weights=weights, first=int(np.argmax(weights)),
        n_steps=n_rounds, little_change=0.0,
    )  # fmt: skip
    assert found.labels.tolist() == old.tolist()


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


def em_problem(
    corpus_: moves.EMCorpus, held: HeldOut | None
) -> em.Problem[WeightedAutomaton, moves.MoveCounts]:
    def expect(model: WeightedAutomaton) -> tuple[moves.MoveCounts, float]:
        counts = corpus_.expect(model)
        return counts, counts.log_likelihood

    return em.Problem(
        expect,
        lambda counts: moves.maximize_smoothed(corpus_.alphabet, counts),
        corpus_.n_strings,
        None if held is None else lambda model: ascent.mean_log_probability(model, held),
    )


def rebuilt(model: WeightedAutomaton, arrays: object) -> WeightedAutomaton:
    initial, transitions, final = arrays  # type: ignore[misc]
    leaving = transitions.sum(axis=(0, 2)) + final
    return WeightedAutomaton(
        model.alphabet, initial / initial.sum(), transitions / leaving[None, :, None], final / leaving
    )


AUTOMATA = em.relaxed(em.extrapolation(lambda a: (a.initial, a.transitions, a.final), rebuilt))  # type: ignore[var-annotated]


def test_climbs_of_automata() -> None:
    strings, rng = corpus(), np.random.default_rng(0)
    kept, held = hold_out(strings, rng)
    start, of = moves.random_start(strings.alphabet, 3, kept, rng), HeldOut.of(held)
    track = moves.EMCorpus(kept, 3)
    old = ascent.Climb(track, of, start, moves.maximize_smoothed).run(7).run(20)
    found = em.Climb.begin(em_problem(track, of), start, AUTOMATA).run(7).run(20)
    assert found.log_likelihoods == pytest.approx(old.log_likelihoods, abs=1e-9)
    assert found.score == pytest.approx(old.best_score, abs=1e-9)
    np.testing.assert_allclose(found.best.transitions, old.best.transitions, atol=1e-8)
    last = em.iterate(em_problem(moves.EMCorpus(strings, 3), None), found.best, 3)
    np.testing.assert_allclose(
        last.transitions, ascent.last_look(old.best, strings, moves.maximize_smoothed).transitions, atol=1e-8
    )


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


@few
@given(seeds, st.integers(0, 90))
def test_ladders(seed: int, expected: int) -> None:
    rng = np.random.default_rng(seed)
    scores = dict(zip(rank_search.RANKS, rng.random(len(rank_search.RANKS)).tolist(), strict=True))
    asked: list[list[int]] = []
    for climb in (rank_search.climb, race.climb_ladder):
        seen: list[int] = []
        climb(rank_search.RANKS, expected, lambda rank, seen=seen: (seen.append(rank), scores[rank])[1])  # type: ignore[operator]
        asked.append(seen)
    assert asked[0] == asked[1]


@few
@given(seeds, st.floats(1.0, 2.5))
def test_extrapolation(seed: int, pace: float) -> None:
    rng = np.random.default_rng(seed)
    old, new = rng.random((3, 4)), rng.random((3, 4)) * (rng.random((3, 4)) < 0.9)
    np.testing.assert_allclose(em.geometric(old, new, pace), ascent._power(old, new, pace), rtol=1e-9)


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
def test_mixtures(seed: int) -> None:
    rng = np.random.default_rng(seed)
    first, second, counts = rng.random(30) + 0.01, rng.random(30) + 0.01, rng.integers(1, 9, 30).astype(float)
    events = mixture.Events(counts, first, second)
    assert mixture.best_share(events, 0.999) == pytest.approx(
        averaging.best_share(first, second, counts), abs=1e-5
    )
    assert mixture.share_by_em(events, 0.5, 20.0, 50) == climb_rate(counts, first, second, 0.5, 20.0, 50)
    cells, prior = rng.integers(0, 4, 30).astype(np.int32), rng.random(4)
    np.testing.assert_array_equal(
        rates.climb_rates(cells, counts, first, second, prior, 30.0, 9),
        climb_rates(cells, counts, first, second, prior, 30.0, 9),
    )


def test_mixtures_of_automata() -> None:
    strings, rng = corpus(), np.random.default_rng(0)
    of = HeldOut.of(strings)
    members = [moves.random_start(strings.alphabet, n, strings, rng) for n in (2, 3, 4)]
    old = ascent.mixture_weights(members, of)
    logs = np.array([ascent.held_out_logs(member, of) for member in members])
    likelihoods, known = mixture.likelihoods_of(logs)
    found = mixture.weights_by_em(likelihoods, of.end_counts[known], strength=3.0, n_rounds=500)
    np.testing.assert_allclose(found, old, rtol=1e-9)
    np.testing.assert_allclose(
        mixture.mixture_weights(likelihoods, of.end_counts[known], strength=3.0), old, atol=2e-2
    )


@few
@given(seeds)
def test_rates_of_filters(seed: int) -> None:
    from sigmastar.automata.learn.mixing import START_RATE, STRENGTH, Steps, fit_rates

    rng = np.random.default_rng(seed)
    classes, class_counts = rng.integers(0, 9, 60).astype(np.int32), rng.integers(0, 500, 9)
    first, second, weights = rng.random(60) + 0.01, rng.random(60) + 0.01, rng.random(60) * 9
    old = fit_rates(Steps(classes, weights, first, second, 10.0), class_counts)
    levels = [
        mixture.Cells(classes, 9, STRENGTH),
        mixture.Cells(mixture.groups_of_size(class_counts), 16, STRENGTH),
    ]
    found = mixture.rates_by_level(mixture.Events(weights, first, second), levels, START_RATE)
    np.testing.assert_allclose(np.clip(found, 1e-4, 1 - 1e-4), old, rtol=1e-12)


@few
@given(seeds)
def test_log_linear_weights(seed: int) -> None:
    rng = np.random.default_rng(seed)
    scores, owner = rng.standard_normal((40, 3)), np.repeat(np.arange(10), 4)
    right = rng.random(40) < 0.3
    np.testing.assert_allclose(
        log_linear.fit_weights(scores, owner, right), combination.fit_weights(scores, owner, right), atol=1e-4
    )
