"""Restart filters averaged step by step, against averages taken string by string."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from automata.random_automata import SEEDS, strings_of
from automata.random_corpora import corpora, corpus_of
from automata.test_filtered import WORDS, random_filter, require_frequencies, words_over
from oracles import words_up_to
from sigmastar.automata.model.averaged import AveragedFilters
from sigmastar.automata.model.sequence import SequenceModel
from sigmastar.core.model_files import load_model, save_model


@st.composite
def averages(draw) -> AveragedFilters:
    corpus, seed = draw(corpora(min_strings=1)), draw(SEEDS)
    sizes = draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))
    members = tuple(random_filter(seed + at, corpus, size) for at, size in enumerate(sizes))
    return AveragedFilters(members, np.random.default_rng(seed).dirichlet(np.ones(len(sizes))))


def some_average() -> AveragedFilters:
    corpus = corpus_of([(0, 1), (0, 0, 1), (), (1,)] * 3, 2)
    return AveragedFilters(
        (random_filter(5, corpus, 3, 0.5), random_filter(6, corpus, 2, 0.5)), np.array([0.25, 0.75])
    )


@given(averages(), WORDS)
def test_every_step_is_the_average_of_the_members_steps(model, words):
    strings = strings_of(words_over(model, words), model.alphabet)
    rows = model.gap_distributions(strings)
    parts = [member.gap_distributions(strings) for member in model.members]
    np.testing.assert_allclose(rows, np.tensordot(model.weights, parts, 1), atol=1e-12)
    np.testing.assert_allclose(rows.sum(axis=1), 1.0, atol=1e-12)
    assert (rows >= 0.0).all()


@given(averages())
def test_strings_have_the_product_of_their_steps(model):
    strings = strings_of(words_up_to(len(model.alphabet), 3), model.alphabet)
    rows = iter(model.gap_distributions(strings))
    products = []
    for word in strings:
        codes = [*map(model.alphabet.symbols.index, word), -1]
        products.append(np.prod([next(rows)[code] for code in codes]))
    np.testing.assert_allclose(np.exp(model.log_probability(strings)), products, rtol=1e-9, atol=1e-300)


def test_samples_have_the_frequencies_of_the_model(rng):
    require_frequencies(some_average(), rng)


def test_files_bring_back_the_same_model(tmp_path):
    model = some_average()
    assert isinstance(model, SequenceModel)
    save_model(model, tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert isinstance(loaded, AveragedFilters)
    strings = strings_of([(0, 1, 1), ()], model.alphabet)
    np.testing.assert_array_equal(loaded.log_probability(strings), model.log_probability(strings))


@pytest.mark.parametrize(
    ("weights", "says"),
    [([1.0], "for 2 filters"), ([0.5, 0.6], "sum to 1"), ([1.5, -0.5], "non-negative"), ([np.nan, 1], "sum")],
)
def test_weights_must_be_a_distribution_over_the_members(weights, says):
    with pytest.raises(ValueError, match=says):
        AveragedFilters(some_average().members, np.array(weights))


def test_alphabets_must_agree():
    other = random_filter(1, corpus_of([(0, 1, 2)] * 3, 3), 2)
    with pytest.raises(ValueError, match="different alphabets"):
        AveragedFilters((some_average().members[0], other), np.array([0.5, 0.5]))
