"""N-gram models: the chain of gap distributions, sampling, unknown symbols, files."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from automata.random_automata import strings_of
from automata.random_corpora import corpora
from oracles import words_up_to
from sigmastar.automata.data.contexts import grow_contexts
from sigmastar.automata.data.strings import Strings
from sigmastar.automata.model import sequence as lockstep
from sigmastar.automata.model.ngram_smoothing import (
    NextCounts,
    NgramModel,
    kneser_ney,
    modified_kneser_ney,
    witten_bell,
)
from sigmastar.automata.model.sequence import SequenceModel, next_distribution
from sigmastar.core.model_reading import load_model, save_model

SMOOTHINGS = st.sampled_from([witten_bell, kneser_ney, modified_kneser_ney])


def ngram(strings: Strings, order: int = 3, smoothing=witten_bell) -> NgramModel:
    trie = grow_contexts(strings, "past", max_depth=order - 1)
    return NgramModel.of_counts(strings.alphabet, NextCounts.of(strings, trie), smoothing)


@given(corpora(), corpora(unknown=True), st.integers(1, 4), SMOOTHINGS)
def test_a_string_is_as_likely_as_its_steps(known, fresh, order, smoothing):
    model = ngram(known.strings, order, smoothing)
    strings = fresh.strings.recoded(known.strings.alphabet, allow_unknown=True)
    rows = iter(model.gap_distributions(strings))
    expected = []
    for i in range(len(strings)):
        word = strings.codes[strings.offsets[i] : strings.offsets[i + 1]]
        steps = [next(rows)[code] if code >= 0 else 0.0 * next(rows)[0] for code in (*word, known.n_symbols)]
        expected.append(np.prod(steps))
    np.testing.assert_allclose(np.exp(model.log_probability(strings)), expected, atol=1e-15)


@given(corpora(), st.integers(1, 3), SMOOTHINGS)
def test_all_strings_together_weigh_one(known, order, smoothing):
    """Short strings, and what is left for longer ones: the prefixes of the greatest length."""
    model, n, length = ngram(known.strings, order, smoothing), known.n_symbols, 4
    words = words_up_to(n, length)
    mass = np.exp(model.log_probability(strings_of(words, known.strings.alphabet))).sum()
    longest = strings_of([word for word in words if len(word) == length], known.strings.alphabet)
    ending = next_distribution(model, longest)[:, -1]
    longer = (np.exp(model.log_probability(longest)) / ending * (1.0 - ending)).sum()
    assert mass + longer == pytest.approx(1.0, abs=1e-12)


def test_symbols_of_other_alphabets_have_no_probability():
    model = ngram(Strings.of(["ab", "b"]))
    assert isinstance(model, SequenceModel)
    logs = model.log_probability(Strings.of(["ba", "ca", ""]))
    assert np.isneginf(logs).tolist() == [False, True, False]
    assert len(model.log_probability(Strings.of([]))) == 0
    after = next_distribution(model, Strings.of(["c"]))
    np.testing.assert_allclose(after, model.distributions(np.zeros(1, dtype=np.int32)))


def test_samples_have_the_frequencies_of_the_model(rng):
    model = ngram(Strings.of(["ab", "abb", "", "ba", "aab"] * 3))
    drawn = model.sample(20_000, rng)
    short = strings_of(words_up_to(2, 2), model.alphabet)
    words = list(drawn)
    for word, log in zip(short, model.log_probability(short), strict=True):
        share, p = words.count(word) / len(words), np.exp(log)
        assert abs(share - p) < 5 * np.sqrt(p * (1 - p) / len(words)) + 1e-9


def test_samples_do_not_depend_on_how_they_are_batched_in_law(rng, monkeypatch):
    model = ngram(Strings.of(["ab", "abb", ""] * 3))
    monkeypatch.setattr(lockstep, "_CELLS", 30)  # ten strings a batch
    drawn = model.sample(3_000, rng)
    assert len(drawn) == 3_000
    mean = -model.log_probability(drawn).mean()
    assert mean == pytest.approx(-model.log_probability(model.sample(3_000, rng)).mean(), abs=0.15)


def test_long_samples_are_cut(rng):
    model = ngram(Strings.of(["a" * 200]))
    assert model.sample(50, rng, max_length=7).lengths.max() == 7
    assert model.sample(5, rng, max_length=0).lengths.tolist() == [0] * 5
    assert len(model.sample(0, rng)) == 0
    with pytest.raises(ValueError, match="must not be negative"):
        model.sample(-1, rng)


def test_sampling_is_repeatable():
    model = ngram(Strings.of(["ab", "abb", "", "ba"]))
    first, second = (model.sample(50, np.random.default_rng(3)) for _ in range(2))
    assert list(first) == list(second)


@pytest.mark.parametrize("words", [["ab", "abb", ""], ["", ""], [("x", 1), (None,)]])
def test_files_bring_back_the_same_model(words, tmp_path):
    strings = Strings.of(words)
    model = ngram(strings, smoothing=kneser_ney)
    save_model(model, tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert isinstance(loaded, NgramModel)
    assert loaded.alphabet == model.alphabet
    np.testing.assert_array_equal(loaded.log_probability(strings), model.log_probability(strings))


@pytest.mark.parametrize(
    "damage",
    [
        lambda arrays: arrays["context_parent"].__setitem__(-1, 99),
        lambda arrays: arrays["outcomes"].__setitem__(0, 77),
        lambda arrays: arrays["row_starts"].__setitem__(-1, 10**6),
        lambda arrays: arrays["context_symbol"].__setitem__(1, 50),
        lambda arrays: arrays.__setitem__("own", arrays["own"][:-1]),
        lambda arrays: arrays.__setitem__("backoff", arrays["backoff"][:-1]),
    ],
)
def test_tables_that_do_not_fit_are_refused(damage):
    arrays, header = ngram(Strings.of(["ab", "abb"])).to_parts()
    arrays = {name: array.copy() for name, array in arrays.items()}
    damage(arrays)
    with pytest.raises(ValueError, match=r"the array '.*' (of shape .* does not fit|must)"):
        NgramModel.from_parts(arrays, header)
