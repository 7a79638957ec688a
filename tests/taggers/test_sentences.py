"""Tagged sentences and chunks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles_tagging import chunk_set
from sigmastar.core.errors import InputError
from sigmastar.taggers.data.feature_templates import word_classes, word_features, word_of
from sigmastar.taggers.data.sentences import TaggedSentences, require_tagged
from sigmastar.taggers.metrics import chunk_spans, is_chunk_tagging, kind_codes


def test_types_and_selection() -> None:
    tagged = TaggedSentences.of([["a", "b"], [], ["b", "c", "b"]], [["X", "Y"], [], ["Y", "X", "Y"]])
    assert tagged.types == ["a", "b", "c"]
    assert tagged.type_codes.tolist() == [0, 1, 1, 2, 1]
    assert tagged.tag_codes(["Y", "Z"]).tolist() == [-1, 0, 0, -1, 0]
    part = tagged.select([2, 1])
    assert (part.words, part.tags, part.offsets.tolist()) == (["b", "c", "b"], ["Y", "X", "Y"], [0, 3, 3])
    assert tagged.cut(tagged.words) == [["a", "b"], [], ["b", "c", "b"]]


def test_a_word_and_what_is_observed_make_a_symbol() -> None:
    tagged = TaggedSentences.of([[("a", "D"), ("b", "N")], [("a", "N"), ("a", "D")]])
    assert [word_of(symbol) for symbol in tagged.types] == ["a", "b", "a"]
    assert tagged.type_codes.tolist() == [0, 1, 2, 0]
    assert tagged.select([1]).observed == (["N", "D"],)
    assert {"1=D", "small=a"} <= set(word_features(tagged.types[0]))
    assert word_classes(tagged.types[0])[-2:] == ("D", "")


def test_tuples_may_end_in_the_tag() -> None:
    tagged = TaggedSentences.of_pairs([[("a", "x", "D"), ("b", "y", "N")], [("a", "x", "N")]])
    assert (tagged.words, tagged.tags, tagged.observed) == (
        ["a", "b", "a"],
        ["D", "N", "N"],
        (["x", "y", "x"],),
    )
    assert tagged.offsets.tolist() == [0, 2, 3]
    assert TaggedSentences.of_pairs([]).tags is None
    with pytest.raises(InputError, match="sentence 2: expected tuples"):
        TaggedSentences.of_pairs([[("a", "D")], [("a",)]])


@pytest.mark.parametrize(
    ("words", "tags", "problem"),
    [
        ([["a"]], [["X", "Y"]], "sentence 1: 1 words, but 2 tags"),
        ([["a"]], [], "1 sentences, but tags of 0"),
        (["ab"], None, "'ab' is one word where a list of words should stand"),
        (["a b"], None, "'a b' is one text; split it into words first"),
        ("a b", None, "^'a b' is one text; split it into words first"),
        ([["a"]], ["X"], "tags must be a list of strings, not one string"),
        ([["a"]], [[1]], "tags must be strings, not 1; give names"),
        ([[["w=a", "s=a"]]], None, "features stand beside the word, as in {'word': 'dog'"),
        ([["a", 3]], None, "must be strings, not 3"),
        ([[("a", "X"), "b"]], None, "sentence 1: expected tuples of a word and 1 observed strings"),
        ([[("a", "X")], [("b", "X", "Y")]], None, "sentence 2: expected tuples"),
        ([[("a", 3)]], None, "must be strings, not 3"),
    ],
)
def test_bad_sentences(words: list, tags: list | None, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        TaggedSentences.of(words, tags)


def test_nothing_to_learn_from() -> None:
    with pytest.raises(InputError, match="no words"):
        require_tagged(TaggedSentences.of([[]], [[]]))
    with pytest.raises(InputError, match="no tags"):
        require_tagged(TaggedSentences.of([["a"]]))


CHUNK_TAGS = st.sampled_from(["O", "B-NP", "I-NP", "B-VP", "I-VP"])


@given(st.lists(st.lists(CHUNK_TAGS, max_size=7), min_size=1, max_size=4))
def test_chunks_are_those_of_a_walk(rows: list[list[str]]) -> None:
    flat = [tag for row in rows for tag in row]
    offsets = np.append(0, np.cumsum([len(row) for row in rows]))
    kinds = {code: kind for kind, code in kind_codes(flat).items()}
    found = {(int(a), int(b), kinds[int(k)]) for a, b, k in chunk_spans(flat, offsets)}
    wanted = {
        (low + a, low + b, k) for low, row in zip(offsets, rows, strict=False) for a, b, k in chunk_set(row)
    }
    assert found == wanted


def test_what_is_a_chunk_tagging() -> None:
    assert is_chunk_tagging(["O", "I-NP"])
    assert not is_chunk_tagging(["O"])
    assert not is_chunk_tagging(["O", "NOUN"])
