"""Values on the prefix trie, far beyond the range of floats."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from automata.random_automata import SEEDS, signed
from automata.random_corpora import corpora, corpus_of
from oracles import string_value
from sigmastar.automata.data.strings import PrefixTrie
from sigmastar.automata.kernels.values import trie_values


def values(corpus, initial, transitions, finals):
    trie = PrefixTrie.of(corpus.strings)
    mantissas, exponents = trie_values(
        trie.parent, trie.symbol, trie.level_starts, initial, transitions, finals
    )
    return mantissas[trie.string_node], exponents[trie.string_node]


@given(corpora(unknown=True), SEEDS, st.integers(1, 4), st.integers(-280, 280))
def test_values_against_products_entry_by_entry(corpus, seed, n_states, power):
    """Initial vectors of any size: a power of two beside the mantissas takes it up."""
    automaton = signed(np.random.default_rng(seed), n_states, corpus.n_symbols)
    finals = np.random.default_rng(seed + 1).normal(size=(n_states, 2))
    initial = np.ldexp(automaton.initial, power)
    mantissas, exponents = values(corpus, initial, automaton.transitions, finals)
    for word, mantissa, exponent in zip(corpus.words, mantissas, exponents, strict=True):
        for k in range(2):
            expected = string_value(automaton.initial, automaton.transitions, finals[:, k], word)
            assert np.ldexp(mantissa[k], exponent - power) == pytest.approx(expected, rel=1e-9, abs=1e-14)


@pytest.mark.parametrize("weight", [1e-3, 1e3])
def test_values_neither_vanish_nor_explode(weight):
    mantissas, exponents = values(
        corpus_of([(0,) * 2000], 1), np.ones(1), np.full((1, 1, 1), weight), np.ones((1, 1))
    )
    assert np.log(mantissas[0, 0]) + exponents[0] * np.log(2) == pytest.approx(2000 * np.log(weight))
