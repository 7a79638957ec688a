"""Kernels of taggers against sums over all tag sequences."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles_tagging import marginals_of, operator_value, refined_value, tag_sequences
from sigmastar.taggers.kernels.chains import Chain, best_sequences, chain_marginals, pairs_within
from sigmastar.taggers.kernels.feature_chain import (
    MarginWeights,
    Schedule,
    TokenFeatures,
    margin_scores,
    train_margin,
)
from sigmastar.taggers.kernels.refined import Emissions, Moves, refined_marginals
from sigmastar.taggers.learn.refinement import GivenTags, Tokens, refined_expectations
from sigmastar.taggers.model.lattice import TagLattice, TagMarginals
from sigmastar.taggers.model.weighted_tagger import Operators, signed_marginals

N_TAGS = 3


def random_lattice(rng: np.random.Generator, lengths: list[int]) -> TagLattice:
    n_types = 4
    chosen = [np.sort(rng.choice(N_TAGS, rng.integers(1, N_TAGS + 1), replace=False)) for _ in range(n_types)]
    starts = np.append(0, np.cumsum([len(c) for c in chosen])).astype(np.int64)
    tags = np.concatenate(chosen).astype(np.int32)
    types = rng.integers(0, n_types, sum(lengths)).astype(np.int32)
    offsets = np.append(0, np.cumsum(lengths)).astype(np.int64)
    return TagLattice(offsets, types, starts, tags, rng.random(len(tags)))


def candidates_of(lattice: TagLattice, s: int) -> list[list[int]]:
    tokens = range(lattice.offsets[s], lattice.offsets[s + 1])
    return [lattice.tags[lattice.starts[t] : lattice.starts[t + 1]].tolist() for t in lattice.types[tokens]]


def check(lattice: TagLattice, found: TagMarginals, s: int, values: dict) -> None:
    ones, twos = marginals_of(values, candidates_of(lattice, s))
    for k, i in enumerate(range(lattice.offsets[s], lattice.offsets[s + 1])):
        mine = found.unigrams[lattice.token_starts[i] : lattice.token_starts[i + 1]]
        np.testing.assert_allclose(mine, ones[k], atol=1e-10)
        if k:
            block = found.bigrams[lattice.block_starts[i] : lattice.block_starts[i + 1]]
            np.testing.assert_allclose(block, np.ravel(twos[k - 1]), atol=1e-10)
    assert found.logs[s] == pytest.approx(np.log(sum(values.values())), abs=1e-9)


@given(seed=st.integers(0, 10**6), lengths=st.lists(st.integers(1, 4), min_size=1, max_size=3))
def test_refined_marginals(seed: int, lengths: list[int]) -> None:
    rng = np.random.default_rng(seed)
    lattice = random_lattice(rng, lengths)
    states = np.append(0, np.cumsum(rng.integers(1, 4, N_TAGS))).astype(np.int64)
    z, width = int(states[-1]), int(np.diff(states).max())
    initial, final, transitions = rng.random(z), rng.random(z), rng.random((z, z))
    emissions = rng.random((len(lattice.tags), width))
    found = lattice.empty()
    moves = Moves(states, initial, transitions, transitions.T.copy(), final, 0.0)
    words = Emissions(emissions, np.arange(len(emissions)))
    refined_marginals(lattice.arrays, 0, len(lengths), moves, words, found.arrays)
    for s in range(len(lengths)):
        tokens = range(lattice.offsets[s], lattice.offsets[s + 1])
        at = [
            {int(lattice.tags[c]): emissions[c] for c in range(lattice.starts[t], lattice.starts[t + 1])}
            for t in lattice.types[tokens]
        ]
        values = {
            y: refined_value(y, at, states, initial, transitions, final)
            for y in tag_sequences(candidates_of(lattice, s))
        }
        check(lattice, found, s, values)


@given(seed=st.integers(0, 10**6), lengths=st.lists(st.integers(0, 4), min_size=1, max_size=4))
def test_pairs_within(seed: int, lengths: list[int]) -> None:
    rng = np.random.default_rng(seed)
    lattice = random_lattice(rng, lengths)
    kept = rng.random(int(lattice.token_starts[-1])) < 0.6
    wanted = []
    for s in range(len(lengths)):
        for i in range(lattice.offsets[s] + 1, lattice.offsets[s + 1]):
            (v, u, end), at = lattice.token_starts[i - 1 : i + 2], lattice.block_starts[i]
            pairs = [(a, b) for a in range(v, u) for b in range(u, end)]
            wanted += [at + k for k, (a, b) in enumerate(pairs) if kept[a] and kept[b]]
    found = np.full(len(wanted), -1, dtype=np.int64)
    pairs_within(lattice.token_starts, lattice.block_starts, kept, found)
    assert found.tolist() == wanted


@given(seed=st.integers(0, 10**6), lengths=st.lists(st.integers(1, 4), min_size=1, max_size=3))
def test_signed_marginals(seed: int, lengths: list[int]) -> None:
    rng = np.random.default_rng(seed)
    lattice = random_lattice(rng, lengths)
    n = 3
    weights, operators = rng.random(len(lattice.tags)), rng.standard_normal((5, n, n))
    which = rng.integers(0, 5, len(lattice.tags)).astype(np.int32)
    initial, final = rng.standard_normal(n), rng.standard_normal(n)
    found = lattice.empty()
    model = Operators(initial, operators, final, weights, which)
    signed_marginals(lattice.arrays, 0, len(lengths), model, found.arrays)
    for s in range(len(lengths)):
        at = [
            {
                int(lattice.tags[c]): weights[c] * operators[which[c]]
                for c in range(lattice.starts[t], lattice.starts[t + 1])
            }
            for t in lattice.types[lattice.offsets[s] : lattice.offsets[s + 1]]
        ]
        values = {y: operator_value(y, at, initial, final) for y in tag_sequences(candidates_of(lattice, s))}
        total, size = sum(values.values()), max(abs(v) for v in values.values())
        if total <= 0:
            assert np.isnan(found.logs[s])
        elif total > 1e-3 * size:  # sums that all but cancel leave no digits to compare
            ones, _ = marginals_of(values, candidates_of(lattice, s))
            first = lattice.token_starts[lattice.offsets[s]]
            np.testing.assert_allclose(
                found.unigrams[first : first + len(ones[0])], ones[0], rtol=1e-6, atol=1e-6
            )
            assert found.logs[s] == pytest.approx(np.log(total), abs=1e-6)


def chain_values(lattice: TagLattice, s: int, firsts: np.ndarray, arrows: np.ndarray, sequences=None) -> dict:
    candidates, values = candidates_of(lattice, s), {}
    for y in tag_sequences(candidates):
        total = 0.0
        for k, i in enumerate(range(lattice.offsets[s], lattice.offsets[s + 1])):
            b = candidates[k].index(y[k])
            total += firsts[lattice.token_starts[i] + b]
            if k:
                a = candidates[k - 1].index(y[k - 1])
                total += arrows[lattice.block_starts[i] + a * len(candidates[k]) + b]
        values[y] = total
    return values


@given(seed=st.integers(0, 10**6), lengths=st.lists(st.integers(1, 4), min_size=1, max_size=3))
def test_chain_marginals(seed: int, lengths: list[int]) -> None:
    rng = np.random.default_rng(seed)
    lattice = random_lattice(rng, lengths)
    firsts = rng.standard_normal(lattice.token_starts[-1]) * 3
    arrows = rng.standard_normal(lattice.block_starts[-1]) * 3
    found = lattice.empty()
    chain_marginals(lattice.arrays, 0, len(lengths), Chain(firsts, arrows), found.arrays)
    for s in range(len(lengths)):
        values = {y: np.exp(v) for y, v in chain_values(lattice, s, firsts, arrows).items()}
        check(lattice, found, s, values)


@given(seed=st.integers(0, 10**6), lengths=st.lists(st.integers(1, 4), min_size=1, max_size=3))
def test_best_sequences(seed: int, lengths: list[int]) -> None:
    rng = np.random.default_rng(seed)
    lattice = random_lattice(rng, lengths)
    firsts, arrows = rng.random(lattice.token_starts[-1]), rng.random(lattice.block_starts[-1])
    found = np.zeros((4, len(lattice.types)), np.int32)
    values = np.zeros((4, len(lengths)))
    best_sequences(lattice.arrays, 0, len(lengths), Chain(firsts, arrows), found, values)
    for s in range(len(lengths)):
        all_values = chain_values(lattice, s, firsts, arrows)
        ranked = sorted(all_values.values(), reverse=True)[:4]
        np.testing.assert_allclose(values[: len(ranked), s], ranked, atol=1e-12)
        assert np.isneginf(values[len(ranked) :, s]).all()
        candidates = candidates_of(lattice, s)
        for k, value in enumerate(ranked):
            row = found[k, lattice.offsets[s] : lattice.offsets[s + 1]]
            y = tuple(c[b] for c, b in zip(candidates, row, strict=True))
            assert all_values[y] == pytest.approx(value, abs=1e-12)


def test_long_sentences_do_not_underflow(rng: np.random.Generator) -> None:
    lattice = random_lattice(rng, [5000])
    states = np.arange(N_TAGS + 1, dtype=np.int64)
    found = lattice.empty()
    moves = np.full((N_TAGS, N_TAGS), 1e-3)
    words = Emissions(np.full((len(lattice.tags), 1), 1e-3), np.arange(len(lattice.tags)))
    model = Moves(states, np.ones(N_TAGS), moves, moves, np.ones(N_TAGS), 0.0)
    refined_marginals(lattice.arrays, 0, 1, model, words, found.arrays)
    sums = np.add.reduceat(found.unigrams, lattice.token_starts[:-1])
    np.testing.assert_allclose(sums, 1.0, atol=1e-9)
    assert found.logs[0] < -10_000


def _margin_case(rng: np.random.Generator, lengths: list[int]):
    lattice = random_lattice(rng, lengths)
    n = len(lattice.types)
    gold = np.array(
        [rng.choice(lattice.tags[lattice.starts[t] : lattice.starts[t + 1]]) for t in lattice.types]
    )
    features = rng.integers(-1, 6, 3 * n).astype(np.int32)
    starts = np.arange(0, 3 * n + 1, 3, dtype=np.int64)
    return lattice, gold.astype(np.int32), TokenFeatures(starts, features)


def test_a_step_of_training_follows_the_gradient(rng: np.random.Generator) -> None:
    """The loss told is that of the scores, and a tiny step lowers it by about rate x |gradient|^2."""
    lattice, gold, features = _margin_case(rng, [3, 4])
    weights = MarginWeights(
        rng.standard_normal((6, N_TAGS)).astype(np.float32),
        rng.standard_normal((N_TAGS + 1, N_TAGS + 1)),
        rng.standard_normal((N_TAGS, 2)),
        rng.standard_normal((N_TAGS, 2)),
    )
    classes = lattice.tags.copy()

    def loss() -> float:
        """log sum_y exp(score + cost) - score(gold) by the kernels of prediction, with the cost added."""
        firsts, pairs = np.zeros(lattice.token_starts[-1]), np.zeros(lattice.block_starts[-1])
        margin_scores(lattice.arrays, 0, 2, features, classes, weights, Chain(firsts, pairs))
        total = 0.0
        for s in range(2):
            values = chain_values(lattice, s, firsts, pairs)
            truth = tuple(gold[lattice.offsets[s] : lattice.offsets[s + 1]].tolist())
            costs = {y: v + sum(a != b for a, b in zip(y, truth, strict=True)) for y, v in values.items()}
            total += np.log(sum(np.exp(v) for v in costs.values())) - values[truth]
        return total

    before = loss()
    squares = MarginWeights(*(np.full_like(array, 1e12) for array in weights))

    def step(rate: float) -> float:
        schedule = Schedule(1.0, rate, 0.0)
        return train_margin(np.arange(2), lattice.arrays, gold, features, classes, schedule, weights, squares)

    assert step(0.0) == pytest.approx(before, rel=1e-6)
    assert loss() == pytest.approx(before, rel=1e-12)
    old = [array.copy() for array in weights]
    rate = 1e-3 * 1e6  # steps are divided by the root of 1e12
    step(rate)
    moved = sum(float(((new - was) ** 2).sum()) for new, was in zip(weights, old, strict=True))
    assert before - loss() == pytest.approx(moved / 1e-3, rel=0.1)
    assert before - loss() > 0


@given(seed=st.integers(0, 10**6), lengths=st.lists(st.integers(1, 4), min_size=1, max_size=3))
def test_refined_expectations(seed: int, lengths: list[int]) -> None:
    rng = np.random.default_rng(seed)
    states = np.array([0, 2, 3, 6])
    edge = 6
    moves, ratios = rng.random((7, 7)), rng.random((4, 3))
    tags, pairs = rng.integers(0, 3, sum(lengths)), rng.integers(0, 4, sum(lengths))
    offsets = np.append(0, np.cumsum(lengths)).astype(np.int64)
    expected, memberships = np.zeros((7, 7)), np.zeros((4, 3))
    tokens = Tokens(offsets, tags.astype(np.int32), pairs.astype(np.int32))
    given_tags = GivenTags(states, moves, ratios)
    log = refined_expectations(tokens, 0, len(lengths), given_tags, expected, memberships)
    want, belong, total = np.zeros((7, 7)), np.zeros((4, 3)), 0.0
    for low, high in pairwise(offsets):
        values = {}
        for path in product(*(range(states[t], states[t + 1]) for t in tags[low:high])):
            whole = [edge, *path, edge]
            value = np.prod([moves[a, b] for a, b in pairwise(whole)])
            value *= np.prod([ratios[pairs[low + k], z - states[tags[low + k]]] for k, z in enumerate(path)])
            values[path] = value
        mass = sum(values.values())
        total += np.log(mass)
        for path, value in values.items():
            whole = [edge, *path, edge]
            for a, b in pairwise(whole):
                want[a, b] += value / mass
            for k, z in enumerate(path):
                belong[pairs[low + k], z - states[tags[low + k]]] += value / mass
    np.testing.assert_allclose(expected, want, atol=1e-10)
    np.testing.assert_allclose(memberships, belong, atol=1e-10)
    assert log == pytest.approx(total, abs=1e-9)
