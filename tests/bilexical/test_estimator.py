"""`BilexicalOperator` and `WordVectors` in the manner of scikit-learn."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sigmastar import BilexicalOperator, NotFittedError, WordVectors
from sigmastar.bilexical import make_relation
from sigmastar.bilexical.model.vectors import dense
from sigmastar.core.model_reading import load_model, save_model

MADE = make_relation(np.random.default_rng(0), n_heads=120, n_modifiers=30, dimension=10, rank=2)


def test_fit_predict_and_score() -> None:
    operator = BilexicalOperator(MADE.vectors, rank=5, strengths=(0.1,), max_iter=40).fit(MADE.pairs)
    heads = operator.split_.test[:3]
    assert operator.predict(heads, top=2)[0] == [word for word, _ in operator.top(heads[0], 2)]
    assert operator.predict(heads)[0] == operator.top(heads[0], 1)[0][0]
    assert np.allclose(np.exp(operator.predict_log_proba(heads)).sum(axis=1), 1)
    assert operator.score(MADE.pairs.select(operator.split_.test)) > 0.8
    assert operator.n_left_out_ == 0


def test_the_same_seed_gives_the_same_model() -> None:
    one, two = (
        BilexicalOperator(MADE.vectors, strengths=(0.1,), max_iter=10, random_state=3).fit(MADE.pairs)
        for _ in range(2)
    )
    heads = MADE.pairs.heads[:2]
    assert np.array_equal(one.predict_log_proba(heads), two.predict_log_proba(heads))


def test_words_without_vectors_are_counted_and_mappings_are_vectors() -> None:
    vectors = {f"w{n}": row for n, row in enumerate(np.random.default_rng(0).standard_normal((12, 3)))}
    pairs = [(f"w{n}", f"w{(n + m) % 10}") for n in range(10) for m in (1, 2)]
    operator = BilexicalOperator(vectors, strengths=(0.1,), max_iter=5).fit([*pairs, ("w1", "x")])
    assert operator.n_left_out_ == 1


def test_wrong_use_speaks() -> None:
    with pytest.raises(NotFittedError):
        BilexicalOperator(MADE.vectors).top("h1")
    with pytest.raises(ValueError, match="vectors are needed"):
        BilexicalOperator().fit(MADE.pairs)
    with pytest.raises(ValueError, match="no pair of 1 heads has vectors"):
        BilexicalOperator(MADE.vectors).fit([("x", "y")])
    with pytest.raises(ValueError, match="rank=0 must be 1 or more"):
        BilexicalOperator(MADE.vectors, rank=0).fit(MADE.pairs)
    assert BilexicalOperator(penalty="l1").get_params()["penalty"] == "l1"


def test_vectors_of_text_put_like_words_together(tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text("the cat eats fish\nthe dog eats meat\nA stone lies still\na rock lies still\n" * 3)
    estimator = WordVectors(n_contexts=20).fit([text])
    vectors = estimator.model_
    assert np.array_equal(
        dense(WordVectors(n_contexts=20).fit(text.read_text().split("\n")).model_.matrix),
        dense(vectors.matrix),
    )
    assert np.array_equal(estimator.transform(["cat", "unheard"]), dense(vectors.rows(["cat", "unheard"])))
    assert estimator.nearest("stone", 1) == vectors.nearest("stone", 1)
    assert vectors.nearest("stone", 1)[0][0] == "rock"
    assert vectors.compressed(3).dimension == 3
    save_model(vectors, tmp_path / "v")
    found = load_model(tmp_path / "v")
    assert np.allclose(dense(found.matrix), dense(vectors.matrix), atol=1e-6)
    assert vectors.select(["cat", "unheard"]).words == ("cat",)


def test_neighbours_of_other_text_are_nearer_than_words_of_like_frequency() -> None:
    rng = np.random.default_rng(0)
    topics = [[f"{topic}{n}" for n in range(8)] for topic in "abc"]

    def text(n: int) -> list[list[str]]:
        return [rng.choice(topics[rng.integers(3)], 6).tolist() for _ in range(n)]

    vectors = WordVectors(window=3).fit(text(200))
    assert vectors.score(text(100)) > 0.9
    shuffled = [rng.choice(np.concatenate(topics), 6).tolist() for _ in range(100)]
    assert 0.4 < vectors.score(shuffled) < 0.6
    with pytest.raises(ValueError, match="no word of the text has a vector"):
        vectors.score(["x y"])


def test_wrong_settings_of_vectors_are_told() -> None:
    with pytest.raises(ValueError, match="weighting='log' must be one of"):
        WordVectors(weighting="log").fit(["a b"])
    with pytest.raises(ValueError, match="no word occurs 2 times"):
        WordVectors().fit(["a b"])
    with pytest.raises(ValueError, match="window=0"):
        WordVectors(window=0).fit(["a b"])


def test_scores_of_pairs_are_their_log_probabilities() -> None:
    operator = BilexicalOperator(MADE.vectors, rank=5, strengths=(0.1,), max_iter=10).fit(list(MADE.pairs))
    pairs = list(MADE.pairs)[:20]
    table = operator.predict_log_proba([head for head, _ in pairs])
    expected = [row[operator.model_.modifiers.index(m)] for row, (_, m) in zip(table, pairs, strict=True)]
    np.testing.assert_allclose(operator.score_samples(pairs), expected)
    assert len(operator.score_samples(MADE.pairs)) == len(MADE.pairs)
