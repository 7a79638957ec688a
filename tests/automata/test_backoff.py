"""Smoothed next-symbol distributions against the recursions of the textbook."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from automata.random_corpora import corpora, corpus_of
from automata.test_context_classes import spelled
from oracles import kneser_ney_row, next_counts, witten_bell_row
from sigmastar.automata.counts.on_classes import ContextCounts
from sigmastar.automata.data.contexts import grow_contexts
from sigmastar.automata.model.ngram_smoothing import (
    NextCounts,
    NgramModel,
    kneser_ney,
    modified_kneser_ney,
    witten_bell,
)

ORACLES = {
    witten_bell: witten_bell_row,
    kneser_ney: kneser_ney_row,
    modified_kneser_ney: partial(kneser_ney_row, modified=True),
}
SMOOTHINGS = st.sampled_from(list(ORACLES))
LIMITS = st.one_of(st.none(), st.integers(1, 10))


@given(corpora(), LIMITS, st.integers(1, 3))
def test_every_context_counts_what_its_extensions_count(corpus, max_classes, min_count):
    trie = grow_contexts(corpus.strings, "past", max_classes, min_count)
    counts = NextCounts.of(corpus.strings, trie)
    rows = next_counts(corpus.words, spelled(trie), corpus.n_symbols)
    expected = [(k, y, row[y]) for k, row in enumerate(rows) for y in sorted(row)]
    assert list(zip(counts.context, counts.outcome, counts.count, strict=True)) == expected


@given(corpora(min_strings=1), st.integers(1, 4), st.booleans())
def test_ngrams_by_counting_sorts_are_those_of_grown_contexts(corpus, order, knows_last):
    strings, found = corpus.strings, NextCounts.of_ngrams(corpus.strings, order, knows_last)
    trie = grow_contexts(strings, "past", max_depth=order - 1)
    np.testing.assert_array_equal(found.trie.parent, trie.parent)
    np.testing.assert_array_equal(found.trie.symbol, trie.symbol)
    contexts, outcomes = trie.classify(strings).astype(np.int64), strings.outcomes
    if not knows_last:
        contexts, outcomes = contexts[:-1], outcomes[:-1]
    expected = NextCounts.of_classes(trie, contexts, outcomes, np.ones(len(contexts), np.int64))
    for name in ("context", "outcome", "count"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    for smoothing in (kneser_ney, modified_kneser_ney):
        mine, theirs = smoothing(found), smoothing(expected)
        for name in ("row_starts", "outcomes", "own", "backoff"):
            np.testing.assert_array_equal(getattr(mine, name), getattr(theirs, name))


@given(corpora(min_strings=1), LIMITS)
def test_counts_on_classes_hold_all_that_back_off_needs(corpus, max_classes):
    pasts = grow_contexts(corpus.strings, "past", max_classes)
    counts = ContextCounts.of(corpus.strings, pasts, grow_contexts(corpus.strings, "future", 2))
    direct = NextCounts.of(corpus.strings, pasts)
    of_classes = NextCounts.of_classes(pasts, *counts.next_symbols())
    for name in ("context", "outcome", "count"):
        np.testing.assert_array_equal(getattr(of_classes, name), getattr(direct, name))


@given(corpora(), LIMITS, st.one_of(st.none(), st.integers(0, 3)), st.integers(1, 3), SMOOTHINGS)
def test_distributions_follow_the_textbook(corpus, max_classes, max_depth, min_count, smoothing):
    trie = grow_contexts(corpus.strings, "past", max_classes, min_count, max_depth)
    model = NgramModel.of_counts(corpus.strings.alphabet, NextCounts.of(corpus.strings, trie), smoothing)
    contexts, n_outcomes = spelled(trie), corpus.n_symbols + 1
    rows = next_counts(corpus.words, contexts, corpus.n_symbols)
    expected = [ORACLES[smoothing](contexts, rows, context, n_outcomes) for context in contexts]
    every = np.arange(trie.n_classes, dtype=np.int32)
    found = model.distributions(every)
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, atol=1e-12)
    assert (found > 0).all()
    pairs = [
        grid.ravel().astype(np.int32) for grid in np.meshgrid(every, np.arange(n_outcomes), indexing="ij")
    ]
    np.testing.assert_allclose(model.probabilities(*pairs), found.ravel(), rtol=1e-12)


@given(corpora(min_strings=2), SMOOTHINGS)
def test_contexts_unseen_in_a_part_of_the_corpus_back_off(corpus, smoothing):
    """The classes are those of all strings, the counts those of the first string alone."""
    trie = grow_contexts(corpus.strings, "past")
    part = NextCounts.of(corpus.strings.select([0]), trie)
    model = NgramModel.of_counts(corpus.strings.alphabet, part, smoothing)
    found = model.distributions(np.arange(trie.n_classes, dtype=np.int32))
    unseen = np.setdiff1d(np.arange(trie.n_classes), part.context)
    np.testing.assert_allclose(found[unseen], found[trie.parent[unseen]], rtol=1e-12)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, atol=1e-12)


def test_outcomes_of_unknown_symbols_have_no_probability():
    corpus = corpus_of([(0, 1)], 2)
    model = NgramModel.of_counts(
        corpus.strings.alphabet, NextCounts.of(corpus.strings, grow_contexts(corpus.strings, "past"))
    )
    contexts = np.zeros(2, dtype=np.int32)
    probabilities = model.probabilities(contexts, np.array([-1, 2], dtype=np.int32))
    assert probabilities[0] == 0.0
    assert probabilities[1] > 0.0


@given(corpora(unknown=True))
def test_gap_outcomes_are_the_symbols_and_the_ends(corpus):
    expected = [code for word in corpus.words for code in (*word, corpus.n_symbols)]
    assert corpus.strings.outcomes.tolist() == expected


def test_discounts_come_from_outcomes_seen_once_and_twice():
    """Among next symbols after a: b once, c twice, d three times: D = 1 / (1 + 2)."""
    words = [(0, 1), (0, 2), (0, 2), (0, 3), (0, 3), (0, 3)]
    corpus = corpus_of(words, 4)
    rows = kneser_ney(NextCounts.of(corpus.strings, grow_contexts(corpus.strings, "past", max_depth=0)))
    # at the empty context: a 6 times, the end 6 times, b once, c twice, d 3 times
    assert rows.own.tolist() == pytest.approx([(n - 1 / 3) / 18 for n in (6, 1, 2, 3, 6)])
    assert rows.backoff.tolist() == pytest.approx([5 / 3 / 18])
