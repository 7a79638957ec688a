"""Inside-outside and decoding of head automata against all projective trees, one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles import projective_trees, tree_weight, ways_of
from sigmastar.dependency.kernels.eisner import Automata, Ways, all_marginals, sentence_marginals
from sigmastar.dependency.kernels.projective import best_tree, best_trees
from sigmastar.dependency.kernels.sibling_arcs import lay_ways

NO_WAYS = Ways(np.zeros(13, dtype=np.int64), np.zeros(0))


def random_automata(rng: np.random.Generator, n_symbols: int, n_states: int, signed: bool) -> Automata:
    n_sorts = 2 * n_symbols + 1
    sizes = rng.integers(1, n_states + 1, n_sorts).astype(np.int32)
    draw = rng.standard_normal if signed else rng.random
    used = np.arange(n_states) < sizes[:, None]
    operators = (
        draw((n_sorts, n_symbols, n_states, n_states)) * used[:, None, :, None] * used[:, None, None, :]
    )
    return Automata(sizes, draw((n_sorts, n_states)) * used, draw((n_sorts, n_states)) * used, operators)


def random_sentence(
    rng: np.random.Generator, n: int, n_symbols: int, n_classes: int
) -> tuple[np.ndarray, ...]:
    codes = np.append(n_symbols, rng.integers(0, n_symbols, n)).astype(np.int32)
    classes = np.append(0, rng.integers(0, n_classes, n)).astype(np.int32)
    return codes, classes, rng.random((n_classes, n + 1, n + 1)), rng.random((n_classes, 2, n + 1))


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 4), st.integers(1, 3), st.integers(1, 2), st.booleans())
def test_weight_and_marginals_of_all_trees(
    seed: int, n: int, n_states: int, n_classes: int, signed: bool
) -> None:
    rng = np.random.default_rng(seed)
    automata = random_automata(rng, 3, n_states, signed)
    codes, classes, weights, stops = random_sentence(rng, n, 3, n_classes)
    expected, total = np.zeros((n + 1, n + 1)), 0.0
    for heads in projective_trees(n):
        weight = tree_weight(heads, codes, classes, automata, weights, stops)
        total += weight
        expected[list(heads), np.arange(1, n + 1)] += weight
    sign, log, marginals = sentence_marginals(codes, classes, automata, weights, stops, np.ones(n + 1))
    assert sign * np.exp(log) == pytest.approx(total, rel=1e-9, abs=1e-12)
    if abs(total) > 1e-6:
        np.testing.assert_allclose(marginals, expected / total, atol=1e-7 / min(abs(total), 1.0))


@pytest.mark.parametrize("size", [1e-9, 1.0, 1e9])
@pytest.mark.parametrize("n", [1, 30, 250])
def test_marginals_sum_to_one_at_any_length_and_size(n: int, size: float) -> None:
    rng = np.random.default_rng(n)
    automata = random_automata(rng, 5, 3, signed=False)
    automata = automata._replace(operators=automata.operators * size)
    codes, classes, weights, stops = random_sentence(rng, n, 5, 1)
    sign, log, marginals = sentence_marginals(codes, classes, automata, weights, stops, np.ones(n + 1))
    assert sign == 1.0
    assert np.isfinite(log)
    np.testing.assert_allclose(marginals[:, 1:].sum(axis=0), 1.0, atol=1e-10)


def test_the_scale_does_not_change_the_weight() -> None:
    rng = np.random.default_rng(3)
    automata = random_automata(rng, 4, 3, signed=True)
    codes, classes, weights, stops = random_sentence(rng, 8, 4, 2)
    plain = sentence_marginals(codes, classes, automata, weights, stops, np.ones(9))
    scaled = sentence_marginals(codes, classes, automata, weights, stops, rng.random(9) * 1e-40)
    assert plain[0] == scaled[0]
    assert plain[1] == pytest.approx(scaled[1], rel=1e-9)
    np.testing.assert_allclose(plain[2], scaled[2], atol=1e-9)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 5), st.booleans())
def test_best_tree_is_the_best_of_all(seed: int, n: int, single_root: bool) -> None:
    scores = np.random.default_rng(seed).standard_normal((n + 1, n + 1))
    columns = np.arange(1, n + 1)
    best = max(scores[list(heads), columns].sum() for heads in projective_trees(n, single_root))
    found = best_tree(scores, single_root)
    assert tuple(found.tolist()) in set(projective_trees(n, single_root))
    assert scores[found, columns].sum() == pytest.approx(best)


def test_sentences_without_weight_have_no_heads() -> None:
    automata = random_automata(np.random.default_rng(0), 2, 2, signed=False)
    automata = automata._replace(operators=automata.operators * 0.0)
    codes, offsets = np.zeros(3, dtype=np.int32), np.array([0, 1, 3])
    signs, logs, found, _ = all_marginals(
        codes, codes, offsets, automata, np.ones(13), np.ones((1, 2, 5)), np.ones(2), NO_WAYS
    )
    assert best_trees(found, offsets, signs > 0, True).tolist() == [-1, -1, -1]
    assert signs.tolist() == [0.0, 0.0]
    assert np.isneginf(logs).all()
    assert not found.any()


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 4), st.booleans())
def test_ways_between_siblings_against_all_trees(seed: int, n: int, signed: bool) -> None:
    """Some arcs are ruled out; weights of ways multiply, and their marginals are those of all trees."""
    rng = np.random.default_rng(seed)
    automata = random_automata(rng, 3, 2, signed)
    codes, classes, weights, stops = random_sentence(rng, n, 3, 1)
    weights *= rng.random(weights.shape) < 0.8
    offsets, flat = np.array([0, n]), weights[0].ravel()
    starts, ways, at = lay_ways(flat, offsets)
    of_ways = rng.random(len(ways))
    table = {tuple(way): weight for way, weight in zip(ways.tolist(), of_ways, strict=True)}
    total, expected = 0.0, dict.fromkeys(table, 0.0)
    for heads in projective_trees(n):
        used = ways_of(heads)
        if all(way in table for way in used):
            weight = tree_weight(heads, codes, classes, automata, weights, stops)
            weight *= np.prod([table[way] for way in used])
            total += weight
            for way in used:
                expected[way] += weight
    signs, logs, _, found = all_marginals(
        codes[1:], classes[1:], offsets, automata, flat, stops, np.ones(3), Ways(starts, of_ways)
    )
    assert at.tolist() == [0, len(ways)]
    assert signs[0] * np.exp(logs[0]) == pytest.approx(total, rel=1e-9, abs=1e-12)
    if abs(total) > 1e-6:
        exact = np.array(list(expected.values())) / total
        np.testing.assert_allclose(found, exact, atol=1e-7 / min(abs(total), 1.0))


def test_several_sentences_are_those_one_by_one() -> None:
    rng = np.random.default_rng(0)
    automata = random_automata(rng, 4, 3, signed=False)
    offsets, codes = np.array([0, 3, 4, 9]), rng.integers(0, 4, 9).astype(np.int32)
    kinds, scales = np.zeros(9, dtype=np.int32), rng.random(4)
    flat, stops = rng.random(16 + 4 + 36), np.ones((1, 2, 12))
    starts, ways, at = lay_ways(flat, offsets)
    of_ways = rng.random(len(ways))
    _, logs, tables, found = all_marginals(
        codes, kinds, offsets, automata, flat, stops, scales, Ways(starts, of_ways)
    )
    for q, low in enumerate((0, 16, 20)):
        words, here = slice(*offsets[q : q + 2]), slice(low, (16, 20, 56)[q])
        mine, own = slice(*at[q : q + 2]), np.array([0, offsets[q + 1] - offsets[q]])
        _, log, table, marginals = all_marginals(
            codes[words], kinds[words], own, automata, flat[here], stops[:, :, : own[1] + 1], scales,
            Ways(starts[here] - at[q], of_ways[mine]),
        )  # fmt: skip
        assert log[0] == pytest.approx(logs[q])
        np.testing.assert_allclose(table, tables[here], atol=1e-12)
        np.testing.assert_allclose(marginals, found[mine], atol=1e-12)
