"""The halves of expectation-maximization, and the climb that they make together."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from automata.random_automata import SEEDS, proper, proper_automata, strings_of
from oracles import words_up_to
from sigmastar.automata.data.strings import PrefixTrie, Strings
from sigmastar.automata.learn import em_steps as moves
from sigmastar.automata.learn.em import RELAXED, begin_climb, em_problem, final_iterations
from sigmastar.automata.learn.em_steps import (
    EMCorpus,
    MoveCounts,
    maximize,
    maximize_hmm,
    maximize_hmm_smoothed,
    maximize_smoothed,
    random_start,
    split_states,
)
from sigmastar.automata.learn.held_out import Held, HeldOut
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.em import NEVER, Climb, Deadline, Step, plain


def way_of(advance: Step, corpus: EMCorpus, start: WeightedAutomaton, n: int, step=maximize) -> list[Climb]:
    """The climb after 1, 2, .. n iterations."""
    way = [Climb.begin(em_problem(corpus, step), start, advance)]
    for _ in range(n):
        way.append(way[-1].run(1, NEVER))
    return way[1:]


STEPS = [maximize, maximize_smoothed, maximize_hmm, maximize_hmm_smoothed]


def sample(seed: int, n_strings: int, n_symbols: int = 2) -> Strings:
    rng = np.random.default_rng(seed)
    return proper(rng, 3, n_symbols).sample(n_strings, rng)


@given(SEEDS, st.integers(1, 4), st.integers(2, 6))
def test_shards_add_up_to_the_whole(seed, n_states, n_shards):
    strings = sample(seed, 20)
    automaton = random_start(strings.alphabet, n_states, strings, np.random.default_rng(seed))
    whole = EMCorpus(strings, n_states)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(moves, "_SMALL", 0)
        patch.setattr(
            moves, "_SHARD_BYTES", max(1, PrefixTrie.of(strings).n_nodes * n_states * 8 // n_shards)
        )
        parts = EMCorpus(strings, n_states)
    assert len(whole.shards) == 1
    assert len(parts.shards) >= n_shards
    expected, found = whole.expect(automaton), parts.expect(automaton)
    for name in ("log_likelihood", "initial", "transitions", "final"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-9, atol=1e-9)


def test_the_log_likelihood_is_that_of_the_strings():
    strings = sample(0, 50)
    automaton = random_start(strings.alphabet, 3, strings, np.random.default_rng(0))
    counts = EMCorpus(strings, 3).expect(automaton)
    assert counts.log_likelihood == pytest.approx(automaton.log_probability(strings).sum())
    single = EMCorpus(strings, 3, np.float32).expect(automaton)
    assert single.log_likelihood == pytest.approx(counts.log_likelihood, rel=1e-5)
    assert single.transitions.dtype == np.float64


@pytest.mark.parametrize("steps", [plain, RELAXED], ids=["plain", "relaxed"])
@pytest.mark.parametrize("step", [maximize, maximize_hmm])
def test_the_likelihood_never_decreases(steps, step):
    for seed in range(20):
        strings = sample(seed, 30, 3)
        start = step(strings.alphabet, EMCorpus(strings, 3).expect(
            random_start(strings.alphabet, 3, strings, np.random.default_rng(seed))
        ))  # fmt: skip
        way = way_of(steps, EMCorpus(strings, 3), start, 25, step)
        climbed = way[-1].log_likelihoods
        assert all(after >= before - 1e-9 for before, after in pairwise(climbed))
        assert climbed[-1] > climbed[0]
        assert all(climb.latest.is_stochastic() for climb in way)


def test_over_relaxation_arrives_earlier():
    """After the same number of iterations, on most of twenty problems and in sum."""
    reached = np.zeros((2, 20))
    for seed in range(20):
        strings = sample(seed, 50, 3)
        corpus = EMCorpus(strings, 4)
        start = random_start(strings.alphabet, 4, strings, np.random.default_rng(seed))
        for k, steps in enumerate((plain, RELAXED)):
            reached[k, seed] = way_of(steps, corpus, start, 30)[-1].log_likelihoods[-1]
    gains = reached[1] - reached[0]
    assert gains.sum() > 0
    assert (gains > 0).sum() > 10


@pytest.mark.parametrize("step", STEPS)
@given(SEEDS, st.integers(1, 4))
@settings(max_examples=20)
def test_maximised_automata_are_proper(step, seed, n_states):
    """Also where states and symbols were never visited."""
    rng = np.random.default_rng(seed)
    counts = MoveCounts(
        0.0,
        rng.random(n_states) + 0.1,
        rng.random((2, n_states, n_states)) * (rng.random((2, n_states, 1)) < 0.6),
        rng.random(n_states) * (rng.random(n_states) < 0.6),
    )
    automaton = step(Alphabet("ab"), counts)
    assert automaton.is_stochastic()
    if step in (maximize_smoothed, maximize_hmm_smoothed):
        assert (automaton.transitions > 0).all()
        assert (automaton.final > 0).all()
    if step in (maximize_hmm, maximize_hmm_smoothed):
        require_factored(automaton)


def require_factored(automaton: WeightedAutomaton) -> None:
    """Symbol and next state are independent: A_a[q] is a multiple of one row for every a."""
    sums = automaton.transition_sum
    leaving = sums.sum(axis=1)
    emission = automaton.transitions.sum(axis=2) / np.where(leaving > 0, leaving, 1.0)
    np.testing.assert_allclose(automaton.transitions, emission[:, :, None] * sums, atol=1e-12)


def test_counts_are_maximised_by_their_shares():
    counts = MoveCounts(0.0, np.array([1.0, 3.0]), np.array([[[2.0, 1.0], [0.0, 0.0]]]), np.array([1.0, 0.0]))
    automaton = maximize(Alphabet("a"), counts)
    assert automaton.initial.tolist() == [0.25, 0.75]
    assert automaton.transitions.tolist() == [[[0.5, 0.25], [0.0, 0.0]]]
    assert automaton.final.tolist() == [0.25, 1.0]


@given(proper_automata())
def test_splitting_without_noise_keeps_the_function(automaton):
    halves = split_states(automaton, np.random.default_rng(0), noise=0.0)
    assert halves.n_states == 2 * automaton.n_states
    words = strings_of(words_up_to(len(automaton.alphabet), 3), automaton.alphabet)
    np.testing.assert_allclose(halves.value(words), automaton.value(words), atol=1e-12)


@given(proper_automata(), SEEDS)
def test_splitting_with_noise_tells_the_copies_apart(automaton, seed):
    halves = split_states(automaton, np.random.default_rng(seed))
    assert halves.is_stochastic()
    assert not np.allclose(halves.transitions[:, 0], halves.transitions[:, 1])


@pytest.mark.parametrize("words", [["ab", "b"], ["", ""], ["a"]])
def test_random_starts_are_proper_and_of_the_right_length(words):
    strings = Strings.of(words)
    start = random_start(strings.alphabet, 3, strings, np.random.default_rng(0))
    assert start.is_stochastic()
    assert start.expected_length() == pytest.approx(strings.lengths.mean())


def test_a_climb_keeps_the_best_automaton_and_stops():
    strings, held = sample(1, 200, 3), sample(1, 400, 3).select(range(200, 400))
    start = random_start(strings.alphabet, 6, strings, np.random.default_rng(0))
    climb = begin_climb(EMCorpus(strings, 6), HeldOut.of(Held.whole(held)), start, maximize)
    seen = []
    for _ in range(60):
        climb = climb.run(3)
        seen.append(climb.score)
        if climb.finished:
            break
    assert climb.finished
    assert climb.n_iterations == len(climb.log_likelihoods) < 180
    assert seen == sorted(seen)
    assert climb.score == pytest.approx(climb.best.log_probability(held).mean())
    assert climb.score > start.log_probability(held).mean()


def test_without_held_out_strings_the_training_likelihood_decides():
    strings = sample(2, 100)
    start = random_start(strings.alphabet, 3, strings, np.random.default_rng(0))
    climb = begin_climb(EMCorpus(strings, 3), None, start, maximize).run(30)
    assert climb.score == max(climb.log_likelihoods)


def test_a_climb_stops_at_its_deadline():
    strings = sample(2, 100)
    start = random_start(strings.alphabet, 3, strings, np.random.default_rng(0))
    climb = begin_climb(EMCorpus(strings, 3), None, start).run(1000, deadline=Deadline.after(-1.0))
    assert climb.n_iterations == 1
    assert np.isfinite(climb.score)


def test_held_out_logs_are_those_of_distinct_strings():
    strings = sample(3, 60)
    automaton = random_start(strings.alphabet, 2, strings, np.random.default_rng(0))
    held_out = HeldOut.of(Held.whole(strings))
    assert len(held_out.log_probabilities(automaton)) == len(set(strings))
    expected = automaton.log_probability(strings).mean()
    assert held_out.mean_log_probability(automaton) == pytest.approx(expected)
    assert held_out.n_strings == 60


def test_the_final_iterations_see_all_strings():
    strings = sample(4, 100)
    start = random_start(strings.alphabet, 3, strings, np.random.default_rng(0))
    looked = final_iterations(start, strings, maximize)
    assert looked.log_probability(strings).mean() > start.log_probability(strings).mean()
