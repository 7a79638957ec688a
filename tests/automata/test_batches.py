"""Batches: counts add up, so that the order and the size of batches leave no trace in them."""

from __future__ import annotations

import pickle
from itertools import pairwise

import numpy as np
import pytest

from sigmastar.automata.counts.bases import PREFIX, STRING, SUBSTRING, Statistic
from sigmastar.automata.counts.on_basis import StringCounts, count_strings
from sigmastar.automata.counts.on_classes import ContextCounts
from sigmastar.automata.data.strings import Strings
from sigmastar.automata.estimator.spectral import SpectralAutomaton
from sigmastar.automata.learn import held_out as module
from sigmastar.automata.learn.fast import ContextBatches
from sigmastar.automata.learn.spectral import BasisBatches
from sigmastar.automata.model.generators import make_automaton
from sigmastar.core.errors import UnknownSymbolError


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


def test_a_new_symbol_in_a_later_batch_is_named() -> None:
    estimator = SpectralAutomaton().partial_fit(["ab", "ba"] * 5)
    with pytest.raises(UnknownSymbolError, match=r"symbol 'c' .*the first batch fixes the alphabet"):
        estimator.partial_fit(["abc"])
    SpectralAutomaton(alphabet="abc").partial_fit(["ab", "ba"] * 5).partial_fit(["abc"])


def test_what_has_no_counts_cannot_go_on() -> None:
    with pytest.raises(ValueError, match="'fast' or 'spectral', not 'auto'"):
        SpectralAutomaton("auto").partial_fit(["ab"])
    with pytest.raises(ValueError, match="fit keeps no counts to add to"):
        SpectralAutomaton().fit(["ab", "b"]).partial_fit(["ab"])
