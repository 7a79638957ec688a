"""Batches: counts add up, so that the order and the size of batches leave no trace in them."""

from __future__ import annotations

import pickle
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cli.calls import fail, invoke, succeed
from sigmastar.automata.cli import learn
from sigmastar.automata.counts.bases import PREFIX, STRING, SUBSTRING, Statistic
from sigmastar.automata.counts.on_basis import StringCounts, count_strings
from sigmastar.automata.counts.on_classes import ContextCounts
from sigmastar.automata.data.strings import Strings
from sigmastar.automata.estimator.spectral import SpectralAutomaton
from sigmastar.automata.learn import held_out as module
from sigmastar.automata.learn.fast import ContextBatches
from sigmastar.automata.learn.spectral import BasisBatches
from sigmastar.automata.learn.streaming import faded
from sigmastar.automata.model.generators import make_automaton
from sigmastar.core.errors import UnknownSymbolError
from sigmastar.core.model_reading import read_header


@pytest.fixture(scope="module")
def strings() -> Strings:
    rng = np.random.default_rng(1)
    return make_automaton(4, 3, rng, stop=0.15).sample(600, rng)


def parts(strings: Strings, sizes: tuple[int, ...]) -> list[Strings]:
    edges = np.cumsum([0, *sizes])
    return [strings.select(np.arange(a, b)) for a, b in pairwise(edges)]


def assert_same_contexts(first: ContextCounts, second: ContextCounts) -> None:
    for name in ("n_strings", "keys", "counts", "slice_keys", "slice_counts", "ends", "starts"):
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name))


def assert_same_counts(first: StringCounts, second: StringCounts) -> None:
    assert first.n_strings == second.n_strings
    for name in ("gaps", "steps"):
        for a, b in zip(getattr(first, name), getattr(second, name), strict=True):
            np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(first.ends, second.ends)
    np.testing.assert_array_equal(first.starts, second.starts)


@pytest.mark.parametrize("sizes", [(600,), (200, 200, 200), (500, 1, 99), (1, 599), (1, 1, 598)])
def test_context_counts_of_batches_are_those_of_the_whole(strings: Strings, sizes: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    first, *rest = parts(strings, sizes)
    batches = ContextBatches.first(first, rng, (20, 60))
    for part in rest:
        batches = batches.more(part, rng)
    assert len(batches.classes) == 2
    for classes in batches.classes:
        assert_same_contexts(batches.all_counts().coarsened(*classes), ContextCounts.of(strings, *classes))
    held = len(batches.held.strings) if batches.held.are_whole else 0
    assert batches.kept.n_strings == len(strings) - held


@pytest.mark.parametrize("statistic", [STRING, PREFIX, SUBSTRING])
@pytest.mark.parametrize("sizes", [(600,), (300, 300), (1, 599)])
def test_basis_counts_of_batches_are_those_of_the_whole(
    strings: Strings, sizes: tuple[int, ...], statistic: Statistic
) -> None:
    rng = np.random.default_rng(0)
    first, *rest = parts(strings, sizes)
    batches = BasisBatches.first(first, rng, statistic, 30)
    for part in rest:
        batches = batches.more(part, rng)
    assert_same_counts(batches.all_counts(), count_strings(strings, batches.basis, statistic))


def test_one_batch_is_a_fit(strings: Strings) -> None:
    whole = SpectralAutomaton(n_classes=(20, 60)).fit(strings)
    batch = SpectralAutomaton(n_classes=(20, 60)).partial_fit(strings)
    np.testing.assert_array_equal(batch.score_samples(strings), whole.score_samples(strings))
    assert str(batch.rank_evidence_) == str(whole.rank_evidence_)
    assert batch.held_out_score_ == whole.held_out_score_


def test_one_batch_is_a_fit_of_one_string() -> None:
    whole, batch = SpectralAutomaton().fit(["abab"]), SpectralAutomaton().partial_fit(["abab"])
    assert batch.score(["abab"]) == whole.score(["abab"])


@pytest.mark.parametrize("method", ["fast", "spectral"])
def test_later_batches_improve_the_model(strings: Strings, method: str) -> None:
    few, *rest = parts(strings, (60, 270, 270))
    estimator = SpectralAutomaton(method, n_classes=60, basis_size=60).partial_fit(few)
    before = estimator.score(strings)
    for part in rest:
        assert estimator.partial_fit(part) is estimator
    assert estimator.score(strings) > before
    assert estimator.batches_.held.strings.n_gaps < strings.n_gaps


def test_a_pickled_estimator_goes_on(strings: Strings) -> None:
    first, second = parts(strings, (300, 300))
    stayed = SpectralAutomaton(n_classes=60).partial_fit(first)
    travelled = pickle.loads(pickle.dumps(stayed))
    stayed.partial_fit(second)
    travelled.partial_fit(second)
    np.testing.assert_array_equal(travelled.score_samples(strings), stayed.score_samples(strings))


def test_enough_is_held_out_at_some_time(strings: Strings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ENOUGH", 10)
    rng = np.random.default_rng(0)
    first, second = parts(strings, (300, 300))
    batches = ContextBatches.first(first, rng, (20,))
    assert batches.more(second, rng).held is batches.held


def test_a_new_symbol_in_a_later_batch_opens_the_alphabet() -> None:
    early, late = ["ab", "ba", "abab"] * 30, ["abc", "cab", "ccb"] * 30
    found = SpectralAutomaton(n_states=2, n_classes=20).update(early).update(late)
    assert found.alphabet_.symbols == ("a", "b", "c")
    assert np.isfinite(found.score_samples(late)).all()
    counts = found.batches_.all_counts()
    strings = Strings.of([*early, *late], alphabet=found.alphabet_)
    assert_same_contexts(counts, ContextCounts.of(strings, counts.pasts, counts.futures))
    with pytest.raises(UnknownSymbolError, match=r"symbol 'c' .*the first batch fixes the alphabet"):
        SpectralAutomaton(alphabet="ab").partial_fit(early).partial_fit(late)
    with pytest.raises(UnknownSymbolError, match=r"symbol 'c' .*the first batch fixes the alphabet"):
        SpectralAutomaton("spectral").partial_fit(early).partial_fit(late)


def test_batches_are_decomposed_when_a_model_is_asked_for(strings: Strings) -> None:
    first, second = parts(strings, (300, 300))
    told = list[str]()
    found = SpectralAutomaton(n_classes=60, progress=lambda message, done=None: told.append(message))
    found.update(first).partial_fit(second)
    assert not told
    assert "model_" not in vars(found)
    score = found.score(strings)
    assert told
    assert score == SpectralAutomaton(n_classes=60).update(first).update(second).decompose().score(strings)


def test_forgetting_follows_a_stream_that_changes() -> None:
    rng = np.random.default_rng(5)
    old, new = (make_automaton(3, 3, np.random.default_rng(seed), stop=0.2) for seed in (1, 2))
    batches = [model.sample(400, rng) for model in (old, old, old, new, new)]
    test = new.sample(400, rng)
    remembers, forgets = (SpectralAutomaton(n_states=3, n_classes=30, half_life=h) for h in (None, 200.0))
    for estimator in (remembers, forgets):
        for batch in batches:
            estimator.update(batch)
    assert forgets.score(test) > remembers.score(test) + 0.02
    worth = forgets.batches_.all_counts().n_strings
    assert worth == pytest.approx(400 * sum(0.25**k for k in range(5)), rel=0.15)


def test_rounding_by_chance_is_right_on_average(strings: Strings) -> None:
    rng = np.random.default_rng(0)
    batches = ContextBatches.first(strings, rng, (20,))
    total = batches.kept.slice_counts.sum()
    found = [faded(batches, 0.3, rng).kept.slice_counts.sum() for _ in range(20)]
    assert np.mean(found) == pytest.approx(0.3 * total, rel=0.02)


def test_drift_is_told(strings: Strings) -> None:
    rng = np.random.default_rng(0)
    first, second = parts(strings, (300, 300))
    found = SpectralAutomaton(n_states=4, n_classes=60).update(first)
    assert "drift_" not in vars(found)
    found.decompose().update(second)
    steady = found.drift_
    assert steady.n_new_symbols == 0
    found.decompose().update(make_automaton(4, 3, rng, stop=0.15).sample(300, rng))
    assert found.drift_.change < -5 * found.drift_.error
    assert abs(steady.score - found.drift_.score) > 5 * steady.error


def test_what_has_no_counts_cannot_go_on() -> None:
    with pytest.raises(ValueError, match="'fast' or 'spectral', not 'auto'"):
        SpectralAutomaton("auto").partial_fit(["ab"])
    with pytest.raises(ValueError, match="fit keeps no counts to add to"):
        SpectralAutomaton().fit(["ab", "b"]).partial_fit(["ab"])


def test_a_pipe_is_followed_and_every_model_is_whole(strings: Strings, tmp_path: Path) -> None:
    text = "".join(" ".join(map(str, string)) + "\n" for string in strings)
    model, saved = tmp_path / "m.sigma", list[int]()
    real = learn.save_model

    def save(found: object, path: str, learned: dict[str, Any]) -> None:
        real(found, path, learned)
        saved.append(read_header(path)["learned"]["data"]["n_strings"])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(learn, "save_model", save)
        words = ["learn", "automaton", "-", "--every", "250", "-o", model, "--states", "3"]
        told = invoke(*words, "--half-life", "500", stdin=text).stderr
    assert saved == [250, 500, 600]
    assert "500 strings, 3 states, 3 symbols, batch -" in told
    assert "since the batch before" in told
    assert succeed("score", model, "-", stdin="1 0\n")
    assert "--every is for --method fast or spectral" in fail(*words, "--method", "auto", status=2)
    assert "no strings to learn from" in fail(*words, stdin="")
