"""Bilexical operators: the loss against its definition, the learners on a relation that is known."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sigmastar.bilexical import BilexicalModel, Pairs, Vectors, inner_product, pairwise_accuracy, split_heads
from sigmastar.bilexical.learn.operator import ConditionalLoss, OperatorSettings, learn_operator
from sigmastar.bilexical.metrics import by_popularity
from sigmastar.core.errors import ModelFileError
from sigmastar.core.model_reading import load_model, save_model


@pytest.fixture(scope="module")
def vectors() -> Vectors:
    rng = np.random.default_rng(1)
    words = tuple(f"h{n}" for n in range(150)) + tuple(f"m{n}" for n in range(40))
    return Vectors(words, rng.standard_normal((len(words), 8))).normalized()


@pytest.fixture(scope="module")
def pairs(vectors: Vectors) -> Pairs:
    """Drawn from a bilinear form of rank 2."""
    rng = np.random.default_rng(2)
    heads, modifiers = vectors.matrix[:150], vectors.matrix[150:]
    form = rng.standard_normal((8, 2)) @ rng.standard_normal((2, 8)) * 4
    scores = heads @ form.T @ modifiers.T
    chances = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    drawn = [(f"h{h}", f"m{m}") for h in range(150) for m in rng.choice(40, 12, p=chances[h])]
    return Pairs.of(drawn)


def _loss(pairs: Pairs, vectors: Vectors) -> ConditionalLoss:
    return ConditionalLoss(vectors.rows(pairs.modifiers), vectors.rows(pairs.heads), pairs.counts)


def test_the_loss_is_the_mean_negative_log_likelihood(pairs: Pairs, vectors: Vectors) -> None:
    rng = np.random.default_rng(0)
    loss, matrix = _loss(pairs, vectors), rng.standard_normal((8, 8))
    scores = vectors.rows(pairs.heads) @ matrix.T @ vectors.rows(pairs.modifiers).T
    logs = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
    assert loss.value(matrix) == pytest.approx(-(pairs.counts.toarray() * logs).sum() / pairs.n_pairs)


def test_gradients_are_slopes(pairs: Pairs, vectors: Vectors) -> None:
    rng = np.random.default_rng(0)
    loss, matrix = _loss(pairs, vectors), rng.standard_normal((8, 8))
    _, gradient = loss.value_and_gradient(matrix)
    direction = rng.standard_normal((8, 8))
    slope = (loss.value(matrix + 1e-6 * direction) - loss.value(matrix - 1e-6 * direction)) / 2e-6
    assert np.vdot(gradient, direction) == pytest.approx(slope, rel=1e-5)
    left, right = rng.standard_normal((8, 3)), rng.standard_normal((8, 3))
    value, by_left, by_right = loss.factored(left, right)
    expected, full = loss.value_and_gradient(left @ right.T)
    assert value == pytest.approx(expected)
    assert np.allclose(by_left, full @ right)
    assert np.allclose(by_right, full.T @ left)


@pytest.mark.parametrize(
    ("penalty", "solver"), [("nuclear", "factored"), ("nuclear", "fista"), ("l1", "fista"), ("l2", "fobos")]
)
def test_unseen_heads_are_ranked_better_than_by_popularity(
    pairs: Pairs, vectors: Vectors, penalty: str, solver: str
) -> None:
    settings = OperatorSettings(penalty, path=(0.05, 0.2), rank=6, solver=solver, n_iterations=60)
    fit = learn_operator(pairs, vectors, np.random.default_rng(0), settings)
    test, train = pairs.select(fit.model.split.test), pairs.select(fit.model.split.train)
    popular = pairwise_accuracy(by_popularity(train.popularity), test).micro
    assert pairwise_accuracy(fit.model.scores, test).micro > popular + 0.1
    assert set(fit.validation_scores) == {0.05, 0.2}
    assert fit.objectives[-1] < fit.objectives[0]


def test_a_smaller_rank_is_the_leading_part(pairs: Pairs, vectors: Vectors) -> None:
    fit = learn_operator(pairs, vectors, np.random.default_rng(0), OperatorSettings(path=(0.05,), rank=6))
    small = fit.model.projected(2)
    assert small.weights.rank == 2
    assert small.n_operations == 2 * (8 + len(pairs.modifiers))
    heads = pairs.heads[:5]
    assert np.allclose(small.head_embedding(heads) @ small.modifier_embedding().T, small.scores(heads))
    assert np.allclose(np.exp(fit.model.log_probabilities(heads)).sum(axis=1), 1)
    assert [word for word, _ in fit.model.top(heads[0], 3)] == [
        pairs.modifiers[m] for m in np.argsort(-fit.model.scores(heads[:1])[0])[:3]
    ]
    assert len(small.nearest(pairs.modifiers[0], 4)) == 4


def test_a_head_without_a_vector_falls_back_on_popular_modifiers(vectors: Vectors) -> None:
    rng = np.random.default_rng(0)
    chances = np.exp(4 * vectors.matrix[150:] @ rng.standard_normal(8))
    drawn = [(f"h{h}", f"m{m}") for h in range(150) for m in rng.choice(40, 5, p=chances / chances.sum())]
    fit = learn_operator(Pairs.of(drawn), vectors, rng, OperatorSettings(path=(0.02,), bias=1.0))
    scores = fit.model.scores(["never met"])[0]
    assert np.corrcoef(scores, np.log1p(fit.model.popularity))[0, 1] > 0.8


@pytest.mark.parametrize(
    ("penalty", "solver"), [("nuclear", "factored"), ("nuclear", "fista"), ("l1", "fista")]
)
def test_a_warm_path_keeps_its_dimensions_and_is_no_worse(
    pairs: Pairs, vectors: Vectors, penalty: str, solver: str
) -> None:
    path = (0.3, 0.02) if penalty == "nuclear" else (0.01, 0.001)
    split = split_heads(pairs.heads, np.random.default_rng(3))
    found = {
        warm: learn_operator(
            pairs,
            vectors,
            np.random.default_rng(4),
            OperatorSettings(penalty, path, rank=6, solver=solver, warm=warm),
            split,
        )
        for warm in (False, True)
    }
    order = list(found[True].validation_scores)
    assert order == sorted(path, reverse=solver != "factored")
    best = {warm: max(fit.validation_scores.values()) for warm, fit in found.items()}
    assert best[True] > best[False] - 0.02
    assert found[True].model.weights.rank >= 2


def test_baselines(pairs: Pairs, vectors: Vectors) -> None:
    split = split_heads(pairs.heads, np.random.default_rng(0))
    full, two = (inner_product(pairs, vectors, split, rank) for rank in (None, 8))
    heads = split.test[:4]
    assert np.allclose(full.scores(heads), vectors.rows(heads) @ vectors.rows(pairs.modifiers).T)
    assert np.allclose(two.scores(heads), full.scores(heads))


def test_a_model_file_holds_the_split_and_gives_the_same_scores(
    pairs: Pairs, vectors: Vectors, tmp_path: Path
) -> None:
    for penalty in ("nuclear", "l1"):
        settings = OperatorSettings(penalty, path=(0.05,), rank=4, n_iterations=20)
        model = learn_operator(pairs, vectors, np.random.default_rng(0), settings).model
        save_model(model, tmp_path / "m")
        found: BilexicalModel = load_model(tmp_path / "m")
        assert found.split == model.split
        assert np.allclose(found.scores(pairs.heads[:3]), model.scores(pairs.heads[:3]))
    save_model(vectors, tmp_path / "v")
    assert np.array_equal(load_model(tmp_path / "v").matrix, vectors.matrix)
    with pytest.raises(ModelFileError, match="not 'bilexical'"):
        load_model(tmp_path / "v", "bilexical")


def test_wrong_settings_speak() -> None:
    with pytest.raises(ValueError, match="penalty='l3' must be one of nuclear, l1, l2"):
        OperatorSettings("l3")
    with pytest.raises(ValueError, match="penalties must be numbers of 0 or more"):
        OperatorSettings("l1", (0.1, -1.0))


@pytest.mark.parametrize("penalty", ["nuclear", "l2"])
def test_similarity_is_added_to_the_scores(pairs: Pairs, vectors: Vectors, penalty: str) -> None:
    split = split_heads(pairs.heads, np.random.default_rng(3))
    with_it, without = (
        learn_operator(
            pairs,
            vectors,
            np.random.default_rng(4),
            OperatorSettings(penalty, (0.05,), n_iterations=5, similarity=similarity),
            split,
        ).model
        for similarity in (4.0, 0.0)
    )
    expected = without.scores(["h1", "h2"]) + 4 * vectors.rows(["h1", "h2"]) @ vectors.rows(pairs.modifiers).T
    np.testing.assert_allclose(with_it.scores(["h1", "h2"]), expected, atol=1e-9)
    assert with_it.is_low_rank == (penalty == "nuclear")


def test_a_sum_with_the_similarity_is_cut_where_scores_change_least(pairs: Pairs, vectors: Vectors) -> None:
    split, settings = split_heads(pairs.heads, np.random.default_rng(3)), OperatorSettings(path=(0.05,))
    model = learn_operator(pairs, vectors, np.random.default_rng(0), settings, split).model
    both = model.with_similarity(4.0)

    def centred(one: BilexicalModel) -> np.ndarray:
        scores = one.scores(pairs.modifiers)
        return scores - scores.mean(axis=1, keepdims=True)

    whole = centred(both)
    rest = np.linalg.norm(centred(both.projected(3)) - whole)
    least = np.linalg.norm(np.linalg.svd(whole)[1][3:])
    assert both.projected(3).weights.rank == 3
    assert least <= rest * (1 + 1e-9)
    assert rest <= least * 1.01  # a little of the identity is added


def test_of_several_similarities_validation_heads_choose(pairs: Pairs, vectors: Vectors) -> None:
    split = split_heads(pairs.heads, np.random.default_rng(3))

    def learned(similarity: float | tuple[float, ...]) -> BilexicalModel:
        settings = OperatorSettings(path=(0.05,), n_iterations=5, similarity=similarity)
        return learn_operator(pairs, vectors, np.random.default_rng(4), settings, split).model

    held, tried = pairs.select(split.validation), (0.0, 4.0, 400.0)
    best = max(tried, key=lambda weight: pairwise_accuracy(learned(weight).scores, held).micro)
    np.testing.assert_array_equal(learned(tried).weights.matrix, learned(best).weights.matrix)


def test_too_few_heads_are_told(vectors: Vectors) -> None:
    with pytest.raises(ValueError, match="1 heads are too few"):
        learn_operator(Pairs.of([("h1", "m1")]), vectors, np.random.default_rng(0))
