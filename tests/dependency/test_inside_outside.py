"""Inside-outside of head automata against all projective trees, one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles import projective_trees, tree_weight
from sigmastar.dependency.kernels.eisner import best_trees
from sigmastar.dependency.kernels.inside_outside import Automata, all_marginals, sentence_marginals


def random_automata(rng: np.random.Generator, n_symbols: int, n_states: int, signed: bool) -> Automata:
    n_sorts = 2 * n_symbols + 1
    sizes = rng.integers(1, n_states + 1, n_sorts).astype(np.int32)
    draw = rng.standard_normal if signed else rng.random
    used = np.arange(n_states) < sizes[:, None]
    operators = (
        draw((n_sorts, n_symbols, n_states, n_states)) * used[:, None, :, None] * used[:, None, None, :]
    )
    return Automata(sizes, draw((n_sorts, n_states)) * used, draw((n_sorts, n_states)) * used, operators)


def random_sentence(rng: np.random.Generator, n: int, n_symbols: int) -> tuple[np.ndarray, np.ndarray]:
    """Symbols of the root and the words, and weights of arcs."""
    codes = np.append(n_symbols, rng.integers(0, n_symbols, n)).astype(np.int32)
    return codes, rng.random((n + 1, n + 1))


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 4), st.integers(1, 3), st.booleans())
def test_weight_and_marginals_of_all_trees(seed: int, n: int, n_states: int, signed: bool) -> None:
    rng = np.random.default_rng(seed)
    automata = random_automata(rng, 3, n_states, signed)
    codes, weights = random_sentence(rng, n, 3)
    expected, total = np.zeros((n + 1, n + 1)), 0.0
    for heads in projective_trees(n):
        weight = tree_weight(heads, codes, automata, weights)
        total += weight
        expected[list(heads), np.arange(1, n + 1)] += weight
    sign, log, marginals = sentence_marginals(codes, automata, weights, np.ones(n + 1))
    assert sign * np.exp(log) == pytest.approx(total, rel=1e-9, abs=1e-12)
    if abs(total) > 1e-6:
        np.testing.assert_allclose(marginals, expected / total, atol=1e-7 / min(abs(total), 1.0))


@pytest.mark.parametrize("size", [1e-9, 1.0, 1e9])
@pytest.mark.parametrize("n", [1, 30, 250])
def test_marginals_sum_to_one_at_any_length_and_size(n: int, size: float) -> None:
    rng = np.random.default_rng(n)
    automata = random_automata(rng, 5, 3, signed=False)
    automata = automata._replace(operators=automata.operators * size)
    codes, weights = random_sentence(rng, n, 5)
    sign, log, marginals = sentence_marginals(codes, automata, weights, np.ones(n + 1))
    assert sign == 1.0
    assert np.isfinite(log)
    np.testing.assert_allclose(marginals[:, 1:].sum(axis=0), 1.0, atol=1e-10)


def test_the_scale_does_not_change_the_weight() -> None:
    rng = np.random.default_rng(3)
    automata = random_automata(rng, 4, 3, signed=True)
    codes, weights = random_sentence(rng, 8, 4)
    plain = sentence_marginals(codes, automata, weights, np.ones(9))
    scaled = sentence_marginals(codes, automata, weights, rng.random(9) * 1e-40)
    assert plain[0] == scaled[0]
    assert plain[1] == pytest.approx(scaled[1], rel=1e-9)
    np.testing.assert_allclose(plain[2], scaled[2], atol=1e-9)


def test_sentences_without_weight_have_no_heads() -> None:
    automata = random_automata(np.random.default_rng(0), 2, 2, signed=False)
    automata = automata._replace(operators=automata.operators * 0.0)
    codes, offsets = np.zeros(3, dtype=np.int32), np.array([0, 1, 3])
    found = all_marginals(codes, offsets, automata, np.ones(13), np.ones(2))
    assert best_trees(found.arcs, offsets, found.signs > 0, True).tolist() == [-1, -1, -1]
    assert found.signs.tolist() == [0.0, 0.0]
    assert np.isneginf(found.logs).all()
    assert not found.arcs.any()


def test_several_sentences_are_those_one_by_one() -> None:
    rng = np.random.default_rng(0)
    automata = random_automata(rng, 4, 3, signed=False)
    offsets, codes = np.array([0, 3, 4, 9]), rng.integers(0, 4, 9).astype(np.int32)
    scales, flat = rng.random(4), rng.random(16 + 4 + 36)
    found = all_marginals(codes, offsets, automata, flat, scales)
    for q, low in enumerate((0, 16, 20)):
        words, here = slice(*offsets[q : q + 2]), slice(low, (16, 20, 56)[q])
        own = np.array([0, offsets[q + 1] - offsets[q]])
        alone = all_marginals(codes[words], own, automata, flat[here], scales)
        assert alone.logs[0] == pytest.approx(found.logs[q])
        np.testing.assert_allclose(alone.arcs, found.arcs[here], atol=1e-12)
