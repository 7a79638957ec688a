"""Pairs from treebanks and tables, quadruples, running text."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sigmastar.bilexical import (
    Pairs,
    Pattern,
    read_pairs,
    read_quadruples,
    read_relation,
    relation_pairs,
    split_heads,
)
from sigmastar.bilexical.data.text import coded_blocks, word_frequencies
from sigmastar.core.errors import InputError
from sigmastar.dependency.data.treebank import DependencyTreebank


@pytest.fixture
def treebank() -> DependencyTreebank:
    """Two sentences, so that heads in the second must be found there."""
    return DependencyTreebank.of(
        [["Red", "cars"], ["eat", "Soup", "with", "big", "spoons"]],
        [["ADJ", "NOUN"], ["VERB", "NOUN", "ADP", "ADJ", "NOUN"]],
        [[2, 0], [0, 1, 5, 5, 1]],
        [["amod", "root"], ["root", "obj", "case", "amod", "obl:with"]],
    )


def test_relations_between_tags(treebank: DependencyTreebank) -> None:
    assert Pattern("amod", "NOUN", "ADJ").pairs(treebank) == [("cars", "red"), ("spoons", "big")]
    assert Pattern("obj").pairs(treebank) == [("eat", "soup")]
    assert Pattern("amod", "VERB").pairs(treebank) == []


def test_a_preposition_links_what_is_above_and_below(treebank: DependencyTreebank) -> None:
    assert Pattern("prep:with").pairs(treebank) == [("eat", "spoons")]


def test_a_relation_that_is_not_there_is_told(treebank: DependencyTreebank) -> None:
    with pytest.raises(InputError, match="prepositions are with"):
        relation_pairs(treebank, Pattern("prep:under"))
    with pytest.raises(InputError, match="no pairs of relation 'iobj'"):
        relation_pairs(treebank, Pattern("iobj"))


def test_pairs_from_a_table(tmp_path: Path) -> None:
    file = tmp_path / "pairs.tsv"
    file.write_text("car\tred\t2\n\nidea\tnew\n")
    assert read_pairs(file) == [("car", "red"), ("car", "red"), ("idea", "new")]
    file.write_text("car\tred\ncar red\n")
    with pytest.raises(InputError, match=r"pairs.tsv:2: expected 'head TAB modifier'"):
        read_pairs(file)


def test_pairs_of_unknown_words_are_left_out_with_their_heads_and_modifiers() -> None:
    pairs = Pairs.of([("h1", "m1"), ("h1", "nothing"), ("nobody", "m2"), ("h2", "m3"), ("h2", "m3")])
    known = pairs.of_known({"h1", "h2", "m1", "m2", "m3"})
    assert (known.heads, known.modifiers) == (("h1", "h2"), ("m1", "m3"))
    assert list(known) == [("h1", "m1"), ("h2", "m3"), ("h2", "m3")]
    assert len(pairs.of_known(())) == 0


def test_the_given_word_comes_first(tmp_path: Path) -> None:
    (tmp_path / "pairs.tsv").write_text("car\tred\n")
    assert read_relation([str(tmp_path / "pairs.tsv")], given="modifier") == [("red", "car")]
    with pytest.raises(InputError, match="a treebank needs a relation"):
        read_relation(["x.conllu.gz"])


def test_text_is_files_or_sentences_or_lists_of_words(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("A b\nb\n")
    for text in ([tmp_path / "text"], ["A b", "b"], [["A", "b"], ["b"]], ["A b", ["b"]]):
        assert dict(word_frequencies(text)) == {"a": 1, "b": 2}
        blocks = list(coded_blocks(text, {"b": 0}))
        assert [code for codes, _ in blocks for code in codes.tolist()] == [-1, 0, 0]
        assert blocks[0][1].tolist() == [0, 2, 3]
    assert dict(word_frequencies(["A b"], lower_case=False)) == {"A": 1, "b": 1}


def test_heads_fall_into_three_parts(rng: np.random.Generator) -> None:
    pairs = Pairs.of((f"h{n}", f"m{n % 3}") for n in range(100))
    split = split_heads(pairs.heads, rng)
    assert [len(part) for part in (split.train, split.validation, split.test)] == [60, 10, 30]
    assert sorted(split.train + split.validation + split.test) == sorted(pairs.heads)
    assert pairs.select(split.test).modifiers == pairs.modifiers
    assert pairs.swapped().counts.toarray().T.tolist() == pairs.counts.toarray().tolist()


def test_quadruples_with_and_without_ids_and_answers(tmp_path: Path) -> None:
    file = tmp_path / "q"
    file.write_text("0 join board as director V\nis chairman of N.V. N\nsee man with dog\n")
    found = read_quadruples(file, need_labels=False)
    assert found.labels == ["V", "N", "V"]
    assert found.rows[1] == ("is", "chairman", "of", "N.V.")
    with pytest.raises(InputError, match="q:3: expected"):
        read_quadruples(file)
