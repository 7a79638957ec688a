"""The rival without supervision: forms of vectors, and the choice among them."""

from __future__ import annotations

import numpy as np
import pytest

from sigmastar import WordVectors
from sigmastar.bilexical import (
    Pairs,
    Vectors,
    best_inner_product,
    inner_product,
    pairwise_accuracy,
    split_heads,
    vector_forms,
)

TEXT = ["the old car stops", "the new car stops here", "an old house stands", "the new house stands"] * 3


def test_forms_are_the_vectors_of_the_estimator() -> None:
    forms = vector_forms(TEXT, windows=(1, 3))
    assert set(forms) == {f"{name}, window {size}" for name in ("raw", "sqrt", "ppmi") for size in (1, 3)}
    alone = WordVectors(window=3, weighting="sqrt").fit(TEXT).model_
    assert forms["sqrt, window 3"].words == alone.words
    assert np.allclose(forms["sqrt, window 3"].matrix.toarray(), alone.matrix.toarray())


def test_directions_are_leading_singular_vectors_found_once() -> None:
    vectors = Vectors(tuple("abcdef"), np.random.default_rng(0).standard_normal((6, 4)))
    right = np.linalg.svd(vectors.matrix)[2].T
    for rank in (2, 3, 1):  # more, then fewer
        found = vectors.directions(rank)
        assert np.allclose(np.abs(found.T @ right[:, :rank]), np.eye(rank), atol=1e-9)


def test_the_best_form_and_rank_win_on_validation_heads() -> None:
    rng = np.random.default_rng(1)
    words = tuple(f"h{n}" for n in range(60)) + tuple(f"m{n}" for n in range(20))
    good = Vectors(words, rng.standard_normal((80, 3)) * (3.0, 2.0, 0.1)).normalized()
    noise = Vectors(words, rng.standard_normal((80, 3))).normalized()
    scores = good.matrix[:60, :2] @ good.matrix[60:, :2].T
    pairs = Pairs.of((f"h{h}", f"m{m}") for h in range(60) for m in np.argsort(-scores[h])[:4].tolist())
    split = split_heads(pairs.heads, rng)
    chosen = best_inner_product(pairs, {"noise": noise, "good": good}, split, (1, 2, None))
    held = pairs.select(split.validation)
    assert chosen.form == "good"
    assert set(chosen.validation_scores) == {(form, k) for form in ("noise", "good") for k in (1, 2, None)}
    for (form, rank), value in chosen.validation_scores.items():
        model = inner_product(pairs, good if form == "good" else noise, split, rank)
        assert value == pytest.approx(pairwise_accuracy(model.scores, held).micro)
    assert chosen.validation_scores["good", chosen.rank] == max(chosen.validation_scores.values())
