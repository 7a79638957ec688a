"""Kernels of word models against sums over all paths."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from sigmastar.words.kernels.beams import Chain, Text, count_back, walk
from sigmastar.words.kernels.tokens import least_sums
from sigmastar.words.learn.em import Smoother, no_counts
from sigmastar.words.model.hmm import NOTHING, pieces_of, run
from sigmastar.words.model.smoothing import Discounts


def chain_of(rng: np.random.Generator, n: int = 3, n_words: int = 4) -> Chain:
    words = rng.dirichlet(np.ones(n_words), size=n)
    moves = rng.dirichlet(np.ones(n), size=n)
    return Chain(rng.dirichlet(np.ones(n)), moves, np.ascontiguousarray(words.T))


def text_of(tokens: list[int], begins: list[int]) -> Text:
    flags = np.zeros(len(tokens), dtype=bool)
    flags[begins] = True
    return Text(np.array(tokens, np.int32), flags, np.zeros(len(tokens), dtype=bool))


def by_paths(chain: Chain, tokens: list[int]) -> tuple[float, Chain]:
    """The probability of a text, and expected counts, by a sum over all paths."""
    n, total = len(chain.initial), 0.0
    counts = Chain(*(np.zeros_like(part) for part in chain))
    for path in product(range(n), repeat=len(tokens)):
        p = chain.initial[path[0]]
        for at, (state, token) in enumerate(zip(path, tokens, strict=True)):
            p *= chain.by_word[token, state] * (chain.moves[path[at - 1], state] if at else 1.0)
        total += p
        counts.initial[path[0]] += p
        for at, (state, token) in enumerate(zip(path, tokens, strict=True)):
            counts.by_word[token, state] += p
            if at:
                counts.moves[path[at - 1], state] += p
    return total, Chain(*(part / total for part in counts))


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_probabilities_and_counts_are_sums_over_paths(seed: int) -> None:
    rng = np.random.default_rng(seed)
    chain, tokens = chain_of(rng), rng.integers(0, 4, 6).tolist()
    text, counts = text_of(tokens, [0]), no_counts(3, 4)
    expected, sums = by_paths(chain, tokens)
    for piece, kept, prior, _ in pieces_of(chain, text):
        found = np.zeros(len(tokens))
        walk(piece, chain, prior, 0.0, kept, found, NOTHING)
        count_back(piece, chain, kept, counts, np.zeros((2, 3)))
    assert found.prod() == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(counts.moves, sums.moves, atol=1e-12)
    np.testing.assert_allclose(counts.initial, sums.initial, atol=1e-12)
    np.testing.assert_allclose(counts.by_word, sums.by_word, atol=1e-6)  # kept in single precision


def test_texts_begin_anew_and_unknown_words_teach_nothing() -> None:
    chain = chain_of(np.random.default_rng(3))
    both = run(chain, text_of([1, 2, -1, 3, 0], [0, 3]), 0.0)
    np.testing.assert_allclose(both[3:], run(chain, text_of([3, 0], [0]), 0.0), rtol=1e-12)
    assert both[2] == 0.0
    assert by_paths(chain, [1, 2])[0] == pytest.approx(both[:2].prod(), rel=1e-12)


def test_what_is_dropped_costs_little_and_leaves_a_distribution() -> None:
    chain = chain_of(np.random.default_rng(4), n=20, n_words=5)
    tokens = np.random.default_rng(5).integers(0, 5, 300).tolist()
    exact, pruned = (run(chain, text_of(tokens, [0]), least) for least in (0.0, 1e-3))
    np.testing.assert_allclose(pruned, exact, rtol=0.05)
    few = run(chain, text_of(tokens, [0]), 0.0, most=4)
    assert np.log(few).mean() > np.log(exact).mean() - 0.2
    every = [run(chain, text_of([*tokens[:9], w], [0]), 1e-2)[-1] for w in range(5)]
    assert sum(every) == pytest.approx(1.0, abs=1e-9)


def test_smoothed_counts_are_distributions_that_back_off() -> None:
    rng = np.random.default_rng(6)
    counts = no_counts(4, 6)
    counts.initial[:] = [3, 0, 1, 0]
    counts.moves[:] = rng.poisson(0.7, (4, 4))
    counts.by_word[:] = rng.poisson(0.7, (6, 4))
    counts.by_word[:, 3] = 0.0  # a state that was never seen is its group
    smoother = Smoother(np.array([0, 0, 1, 1], np.int32), np.full(6, 1 / 6))
    discounts = Discounts(0.5, 0.7, 0.5, 0.7)
    chain = smoother.chain(counts, discounts)
    np.testing.assert_allclose(chain.by_word.sum(axis=0), 1.0, atol=1e-6)
    np.testing.assert_allclose(chain.moves.sum(axis=1), 1.0, atol=1e-6)
    assert chain.initial.sum() == pytest.approx(1.0, abs=1e-6)
    of_group = counts.by_word[:, 2:].sum(axis=1)
    own = np.maximum(of_group - 0.7, 0.0)
    shared = (own + (of_group.sum() - own.sum()) / 6) / of_group.sum()
    np.testing.assert_allclose(chain.by_word[:, 3], shared, atol=1e-6)
    np.testing.assert_allclose(smoother.emissions(counts, discounts).by_word, chain.by_word, atol=1e-6)


def test_the_nearest_centre_of_a_pair_is_the_least_sum_of_two_rows() -> None:
    rng = np.random.default_rng(7)
    first, second = (rng.integers(0, 5, 40).astype(np.int32) for _ in range(2))
    left, right = (rng.standard_normal((5, 9)).astype(np.float32) for _ in range(2))
    labels = np.zeros(40, np.int32)
    changed = least_sums(first, second, left, right, labels)
    expected = (left[first] + right[second]).argmin(axis=1)
    np.testing.assert_array_equal(labels, expected)
    assert changed == (expected > 0).sum()
