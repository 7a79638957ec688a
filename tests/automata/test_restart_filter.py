"""The restart filter: proper distributions from any operators, against a slow filter string by string."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from automata.random_automata import SEEDS, strings_of
from automata.random_corpora import Corpus, corpora, corpus_of
from oracles import filter_word, words_up_to
from sigmastar.automata.data.contexts import grow_contexts
from sigmastar.automata.data.strings import PrefixTrie, Strings
from sigmastar.automata.model import restart_filter as filtering
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.automata.model.ngram_smoothing import NextCounts, NgramModel
from sigmastar.automata.model.restart_filter import FilteredAutomaton
from sigmastar.automata.model.sequence import SequenceModel, next_distribution
from sigmastar.core.model_reading import load_model, save_model


def random_filter(seed: int, corpus: Corpus, n_states: int, size: float = 1.0) -> FilteredAutomaton:
    """Operators of any sign and `size` behind the filter, with restart states of mass one."""
    rng = np.random.default_rng(seed)
    strings, n_symbols = corpus.strings, corpus.n_symbols
    trie = grow_contexts(strings, "past", 6)
    backoff = NgramModel.of_counts(strings.alphabet, NextCounts.of(strings, trie))
    automaton = WeightedAutomaton(
        strings.alphabet,
        rng.normal(size=n_states),
        rng.normal(size=(n_symbols, n_states, n_states)) * size,
        rng.normal(size=n_states),
    )
    mass = rng.normal(size=n_states)
    restarts = rng.normal(size=(trie.n_classes, n_states))
    restarts += np.outer(1.0 - restarts @ mass, mass / (mass @ mass))
    mixing = rng.uniform(1e-4, 0.9, size=trie.n_classes)
    return FilteredAutomaton(automaton, mass, backoff, restarts, mixing)


@st.composite
def filters(draw, max_states: int = 3) -> FilteredAutomaton:
    corpus = draw(corpora(min_strings=1))
    size = 10.0 ** draw(st.integers(-3, 3))
    return random_filter(draw(SEEDS), corpus, draw(st.integers(1, max_states)), size)


WORDS = st.lists(st.lists(st.integers(-1, 2), max_size=6), max_size=6)


def words_over(model: FilteredAutomaton, words) -> list:
    return [tuple(min(code, len(model.alphabet) - 1) for code in word) for word in words]


@given(filters(), WORDS)
def test_the_trie_is_filtered_as_string_by_string(model, words):
    words = words_over(model, words)
    strings = strings_of(words, model.alphabet)
    classes = model.backoff.contexts.classify(strings)
    backoff = model.backoff.distributions(np.arange(model.backoff.contexts.n_classes, dtype=np.int32))
    automaton, expected, logs, at = model.automaton, [], [], 0
    for word in words:
        own = classes[at : at + len(word) + 1]
        at += len(word) + 1
        rows, taken = filter_word(
            model.start, automaton.transitions, model.mass, automaton.final, word, own, backoff,
            model.restarts, model.mixing, model.limit,
        )  # fmt: skip
        expected += rows
        with np.errstate(divide="ignore"):
            logs.append(np.log(taken).sum())
    found = model.gap_distributions(strings)
    np.testing.assert_allclose(found, np.reshape(expected, found.shape), rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(model.log_probability(strings), logs, rtol=1e-6, atol=1e-6)


@given(filters(), WORDS)
def test_every_gap_has_a_proper_distribution(model, words):
    rows = model.gap_distributions(strings_of(words_over(model, words), model.alphabet))
    assert (rows > 0).all()
    np.testing.assert_allclose(rows.sum(axis=1), 1.0, atol=1e-12)


@settings(max_examples=30)
@given(filters(), SEEDS)
def test_long_strings_stay_proper(model, seed):
    codes = np.random.default_rng(seed).integers(0, len(model.alphabet), size=(2, 600))
    require_proper(model, strings_of(codes.tolist(), model.alphabet))


@pytest.mark.parametrize("hidden", [0.0, 1e-3, -1e-3])
def test_states_that_grow_where_the_mass_does_not_see_it_start_anew(hidden, rng):
    corpus = corpus_of([(0, 1), (0, 0, 1), (), (1,)], 2)
    model = random_filter(5, corpus, 2)
    growing = np.array([np.diag([0.4, 50.0])] * 2)
    automaton = WeightedAutomaton(corpus.strings.alphabet, np.ones(2), growing, np.array([0.2, hidden]))
    restarts = np.column_stack([np.ones(len(model.restarts)), model.restarts[:, 1]])
    strayed = FilteredAutomaton(automaton, np.array([1.0, 0.0]), model.backoff, restarts, model.mixing)
    require_proper(strayed, strings_of([[0, 1] * 300], corpus.strings.alphabet))
    assert len(strayed.sample(100, rng)) == 100
    endless = WeightedAutomaton(corpus.strings.alphabet, np.ones(2), growing, np.array([1e-3, hidden]))
    strayed = FilteredAutomaton(endless, np.array([1.0, 0.0]), model.backoff, restarts, model.mixing * 1e-2)
    assert len(strayed.sample(20, rng, max_length=500)) == 20


def require_proper(model: FilteredAutomaton, strings: Strings) -> None:
    rows = model.gap_distributions(strings)
    assert (rows > 0).all()
    np.testing.assert_allclose(rows.sum(axis=1), 1.0, atol=1e-12)
    assert np.isfinite(model.log_probability(strings)).all()


@given(filters(), WORDS)
def test_known_symbols_are_possible_and_unknown_ones_are_not(model, words):
    words = words_over(model, words)
    finite = np.isfinite(model.log_probability(strings_of(words, model.alphabet)))
    assert finite.tolist() == [-1 not in word for word in words]


@given(filters(), WORDS)
def test_the_loss_is_bounded_by_that_of_the_back_off_model(model, words):
    strings = strings_of([[max(c, 0) for c in word] for word in words_over(model, words)], model.alphabet)
    rates = model.mixing[model.backoff.contexts.classify(strings)]
    ends = np.append(0, np.cumsum(strings.lengths + 1))
    allowed = [np.log(1.0 / rates[a:b]).sum() for a, b in pairwise(ends)]
    loss = model.backoff.log_probability(strings) - model.log_probability(strings)
    assert (loss <= np.array(allowed) + 1e-9).all()


@given(filters())
def test_all_strings_together_weigh_one(model):
    n, length = len(model.alphabet), 4
    words = words_up_to(n, length)
    mass = np.exp(model.log_probability(strings_of(words, model.alphabet))).sum()
    longest = strings_of([word for word in words if len(word) == length], model.alphabet)
    ending = next_distribution(model, longest)[:, -1]
    longer = (np.exp(model.log_probability(longest)) / ending * (1.0 - ending)).sum()
    assert mass + longer == pytest.approx(1.0, abs=1e-9)


@given(SEEDS, st.integers(1, 4))
def test_working_in_pieces_changes_nothing(seed, n_states):
    corpus = corpus_of([(0, 1), (1,), (), (1, 1, 0), (0, 0), (1, 0)], 2)
    model = random_filter(seed, corpus, n_states)
    walk = model.walk(PrefixTrie.of(corpus.strings))
    whole, pieces = np.zeros((2, len(walk.parent), 3))
    expected = model.run(walk, whole)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(filtering, "CELLS", 1)  # one row at a time
        found = model.run(walk, pieces)
    np.testing.assert_allclose(np.array(found), np.array(expected))
    np.testing.assert_allclose(pieces, whole)


def test_single_precision_is_enough_to_compare_by():
    corpus = corpus_of([(0, 1), (1,), (), (1, 1, 0)], 2)
    model = random_filter(1, corpus, 2)
    walk = model.walk(PrefixTrie.of(corpus.strings))
    for double, single in zip(model.run(walk), model.run(walk, dtype=np.float32), strict=True):
        np.testing.assert_allclose(single, double, atol=1e-4)
        assert ((double >= 0) & (double <= 1 + 1e-12)).all()


def sample_model() -> FilteredAutomaton:
    return random_filter(5, corpus_of([(0, 1), (0, 0, 1), (), (1,)] * 3, 2), 3, 0.5)


def require_frequencies(model: SequenceModel, rng: np.random.Generator) -> None:
    """Short strings over two symbols are drawn as often as the model says."""
    drawn = list(model.sample(20_000, rng))
    short = strings_of(words_up_to(2, 3), model.alphabet)
    for word, log in zip(short, model.log_probability(short), strict=True):
        share, p = drawn.count(word) / len(drawn), np.exp(log)
        assert abs(share - p) < 5 * np.sqrt(p * (1 - p) / len(drawn)) + 1e-9


def test_samples_have_the_frequencies_of_the_model(rng):
    require_frequencies(sample_model(), rng)


def test_samples_are_repeatable_and_cut(rng):
    model = sample_model()
    first, second = (model.sample(50, np.random.default_rng(3)) for _ in range(2))
    assert list(first) == list(second)
    assert model.sample(200, rng, max_length=2).lengths.max() <= 2
    assert len(model.sample(0, rng)) == 0


def test_files_bring_back_the_same_model(tmp_path):
    model, strings = sample_model(), strings_of([(0, 1, 1), ()], sample_model().alphabet)
    assert isinstance(model, SequenceModel)
    save_model(model, tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert isinstance(loaded, FilteredAutomaton)
    np.testing.assert_array_equal(loaded.log_probability(strings), model.log_probability(strings))
    np.testing.assert_array_equal(loaded.gap_distributions(strings), model.gap_distributions(strings))


def test_parts_of_other_sizes_are_refused():
    arrays, header = sample_model().to_parts()
    with pytest.raises(ValueError, match="'mixing' of shape"):
        FilteredAutomaton.from_parts({**arrays, "mixing": arrays["mixing"][:-1]}, header)


def test_a_start_without_mass_is_replaced_by_the_restart_state():
    model = sample_model()
    automaton = model.automaton
    turned = WeightedAutomaton(
        automaton.alphabet, -np.abs(model.mass), automaton.transitions, automaton.final
    )
    strayed = FilteredAutomaton(turned, np.abs(model.mass), model.backoff, model.restarts, model.mixing)
    np.testing.assert_array_equal(strayed.start, model.restarts[model.backoff.contexts.start])
    rows = strayed.gap_distributions(Strings.of([(0, 1)], alphabet=model.alphabet))
    np.testing.assert_allclose(rows.sum(axis=1), 1.0, atol=1e-12)
