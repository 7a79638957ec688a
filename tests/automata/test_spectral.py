from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from sigmastar.automata.counts.bases import PREFIX, STRING, SUBSTRING, Statistic, all_up_to, most_frequent
from sigmastar.automata.counts.block_smoothing import (
    add_strings,
    exact_blocks,
    scale_by_counts,
    unigram_blocks,
)
from sigmastar.automata.data.strings import Strings
from sigmastar.automata.learn.spectral import (
    TO_STRING,
    BasisBatches,
    learn_automaton,
    string_automaton,
)
from sigmastar.automata.model.algebra import string_to_prefix, string_to_substring
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.errors import InputError
from sigmastar.core.recover import factorize_blocks

AB = Alphabet("ab")
FROM_STRING = {STRING: lambda a: a, PREFIX: string_to_prefix, SUBSTRING: string_to_substring}
every_statistic = pytest.mark.parametrize("statistic", list(FROM_STRING), ids=lambda s: s.name)

# Two states that hand over on b, stopping from the second: a language with a memory.
TRUTH = WeightedAutomaton(
    AB,
    np.array([1.0, 0.0]),
    np.array([[[0.5, 0.1], [0.0, 0.1]], [[0.0, 0.3], [0.5, 0.0]]]),
    np.array([0.1, 0.4]),
)


def sample(n_strings: int, seed: int) -> Strings:
    return TRUTH.sample(n_strings, np.random.default_rng(seed))


@every_statistic
def test_exact_statistics_give_the_string_function_back(statistic: Statistic) -> None:
    converted = FROM_STRING[statistic](TRUTH)
    blocks = exact_blocks(all_up_to(AB, 2), converted.initial, converted.transitions, converted.final)
    found = string_automaton(blocks, factorize_blocks(blocks, 2), statistic)
    fresh = Strings.of(["", "ab", "abbabaab", "b" * 30], alphabet=AB)
    np.testing.assert_allclose(found.value(fresh), TRUTH.value(fresh), rtol=1e-9)


@every_statistic
def test_learning_comes_close_with_data(statistic: Statistic) -> None:
    strings = sample(50_000, 0)
    found = learn_automaton(strings, most_frequent(strings, 30, 30, statistic), 2, statistic)
    short = all_up_to(AB, 4).outsides
    assert np.abs(found.value(short) - TRUTH.value(short)).sum() < 0.05
    assert found.total_mass() == pytest.approx(1.0, abs=0.05)


def test_weighting_and_smoothing_are_steps_in_between() -> None:
    strings = sample(2_000, 0)
    basis = most_frequent(strings, 20, 20, SUBSTRING)
    background = unigram_blocks(strings, basis, SUBSTRING)
    steps = [lambda blocks: add_strings(blocks, background, len(strings), 10.0), scale_by_counts]
    plain = learn_automaton(strings, basis, 2, SUBSTRING)
    stepped = learn_automaton(strings, basis, 2, SUBSTRING, steps)
    short = all_up_to(AB, 4).outsides
    assert np.abs(stepped.value(short) - TRUTH.value(short)).sum() < 0.2
    assert not np.allclose(stepped.value(short), plain.value(short))


@every_statistic
def test_the_number_of_states_is_chosen_on_held_out_strings(statistic: Statistic) -> None:
    fit = BasisBatches.first(sample(20_000, 0), np.random.default_rng(0), statistic, 25).fit()
    assert 2 <= fit.evidence.chosen == fit.automaton.n_states <= 8
    assert fit.evidence.scores[0] < max(fit.evidence.scores)
    assert fit.evidence.noise_level < fit.evidence.singular_values[1]
    assert fit.counts.n_strings == 20_000


@pytest.mark.parametrize("weighting", [(), (scale_by_counts,)])
def test_batches_smooth_and_weight_as_steps_do(weighting) -> None:
    strings = sample(2_000, 0)
    batches = BasisBatches.first(strings, np.random.default_rng(0), SUBSTRING, 20, 10.0, weighting)
    background = unigram_blocks(batches.held.strings, batches.basis, SUBSTRING)
    steps = [lambda blocks: add_strings(blocks, background, 2_000, 10.0), *weighting]
    expected = learn_automaton(strings, batches.basis, 2, SUBSTRING, steps)
    short = all_up_to(AB, 4).outsides
    np.testing.assert_allclose(batches.fit(2).automaton.value(short), expected.value(short), atol=1e-9)


def test_bad_input_speaks() -> None:
    basis = all_up_to(AB, 1)
    nothing = Strings.of([], alphabet=AB)
    with pytest.raises(InputError, match="no strings to learn from"):
        learn_automaton(nothing, basis, 1)
    with pytest.raises(InputError, match="no strings to learn from"):
        BasisBatches.first(nothing, np.random.default_rng(0), STRING, 5)
    with pytest.raises(ValueError, match="exceeds block rank 1"):
        learn_automaton(Strings.of(["aaaaaa"] * 5, alphabet=AB), basis, 3, PREFIX)
    suffix = Statistic("suffix", False, True)
    assert suffix not in TO_STRING
    with pytest.raises(ValueError, match="no way from suffix statistics"):
        learn_automaton(sample(10, 0), basis, 1, suffix)


@pytest.mark.parametrize("statistic", [STRING, PREFIX, SUBSTRING], ids=lambda s: s.name)
@pytest.mark.parametrize("word", ["", "a", "abab"])
def test_one_string_only(statistic: Statistic, word: str) -> None:
    strings = Strings.of([word] * 3, alphabet=AB)
    fit = BasisBatches.first(strings, np.random.default_rng(0), statistic, 10).fit()
    assert np.isfinite(fit.automaton.value(strings)).all()


def test_blocks_of_counts_stay_sparse() -> None:
    strings = sample(100, 0)
    fit = BasisBatches.first(strings, np.random.default_rng(0), STRING, 10).fit()
    assert isinstance(fit.counts.blocks().matrices["string"], sparse.csr_array)
