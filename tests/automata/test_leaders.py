"""The best outcome without a table of all outcomes, beside the table."""

from __future__ import annotations

import numpy as np
import pytest

from sigmastar.automata.data.strings import Strings, as_strings
from sigmastar.automata.kernels.leaders import best_outcomes, leaders_of
from sigmastar.automata.learn.ngram import learn_ngram
from sigmastar.automata.metrics import next_symbol_errors
from sigmastar.automata.model import sequence
from sigmastar.automata.model.ngram_smoothing import NgramModel, modified_kneser_ney


def words(n_strings: int, seed: int) -> Strings:
    """Strings over frequent and rare words, that repeat."""
    rng = np.random.default_rng(seed)
    lines = [[f"w{min(rng.zipf(1.4), 60)}" for _ in range(rng.integers(0, 9))] for _ in range(n_strings)]
    return as_strings(lines)


@pytest.fixture(scope="module")
def ngram() -> NgramModel:
    return learn_ngram(words(200, 1), 3, modified_kneser_ney)


@pytest.mark.parametrize("places", [1, 2, 7, 128])
@pytest.mark.parametrize("include_end", [True, False])
def test_the_best_of_states_and_ngrams_is_that_of_the_table(
    ngram: NgramModel, places: int, include_end: bool
) -> None:
    rng, n = np.random.default_rng(places), ngram.n_outcomes
    by_outcome = rng.dirichlet(np.full(n, 0.1), size=6).T.astype(np.float32)
    contexts = rng.integers(0, len(ngram.contexts.parent), 300).astype(np.int32)
    beliefs = rng.dirichlet(np.full(6, 0.2), size=300).astype(np.float32)
    rates = rng.choice([0.0, 0.3, 0.9, 1.0], 300)
    leaders, n_allowed = leaders_of(by_outcome, ngram.base, places), n - (not include_end)
    found, n_whole = best_outcomes(beliefs, rates, contexts, leaders, ngram.tables, n_allowed)
    states = beliefs.astype(np.float64) @ by_outcome.T.astype(np.float64)
    states /= states.sum(axis=1, keepdims=True)
    table = (1 - rates[:, None]) * states + rates[:, None] * ngram.distributions(contexts)
    rows = np.arange(300)
    np.testing.assert_allclose(table[rows, found], table[:, :n_allowed].max(axis=1), rtol=1e-12)
    assert (n_whole > 0) == (places < 7)  # lists that are too short are told from those that are not


def test_errors_are_the_same_either_way(ngram: NgramModel, monkeypatch: pytest.MonkeyPatch) -> None:
    fresh = words(100, 2)
    for include_end in (True, False):
        slow = next_symbol_errors(ngram, fresh, include_end)
        monkeypatch.setattr(sequence, "_MANY", 0)
        np.testing.assert_array_equal(next_symbol_errors(ngram, fresh, include_end), slow)
        monkeypatch.undo()
