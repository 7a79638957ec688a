"""Windows of co-occurrence against brute force, and the weightings."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from sigmastar.bilexical.counts import WindowCounter, normalized, ppmi, square_root

sentences = st.lists(st.lists(st.integers(-1, 7), max_size=12), max_size=6)


def flat(rows: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
    codes = np.array([code for row in rows for code in row], dtype=np.int32)
    return codes, np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)


def brute_force(
    rows: list[list[int]], n_words: int, n_contexts: int, window: int, sided: bool = False
) -> np.ndarray:
    table = np.zeros((n_words, 2 * n_contexts))
    for row in rows:
        for i, word in enumerate(row):
            for j, context in enumerate(row):
                if i != j and abs(i - j) <= window and word >= 0 and 0 <= context < n_contexts:
                    table[word, context + (n_contexts if sided and j > i else 0)] += 1
    return table if sided else table[:, :n_contexts]


@given(sentences, st.integers(1, 8), st.integers(1, 5), st.booleans())
def test_counts_agree_with_brute_force(
    rows: list[list[int]], n_contexts: int, window: int, sided: bool
) -> None:
    codes, offsets = flat(rows)
    counter = WindowCounter.of(np.bincount(codes[codes >= 0], minlength=8), n_contexts, window, sided)
    counter.add(codes, offsets)
    assert np.array_equal(counter.counts().toarray(), brute_force(rows, 8, n_contexts, window, sided))


@given(sentences, sentences)
def test_text_may_come_in_pieces(first: list[list[int]], second: list[list[int]]) -> None:
    codes = flat(first + second)[0]
    counter = WindowCounter.of(np.bincount(codes[codes >= 0], minlength=8), 5, 2)
    counter.add(*flat(first))
    counter.add(*flat(second))
    assert np.array_equal(counter.counts().toarray(), brute_force(first + second, 8, 5, 2))


def test_a_window_holds_a_word_at_least() -> None:
    with pytest.raises(ValueError, match="window=0 must be 1 or more"):
        WindowCounter.of(np.array([3]), 1, 0)


def test_ppmi_is_the_positive_part_of_the_definition() -> None:
    counts = np.array([[4.0, 0.0, 1.0], [1.0, 2.0, 2.0]])
    found = ppmi(sparse.csr_array(counts), context_power=1.0).toarray()
    with np.errstate(divide="ignore"):
        expected = np.log(counts * counts.sum() / np.outer(counts.sum(1), counts.sum(0)))
    assert np.allclose(found, np.maximum(expected, 0))


def test_normalized_rows_have_length_one_and_zero_rows_stay() -> None:
    rows = normalized(square_root(sparse.csr_array([[4.0, 9.0], [0.0, 0.0]]))).toarray()
    assert np.allclose(np.linalg.norm(rows, axis=1), [1, 0])
