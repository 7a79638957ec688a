"""States behind strings, against the definition: all paths, one by one."""

from __future__ import annotations

import itertools
import logging

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sigmastar import EMAutomaton, InputError, NgramAutomaton, NotFittedError, SpectralAutomaton, Strings
from sigmastar.automata import (
    WeightedAutomaton,
    as_hmm,
    best_states,
    from_hmm,
    make_automaton,
    make_hmm,
    state_posteriors,
)
from sigmastar.core.arrays import Floats
from sigmastar.core.estimator import Estimator


def all_paths(automaton: WeightedAutomaton, string: tuple[int, ...]) -> dict[tuple[int, ...], float]:
    """The weight of every path: a state before each symbol, and one that stops."""
    initial, transitions, final = automaton.arrays
    weights = {}
    for path in itertools.product(range(automaton.n_states), repeat=len(string) + 1):
        weight = initial[path[0]] * final[path[-1]]
        for code, (state, target) in zip(string, itertools.pairwise(path), strict=True):
            weight *= transitions[code, state, target]
        weights[path] = float(weight)
    return weights


def shares(automaton: WeightedAutomaton, string: tuple[int, ...]) -> Floats:
    table = np.zeros((len(string), automaton.n_states))
    for path, weight in all_paths(automaton, string).items():
        table[np.arange(len(string)), list(path[:-1])] += weight
    total = sum(all_paths(automaton, string).values())
    return np.asarray(table / total if total else table)


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 3), st.lists(st.lists(st.integers(0, 2), max_size=4), max_size=3), st.integers(0, 99))
def test_paths_and_posteriors_are_those_of_all_paths(n: int, rows: list[list[int]], seed: int) -> None:
    automaton = make_automaton(n, 3, np.random.default_rng(seed))
    strings = Strings.of(rows, alphabet=automaton.alphabet)
    found = best_states(automaton, strings)
    tables = state_posteriors(automaton, strings)
    for row, states, log, table in zip(rows, found.states, found.log_probabilities, tables, strict=True):
        weights = all_paths(automaton, tuple(row))
        best = max(weights.values())
        assert np.exp(log) == pytest.approx(best, abs=1e-12)
        if best > 0.0:
            ends = [weights[(*states.tolist(), end)] for end in range(n)]
            assert max(ends) == pytest.approx(best)
        else:
            assert (states == -1).all()
        np.testing.assert_allclose(table, shares(automaton, tuple(row)), atol=1e-12)


def test_a_hidden_markov_model_gives_its_arrays_back() -> None:
    hmm = as_hmm(make_hmm(4, 6, np.random.default_rng(1)))
    assert hmm.n_states == 4
    again = as_hmm(from_hmm(hmm))
    for name in ("initial", "transition", "emission", "stop"):
        np.testing.assert_allclose(getattr(again, name), getattr(hmm, name), atol=1e-12)


def test_an_automaton_that_is_none_gets_more_states() -> None:
    automaton = make_automaton(3, 2, np.random.default_rng(0))
    hmm = as_hmm(automaton)
    assert hmm.n_states > 3
    strings = Strings.of([[0, 1], [], [1, 1, 0]], alphabet=automaton.alphabet)
    np.testing.assert_allclose(from_hmm(hmm).value(strings), automaton.value(strings), atol=1e-12)


STRINGS = ["ab", "abab", "", "ab", "abab", "ababab"] * 10


def test_estimators_decode_as_hmmlearn_does() -> None:
    model = EMAutomaton(n_states=2, structure="hmm").fit(STRINGS)
    logs, states = model.decode(["abab", ""])
    assert [len(row) for row in states] == [4, 0]
    assert states[0][0] == states[0][2] != states[0][1]
    assert (logs <= model.score_samples(["abab", ""]) + 1e-12).all()
    assert [row.tolist() for row in model.predict(["abab", ""])] == [row.tolist() for row in states]
    assert model.predict_proba(["abab"])[0].argmax(axis=1).tolist() == states[0].tolist()
    arrays = model.startprob_, model.transmat_, model.emissionprob_
    assert all(np.allclose(array.sum(axis=-1), 1.0) for array in arrays)
    assert model.emissionprob_.shape == (2, 2)
    assert model.stopprob_.shape == (2,)


def test_criteria_count_what_is_free() -> None:
    model = EMAutomaton(n_states=2, structure="hmm").fit(STRINGS)
    twice = -2.0 * model.score_samples(STRINGS).sum()
    assert model.aic(STRINGS) - twice == pytest.approx(2 * (1 + 2 + 2 + 2))
    assert model.bic(STRINGS) - twice == pytest.approx(7 * np.log(sum(map(len, STRINGS)) + len(STRINGS)))
    assert SpectralAutomaton().fit(STRINGS).aic(STRINGS) > twice
    assert NgramAutomaton().fit(STRINGS).bic(STRINGS) > twice


def test_the_monitor_has_the_history() -> None:
    model = EMAutomaton(n_states=2, max_iter=2).fit(STRINGS)
    assert model.monitor_.history == tuple(model.log_likelihoods_)
    assert (model.monitor_.iter, model.monitor_.converged) == (2, False)


def test_signed_operators_have_posteriors_alone() -> None:
    model = SpectralAutomaton(n_states=2).fit(STRINGS)
    assert np.allclose(model.predict_proba(["abab"])[0].sum(axis=1), 1.0)
    if min(weights.min() for weights in model.automaton_.arrays) < 0:
        with pytest.raises(InputError, match="signed operators have no best path"):
            model.predict(["abab"])
    assert not hasattr(model, "transmat_")
    with pytest.raises(AttributeError, match="its operators are signed; use method='auto'"):
        _ = model.transmat_
    with pytest.raises(NotFittedError):
        _ = SpectralAutomaton().transmat_


@pytest.mark.parametrize(
    "flat", [[1, 2, 3, 1, 2], np.array([1, 2, 3, 1, 2]), np.array([[1], [2], [3], [1], [2]])]
)
def test_lengths_may_stand_in_the_second_place(flat: object) -> None:
    model = NgramAutomaton().fit(flat, [3, 2])  # type: ignore[arg-type]
    assert model.score(flat, [3, 2]) == model.score([[1, 2, 3], [1, 2]])  # type: ignore[arg-type]
    assert model.score([[1, 2]], [7]) == model.score([[1, 2]])  # a y that pipelines pass on


def test_a_warm_start_goes_on() -> None:
    model = EMAutomaton(n_states=2, max_iter=2, held_out=0.0, warm_start=True).fit(STRINGS)
    first = model.log_likelihoods_
    assert model.fit(STRINGS).log_likelihoods_[0] > first[-1]
    assert model.fit(["cd"] * 20).alphabet_.symbols == ("c", "d")  # another alphabet starts anew


def test_fits_are_logged(caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]) -> None:
    with caplog.at_level(logging.DEBUG, "sigmastar"):
        EMAutomaton(n_states=2, max_iter=2).fit(STRINGS)
    said = [record.getMessage() for record in caplog.records]
    assert any("iteration 2, log-likelihood" in line for line in said)
    assert said[-1].startswith("EMAutomaton: fitted in")
    assert capsys.readouterr().err == ""
    model = EMAutomaton(n_states=2, max_iter=1, verbose=True).fit(STRINGS)
    assert "iteration 1" in capsys.readouterr().err
    assert model.progress is None


def test_estimators_have_a_table_for_notebooks() -> None:
    model: Estimator = NgramAutomaton(smoothing="<b>")
    assert "<code>&#x27;&lt;b&gt;&#x27;</code>" in model._repr_html_()
    assert "not fitted" in model._repr_html_()
