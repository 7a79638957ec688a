"""Marginals of automata that only know their first modifier, against those with vectors; arcs ruled out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sigmastar.core.alphabet import Alphabet
from sigmastar.dependency.kernels.inside_outside import sentence_marginals
from sigmastar.dependency.kernels.pruning import MOST_HEADS, counted_marginals, prune
from sigmastar.dependency.model.head_automata import HeadAutomata


def first_and_rest(rng: np.random.Generator, n_symbols: int) -> HeadAutomata:
    n_sorts = 2 * n_symbols + 1
    operators = rng.random((n_sorts, n_symbols, 2, 2))
    operators[..., 0] = 0.0
    initial = np.tile([1.0, 0.0], (n_sorts, 1))
    sizes = np.full(n_sorts, 2, dtype=np.int32)
    return HeadAutomata(Alphabet(range(n_symbols)), sizes, initial, operators, rng.random((n_sorts, 2)))


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 12))
def test_marginals_are_those_of_the_automata(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    automata = first_and_rest(rng, 3)
    codes = np.append(3, rng.integers(0, 3, n)).astype(np.int32)
    weights, scales = rng.random((n + 1, n + 1)), rng.random(n + 1) * 1e-20
    _, exact = counted_marginals(codes, automata.first_and_rest, weights, scales)
    found = sentence_marginals(codes, automata.arrays, weights, np.ones(n + 1))[2]
    np.testing.assert_allclose(exact, found, atol=1e-9)


def test_only_improbable_arcs_are_ruled_out() -> None:
    rng = np.random.default_rng(1)
    automata, offsets = first_and_rest(rng, 3), np.array([0, 7, 8, 40])
    codes, at = rng.integers(0, 3, 40).astype(np.int32), np.array([0, 64, 68, 68 + 33**2])
    before = rng.random(at[-1]) ** 4
    after = before.copy()
    prune(codes, offsets, automata.first_and_rest, after, at, np.ones(3), 0.01)
    assert ((after == before) | (after == 0.0)).all()
    one = np.append(3, codes[:7]).astype(np.int32)
    _, marginals = counted_marginals(one, automata.first_and_rest, before[:64].reshape(8, 8), np.ones(8))
    np.testing.assert_array_equal(after[:64].reshape(8, 8) > 0, marginals >= 0.01)
    assert after[64 + 1] == before[64 + 1]  # one word: on the root


def test_many_heads_that_are_as_probable_are_not_all_left() -> None:
    automata, n = first_and_rest(np.random.default_rng(0), 1), 100
    weights, at = (
        np.ones((n + 1) ** 2) * (1.0 + np.random.default_rng(1).random((n + 1) ** 2)),
        np.array([0, (n + 1) ** 2]),
    )
    prune(
        np.zeros(n, dtype=np.int32), np.array([0, n]), automata.first_and_rest, weights, at, np.ones(1), 1e-9
    )
    left = (weights.reshape(n + 1, n + 1) > 0).sum(axis=0)[1:]
    assert left.max() == MOST_HEADS


def test_other_automata_cannot_rule_arcs_out() -> None:
    with pytest.raises(ValueError, match="DET"):
        _ = HeadAutomata.neutral(Alphabet("ab")).first_and_rest


@pytest.mark.parametrize("stop", [0.0, 1e-320, 1e308])
def test_stops_that_weights_cannot_be_divided_by_are_refused(stop: float) -> None:
    automata = first_and_rest(np.random.default_rng(0), 2)
    final = automata.final.copy()
    final[1] = stop
    operators, initial = 1e10 * automata.operators, np.full_like(automata.initial, 2.0)
    with pytest.raises(ValueError, match="final: weights of stops"):
        _ = HeadAutomata(automata.alphabet, automata.n_states, initial, operators, final).first_and_rest
