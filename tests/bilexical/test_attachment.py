"""Attachment: each judge, the pool, the model file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from sigmastar import PPAttachment
from sigmastar.bilexical import Quadruples, Vectors, interpolated
from sigmastar.bilexical.counts import BackedOffCounts, normalized_word
from sigmastar.bilexical.learn.attachment import (
    AttachmentSettings,
    Block,
    fit_low_rank,
    fit_matrices,
    learn_attachment,
)
from sigmastar.core.log_linear import fit_votes
from sigmastar.core.model_reading import load_model, save_model
from sigmastar.optimise.proximal import L1, L2


@pytest.fixture(scope="module")
def vectors() -> Vectors:
    rng = np.random.default_rng(0)
    words = tuple(f"{kind}{n}" for kind in "von" for n in range(60))
    return Vectors(words, rng.standard_normal((180, 5))).normalized()


@pytest.fixture(scope="module")
def items(vectors: Vectors) -> Quadruples:
    """The answer hangs on a bilinear form between the first and the second noun."""
    rng = np.random.default_rng(1)
    rows = [(f"v{a}", f"o{b}", "with", f"n{c}") for a, b, c in rng.integers(0, 60, (1500, 3))]
    form = rng.standard_normal((5, 5))
    nouns, seconds = (vectors.rows([row[place] for row in rows]) for place in (1, 3))
    labels = np.where(np.einsum("ij,jk,ik->i", nouns, form, seconds) > 0, "N", "V")
    return Quadruples.of(rows, labels)


def test_counts_back_off_to_smaller_tuples() -> None:
    train = Quadruples.of(
        [("eat", "soup", "with", "spoon"), ("eat", "soup", "with", "meat"), ("see", "man", "of", "x")],
        ["V", "N", "N"],
    )
    asked = [
        ("eat", "soup", "with", "spoon"),
        ("eat", "soup", "with", "y"),
        ("a", "b", "of", "c"),
        ("a", "b", "at", "c"),
    ]
    found = BackedOffCounts.of(train).log_odds(Quadruples.of(asked))
    shares = np.array([0.5 / 2, 1.5 / 3, 1.5 / 2, 2.5 / 4])  # of 0 in 1, 1 in 2, 1 in 1, 2 in 3
    np.testing.assert_allclose(found, np.log(shares / (1 - shares)))


def test_numbers_are_one_word() -> None:
    assert [normalized_word(w) for w in ("1987", "3,000.5", "N.V.", "10%")] == [
        "<year>",
        "<number>",
        "n.v.",
        "<number>",
    ]


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_linear_weights_are_a_minimum(rng: np.random.Generator, kind: Any) -> None:
    features, targets = rng.standard_normal((50, 3)), rng.random(50) < 0.5
    found = fit_votes(kind(features), targets, 0.5)
    signs = np.where(targets, 1, -1)

    def objective(w: np.ndarray) -> float:
        return np.log1p(np.exp(-signs * (features @ w))).sum() + 0.25 * float(w @ w)

    assert all(objective(found) <= objective(found + 0.01 * rng.standard_normal(3)) for _ in range(20))


def test_a_heavy_penalty_leaves_no_rank(rng: np.random.Generator) -> None:
    block = Block(rng.standard_normal((40, 4)), rng.standard_normal((40, 4)))
    ((left, right),) = fit_low_rank([block], rng.random(40) < 0.5, 1000.0, 2, rng)
    assert np.abs(left @ right.T).max() < 1e-3


def test_a_squared_penalty_on_matrices_is_linear_regression_on_products() -> None:
    rng = np.random.default_rng(0)
    blocks = [Block(rng.standard_normal((60, n)), rng.standard_normal((60, 3))) for n in (2, 4)]
    targets = rng.random(60) < 0.5
    products = np.hstack([np.einsum("ij,ik->ijk", b.left, b.right).reshape(60, -1) for b in blocks])
    found = fit_matrices(blocks, targets, L2(2.0), 400)
    assert [weights.shape for weights in found] == [(2, 3), (4, 3)]
    flat = np.concatenate([weights.ravel() for weights in found])
    np.testing.assert_allclose(flat, fit_votes(products, targets, 2.0, 400), atol=2e-3)


def test_an_absolute_penalty_leaves_few_weights() -> None:
    rng = np.random.default_rng(0)
    block = Block(rng.standard_normal((200, 5)), rng.standard_normal((200, 5)))
    targets = block.left[:, 0] * block.right[:, 0] > 0
    (weights,) = fit_matrices([block], targets, L1(15.0))
    assert np.flatnonzero(weights).tolist() == [0]


@pytest.mark.parametrize("penalty", ["l1", "l2"])
def test_other_penalties_learn_the_form_too(penalty: str, vectors: Vectors, items: Quadruples) -> None:
    train, dev = items.select(range(1000)), items.select(range(1000, 1500))
    settings = AttachmentSettings(penalty=penalty, refit=False)
    model = learn_attachment(train, dev, vectors, np.random.default_rng(0), settings)
    assert ((model.judgements(dev)["bilinear"] > 0) == dev.to_noun).mean() > 0.8


def test_an_unknown_penalty_is_refused() -> None:
    with pytest.raises(ValueError, match="penalty='l3' must be one of nuclear, l1, l2"):
        AttachmentSettings(penalty="l3")


def test_the_bilinear_judge_finds_the_form_and_gets_the_vote(items: Quadruples, vectors: Vectors) -> None:
    train, dev, test = (items.select(range(*cut)) for cut in ((0, 1000), (1000, 1250), (1250, 1500)))
    settings = AttachmentSettings(bilinear_weight=1.0, refit=False)
    model = learn_attachment(train, dev, vectors, np.random.default_rng(0), settings)
    right = {name: np.mean((odds > 0) == test.to_noun) for name, odds in model.judgements(test).items()}
    assert right["bilinear"] > 0.8 > right["linear"]
    assert np.mean((model.log_odds(test) > 0) == test.to_noun) > 0.8
    share, mixture = interpolated(model, dev)
    assert share < 0.5
    assert np.mean((mixture(test) > 0.5) == test.to_noun) > 0.8


def test_estimator_and_model_file(items: Quadruples, vectors: Vectors, tmp_path: Path) -> None:
    rows, labels = items.rows[:400], items.labels[:400]
    estimator = PPAttachment(vectors, bilinear_weight=1.0).fit(rows, labels)
    assert estimator.score(rows, labels) > 0.7
    chances = estimator.predict_proba(rows[:5])
    assert np.allclose(chances.sum(axis=1), 1)
    assert estimator.predict(rows[:5]) == ["N" if row[0] > 0.5 else "V" for row in chances]
    expected = np.log(np.where(items.to_noun[:5], chances[:, 0], chances[:, 1]))
    np.testing.assert_allclose(estimator.score_samples(rows[:5], labels[:5]), expected)
    save_model(estimator.model_, tmp_path / "m")
    assert np.allclose(load_model(tmp_path / "m").log_odds(items), estimator.model_.log_odds(items))
    with pytest.raises(ValueError, match="give y"):
        PPAttachment(vectors).fit(rows)


def test_matrices_that_do_not_fit_the_vectors_are_refused(items: Quadruples, vectors: Vectors) -> None:
    train, dev = items.select(range(200)), items.select(range(200, 250))
    model = learn_attachment(train, dev, vectors, np.random.default_rng(0), AttachmentSettings(refit=False))
    arrays, header = model.to_parts()
    arrays["bilinear.0.noun.left"] = arrays["bilinear.0.noun.left"][:-1]
    with pytest.raises(ValueError, match="'left' of shape"):
        type(model).from_parts(arrays, header)
    with pytest.raises(ValueError, match="'linear' of shape"):
        type(model).from_parts({**arrays, "linear": arrays["linear"][1:]}, header)


def test_too_few_items_are_told(vectors: Vectors) -> None:
    with pytest.raises(ValueError, match="1 items are too few"):
        PPAttachment(vectors).fit([("a", "b", "c", "d")], ["V"])


def test_equation_7_mixes_probabilities(items: Quadruples, vectors: Vectors, tmp_path: Path) -> None:
    train, dev = items.select(range(1000)), items.select(range(1000, 1500))
    settings = AttachmentSettings(judges=("linear", "bilinear"), pooling="linear", refit=False)
    model = learn_attachment(train, dev, vectors, np.random.default_rng(0), settings)
    odds = model.judgements(dev)
    first, second = (1 / (1 + np.exp(-odds[name])) for name in ("linear", "bilinear"))
    share = model.pool["linear"]
    assert sum(model.pool.values()) == pytest.approx(1.0)
    assert np.allclose(model.probabilities(dev), share * first + (1 - share) * second)

    def likelihood(weight: float) -> float:
        noun = weight * first + (1 - weight) * second
        return float(np.log(np.where(dev.to_noun, noun, 1 - noun)).sum())

    assert likelihood(share) >= max(likelihood(weight) for weight in np.linspace(0, 1, 101)) - 1e-6
    save_model(model, tmp_path / "A")
    again = load_model(tmp_path / "A", "attachment")
    assert again.pooling == "linear"
    assert np.array_equal(again.log_odds(dev), model.log_odds(dev))
    with pytest.raises(ValueError, match="pooling='mean' must be one of"):
        PPAttachment(vectors, pooling="mean").fit(items)
