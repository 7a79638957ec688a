"""Regression and classification of strings, in the manner of scikit-learn."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import KFold, cross_val_score

from sigmastar import HankelClassifier, HankelRegressor, load_model, save_model
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.core.errors import InputError, NotFittedError, UnknownSymbolError
from sigmastar.optimise.completers import COMPLETERS

WORDS = ["".join(w) for m in range(6) for w in itertools.product("ab", repeat=m)]
COUNTS = [float(word.count("a") - 2 * word.count("b") + 3) for word in WORDS]


@pytest.mark.parametrize("solver", COMPLETERS)
def test_values_are_learned_from_a_third_of_them_by_any_solver(solver: str) -> None:
    model = HankelRegressor(n_states=2, solver=solver).fit(WORDS[::3], COUNTS[::3])
    np.testing.assert_allclose(model.predict(WORDS), COUNTS, atol=1e-6)
    assert model.score(WORDS, COUNTS) > 1 - 1e-9


def test_completed_matrices_keep_to_rank_and_bound() -> None:
    model = HankelRegressor(n_states=2, bound=4.0, n_starts=0).fit(WORDS, COUNTS)
    largest = max(np.abs(one.triples.matrix).max() for one in model.completions_)
    assert np.abs(COUNTS).max() > 4.5
    assert largest * np.abs(COUNTS).max() <= 4.0 * (1 + 1e-3)
    free = HankelRegressor(n_states=2, n_starts=0).fit(WORDS, COUNTS)
    assert max(np.abs(one.triples.matrix).max() for one in free.completions_) > largest
    hard = HankelRegressor(n_states=2, solver="hard", rank=2).fit(WORDS[::3], COUNTS[::3])
    assert {one.rank for one in hard.completions_} == {2}
    np.testing.assert_allclose(hard.predict(WORDS), COUNTS, atol=1e-6)


def test_the_number_of_states_is_found() -> None:
    model = HankelRegressor().fit(WORDS, COUNTS)
    assert model.n_states_ == 2
    assert set(model.held_out_costs_) >= {1, 2}


def test_noise_and_scale_are_borne() -> None:
    rng = np.random.default_rng(0)
    values = 1e6 * (np.array(COUNTS) + 0.1 * rng.standard_normal(len(WORDS)))
    model = HankelRegressor(n_states=2).fit(WORDS, values)
    assert model.score(WORDS, 1e6 * np.array(COUNTS)) > 0.99


def test_the_model_is_an_automaton_in_a_file(tmp_path: Path) -> None:
    model = HankelRegressor(n_states=2).fit(WORDS, COUNTS)
    save_model(model.automaton_, tmp_path / "counts.model")
    loaded = load_model(tmp_path / "counts.model")
    assert isinstance(loaded, WeightedAutomaton)
    np.testing.assert_allclose(loaded.value(model.automaton_.sample(0, np.random.default_rng(0))), [])
    np.testing.assert_array_equal(loaded.transitions, model.automaton_.transitions)


@pytest.mark.parametrize("loss", ["logistic", "hinge", "squared"])
def test_two_labels_are_told_apart(loss: str) -> None:
    labels = ["even" if word.count("a") % 2 == 0 else "odd" for word in WORDS]
    model = HankelClassifier(n_states=2, loss=loss).fit(WORDS[::2], labels[::2])
    assert model.score(WORDS, labels) == 1.0
    assert model.classes_.tolist() == ["even", "odd"]


def test_probabilities_come_with_the_logistic_loss_only() -> None:
    labels = [len(word) % 2 for word in WORDS]
    model = HankelClassifier(n_states=2).fit(WORDS, labels)
    probabilities = model.predict_proba(["ab", "a"])
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    assert probabilities[0, 0] > 0.9 < probabilities[1, 1]
    with pytest.raises(AttributeError, match="logistic"):
        HankelClassifier(n_states=2, loss="hinge").fit(WORDS, labels).predict_proba(["ab"])


def test_three_labels_have_an_automaton_each() -> None:
    labels = [word.count("a") % 3 for word in WORDS]
    model = HankelClassifier(n_states=3).fit(WORDS, labels)
    assert len(model.automata_) == 3
    assert model.score(WORDS, labels) == 1.0
    assert model.decision_function(WORDS[:4]).shape == (4, 3)
    np.testing.assert_allclose(model.predict_proba(WORDS).sum(axis=1), 1.0)


def test_weights_say_which_values_count() -> None:
    strings, values = WORDS * 2, COUNTS + [0.0] * len(WORDS)
    model = HankelRegressor(n_states=2).fit(strings, values, [1.0] * len(WORDS) + [0.0] * len(WORDS))
    np.testing.assert_allclose(model.predict(WORDS), COUNTS, atol=1e-5)


def test_scikit_learn_can_clone_and_validate() -> None:
    halves = KFold(2, shuffle=True, random_state=0)
    model = clone(HankelRegressor(n_states=2, n_starts=9))
    assert model.get_params()["n_starts"] == 9
    assert cross_val_score(model, np.array(WORDS, object), np.array(COUNTS), cv=halves).min() > 0.99
    labels = np.array([len(word) % 2 for word in WORDS])
    scores = cross_val_score(HankelClassifier(n_states=2), np.array(WORDS, object), labels, cv=halves)
    assert scores.min() > 0.9


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (["a", "b"], [1.0], "2 strings but 1 values"),
        (["a", "b"], [1.0, float("nan")], "value 2 is not a finite number"),
        ([], [], "no strings"),
        (["a"], [[1.0]], "one value per string"),
    ],
)
def test_bad_data_is_refused(X: list[str], y: list[float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        HankelRegressor(n_states=1).fit(X, y)


def test_bad_calls_are_refused() -> None:
    with pytest.raises(NotFittedError):
        HankelRegressor().predict(["a"])
    with pytest.raises(InputError, match="label 2 is NaN; leave strings without a label out"):
        HankelClassifier().fit(["a", "b", "c"], [0.0, np.nan, 1.0])
    with pytest.raises(InputError, match="one label only"):
        HankelClassifier().fit(["a", "b"], [1, 1])
    with pytest.raises(ValueError, match="solver='cg'"):
        HankelRegressor(solver="cg").fit(["a"], [1.0])
    with pytest.raises(ValueError, match="strengths"):
        HankelRegressor(strengths=()).fit(["a"], [1.0])
    with pytest.raises(InputError, match="sample_weight"):
        HankelRegressor(n_states=1).fit(["a", "b"], [1.0, 2.0], [1.0, -1.0])


def test_unknown_symbols_are_an_error_or_zero() -> None:
    model = HankelRegressor(n_states=2).fit(WORDS, COUNTS)
    with pytest.raises(UnknownSymbolError):
        model.predict(["ac"])
    model.unknown = "zero"
    assert model.predict(["ac"]).tolist() == [0.0]
