"""Rare and unknown symbols as one class, in Python, on the command line, and where there is NumPy alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

import sigmastar.runtime
from cli.calls import fail, succeed
from sigmastar import EMAutomaton, NgramAutomaton, SpectralAutomaton, load
from sigmastar.automata.data.rare import pooled
from sigmastar.automata.data.strings import Strings
from sigmastar.core.errors import UnknownSymbolError

DATA = [["the", "dog"], ["the", "cat"], ["the", "dog", "sleeps"], ["a", "dog"]] * 2 + [["the", "yak"]]
POOLED = [[word if word != "yak" else "<unk>" for word in string] for string in DATA]


@pytest.mark.parametrize(
    "estimator",
    [SpectralAutomaton(), SpectralAutomaton("spectral"), NgramAutomaton(), EMAutomaton(n_states=2)],
)
def test_rare_symbols_are_learned_as_the_class(estimator: SpectralAutomaton) -> None:
    model = clone(estimator).set_params(min_count=2).fit(DATA)
    by_hand = clone(estimator).set_params(alphabet=model.alphabet_).fit(POOLED)
    assert "yak" not in model.alphabet_
    assert set(model.alphabet_) == set(by_hand.alphabet_)
    one, other = model.score_samples(DATA), by_hand.score_samples(POOLED)
    np.testing.assert_allclose(one, other, atol=1e-9)
    np.testing.assert_allclose(model.score_samples([["the", "emu"]]), one[-1:], atol=1e-12)
    assert model.predict_next([["the", "emu"]], top=1) == model.predict_next([["the", "<unk>"]], top=1)
    assert np.isneginf(model.set_params(unknown="zero").score_samples([["the", "emu"]])).all()


def test_the_class_of_the_data_itself() -> None:
    model = NgramAutomaton().fit(POOLED)
    with pytest.raises(UnknownSymbolError, match="'emu' is not among"):
        model.score([["emu"]])
    model.set_params(unknown="class")
    assert model.score([["the", "emu"]]) == model.score([["the", "<unk>"]])
    with pytest.raises(ValueError, match="needs the symbol <unk>, which this model does not have"):
        NgramAutomaton(unknown="class").fit(["ab"]).score(["ax"])


def test_pooling_by_definition() -> None:
    rng = np.random.default_rng(0)
    strings = [[int(c) for c in rng.geometric(0.3, size=rng.integers(0, 6))] for _ in range(50)]
    flat = [symbol for string in strings for symbol in string]
    expected = [tuple(s if flat.count(s) >= 5 else "<unk>" for s in string) for string in strings]
    assert list(pooled(Strings.of(strings), 5)) == expected
    assert list(pooled(Strings.of([["a"]]), 1).alphabet) == ["a", "<unk>"]


def test_batches_cannot_know_what_is_rare() -> None:
    with pytest.raises(ValueError, match="min_count needs all data at once"):
        SpectralAutomaton(min_count=2).partial_fit(DATA)
    with pytest.raises(ValueError, match="min_count=0"):
        SpectralAutomaton(min_count=0).fit(DATA)


def test_commands_and_files_keep_the_class(tmp_path: Path) -> None:
    (data := tmp_path / "data.txt").write_text("".join(" ".join(string) + "\n" for string in DATA))
    (fresh := tmp_path / "fresh.txt").write_text("the emu\n")
    model = tmp_path / "m.sigma"
    succeed("learn", "automaton", data, "--method", "ngram", "--min-count", "2", "-o", model)
    value = float(succeed("score", model, fresh))
    assert np.isfinite(value)
    assert float(succeed("score", model, fresh, "--unknown", "zero")) == -np.inf
    assert "'emu' is not among" in fail("score", model, fresh, "--unknown", "error")
    assert "n_impossible       0" in succeed("evaluate", model, fresh)
    assert load(model).score([["the", "emu"]]) == pytest.approx(value, abs=1e-12)
    assert sigmastar.runtime.load(model).score_samples([["the", "emu"]])[0] == pytest.approx(value, abs=1e-9)
    succeed("learn", "automaton", data, "--method", "ngram", "-o", model)
    assert "'emu' is not among" in fail("score", model, fresh)
