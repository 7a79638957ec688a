"""Vectors and their formats, and what operators can be asked."""

from __future__ import annotations

from copy import deepcopy
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from sigmastar.bilexical import Vectors, make_relation, read_vectors, read_word2vec, write_word2vec
from sigmastar.bilexical.model.vectors import dense
from sigmastar.core.errors import InputError, ModelFileError
from sigmastar.core.model_reading import load_model, save_model

MADE = make_relation(np.random.default_rng(0), n_heads=30, n_modifiers=6, dimension=4, rank=2)


def test_unknown_words_have_zero_rows_and_capitals_are_looked_up_in_lower_case() -> None:
    for matrix in (np.eye(2), sparse.csr_array(np.eye(2))):
        rows = dense(Vectors(("a", "b"), matrix).rows(["B", "c", "a"]))
        assert rows.tolist() == [[0, 1], [0, 0], [1, 0]]


def test_a_damaged_sparse_matrix_is_refused() -> None:
    arrays, header = Vectors(("a", "b"), sparse.csr_array(np.eye(2))).to_parts()
    arrays["columns"] = np.array([0, 7], dtype=np.int32)
    with pytest.raises(ValueError, match="'columns' must hold numbers"):
        Vectors.from_parts(arrays, header)


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


def test_vectors_of_either_format_are_read(tmp_path: Path) -> None:
    vectors = Vectors(("a", "b"), np.array([[3.0, 4.0], [0.0, 2.0]]))
    save_model(vectors, tmp_path / "model")
    assert np.array_equal(read_vectors(tmp_path / "model").matrix, vectors.matrix)
    with (tmp_path / "text").open("w") as stream:
        write_word2vec(vectors, stream)
    np.testing.assert_allclose(read_vectors(tmp_path / "text").matrix, [[0.6, 0.8], [0.0, 1.0]])
    with pytest.raises(ModelFileError, match="no such file"):
        read_vectors(tmp_path / "nothing")


def test_vectors_are_shared_by_copies_and_tell_their_size_alone() -> None:
    assert deepcopy(MADE.vectors) is MADE.vectors
    assert repr(MADE.vectors) == "Vectors(36 words, 4 dimensions)"


def test_pairs_have_the_probabilities_of_the_table() -> None:
    model = MADE.model
    table = model.log_probabilities(["h1", "h2"])
    found = model.pair_log_probabilities([("h2", "m3"), ("h1", "m1"), ("h2", "unheard")])
    assert found.tolist() == [table[1, 2], table[0, 0], -np.inf]


def test_samples_are_drawn_from_the_conditionals() -> None:
    drawn = MADE.model.sample(["h1"], np.random.default_rng(0), 20_000)
    shares = [sum(m == modifier for _, m in drawn) / len(drawn) for modifier in MADE.model.modifiers]
    np.testing.assert_allclose(shares, np.exp(MADE.model.log_probabilities(["h1"])[0]), atol=0.02)


def test_factors_that_do_not_fit_are_refused() -> None:
    arrays, header = MADE.model.to_parts()
    with pytest.raises(ValueError, match="'singular_values' of shape"):
        type(MADE.model).from_parts({**arrays, "singular_values": np.ones(5)}, header)
    with pytest.raises(ValueError, match="'left' of shape"):
        type(MADE.model).from_parts({**arrays, "left": np.ones((3, 2))}, header)


def test_a_made_relation_survives_its_file(tmp_path: Path) -> None:
    save_model(MADE.model, tmp_path / "m")
    assert np.array_equal(load_model(tmp_path / "m").scores(["h1"]), MADE.model.scores(["h1"]))
