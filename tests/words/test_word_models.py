"""Word models: distributions, files, streams, next words, commands."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cli.calls import fail, figures, succeed
from sigmastar import InputError, WordModel, load
from sigmastar.automata.data.strings import Strings, as_strings
from sigmastar.automata.model.hmm_conversion import from_hmm
from sigmastar.automata.model.sequence import next_distribution, top_columns
from sigmastar.core.model_reading import load_model, model_bytes, save_model
from sigmastar.words.laws import WordLaws
from sigmastar.words.learn import em
from sigmastar.words.model.emissions import Vectors
from sigmastar.words.model.hmm import WordHmm

NOUNS, VERBS = ["cat", "dog", "cow", "hen"], ["sat", "ran", "ate", "hid"]


def lines(n: int, seed: int = 0) -> list[list[str]]:
    rng = np.random.default_rng(seed)
    return [["the", NOUNS[rng.integers(4)], VERBS[rng.integers(4)]][: 3 - (k % 5 == 0)] for k in range(n)]


@pytest.fixture(scope="module", params=[False, True], ids=["lines", "stream"])
def fitted(request: pytest.FixtureRequest) -> Any:
    return WordModel(n_states=6, stream=request.param).fit(lines(300))


def test_rows_are_distributions_and_hold_what_is_scored(fitted: Any) -> None:
    strings = Strings.of([*lines(5, 1), []], alphabet=fitted.alphabet_)
    rows, following = fitted.model_.gap_distributions(strings), strings.outcomes
    np.testing.assert_allclose(rows.sum(axis=1), 1.0, atol=1e-9)
    chosen = rows[np.arange(len(rows)), following]
    np.testing.assert_allclose(fitted.model_.gap_probabilities(strings), chosen, rtol=1e-5)
    logs = fitted.score_samples(strings)
    assert logs.sum() == pytest.approx(np.log(chosen).sum(), rel=1e-6)
    assert fitted.states_perplexity_ < 9.0  # ten words and an end
    assert fitted.held_out_perplexity_ <= fitted.states_perplexity_ * 1.02


def test_next_words_need_no_other_gap(fitted: Any) -> None:
    prefixes = Strings.of([["the"], [], ["the", "cow"], ["the", "hen", "ate"]], alphabet=fitted.alphabet_)
    rows = next_distribution(fitted.model_, prefixes)
    for k in range(len(prefixes)):  # each is a text of its own
        alone = fitted.model_.gap_distributions(prefixes.select([k]))[-1]
        if not fitted.stream:
            np.testing.assert_allclose(rows[k], alone, rtol=1e-5, atol=1e-9)
    assert set(fitted.predict_next([["the"]], top=4)[0]) == set(NOUNS)
    assert fitted.predict_next([["the", "cow", "ate"]], top=1) != [("the",)]


def test_the_best_columns_are_those_of_a_stable_sort() -> None:
    rows = np.random.default_rng(0).integers(0, 6, (30, 40)).astype(float)
    np.testing.assert_array_equal(top_columns(rows, 7), np.argsort(-rows, axis=1, kind="stable")[:, :7])


def test_models_survive_their_files_and_samples_look_like_the_text(fitted: Any, tmp_path: Path) -> None:
    save_model(fitted.model_, tmp_path / "model")
    again = load_model(tmp_path / "model")
    assert model_bytes(again) == model_bytes(fitted.model_)
    strings = Strings.of(lines(9, 2), alphabet=fitted.alphabet_)
    np.testing.assert_array_equal(again.log_probability(strings), fitted.model_.log_probability(strings))
    drawn = again.sample(200, np.random.default_rng(0), 20)
    firsts = [string[0] for string in drawn if string]
    assert firsts.count("the") > 0.8 * len(firsts)


def test_a_model_of_states_is_a_hidden_markov_model() -> None:
    truth = WordLaws().truth(np.random.default_rng(5))
    strings = truth.sample(20, np.random.default_rng(6))
    automaton = from_hmm(truth.to_hmm())
    np.testing.assert_allclose(automaton.log_probability(strings), truth.log_probability(strings), rtol=1e-9)


def test_vectors_are_a_form_of_words(tmp_path: Path) -> None:
    rng, truth = np.random.default_rng(0), WordLaws().truth(np.random.default_rng(5))
    words, bias, states = (rng.standard_normal(shape).astype(np.float32) for shape in ((7, 2), 7, (3, 2)))
    singles = {name: getattr(truth, name).astype(np.float32) for name in ("initial", "moves")}
    model = replace(truth, emissions=Vectors(words, bias, states), **singles)
    scores = np.exp(words @ states.T + bias[:, None])
    np.testing.assert_allclose(model.emissions.by_word, scores / scores.sum(axis=0), rtol=1e-5)
    save_model(model, tmp_path / "model")
    again = load_model(tmp_path / "model")
    assert isinstance(again, WordHmm)
    assert model_bytes(again) == model_bytes(model)


def test_commands(tmp_path: Path) -> None:
    text, model = tmp_path / "text.txt", tmp_path / "model"
    text.write_text("".join(" ".join(line) + "\n" for line in lines(200)))
    call = ("learn", "words", text, "-o", model, "--states", "4", "--stream", "--validation", text, "--json")
    found = figures(*call)
    assert found["n_states"] <= 4
    assert found["settings"]["stream"] is True
    prefixes = tmp_path / "prefixes.txt"
    prefixes.write_text("the\nthe cow\n")
    first = succeed("predict", model, prefixes, "--top", "2").splitlines()[0].split("\t")
    assert {first[0], first[2]} <= set(NOUNS)
    assert "states" in succeed("show", model)
    page = succeed("show", model, "--html")
    assert "States by their words" in page
    assert "<svg" in page
    hidden = json.loads(succeed("convert", model, "--to", "hmm"))
    assert len(hidden["emission"]) == found["n_states"]
    assert "symbol_perplexity" in succeed("evaluate", model, text)
    assert len(succeed("score", model, text).splitlines()) == 200
    told = fail("learn", "words", text, "-o", model, "--device", "cuda")
    assert "log-bilinear" in told


def test_states_by_chance_that_are_all_alike_can_be_learned() -> None:
    """None of 300 states has a hundredth of a belief at first: the best is kept all the same."""
    rng = np.random.default_rng(0)
    text = [[f"w{k}" for k in rng.integers(0, 2, 12)] for _ in range(400)]
    found = WordModel(n_states=300, start="random", stream=True, max_iter=3).fit(text)
    assert np.isfinite(found.model_.states.moves).all()
    assert np.isfinite(found.score(text))


def test_a_warm_start_goes_on_where_the_last_fit_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twice three rounds are six; words may be new; a model from a file begins from what it expects."""
    monkeypatch.setattr(em, "FIRST", 4)  # the beam widens in the second fit
    options: dict[str, Any] = {"n_states": 4, "order": 0, "held_out": 0.0, "start": "random"}
    twice = WordModel(max_iter=3, warm_start=True, **options).fit(lines(300))
    first = twice.score(lines(300))
    whole = WordModel(max_iter=6, **options).fit(lines(300))
    np.testing.assert_array_equal(
        twice.fit(lines(300)).score_samples(lines(9)), whole.score_samples(lines(9))
    )
    assert whole.score(lines(300)) > first
    more = [*lines(300), *[["the", "fox", "hid"]] * 5]
    cold = WordModel(max_iter=1, **options).fit(more).score(more)
    assert twice.set_params(max_iter=1).fit(more).score(more) > cold
    whole.save(tmp_path / "words.sigma")
    read = load(tmp_path / "words.sigma").set_params(warm_start=True, max_iter=1)
    assert read.fit(more).score(more) > cold
    with pytest.raises(InputError, match="warm_start=True is for parameters='back-off'"):
        WordModel(parameters="log-bilinear", warm_start=True).fit(more)


def test_the_beam_is_wide_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """After so many rounds, or as soon as the narrow one gains nothing."""
    beams: list[em.Beam] = []

    def noted(*given: Any) -> tuple[Any, float]:
        beams.append(given[-1])
        return expect(*given)

    expect = em.expect
    monkeypatch.setattr(em, "expect", noted)
    model = WordModel(n_states=4, held_out=0.0, max_iter=em.FIRST + 3)
    model.fit(lines(40))
    assert beams == [em.NARROW] * em.FIRST + [em.WIDE] * 3
    beams.clear()
    model.set_params(held_out=0.2).fit(lines(300))
    assert model.n_iterations_ < em.FIRST
    assert beams[0] is em.NARROW
    assert beams[-1] is em.WIDE


@pytest.mark.parametrize("stream", [False, True])
def test_the_best_next_words_are_those_of_the_table(stream: bool) -> None:
    model = WordModel(n_states=4, order=3, stream=stream).fit(lines(300)).model_
    fresh = as_strings(lines(60, seed=5))
    fresh = fresh.recoded(model.alphabet, allow_unknown=True)
    np.testing.assert_array_equal(model.gap_best(fresh), model.gap_distributions(fresh).argmax(axis=1))
    inner = model.gap_distributions(fresh)[:, :-1].argmax(axis=1)
    np.testing.assert_array_equal(model.gap_best(fresh, include_end=False), inner)
