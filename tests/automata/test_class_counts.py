"""Counts on context classes against dictionaries, and the laws of their blocks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from automata.random_corpora import Corpus, corpora, corpus_of
from automata.test_context_classes import spelled
from oracles import class_counts
from sigmastar.automata.counts import on_classes as module
from sigmastar.automata.counts.on_classes import ContextCounts, correlation_scaled
from sigmastar.automata.data.contexts import ContextTrie, grow_contexts, most_frequent
from sigmastar.automata.data.strings import Strings
from sigmastar.core.errors import UnknownSymbolError

LIMITS = st.one_of(st.none(), st.integers(1, 10))


def counted(corpus: Corpus, max_classes: int | None) -> ContextCounts:
    tries = (grow_contexts(corpus.strings, direction, max_classes) for direction in ("past", "future"))
    return ContextCounts.of(corpus.strings, *tries)


def dense(counts: dict, shape: tuple[int, ...]) -> np.ndarray:
    table = np.zeros(shape)
    for place, number in counts.items():
        table[place] = number
    return table


@given(corpora(min_strings=1), LIMITS)
def test_counts_are_those_of_dictionaries(corpus, max_classes):
    counts = counted(corpus, max_classes)
    gaps, steps, ends, starts = class_counts(
        corpus.words, spelled(counts.pasts), spelled(counts.futures), corpus.n_symbols
    )
    shape = (counts.pasts.n_classes, counts.futures.n_classes)
    blocks = counts.blocks()
    stop, symbol = blocks.signature.operations
    np.testing.assert_array_equal(blocks.matrices["string"].toarray(), dense(gaps, shape))
    np.testing.assert_array_equal(blocks.slices[symbol].toarray(), dense(steps, (corpus.n_symbols, *shape)))
    np.testing.assert_array_equal(blocks.slices[stop], dense(ends, shape[:1])[None])
    np.testing.assert_allclose(blocks.roots["string"] * len(corpus.words), dense(starts, shape[1:]))
    np.testing.assert_array_equal(counts.past_counts, dense(gaps, shape).sum(axis=1))
    np.testing.assert_array_equal(counts.future_counts, dense(gaps, shape).sum(axis=0))


@given(corpora(min_strings=1), LIMITS)
def test_next_symbols_are_steps_and_ends_by_past(corpus, max_classes):
    counts = counted(corpus, max_classes)
    _, steps, ends, _ = class_counts(
        corpus.words, spelled(counts.pasts), spelled(counts.futures), corpus.n_symbols
    )
    expected = {(past, corpus.n_symbols): number for past, number in ends.items()}
    for (symbol, past, _), number in steps.items():
        expected[past, symbol] = expected.get((past, symbol), 0) + number
    entries = list(zip(*(part.tolist() for part in counts.next_symbols()), strict=True))
    assert entries == [(*place, expected[place]) for place in sorted(expected)]


@given(corpora(min_strings=2), st.data())
def test_counts_of_shards_add_up_exactly(corpus, data):
    whole = counted(corpus, 8)
    cut = data.draw(st.integers(1, len(corpus.words) - 1))
    parts = [corpus.strings.select(range(cut)), corpus.strings.select(range(cut, len(corpus.words)))]
    first, second = (ContextCounts.of(part, whole.pasts, whole.futures) for part in parts)
    total = second + first
    for name in ("keys", "counts", "slice_keys", "slice_counts", "ends", "starts", "n_strings"):
        np.testing.assert_array_equal(getattr(total, name), getattr(whole, name))


def test_counts_on_other_classes_are_refused():
    corpus = corpus_of([(0, 1)], 2)
    with pytest.raises(ValueError, match="different context classes cannot be added"):
        counted(corpus, 5) + counted(corpus, 5)


@given(corpora(min_strings=1), LIMITS)
def test_the_first_correlation_is_one(corpus, max_classes):
    """With square roots of the shares of the classes as vectors, on either side."""
    counts = counted(corpus, max_classes)
    matrix = correlation_scaled(counts).matrices["string"].toarray()
    left, right = (np.sqrt(n / n.sum()) for n in (counts.past_counts, counts.future_counts))
    assert np.linalg.norm(matrix, 2) == pytest.approx(1.0)
    np.testing.assert_allclose(matrix @ right, left, atol=1e-12)
    np.testing.assert_allclose(matrix.T @ left, right, atol=1e-12)


@given(corpora(min_strings=1), LIMITS)
def test_a_past_goes_on_or_ends(corpus, max_classes):
    """Scaled or not, rows of all slices together with the ends are the rows of the matrix."""
    counts = counted(corpus, max_classes)
    blocks = counts.blocks()
    stop, symbol = blocks.signature.operations
    leaving = blocks.slices[symbol].toarray().sum(axis=(0, 2)) + blocks.slices[stop][0]
    np.testing.assert_array_equal(leaving, counts.past_counts)


@given(corpora(min_strings=2), st.integers(1, 12), st.integers(1, 12), st.data())
def test_counts_without_some_strings_on_coarser_classes(corpus, fine, coarse, data):
    """Differences and sums of counts are the counts of what is left on the coarser classes."""
    counts = counted(corpus, fine)
    cut = data.draw(st.integers(1, len(corpus.words) - 1))
    some, rest = corpus.strings.select(range(cut)), corpus.strings.select(range(cut, len(corpus.words)))
    left = counts - ContextCounts.of(some, counts.pasts, counts.futures)
    pasts = most_frequent(counts.pasts, counts.past_counts, coarse)
    futures = most_frequent(counts.futures, counts.future_counts, coarse)
    found, expected = left.coarsened(pasts, futures), ContextCounts.of(rest, pasts, futures)
    for name in ("", "slice_"):
        seen = (numbers := getattr(found, f"{name}counts")) > 0  # what was only in the strings left out stays
        np.testing.assert_array_equal(numbers[seen], getattr(expected, f"{name}counts"))
        np.testing.assert_array_equal(getattr(found, f"{name}keys")[seen], getattr(expected, f"{name}keys"))
    for name in ("ends", "starts", "n_strings"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    for ours, theirs in zip(found.next_symbols(), expected.next_symbols(), strict=True):
        np.testing.assert_array_equal(ours, theirs)


@given(corpora(min_strings=1), st.integers(1, 12), st.integers(1, 12))
def test_the_most_frequent_of_many_classes_are_those_that_fewer_grow_to(corpus, fine, coarse):
    counts = counted(corpus, max(fine, coarse))
    fewer = grow_contexts(corpus.strings, "past", coarse)
    assert spelled(most_frequent(counts.pasts, counts.past_counts, coarse)) == spelled(fewer)


def test_symbols_outside_the_alphabet_are_not_learnt_from():
    """Their code, -1, would be counted in the place of another symbol."""
    strings = Strings.of(["ab", "b?"], alphabet=Strings.of(["ab"]).alphabet, allow_unknown=True)
    with pytest.raises(UnknownSymbolError, match="string 2 holds a symbol that is not among the 2"):
        grow_contexts(strings, "past")
    known = Strings.of(["ab"])
    with pytest.raises(UnknownSymbolError, match="string 2 holds"):
        ContextCounts.of(strings, grow_contexts(known, "past"), grow_contexts(known, "future"))


@given(corpora(min_strings=1), LIMITS)
def test_counting_by_tables_and_by_pieces_is_the_same(corpus, max_classes):
    tries = [grow_contexts(corpus.strings, direction, max_classes) for direction in ("past", "future")]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ContextTrie, "table_for", lambda trie, codes: None)
        patch.setattr(module, "_GAPS_AT_ONCE", 3)
        by_pieces = ContextCounts.of(corpus.strings, *tries)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ContextTrie, "table_for", lambda trie, codes: trie.table)
        by_tables = ContextCounts.of(corpus.strings, *tries)
    for name in ("keys", "counts", "slice_keys", "slice_counts", "ends", "starts", "n_strings"):
        np.testing.assert_array_equal(getattr(by_pieces, name), getattr(by_tables, name))


@given(corpora(min_strings=1), LIMITS)
def test_large_alphabets_do_without_tables(corpus, max_classes):
    counts = counted(corpus, max_classes)
    pasts = most_frequent(counts.pasts, counts.past_counts, 3)
    futures = most_frequent(counts.futures, counts.future_counts, 2)
    expected = counts.coarsened(pasts, futures), counts.next_symbols()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_TABLE_LIMIT", 0)
        patch.setattr(module, "_TABLES_LIMIT", 0)
        found = counts.coarsened(pasts, futures), counts.next_symbols()
    for name in ("keys", "counts", "slice_keys", "slice_counts"):
        np.testing.assert_array_equal(getattr(found[0], name), getattr(expected[0], name))
    for ours, theirs in zip(found[1], expected[1], strict=True):
        np.testing.assert_array_equal(ours, theirs)
