"""Classes of words from raw text: counted right, and alike where words stand alike."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sigmastar.core import word_clusters
from sigmastar.core.errors import InputError
from sigmastar.core.word_classes import WordClasses, plain
from sigmastar.core.word_clusters import learn_word_classes

NOUNS, VERBS = ("dog", "cat", "horse", "mouse"), ("runs", "sleeps", "eats", "sings")


def sentences(rng: np.random.Generator, n: int = 2000) -> list[list[str]]:
    return [["the", str(rng.choice(NOUNS)), str(rng.choice(VERBS)), "."] for _ in range(n)]


def test_words_that_stand_alike_are_of_one_class(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(word_clusters, "SIZES", (3, 4, 8))
    monkeypatch.setattr(word_clusters, "N_DIMENSIONS", 3)  # the others are noise in so small a text
    rng = np.random.default_rng(0)
    found = learn_word_classes(sentences(rng), rng)
    few = {word: int(number) for word, number in zip(found.words, found.numbers[:, 0], strict=True)}
    assert len({few[word] for word in NOUNS}) == len({few[word] for word in VERBS}) == 1
    assert few["dog"] != few["runs"]
    assert found.sizes[0] == 3


def test_words_are_known_without_case_and_digits() -> None:
    classes = WordClasses(("dog", "0000"), np.array([[0, 1, 2], [1, 0, 3]], dtype=np.int32))
    assert classes.of(["Dog", "1984", "cat"]).tolist() == [[0, 1, 2], [1, 0, 3], [-1, -1, -1]]
    assert classes.sizes == (2, 2, 4)
    arrays, header = classes.to_parts()
    again = WordClasses.from_parts(arrays, header)
    assert again.words == classes.words
    np.testing.assert_array_equal(again.numbers, classes.numbers)
    with pytest.raises(ValueError, match="numbers"):
        WordClasses.from_parts({"numbers": -arrays["numbers"]}, header)
    with pytest.raises(ValueError, match="need words"):
        WordClasses.from_parts({"numbers": arrays["numbers"][:0]}, {"words": []})


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.lists(st.sampled_from(["a", "B", "b", "c", "1", "2"]), max_size=6), min_size=1, max_size=8)
)
def test_neighbours_are_counted_on_both_sides(texts: list[list[str]]) -> None:
    words, sequence = word_clusters._numbered(texts)
    totals = np.bincount(sequence[sequence >= 0], minlength=len(words))
    kept = np.flatnonzero(totals >= 2)
    if not len(kept):
        return
    found = word_clusters._beside(sequence, totals, kept).toarray() ** 2
    order = np.argsort(-totals, kind="stable").tolist()
    counted: Counter[tuple[int, int]] = Counter()
    for text in texts:
        row = [None, *map(plain, text), None]
        for at in range(1, len(row) - 1):
            if (word := words.index(str(row[at]))) in kept:
                for side in (0, 1):
                    near = row[at - 1 + 2 * side]
                    column = len(words) + 1 if near is None else order.index(words.index(near))
                    counted[kept.tolist().index(word), side * (len(words) + 2) + column] += 1
    expected = np.zeros(found.shape)
    for (row_, column), count in counted.items():
        expected[row_, column] = count
    np.testing.assert_allclose(found, expected)


def test_too_little_text_is_refused() -> None:
    with pytest.raises(InputError, match="give more text, or none"):
        learn_word_classes([["a", "b"], ["c"]], np.random.default_rng(0))
