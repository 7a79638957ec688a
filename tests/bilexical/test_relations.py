"""Pairs from treebanks and tables, quadruples, vectors in text."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import numpy as np
import pytest

from sigmastar.bilexical.data.pair_tables import read_pairs
from sigmastar.bilexical.data.pairs import Pairs, split_heads
from sigmastar.bilexical.data.quadruple_files import read_quadruples
from sigmastar.bilexical.data.relations import Pattern, relation_pairs
from sigmastar.bilexical.model.vectors import Vectors
from sigmastar.bilexical.model.word2vec import read_word2vec, write_word2vec
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


def test_vectors_in_text_come_back(tmp_path: Path, rng: np.random.Generator) -> None:
    vectors = Vectors(("a", "b"), rng.standard_normal((2, 3)))
    stream = StringIO()
    write_word2vec(vectors, stream)
    file = tmp_path / "v.txt"
    for text in (stream.getvalue(), stream.getvalue().split("\n", 1)[1]):  # GloVe has no first line
        file.write_text(text)
        found = read_word2vec(file)
        assert found.words == ("a", "b")
        assert np.allclose(found.matrix, vectors.matrix)
    file.write_text("a 1 2\nb 1\n")
    with pytest.raises(InputError, match=r"v.txt:2: expected a word and 2 numbers"):
        read_word2vec(file)
