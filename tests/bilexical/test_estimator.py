"""`BilexicalOperator` in the manner of scikit-learn, and `Vectors`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from sigmastar import BilexicalOperator, NotFittedError
from sigmastar.bilexical.learn.vectors import learn_vectors
from sigmastar.bilexical.model.generators import make_relation
from sigmastar.bilexical.model.vectors import Vectors, dense
from sigmastar.core.model_files import load_model, save_model

MADE = make_relation(np.random.default_rng(0), n_heads=120, n_modifiers=30, dimension=10, rank=2)


def test_fit_predict_and_score() -> None:
    operator = BilexicalOperator(MADE.vectors, rank=5, strengths=(0.1,), n_iterations=40).fit(MADE.pairs)
    heads = operator.split_.test[:3]
    assert operator.predict(heads, top=2)[0] == [word for word, _ in operator.top(heads[0], 2)]
    assert operator.predict(heads)[0] == operator.top(heads[0], 1)[0][0]
    assert np.allclose(np.exp(operator.predict_log_proba(heads)).sum(axis=1), 1)
    assert operator.score(MADE.pairs.select(operator.split_.test)) > 0.8
    assert operator.n_left_out_ == 0


def test_the_same_seed_gives_the_same_model() -> None:
    one, two = (
        BilexicalOperator(MADE.vectors, strengths=(0.1,), n_iterations=10, random_state=3).fit(MADE.pairs)
        for _ in range(2)
    )
    heads = MADE.pairs.heads[:2]
    assert np.array_equal(one.predict_log_proba(heads), two.predict_log_proba(heads))


def test_words_without_vectors_are_counted_and_mappings_are_vectors() -> None:
    vectors = {f"w{n}": row for n, row in enumerate(np.random.default_rng(0).standard_normal((12, 3)))}
    pairs = [(f"w{n}", f"w{(n + m) % 10}") for n in range(10) for m in (1, 2)]
    operator = BilexicalOperator(vectors, strengths=(0.1,), n_iterations=5).fit([*pairs, ("w1", "x")])
    assert operator.n_left_out_ == 1


def test_wrong_use_speaks() -> None:
    with pytest.raises(NotFittedError):
        BilexicalOperator(MADE.vectors).top("h1")
    with pytest.raises(ValueError, match="vectors are needed"):
        BilexicalOperator().fit(MADE.pairs)
    with pytest.raises(ValueError, match="rank=0 must be 1 or more"):
        BilexicalOperator(MADE.vectors, rank=0).fit(MADE.pairs)
    assert BilexicalOperator(penalty="l1").get_params()["penalty"] == "l1"


def test_unknown_words_have_zero_rows_and_capitals_are_looked_up_in_lower_case() -> None:
    for matrix in (np.eye(2), sparse.csr_array(np.eye(2))):
        rows = dense(Vectors(("a", "b"), matrix).rows(["B", "c", "a"]))
        assert rows.tolist() == [[0, 1], [0, 0], [1, 0]]


def test_vectors_of_text_put_like_words_together(tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text("the cat eats fish\nthe dog eats meat\nA stone lies still\na rock lies still\n" * 3)
    vectors = learn_vectors([text], window=2, n_contexts=20)
    assert vectors.nearest("stone", 1)[0][0] == "rock"
    assert vectors.compressed(3).dimension == 3
    save_model(vectors, tmp_path / "v")
    found = load_model(tmp_path / "v")
    assert np.allclose(dense(found.matrix), dense(vectors.matrix), atol=1e-6)
    assert vectors.select(["cat", "unheard"]).words == ("cat",)


def test_a_damaged_sparse_matrix_is_refused() -> None:
    arrays, header = Vectors(("a", "b"), sparse.csr_array(np.eye(2))).to_parts()
    arrays["columns"] = np.array([0, 7], dtype=np.int32)
    with pytest.raises(ValueError, match="do not fit their dimension"):
        Vectors.from_parts(arrays, header)
