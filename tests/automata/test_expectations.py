"""Expected counts on the trie against enumeration of all state paths."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from automata.random_automata import SEEDS
from automata.random_corpora import Corpus, corpora, corpus_of
from oracles import path_counts
from sigmastar.automata.data.strings import PrefixTrie
from sigmastar.automata.kernels.expectations import forward_pass
from sigmastar.automata.learn.em_steps import EMCorpus
from sigmastar.automata.model.automaton import WeightedAutomaton


def weights(seed: int, n_states: int, n_symbols: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A random proper automaton: moves and stop out of each state are a distribution."""
    rng = np.random.default_rng(seed)
    rows = rng.dirichlet(np.ones(n_symbols * n_states + 1), size=n_states)
    moves = rows[:, :-1].reshape(n_states, n_symbols, n_states).transpose(1, 0, 2)
    return rng.dirichlet(np.ones(n_states)), np.ascontiguousarray(moves), rows[:, -1].copy()


def counted(corpus: Corpus, parts, dtype=np.float64):
    """Log-likelihood, starts, moves and stops, counted by the kernel on the trie of the corpus."""
    automaton = WeightedAutomaton(corpus.strings.alphabet, *parts)
    counts = EMCorpus(corpus.strings, len(parts[0]), dtype).expect(automaton)
    return counts.log_likelihood, counts.initial, counts.transitions, counts.final


@settings(max_examples=40)
@given(corpora(max_strings=5, max_length=4), SEEDS, st.integers(1, 3))
def test_counts_are_those_over_all_paths(corpus, seed, n_states):
    parts = weights(seed, n_states, corpus.n_symbols)
    for found, expected in zip(counted(corpus, parts), path_counts(*parts, corpus.words), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


@given(corpora(min_strings=1), SEEDS, st.integers(1, 4))
def test_strings_start_once_stop_once_and_move_by_each_symbol(corpus, seed, n_states):
    _, initial, moves, final = counted(corpus, weights(seed, n_states, corpus.n_symbols))
    assert initial.sum() == pytest.approx(len(corpus.words))
    assert final.sum() == pytest.approx(len(corpus.words))
    codes = np.array([code for word in corpus.words for code in word], dtype=int)
    np.testing.assert_allclose(
        moves.sum(axis=(1, 2)), np.bincount(codes, minlength=corpus.n_symbols), atol=1e-9
    )
    # what enters a state leaves it
    np.testing.assert_allclose(initial + moves.sum(axis=(0, 1)), moves.sum(axis=(0, 2)) + final, atol=1e-9)


@given(corpora(min_strings=1), SEEDS, st.integers(1, 4))
def test_single_precision_is_close(corpus, seed, n_states):
    parts = weights(seed, n_states, corpus.n_symbols)
    single = counted(corpus, parts, np.float32)
    for found, expected in zip(single, counted(corpus, parts), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


@given(corpora(), SEEDS, st.integers(1, 3))
def test_forward_vectors_are_normalised_products(corpus, seed, n_states):
    initial, moves, _ = weights(seed, n_states, corpus.n_symbols)
    trie = PrefixTrie.of(corpus.strings)
    vectors, scales = forward_pass(trie.parent, trie.symbol, trie.level_starts, initial, moves)
    for word, node in zip(corpus.words, trie.string_node, strict=True):
        expected = initial
        for code in word:
            expected = expected @ moves[code]
        np.testing.assert_allclose(vectors[node], expected / expected.sum())
        total = 1.0
        while node:
            total, node = total * scales[node], trie.parent[node]
        assert total == pytest.approx(expected.sum())


@pytest.mark.parametrize("words", [[(1,), (0,), ()], [(0, -1, 0), (0,), ()]])
def test_a_string_without_probability_counts_for_nothing(words):
    """Symbol 1 has no moves, and -1 is outside the alphabet: the others are counted as if alone."""
    parts = weights(3, 2, 2)
    parts[1][1] = 0.0
    log_likelihood, *found = counted(corpus_of(words, 2), parts)
    assert np.isneginf(log_likelihood)
    _, *expected = counted(corpus_of([(0,), ()], 2), parts)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other)
    assert all(np.isfinite(part).all() for part in found)
