"""Automata from context classes: laws on any counts, exactness on exact ones."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from automata.random_automata import SEEDS, strings_of
from automata.random_corpora import corpora
from oracles import words_up_to
from sigmastar.automata.counts.on_classes import ContextCounts
from sigmastar.automata.data.contexts import ContextTrie
from sigmastar.automata.data.strings import Strings
from sigmastar.automata.learn.context_operators import (
    candidate_sizes,
    choose_classes,
    context_noise,
    learn_contexts,
)
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.errors import InputError

# Three states that hand over to each other, told apart by what they emit: no n-gram is enough.
TRUTH = WeightedAutomaton(
    Alphabet("ab"),
    np.array([0.7, 0.3, 0.0]),
    np.array(
        [
            [[0.6, 0.1, 0.0], [0.0, 0.1, 0.1], [0.2, 0.0, 0.2]],
            [[0.0, 0.2, 0.0], [0.1, 0.3, 0.2], [0.0, 0.1, 0.2]],
        ]
    ),
    np.array([0.1, 0.2, 0.3]),
)


def counted(strings: Strings, n_classes: int = 300, min_count: int | None = None) -> ContextCounts:
    return ContextCounts.of(strings, *choose_classes(strings, n_classes, min_count))


@given(corpora(min_strings=1), st.integers(1, 10), st.integers(1, 10))
def test_mass_is_kept_by_construction(corpus, max_states, n_classes):
    """Whatever the counts, also where they fall apart: what goes on and what stops is all there is."""
    model = learn_contexts(counted(corpus.strings, n_classes, 1), max_states)
    automaton, one = model.automaton, model.mass
    assert model.n_states <= max_states
    np.testing.assert_allclose(automaton.transition_sum @ one + automaton.final, one, atol=1e-8)
    np.testing.assert_allclose(model.states[:, 0], 1.0, atol=1e-8)
    assert automaton.initial @ one == pytest.approx(1.0)


@pytest.mark.parametrize("max_states", [1, 2, 3, 50])
def test_one_string_over_and_over_falls_apart_into_components(max_states):
    """Every gap is its own component: all correlations are 1, and more of them than states, maybe."""
    strings = Strings.of(["abcdefgh"] * 20)
    model = learn_contexts(counted(strings), max_states)
    one = model.mass
    assert model.n_states == min(max_states, 9)
    np.testing.assert_allclose(model.singular_values, 1.0)
    np.testing.assert_allclose(model.automaton.transition_sum @ one + model.automaton.final, one, atol=1e-12)
    np.testing.assert_allclose(model.states[:, 0], 1.0)
    if max_states == 50:
        assert model.automaton.value(strings.select([0])) == pytest.approx(1.0)


def test_smaller_ranks_are_leading_blocks():
    counts = counted(TRUTH.sample(3_000, np.random.default_rng(0)))
    whole = learn_contexts(counts, 6)
    for n in (1, 3, 5):
        part, again = whole.leading(n), learn_contexts(counts, n)
        assert part.n_states == again.n_states == n
        for name in ("initial", "transitions", "final"):
            np.testing.assert_allclose(
                getattr(part.automaton, name), getattr(again.automaton, name), atol=1e-7
            )
        np.testing.assert_allclose(part.states, again.states, atol=1e-7)


@pytest.mark.parametrize("n_states", [0, 7])
def test_a_rank_that_the_counts_do_not_bear_is_refused(n_states):
    whole = learn_contexts(counted(TRUTH.sample(500, np.random.default_rng(0))), 6)
    with pytest.raises(ValueError, match="use n_states<=6, more data or more context classes"):
        whole.leading(n_states)


def exact_markov_counts(seed: int, n: int) -> tuple[ContextCounts, np.ndarray, np.ndarray]:
    """Expected counts of a Markov chain on its symbols, where the last and the next symbol say all.

    Returns them with the probabilities of the first outcome, and of each outcome after each symbol.
    """
    rng = np.random.default_rng(seed)
    first, after = rng.dirichlet(np.ones(n + 1)), rng.dirichlet(np.ones(n + 1), size=n)
    visits = np.linalg.solve(np.eye(n) - after[:, :n].T, first[:n])
    gaps = np.zeros((n + 2, n + 2))  # class 0 is never met; then the symbols, then the edge
    gaps[1 : n + 1, 1:], gaps[n + 1, 1:] = visits[:, None] * after, first
    steps = np.zeros((n, n + 2, n + 2))
    for symbol in range(n):
        steps[symbol][:, 1:] = np.outer(gaps[:, symbol + 1], after[symbol])
    scale = 10**14
    tries = [
        ContextTrie(n, direction, np.zeros(n + 2, np.int32), np.arange(-1, n + 1, dtype=np.int32))
        for direction in ("past", "future")
    ]
    starts = np.concatenate([[0.0], first])
    whole = [np.rint(part * scale).astype(np.int64) for part in (gaps, steps, gaps[:, n + 1], starts)]
    gap_keys, step_keys = (np.flatnonzero(part) for part in whole[:2])
    counts = ContextCounts(
        strings_of([], Alphabet("abcd"[:n])),
        *tries,
        scale,
        gap_keys,
        whole[0].ravel()[gap_keys],
        step_keys,
        whole[1].ravel()[step_keys],
        *whole[2:],
    )
    return counts, first, after


@pytest.mark.parametrize("n_symbols", [1, 2, 3])
@pytest.mark.parametrize("seed", range(5))
def test_exact_counts_give_the_function_back(seed, n_symbols):
    counts, first, after = exact_markov_counts(seed, n_symbols)
    model = learn_contexts(counts, n_symbols + 1)
    words = words_up_to(n_symbols, 5)
    expected = []
    for word in words:
        rows = [first, *(after[code] for code in word)]
        expected.append(np.prod([row[y] for row, y in zip(rows, (*word, n_symbols), strict=True)]))
    found = model.automaton.value(strings_of(words, model.automaton.alphabet))
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_learning_comes_close_with_data():
    strings = TRUTH.sample(40_000, np.random.default_rng(0))
    model = learn_contexts(counted(strings), 3)
    short = strings_of(words_up_to(2, 5), TRUTH.alphabet)
    assert np.abs(model.automaton.value(short) - TRUTH.value(short)).sum() < 0.05
    assert np.abs(learn_contexts(counted(strings), 1).automaton.value(short) - TRUTH.value(short)).sum() > 0.1


def test_the_spectrum_stands_above_the_noise_where_there_is_structure():
    strings = TRUTH.sample(20_000, np.random.default_rng(0))
    counts = counted(strings)
    model = learn_contexts(counts, 20)
    assert model.singular_values[0] == pytest.approx(1.0)
    assert model.singular_values[1] > context_noise(counts)
    shuffled = WeightedAutomaton(TRUTH.alphabet, np.ones(1), np.full((2, 1, 1), 0.4), np.full(1, 0.2))
    plain = counted(shuffled.sample(20_000, np.random.default_rng(0)))
    assert learn_contexts(plain, 20).singular_values[1] < context_noise(plain)


@settings(max_examples=20)
@given(SEEDS)
def test_candidate_sizes_are_apart_and_possible(seed):
    rng = np.random.default_rng(seed)
    strings = TRUTH.sample(int(rng.integers(1, 200)), rng)
    model = learn_contexts(counted(strings), 100)
    sizes = candidate_sizes(model)
    assert sizes == sorted(sizes)
    assert sizes[0] >= 1
    assert sizes[-1] <= model.n_states
    assert all(larger > 1.15 * size for size, larger in pairwise(sizes))


def test_classes_unseen_in_a_part_have_the_mean_state():
    strings = Strings.of(["aab", "b", "ba"])
    counts = ContextCounts.of(strings.select([1]), *choose_classes(strings, 20, 1))
    model = learn_contexts(counts, 3)
    unseen = counts.past_counts == 0
    assert unseen.any()
    np.testing.assert_array_equal(
        model.states[unseen], np.eye(1, model.n_states).repeat(unseen.sum(), axis=0)
    )


def test_there_must_be_strings():
    with pytest.raises(InputError, match="no strings to learn from"):
        choose_classes(Strings.of([]), 10)
