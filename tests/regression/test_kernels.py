"""Gradients over the prefix tree against one string and one weight at a time."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import oracles_hankel as oracles
from sigmastar.automata.data.strings import PrefixTrie, Strings
from sigmastar.core.alphabet import Alphabet
from sigmastar.optimise.sparse_low_rank import product_entries
from sigmastar.regression.learn.refinement import trie_backward, trie_forward

WORDS = st.lists(st.text("ab", max_size=5), min_size=1, max_size=8)


@given(WORDS, st.integers(1, 3), st.integers(0, 2**32 - 1))
def test_values_and_gradients_are_those_of_every_string_by_itself(
    words: list[str], n_states: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    initial, final = rng.standard_normal((2, n_states))
    transitions = rng.standard_normal((2, n_states, n_states))
    slopes = rng.standard_normal(len(words))
    trie = PrefixTrie.of(Strings.of(words, alphabet=Alphabet("ab")))
    vectors = trie_forward(trie.parent, trie.symbol, trie.level_starts, initial, transitions)
    found = trie_backward(
        trie.parent, trie.symbol, trie.level_starts, transitions, final, vectors, trie.end_counts(slopes)
    )
    coded = [["ab".index(symbol) for symbol in word] for word in words]
    values = [oracles.string_value(word, initial, transitions, final) for word in coded]
    np.testing.assert_allclose((vectors @ final)[trie.string_node], values, atol=1e-9)
    each = [oracles.value_gradient(word, initial, transitions, final) for word in coded]
    for part in range(3):
        expected = sum(slope * one[part] for slope, one in zip(slopes, each, strict=True))
        np.testing.assert_allclose(found[part], expected, atol=1e-8)


def test_entries_of_a_product() -> None:
    rng = np.random.default_rng(0)
    left, right = rng.standard_normal((5, 3)), rng.standard_normal((4, 3))
    rows, columns = np.array([0, 4, 2]), np.array([3, 0, 2])
    np.testing.assert_allclose(product_entries(left, right, rows, columns), (left @ right.T)[rows, columns])
