from __future__ import annotations

import numpy as np
from hypothesis import given

from automata.random_corpora import corpora, corpus_of
from oracles import prefix_counts
from sigmastar.automata.data.strings import PrefixTrie
from sigmastar.core.alphabet import Alphabet


def spelled(trie: PrefixTrie) -> list:
    """The prefix of every node."""
    prefixes: list = [()]
    for parent, symbol in zip(trie.parent[1:], trie.symbol[1:], strict=True):
        prefixes.append((*prefixes[parent], int(symbol)))
    return prefixes


@given(corpora(unknown=True))
def test_nodes_are_the_distinct_prefixes(corpus):
    trie, expected = PrefixTrie.of(corpus.strings), prefix_counts(corpus.words)
    prefixes = spelled(trie)
    assert len(prefixes) == trie.n_nodes == len(expected)
    assert set(prefixes) == set(expected)
    assert [prefixes[node] for node in trie.string_node] == corpus.words
    assert trie.end_counts().tolist() == [expected[prefix][0] for prefix in prefixes]
    assert trie.through_counts().tolist() == [expected[prefix][1] for prefix in prefixes]


@given(corpora(unknown=True))
def test_nodes_are_numbered_by_depth_symbol_and_parent(corpus):
    trie = PrefixTrie.of(corpus.strings)
    depths = [len(prefix) for prefix in spelled(trie)]
    keys = list(zip(depths, trie.symbol.tolist(), trie.parent.tolist(), strict=True))
    assert keys == sorted(keys)
    assert len(set(keys)) == len(keys)
    assert np.repeat(np.arange(len(trie.level_starts) - 1), np.diff(trie.level_starts)).tolist() == depths


@given(corpora(min_strings=1))
def test_weights_take_the_place_of_counts(corpus):
    trie = PrefixTrie.of(corpus.strings)
    weights = np.linspace(0.5, 2.0, len(corpus.words))
    doubled = trie.end_counts(np.full(len(weights), 2.0))
    assert doubled.tolist() == (2.0 * trie.end_counts()).tolist()
    expected = np.zeros(trie.n_nodes)
    np.add.at(expected, trie.string_node, weights)
    np.testing.assert_allclose(trie.end_counts(weights), expected)
    np.testing.assert_allclose(trie.through_counts(weights)[0], weights.sum())


@given(corpora())
def test_huge_alphabets_take_the_other_sort(corpus):
    """With far more symbols than strings the level is sorted by merging: the trie must not change."""
    small = PrefixTrie.of(corpus.strings)
    huge = PrefixTrie.of(corpus.strings.recoded(Alphabet(range(1000))))
    for name in ("parent", "symbol", "level_starts", "string_node"):
        np.testing.assert_array_equal(getattr(huge, name), getattr(small, name))


def test_no_strings_and_empty_strings_have_only_the_root():
    for words in ([], [()], [(), ()]):
        trie = PrefixTrie.of(corpus_of(words, 1).strings)
        assert trie.n_nodes == 1
        assert trie.through_counts().tolist() == [len(words)]
