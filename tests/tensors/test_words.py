"""Word models on tensors: counts over paths, slopes against automatic ones, a model that learns."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: make test-torch installs it")

from sigmastar.words.gpu.chains import expected, lanes, probabilities  # noqa: E402
from sigmastar.words.gpu.em import (  # noqa: E402
    TensorChain,
    cluster_tokens,
    discounted,
    expect_text,
    label_counts,
    smoothed,
)
from sigmastar.words.gpu.log_bilinear import (  # noqa: E402
    NAMES,
    Bilinear,
    Training,
    _Step,
    fit_to_counts,
    perplexity,
    train,
)

DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]


def random_model(n: int, n_words: int, n_features: int, device: str, dtype: object) -> Bilinear:
    unigram = torch.full((n_words,), 1 / n_words, dtype=dtype, device=device)
    return Bilinear.random(unigram, n, n_features, 0)


def forward(chain: TensorChain, table: object) -> object:
    """The log-likelihood of lanes, by the plain recursion."""
    state, total = chain.initial.repeat(table.shape[1], 1), 0.0
    for row in table:
        joint = state * chain.by_word[row]
        total = total + joint.sum(dim=1).log().sum()
        state = (joint / joint.sum(dim=1, keepdim=True)) @ chain.moves
    return total


@pytest.mark.parametrize("device", DEVICES)
def test_expected_counts_are_slopes_of_the_likelihood(device: str) -> None:
    """d log f / d log T and E are the expected counts: a twin that shares nothing with them."""
    model, rng = random_model(4, 6, 3, device, torch.float64), np.random.default_rng(0)
    chain, table = model.chain(), lanes(rng.integers(0, 6, 30), 3, device)
    moves, words = chain.moves.clone().requires_grad_(), chain.by_word.clone().requires_grad_()
    total = forward(TensorChain(chain.initial, moves, words), table)
    total.backward()
    found = expected(chain.initial.repeat(3, 1), chain.by_word[table], chain.moves)
    assert float(found.log_likelihood) == pytest.approx(total.item(), rel=1e-12)
    assert torch.allclose(found.moves, moves.grad * moves, atol=1e-10)
    by_word = torch.zeros_like(words).index_add_(0, table.reshape(-1), found.posterior)
    assert torch.allclose(by_word, (words.grad * words).detach(), atol=1e-10)
    counts = expect_text(chain, table.T.reshape(-1).cpu().numpy(), torch.float64, n_lanes=3)
    assert torch.allclose(counts.by_word, by_word, atol=1e-10)


@pytest.mark.parametrize("device", DEVICES)
def test_slopes_of_a_step_are_those_of_the_log_likelihood(device: str) -> None:
    model, rng = random_model(5, 7, 3, device, torch.float64), np.random.default_rng(0)
    piece = lanes(rng.integers(0, 7, 40), 4, device)
    _Step(model, Training(kept_states=1.0, dropped_features=0.0), torch.float64).climb(piece, None)
    parts = [part.clone().requires_grad_() for part in model.parameters]
    words, bias, states, sources, targets, base = parts
    by_word = (words @ states.T + bias[:, None]).softmax(dim=0)
    moves = (sources @ targets.T + base).softmax(dim=1)
    (-forward(TensorChain(base.detach().softmax(dim=0), moves, by_word), piece) / 40).backward()
    for name, part, mine in zip(NAMES, parts, model.parameters, strict=True):
        assert torch.allclose(part.grad, mine.grad, atol=1e-12), name


def test_lanes_that_begin_early_forget_what_came_before() -> None:
    chain, tokens = (
        random_model(4, 6, 3, "cpu", torch.float64).chain(),
        np.random.default_rng(1).integers(0, 6, 400),
    )
    parts = chain.initial, chain.moves, chain.by_word
    np.testing.assert_allclose(
        probabilities(tokens, *parts, n_lanes=5, warm=60), probabilities(tokens, *parts, 1, 0), rtol=1e-6
    )


def test_counts_back_off_as_the_kernels_do() -> None:
    from sigmastar.words.learn.em import Smoother, no_counts
    from sigmastar.words.model.smoothing import Discounts

    rng, groups = np.random.default_rng(2), np.array([0, 0, 1, 1], np.int32)
    counts = no_counts(4, 6)
    counts.by_word[:] = rng.poisson(0.7, (6, 4))
    unigram = np.full(6, 1 / 6)
    counts.initial[0] = counts.moves[0, 0] = 1.0
    chain = Smoother(groups, unigram).chain(counts, Discounts(0.5, 0.7, 0.5, 0.7))
    found = discounted(torch.from_numpy(counts.by_word), torch.from_numpy(groups).long(), 0.5, 0.7,
                       torch.from_numpy(unigram).float())  # fmt: skip
    np.testing.assert_allclose(found.numpy(), chain.by_word, atol=1e-6)


def test_training_learns_a_pattern() -> None:
    rng = np.random.default_rng(3)
    tokens = np.repeat(rng.integers(0, 3, 400), 3) * 3 + np.tile(np.arange(3), 400)  # abc of three kinds
    labels = torch.from_numpy(tokens % 9)
    counts = label_counts(labels, torch.from_numpy(tokens), 9, 9)
    unigram, groups = torch.full((9,), 1 / 9), torch.arange(9) // 3
    chain = smoothed(counts, groups, unigram, 0.5, 0.5)
    counts = expect_text(chain, tokens, torch.float32, n_lanes=8)
    assert counts.perplexity < 2.0
    model = Bilinear.random(unigram, 9, 8, 0)
    training = Training(
        n_epochs=8,
        kept_states=1.0,
        dropped_features=0.0,
        n_lanes=16,
        n_steps=16,
        fit_steps=150,
        fit_share=1.0,
    )
    fit_to_counts(model, counts, training, torch.float32)
    before = perplexity(model, tokens, 1, 0)
    assert before < 4.0
    train(model, tokens, training, torch.float32)
    assert perplexity(model, tokens, 1, 0) < before


def test_clusters_part_points_that_lie_apart() -> None:
    points = torch.tensor([[0.0, 1.0], [0.0, 1.1], [9.0, 0.0], [9.1, 0.0]])
    past = torch.tensor([0, 1, 2, 3, 0, 2])
    labels, _ = cluster_tokens(past, past, points, points, 2, 0)
    assert len(set(labels[[0, 1, 4]].tolist())) == len(set(labels[[2, 3, 5]].tolist())) == 1


def test_the_estimator_learns_vectors_on_tensors() -> None:
    from sigmastar import WordModel

    lines = [line.split() for line in ["the cat sat", "a dog ran", "the dog sat", "a cat ran"] * 200]
    model = WordModel(  # with six states the start decides, and rounding the start
        n_states=24, parameters="log-bilinear", device="cpu", n_features=8, n_epochs=30, order=0
    )
    model.fit(lines)
    assert model.states_perplexity_ < 1.5  # two choices in four words: the root of two at best
    the, the_cat = model.predict_next([["the"], ["the", "cat"]], top=2)
    assert set(the) == {"cat", "dog"}
    assert the_cat[0] == "sat"
    assert np.allclose(model.predict_proba_next([["a"], []]).sum(axis=1), 1.0)
