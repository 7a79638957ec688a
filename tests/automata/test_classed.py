"""Automata over classes of symbols: distributions, files, and what estimators do with large alphabets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cli.calls import figures, succeed
from sigmastar import SpectralAutomaton
from sigmastar.automata.data.strings import Strings
from sigmastar.automata.estimator import spectral
from sigmastar.automata.estimator.sequence import n_parameters
from sigmastar.automata.kernels.leaders import best_of_classes, class_lists
from sigmastar.automata.learn import classed, classed_on_shards
from sigmastar.automata.learn.classed import symbol_classes
from sigmastar.automata.learn.ngram import learn_ngram
from sigmastar.automata.model.classed import ClassedAutomaton
from sigmastar.automata.model.ngram_smoothing import modified_kneser_ney
from sigmastar.automata.model.runtime import SequenceRuntime
from sigmastar.automata.model.sequence import next_distribution
from sigmastar.core.model_reading import load_model, model_bytes, save_model
from sigmastar.corpus import build as building
from sigmastar.corpus import sources
from sigmastar.corpus.build import build_corpus

N_NAMES, N_VERBS = 30, 20
NAMES, VERBS = [f"n{k}" for k in range(N_NAMES)], [f"v{k}" for k in range(N_VERBS)]


def sentences(n: int, seed: int) -> list[list[str]]:
    """Names and verbs in turn, each drawn for itself: pairs of them say nothing that classes do not."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 6, n)
    return [[(VERBS[rng.integers(N_VERBS)] if k % 2 else NAMES[rng.integers(N_NAMES)]) for k in range(length)]
            for length in lengths]  # fmt: skip


@pytest.fixture(scope="module")
def small() -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spectral, "LARGE_ALPHABET", 40)
        patch.setattr(classed, "N_CLASSES", 4)
        yield


@pytest.fixture(scope="module", params=["fast", "auto"])
def fitted(request: pytest.FixtureRequest, small: Any) -> Any:
    return SpectralAutomaton(method=request.param, n_states=3).fit(sentences(400, 0))


def test_classes_hold_symbols_with_like_neighbours() -> None:
    strings = Strings.of(sentences(500, 1))
    found = symbol_classes(strings, 2, np.random.default_rng(0))
    classes = dict(zip(strings.alphabet.symbols, found.class_of.tolist(), strict=True))
    of_names, of_verbs = {classes[name] for name in NAMES}, {classes[verb] for verb in VERBS}
    assert len(of_names) == len(of_verbs) == 1
    assert of_names != of_verbs
    np.testing.assert_allclose(np.bincount(found.class_of, found.shares), 1.0, rtol=1e-12)


def test_rows_are_distributions_and_hold_what_is_scored(fitted: Any) -> None:
    model, strings = fitted.model_, Strings.of([*sentences(6, 2), []], alphabet=fitted.alphabet_)
    rows, following = model.gap_distributions(strings), strings.outcomes
    np.testing.assert_allclose(rows.sum(axis=1), 1.0, atol=1e-9)
    chosen = rows[np.arange(len(rows)), following]
    np.testing.assert_allclose(model.gap_probabilities(strings), chosen, rtol=1e-8)
    assert fitted.score_samples(strings).sum() == pytest.approx(np.log(chosen).sum(), rel=1e-9)
    last = strings.offsets[1:] + np.arange(len(strings))
    np.testing.assert_allclose(next_distribution(model, strings), rows[last], rtol=1e-9)
    assert model.log_probability(Strings.of([["n1", "other"]]))[0] == -np.inf


def test_files_samples_and_arrays_alone_say_the_same(fitted: Any, tmp_path: Path) -> None:
    save_model(fitted.model_, tmp_path / "model")
    again = load_model(tmp_path / "model")
    assert isinstance(again, ClassedAutomaton)
    assert model_bytes(again) == model_bytes(fitted.model_)
    strings, runtime = sentences(20, 3), SequenceRuntime(again)
    np.testing.assert_allclose(runtime.score_samples(strings), fitted.score_samples(strings), rtol=1e-8)
    drawn = list(again.sample(300, np.random.default_rng(0)))
    firsts = [string[0] for string in drawn if string]
    assert sum(name in NAMES for name in firsts) > 0.9 * len(firsts)
    assert n_parameters(again) > n_parameters(again.ngram)


def test_classes_are_ahead_of_trigrams_where_pairs_are_rare(fitted: Any) -> None:
    fresh = Strings.of(sentences(2000, 4), alphabet=fitted.alphabet_)
    trigram = learn_ngram(Strings.of(sentences(400, 0)), 3, modified_kneser_ney)
    assert fitted.score(fresh) > trigram.log_probability(fresh).mean() + 0.1
    assert fitted.held_out_score_ == pytest.approx(fitted.score(fresh), abs=1.0)


def test_estimators_say_what_they_did(fitted: Any) -> None:
    assert fitted.n_symbol_classes_ <= 5
    with pytest.raises(AttributeError, match=r"reads classes of them; it is model_\.inner"):
        fitted.automaton_  # noqa: B018
    assert fitted.rank_evidence_.chosen == fitted.n_states_


def test_learners_that_read_often_are_given_a_part() -> None:
    strings = Strings.of(sentences(300, 5))
    some = classed._some(strings, 200, np.random.default_rng(0))
    assert 100 < some.n_gaps <= 200
    long = Strings.of([NAMES * 20, VERBS * 10])
    cut = classed._some(long, 80, np.random.default_rng(0))
    assert cut.n_gaps <= 82
    assert list(cut)[1] == tuple(VERBS * 10)[: len(list(cut)[1])]


def test_the_command_says_what_it_did(small: Any, tmp_path: Path) -> None:
    text, model = tmp_path / "text.txt", tmp_path / "model"
    text.write_text("".join(" ".join(words) + "\n" for words in sentences(300, 6)))
    found = figures("learn", "automaton", text, "-o", model, "--states", "3")
    assert found["n_symbol_classes"] <= 5
    assert "3 states" in succeed("show", model)
    assert "symbol_perplexity" in succeed("evaluate", model, text)


def test_corpora_larger_than_memory_are_learned_by_classes_too(
    small: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for module in (sources, building):
        monkeypatch.setattr(module, "UNIT_BYTES", 1500)
    (tmp_path / "text").write_text("".join(" ".join(words) + "\n" for words in sentences(600, 0)))
    monkeypatch.setattr(classed_on_shards, "N_CLASSES", 4)
    corpus = build_corpus([str(tmp_path / "text")], tmp_path / "corpus")
    assert corpus.n_shards > 2
    in_memory = SpectralAutomaton(n_states=3).fit(corpus)
    monkeypatch.setattr(spectral, "_IN_MEMORY", 1000)
    found = SpectralAutomaton(n_states=3).fit(corpus)
    assert found.pruned_ == (0, 0)
    assert found.n_symbol_classes_ <= 5
    fresh = sentences(2000, 4)
    assert found.score(fresh) == pytest.approx(in_memory.score(fresh), abs=0.05)  # of about -13
    assert found.held_out_score_ == pytest.approx(found.score(fresh), abs=1.0)
    by_two = SpectralAutomaton(n_states=3, workers=2).fit(corpus)
    assert model_bytes(by_two.model_) == model_bytes(found.model_)


@pytest.mark.parametrize("include_end", [True, False])
def test_the_best_symbol_without_a_table_is_that_of_the_table(fitted: Any, include_end: bool) -> None:
    model, fresh = fitted.model_, Strings.of([*sentences(150, 5), ["n1", "v1"] * 4, ["new", "n2"], []])
    assert isinstance(model, ClassedAutomaton)
    table = model.gap_distributions(fresh)[:, : len(model.alphabet) + include_end]
    found = model.gap_best(fresh, include_end)
    np.testing.assert_allclose(table[np.arange(len(table)), found], table.max(axis=1), rtol=1e-9)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32), st.booleans())
def test_lists_of_classes_find_what_a_table_finds(seed: int, include_end: bool) -> None:
    """Shares and counts that disagree, contexts that know much or nothing."""
    rng = np.random.default_rng(seed)
    strings = Strings.of(sentences(int(rng.integers(3, 60)), seed % 1000))
    n = len(strings.alphabet)
    ngram = learn_ngram(strings, 3, modified_kneser_ney)
    class_of = np.unique(rng.integers(0, 5, n), return_inverse=True)[1].astype(np.int32)
    shares = rng.dirichlet(np.full(n, 0.2))
    contexts = rng.integers(0, len(ngram.contexts.parent), 50).astype(np.int32)
    rows = rng.dirichlet(np.full(int(class_of.max()) + 2, 0.5), size=50)
    rates = rng.choice([0.0, 0.2, 0.9, 1.0], 50)
    lists = class_lists(class_of, shares, ngram.base)
    found = best_of_classes(rows, rates, contexts, lists, ngram.tables, n + include_end)
    spread = np.column_stack([rows[:, class_of] * shares, rows[:, -1]])
    table = (1.0 - rates[:, None]) * spread + rates[:, None] * ngram.distributions(contexts)
    best = table[:, : n + include_end].max(axis=1)
    np.testing.assert_allclose(table[np.arange(50), found], best, rtol=1e-9, atol=1e-15)
