"""Memory and time do not grow with gaps times symbols, nor with states that the data cannot bear."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from automata.random_automata import SEEDS
from automata.random_corpora import corpora
from sigmastar.automata.counts.bases import PREFIX, STRING, SUBSTRING, Statistic
from sigmastar.automata.data.strings import PrefixTrie, Strings
from sigmastar.automata.estimator.em_and_ngram import EMAutomaton
from sigmastar.automata.estimator.spectral import SpectralAutomaton
from sigmastar.automata.learn.context_operators import LARGEST, largest_size
from sigmastar.automata.learn.spectral import BasisBatches, string_automaton
from sigmastar.automata.model.automaton import (
    WeightedAutomaton,
    _directions,
    gap_probabilities,
    prefix_directions,
)
from sigmastar.core import resources
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.errors import InputError
from sigmastar.core.recover import factorize_blocks


def words(n_strings: int, n_symbols: int, length: int = 5) -> Strings:
    codes = np.random.default_rng(0).integers(n_symbols, size=n_strings * length).astype(np.int32)
    return Strings(Alphabet(range(n_symbols)), codes, np.arange(n_strings + 1) * length)


@given(corpora(min_strings=1), SEEDS, st.integers(1, 4), st.sampled_from([0.3, 1.5]))
def test_probabilities_at_gaps_are_those_of_whole_distributions(corpus, seed, n_states, size):
    rng, alphabet = np.random.default_rng(seed), corpus.strings.alphabet
    transitions = size * rng.standard_normal((len(alphabet), n_states, n_states)) / n_states
    transitions[: seed % 2] = 0.0
    automaton = WeightedAutomaton(
        alphabet, *rng.standard_normal((1, n_states)), transitions, np.ones(n_states)
    )
    rows, following = automaton.gap_distributions(corpus.strings), corpus.strings.outcomes
    expected = np.where(following >= 0, rows[np.arange(len(rows)), following], 0.0)
    np.testing.assert_allclose(gap_probabilities(automaton, corpus.strings), expected, rtol=1e-7, atol=1e-9)


def test_symbols_and_prefixes_that_point_the_same_way_are_summed_once() -> None:
    """Most operators are of rank one, as those of rare symbols are: vectors after them differ in length."""
    rng, n_symbols, n_states = np.random.default_rng(0), 6_000, 3
    alphabet = Alphabet(range(n_symbols))
    transitions = rng.random((n_symbols, 1, 1)) * np.outer(*rng.standard_normal((2, n_states)))
    transitions[:500] = rng.standard_normal((500, n_states, n_states))
    transitions[500:600] = 0.0
    transitions /= 1.5 * np.abs(transitions).sum(axis=0).max() * n_states
    automaton = WeightedAutomaton(
        alphabet, *rng.standard_normal((1, n_states)), transitions, np.ones(n_states)
    )
    codes = rng.integers(n_symbols, size=400).astype(np.int32)
    codes[::7] = rng.integers(500, size=len(codes[::7]))
    strings = Strings(alphabet, codes, np.arange(101) * 4)
    rows = automaton.gap_distributions(strings)
    expected = rows[np.arange(len(rows)), strings.outcomes]
    np.testing.assert_allclose(gap_probabilities(automaton, strings), expected, rtol=1e-7, atol=1e-12)
    vectors = prefix_directions(automaton, PrefixTrie.of(strings))
    assert len(_directions(vectors)[0]) < len(vectors) / 2


@pytest.mark.parametrize("statistic", [STRING, PREFIX, SUBSTRING], ids=lambda s: s.name)
def test_scores_are_those_of_an_automaton_recovered_for_each_number_of_states(statistic: Statistic) -> None:
    strings = words(3_000, 12, 2)
    batches = BasisBatches.first(strings, np.random.default_rng(0), statistic, 30)
    evidence = batches.fit().evidence
    blocks = (batches.halves[0] + batches.halves[1]).blocks()
    for n_states, score in zip(evidence.candidates, evidence.scores, strict=True):
        automaton = string_automaton(blocks, factorize_blocks(blocks, n_states), statistic)
        logs = np.log(0.999 * gap_probabilities(automaton, batches.held.strings) + 0.001 / 13)
        assert score == pytest.approx(logs.sum() / len(batches.held.strings), rel=1e-6)


def test_states_are_chosen_without_a_table_of_all_gaps_and_symbols() -> None:
    """300 held-out strings x 6 gaps x 20,000 symbols x 8 bytes would be 288 MB."""
    strings = words(3_000, 20_000)
    batches = BasisBatches.first(strings, np.random.default_rng(0), SUBSTRING, 50)
    tracemalloc.start()
    batches.fit(1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 60e6


def test_operators_of_many_symbols_have_few_states() -> None:
    with pytest.raises(ValueError, match=r"n_states=100 over 20,000 symbols are 200,000,000 weights; use"):
        SpectralAutomaton(method="spectral", n_states=100).fit(words(300, 20_000))


def test_iterative_learners_try_no_more_weights_than_the_data_bear() -> None:
    assert largest_size(words(2_000, 20_000)) == 7
    assert largest_size(words(100, 100)) == LARGEST


@pytest.mark.parametrize("n_states", [3_000, 10_000])
def test_em_beyond_memory_is_refused_with_a_number_that_works(
    n_states: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resources, "_free_on_machine", lambda: 3 << 30)
    said = (
        rf"EM with {n_states} states over 4 symbols needs about .* GB, 3 GB are free; use at most 2896 states"
    )
    with pytest.raises(InputError, match=said):
        EMAutomaton(n_states=n_states).fit(["abcd" * 130_000] * 2)


def test_em_is_refused_under_the_limit_that_users_set() -> None:
    with (
        resources.limited(resources._taken() + (64 << 20)),
        pytest.raises(InputError, match=r"EM with 900 .* are free; use at most [34]\d\d states"),
    ):
        EMAutomaton(n_states=900).fit(["abcd", "dcba"] * 1_000)


def test_em_that_takes_hours_is_refused() -> None:
    with pytest.raises(InputError, match=r"needs 1\.7 hours per iteration; use at most 15\d\d states"):
        EMAutomaton(n_states=2_000).fit(words(1_000_000, 2, 4))
