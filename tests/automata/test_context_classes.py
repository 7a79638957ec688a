"""Context classes against brute force: the longest stored context, read away from the gap."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from automata.random_corpora import corpora, corpus_of
from oracles import frequent_contexts, gap_context, longest_context
from sigmastar.automata.data import contexts as growing
from sigmastar.automata.data.contexts import ContextTrie, _classify, grow_contexts, with_edges
from sigmastar.automata.data.strings import PrefixTrie

DIRECTIONS = st.sampled_from(["past", "future"])
LIMITS = st.one_of(st.none(), st.integers(1, 12))


def spelled(trie: ContextTrie) -> list:
    """The context of every class, read away from the gap."""
    contexts: list = [()]
    for parent, symbol in zip(trie.parent[1:], trie.symbol[1:], strict=True):
        contexts.append((*contexts[parent], int(symbol)))
    return contexts


def grown(corpus, direction, max_classes, min_count, max_depth):
    return grow_contexts(corpus.strings, direction, max_classes, min_count, max_depth)


@given(corpora(), DIRECTIONS, LIMITS, st.integers(1, 4), st.one_of(st.none(), st.integers(0, 4)))
def test_the_most_frequent_contexts_are_grown(corpus, direction, max_classes, min_count, max_depth):
    trie = grown(corpus, direction, max_classes, min_count, max_depth)
    expected = frequent_contexts(corpus.words, direction, corpus.n_symbols, max_classes, min_count, max_depth)
    assert spelled(trie) == expected
    assert trie.depth.tolist() == [len(context) for context in expected]
    assert trie.n_classes == len(expected)


@given(corpora(), DIRECTIONS, LIMITS)
def test_counting_by_sorting_grows_the_same(corpus, direction, max_classes):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(growing, "_COUNTING_LIMIT", 0)
        sorted_way = grown(corpus, direction, max_classes, 1, None)
    assert spelled(sorted_way) == spelled(grown(corpus, direction, max_classes, 1, None))


@given(corpora(), corpora(unknown=True), DIRECTIONS, LIMITS)
def test_a_gap_lies_in_the_class_of_its_longest_context(known, other, direction, max_classes):
    trie = grown(known, direction, max_classes, 1, None)
    contexts, edge = spelled(trie), known.n_symbols
    fresh = corpus_of([[min(c, edge - 1) for c in word] for word in other.words], edge)
    expected = [
        longest_context(contexts, gap_context(word, gap, direction, edge))
        for word in fresh.words
        for gap in range(len(word) + 1)
    ]
    assert trie.classify(fresh.strings).tolist() == expected


@given(corpora(), LIMITS, st.integers(1, 3))
def test_prefixes_are_classified_as_the_gaps_after_them(corpus, max_classes, min_count):
    trie = grown(corpus, "past", max_classes, min_count, None)
    prefixes = PrefixTrie.of(corpus.strings)
    of_nodes = trie.classify_prefixes(prefixes)
    last_gaps = np.cumsum([len(word) + 1 for word in corpus.words], dtype=int) - 1
    assert of_nodes[prefixes.string_node].tolist() == trie.classify(corpus.strings)[last_gaps].tolist()
    assert trie.start == of_nodes[0]


@given(corpora(min_strings=1), LIMITS, st.integers(1, 3), st.one_of(st.none(), st.integers(0, 3)))
def test_following_a_class_is_classifying_the_longer_string(corpus, max_classes, min_count, max_depth):
    trie = grown(corpus, "past", max_classes, min_count, max_depth)
    classes = trie.classify(corpus.strings)
    longer = corpus_of(
        [
            (*word[:gap], code)
            for word in corpus.words
            for gap in range(len(word) + 1)
            for code in range(corpus.n_symbols)
        ],
        corpus.n_symbols,
    )
    last_gaps = np.cumsum([len(word) + 1 for word in longer.words]) - 1
    expected = trie.classify(longer.strings)[last_gaps]
    before = np.repeat(classes, corpus.n_symbols)
    codes = np.array([word[-1] for word in longer.words])
    assert trie.follow(before, codes).tolist() == expected.tolist()


@given(corpora(), LIMITS)
def test_stored_contexts_are_closed_under_forgetting_either_end(corpus, max_classes):
    contexts = set(spelled(grown(corpus, "past", max_classes, 1, None)))
    assert all(context[:-1] in contexts and context[1:] in contexts for context in contexts if context)


def test_edges_stand_around_every_string():
    assert with_edges(corpus_of([(0, 1), (), (1,)], 2).strings).tolist() == [2, 0, 1, 2, 2, 1, 2]
    assert with_edges(corpus_of([], 2).strings).tolist() == [2]


class Watched(np.ndarray):
    """An array that refuses what compiled code would read out of bounds."""

    def __getitem__(self, index):
        assert 0 <= index < len(self)
        return super().__getitem__(index)


@given(corpora(min_strings=1), DIRECTIONS)
def test_no_gap_is_classified_by_what_lies_outside_the_corpus(corpus, direction):
    """Plain Python in place of the kernel: the edge was found at the last gap, and nothing follows it."""
    trie = grow_contexts(corpus.strings, direction)
    first, step = (0, -1) if direction == "past" else (1, 1)
    extended = with_edges(corpus.strings).view(Watched)
    classes = _classify.py_func(extended, first, step, corpus.strings.n_gaps, *trie.children)
    np.testing.assert_array_equal(classes, trie.classify(corpus.strings))
