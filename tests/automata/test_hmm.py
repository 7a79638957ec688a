"""Probabilistic automata and hidden Markov models."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import load_file

from automata.random_automata import SEEDS, proper, proper_automata, signed
from cli.calls import fail, succeed
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.automata.model.distances import values_up_to
from sigmastar.automata.model.generators import make_automaton, make_hmm
from sigmastar.automata.model.hmm_conversion import (
    Hmm,
    from_hmm,
    normalize_stochastic,
    require_stochastic,
    to_hmm,
    to_pfa,
)
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.model_format import save_model


@given(proper_automata())
def test_hmm_of_a_pfa_is_exact(automaton):
    hmm = to_hmm(automaton)
    assert hmm.n_states <= automaton.n_states * len(automaton.alphabet)
    strings, values = values_up_to(automaton, 4)
    np.testing.assert_allclose(from_hmm(hmm).value(strings), values, atol=1e-12)


@given(SEEDS, st.integers(1, 4))
def test_pfa_of_an_hmm(seed, n):
    rng = np.random.default_rng(seed)
    hmm = Hmm(
        Alphabet("ab"),
        *(rng.dirichlet(np.ones(k), size=s) for k, s in [(n, None), (n, n), (2, n)]),
        rng.random(n),
    )
    automaton = require_stochastic(from_hmm(hmm))
    word = [0, 1]
    paths = sum(
        hmm.initial[p] * (1 - hmm.stop[p]) * hmm.emission[p, 0] * hmm.transition[p, q]
        * (1 - hmm.stop[q]) * hmm.emission[q, 1] * hmm.transition[q, r] * hmm.stop[r]
        for p in range(n) for q in range(n) for r in range(n)
    )  # fmt: skip
    strings, values = values_up_to(automaton, 2)
    assert strings[4] == automaton.alphabet.decode(word)
    assert values[4] == pytest.approx(paths)


def test_states_that_only_stop_become_hmm_states_too():
    transitions = np.zeros((2, 2, 2))
    transitions[1, 0, 1] = 1.0
    automaton = WeightedAutomaton(Alphabet("ab"), np.array([1.0, 0.0]), transitions, np.array([0.0, 1.0]))
    strings, values = values_up_to(automaton, 3)
    np.testing.assert_allclose(from_hmm(to_hmm(automaton)).value(strings), values)
    assert values.sum() == pytest.approx(1.0)


@given(SEEDS, st.integers(1, 4))
def test_non_negative_weights_normalise_to_a_proper_automaton(seed, n):
    rng = np.random.default_rng(seed)
    transitions = rng.random((2, n, n)) * (rng.random((2, n, n)) < 0.7)
    transitions /= 1.5 * max(transitions.sum(axis=(0, 2)).max(), 1e-9)
    weights = WeightedAutomaton(Alphabet("ab"), rng.random(n), transitions, rng.random(n))
    made = normalize_stochastic(weights)
    assert made.is_stochastic(1e-12)
    strings, values = values_up_to(weights, 4)
    np.testing.assert_allclose(made.value(strings), values / weights.total_mass(), atol=1e-12)
    same = to_pfa(weights * (1 / weights.total_mass()))
    np.testing.assert_allclose(same.value(strings), made.value(strings), atol=1e-12)


def test_states_that_lead_nowhere_are_dropped(rng):
    good = proper(rng, 2)
    lost = WeightedAutomaton(Alphabet("ab"), np.ones(1), np.full((2, 1, 1), 0.1), np.zeros(1))
    made = normalize_stochastic(good + lost)
    assert made.n_states == 2
    assert made.is_stochastic()
    with pytest.raises(ValueError, match="total mass is zero"):
        normalize_stochastic(lost)


def test_what_is_not_stochastic_is_refused(rng):
    good = proper(rng, 2)
    assert to_pfa(good) is good
    assert not signed(rng, 2).is_stochastic()
    with pytest.raises(ValueError, match="signed weights"):
        to_hmm(signed(rng, 2))
    with pytest.raises(ValueError, match="not a proper probabilistic automaton"):
        to_hmm(WeightedAutomaton(good.alphabet, good.initial, 0.5 * good.transitions, good.final))
    with pytest.raises(ValueError, match="total mass 2 is not 1"):
        to_pfa(2.0 * good)
    with pytest.raises(ValueError, match="emission must be non-negative"):
        Hmm(Alphabet("ab"), np.ones(1), np.ones((1, 1)), np.ones((1, 2)), np.ones(1))
    with pytest.raises(ValueError, match="do not fit 1 states"):
        Hmm(Alphabet("ab"), np.ones(1), np.ones((1, 1)), np.ones((1, 1)), np.ones(1))
    with pytest.raises(ValueError, match="probabilities"):
        Hmm(Alphabet("a"), np.ones(1), np.ones((1, 1)), np.ones((1, 1)), np.full(1, 2.0))


@pytest.mark.parametrize(
    ("machine", "n_states"),
    [(make_automaton(3, 2, np.random.default_rng(0)), 6), (make_hmm(3, 2, np.random.default_rng(0)), 4)],
)
def test_arrays_of_toolkits_give_the_same_probabilities(
    machine: WeightedAutomaton, n_states: int, tmp_path: Path
) -> None:
    save_model(machine, tmp_path / "machine.sigma")
    succeed("convert", tmp_path / "machine.sigma", "--to", "hmm-arrays", "-o", tmp_path / "hmm.safetensors")
    arrays = load_file(tmp_path / "hmm.safetensors")
    assert arrays["alpha_exp"].shape == (n_states, n_states)
    strings = machine.sample(20, np.random.default_rng(1))
    for string, expected in zip(strings, machine.log_probability(strings), strict=True):
        state = np.exp(arrays["gamma"].astype(np.float64))
        for symbol in (*string, 2, 2):  # the end goes on for ever
            state = (state * np.exp(arrays["beta"][:, symbol])) @ arrays["alpha_exp"]
        assert np.log(state.sum()) == pytest.approx(expected, abs=1e-4)


def test_a_hidden_markov_model_is_written_on_its_own_states(tmp_path: Path) -> None:
    save_model(make_hmm(60, 21, np.random.default_rng(0)), tmp_path / "hmm.sigma")
    written = json.loads(succeed("convert", tmp_path / "hmm.sigma", "--to", "hmm"))
    assert np.shape(written["transition"]) == (60, 60)
    assert np.shape(written["emission"]) == (60, 21)


@pytest.mark.parametrize("target", ["hmm", "hmm-arrays"])
def test_what_is_none_and_would_be_huge_is_refused(target: str, tmp_path: Path) -> None:
    save_model(make_automaton(60, 21, np.random.default_rng(0)), tmp_path / "pfa.sigma")
    said = fail("convert", tmp_path / "pfa.sigma", "--to", target, "-o", tmp_path / "out")
    assert "is no hidden Markov model" in said
    assert "--method em --structure hmm" in said
    assert not (tmp_path / "out").exists()
