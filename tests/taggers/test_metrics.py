"""Accuracy and F1 of chunks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles_tagging import chunk_set
from sigmastar.taggers.data.sentences import TaggedSentences
from sigmastar.taggers.metrics import chunk_counts, tagging_scores

TAG = st.sampled_from(["O", "B-NP", "I-NP", "I-VP"])


@given(st.lists(st.lists(st.tuples(TAG, TAG), min_size=1, max_size=6), min_size=1, max_size=4))
def test_chunk_counts(rows: list[list[tuple[str, str]]]) -> None:
    gold = TaggedSentences.of([["w"] * len(row) for row in rows], [[a for a, _ in row] for row in rows])
    found = [b for row in rows for _, b in row]
    tops, bottoms = chunk_counts(gold, found)
    for number, row in enumerate(rows):
        true, guessed = chunk_set([a for a, _ in row]), chunk_set([b for _, b in row])
        assert tops[number] == 2 * len(true & guessed)
        assert bottoms[number] == len(true) + len(guessed)


def test_scores(rng: np.random.Generator) -> None:
    gold = TaggedSentences.of([["a", "b"], ["c"]], [["B-X", "I-X"], ["O"]])
    scores = tagging_scores(gold, ["B-X", "O", "O"], {"a", "c"}, rng)
    assert scores.accuracy.value == pytest.approx(2 / 3)
    assert scores.unknown_accuracy is not None
    assert scores.unknown_accuracy.value == 0.0
    assert scores.chunk_f1 is not None
    assert scores.chunk_f1.value == 0.0
    plain = TaggedSentences.of([["a"]], [["N"]])
    assert tagging_scores(plain, ["N"], {"a"}, rng).chunk_f1 is None
    assert tagging_scores(plain, ["N"], {"a"}, rng).unknown_accuracy is None
