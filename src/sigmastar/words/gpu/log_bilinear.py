"""Log-bilinear hidden Markov models of words, trained by stochastic gradient.

    E(w | z)  = exp(word_w . state_z + bias_w) / Z_z
    T(z' | z) = exp(from_z . to_z' + base_z') / Z'_z

The gradient of the log-likelihood is that of the expected complete one (Fisher's identity): expected counts
minus what the model expects of them. With G the posteriors of a piece (tokens x states), N their sums, P the
exponentials (words x states, over the largest of each state, so that none overflows), W_x the vectors of the
words of the piece:

    d state = G^T W_x - (N / Z) P^T W        d word = add to rows x of G state - P (N / Z) state

so that no table of expected words is made. A step uses a random half of the states and drops features of
them; what is known at the end of a piece is carried over to the states of the next one.

From tokens to such a model (`Work`): clusters, EM, the fit to its counts, and training with held-out text.
Nothing here needs compiled kernels: tokens, views of them and how frequent words are come as arrays, so that
they can be prepared on one machine and learned from on another.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sigmastar.core.arrays import Array, Floats, Int32s
from sigmastar.core.progress import Progress, silent
from sigmastar.core.torch_device import chosen_device, import_torch, on_device
from sigmastar.words.gpu.chains import Expected, expected, lanes, pieces, probabilities, wide_product
from sigmastar.words.gpu.em import (
    TensorChain,
    TensorCounts,
    cluster_tokens,
    expect_text,
    group_states,
    label_counts,
    smoothed,
)
from sigmastar.words.gpu.replay import Replayed

if TYPE_CHECKING:
    import torch

_FIT_RATE = 2e-2
_ITERATIONS = 4  # of EM before the fit
_WORDS, _MOVES = 0.85, 1.5  # discounts of EM
_LOOKS, _PATIENCE = 12, 2  # at held-out text while training; how many in a row may be worse
Views = tuple[Array, Array, Array, Array]
"""Of every token its past and its future class, and where the classes lie (`counts.TokenViews`)."""
NAMES = ("words", "bias", "states", "sources", "targets", "base")


@dataclass(frozen=True, eq=False)
class Bilinear:
    """Vectors of words and states."""

    words: torch.Tensor  # words x features
    bias: torch.Tensor
    states: torch.Tensor  # states x features
    sources: torch.Tensor
    targets: torch.Tensor
    base: torch.Tensor

    @classmethod
    def random(cls, unigram: torch.Tensor, n_states: int, n_features: int, seed: int) -> Bilinear:
        """Small random vectors, words as frequent as they are."""
        torch = import_torch()
        chance = torch.Generator(device=unigram.device).manual_seed(seed)
        new: Any = lambda *shape: torch.randn(  # noqa: E731
            shape, generator=chance, device=unigram.device, dtype=unigram.dtype
        )
        size = n_features**-0.25
        vectors = [size * new(n, n_features) for n in (len(unigram), n_states, n_states, n_states)]
        words, states, sources, targets = vectors
        base = torch.zeros(n_states, device=unigram.device, dtype=unigram.dtype)
        return cls(words, unigram.clamp_min(1e-12).log(), states, sources, targets, base)

    @property
    def parameters(self) -> list[torch.Tensor]:
        return [getattr(self, name) for name in NAMES]

    def moves(self) -> torch.Tensor:
        scores = self.sources @ self.targets.T + self.base
        return scores.softmax(dim=1)

    def chain(self) -> TensorChain:
        """The probabilities, words x states and states x states."""
        torch = import_torch()
        by_word = (self.words @ self.states.T).add_(self.bias[:, None])
        by_word.sub_(torch.logsumexp(by_word, dim=0)).exp_()
        moves = self.moves()
        initial = torch.full_like(self.base, 1.0 / len(self.base))
        for _ in range(50):  # what the chain is in the long run
            initial = initial @ moves
        return TensorChain(initial, moves, by_word)


@dataclass(frozen=True)
class Training:
    """How to train.

    Parameters
    ----------
    n_epochs : int
        Number of times the text is read.
    rate : float
        Of the first step; it falls to zero in a line.
    kept_states, dropped_features : float
        Shares per step.
    n_lanes, n_steps : int
        Size of a piece.
    fit_steps : int
        Number of steps of the fit to expected counts.
    fit_share : float
        Share of the states per step of the fit.
    decay : float
        Of vectors, per step and rate.
    seed : int
        Of all random choices.
    """

    n_epochs: int = 145
    rate: float = 7e-3
    kept_states: float = 0.5
    dropped_features: float = 0.4
    n_lanes: int = 1024
    n_steps: int = 32
    fit_steps: int = 250
    fit_share: float = 0.25
    decay: float = 0.0
    seed: int = 0


def fit_to_counts(model: Bilinear, counts: TensorCounts, training: Training, dtype: Any) -> None:
    """Move a model to the expected counts of another, in place: a share of the states per step."""
    torch = import_torch()
    torch.manual_seed(training.seed)
    n, rate = len(model.states), _FIT_RATE
    size = min(n, max(_aligned(training.fit_share * n), 64))
    optimizer, n_words = _adam(model.parameters, rate, 0.0), counts.by_word.sum(dim=0)
    totals = n_words.sum() * size / n
    for step in range(training.fit_steps):
        _set_rate(optimizer, rate * (1 - step / training.fit_steps))
        used = torch.randperm(n, device=model.states.device)[:size]
        place: Any = lambda like, rows, at=used: torch.zeros_like(like).index_copy_(0, at, rows)  # noqa: E731
        states = model.states[used].to(dtype)
        scores = wide_product(model.words.to(dtype), states.T).add_(model.bias[:, None])
        scores.sub_(scores.amax(dim=0)).exp_()
        slope = scores.mul_(n_words[used] / scores.sum(dim=0)).sub_(counts.by_word[:, used]).div_(totals)
        narrow = slope.to(dtype)
        model.words.grad = wide_product(narrow, states)
        model.states.grad = place(model.states, wide_product(narrow.T, model.words.to(dtype)))
        model.bias.grad = slope.sum(dim=1)
        moves, sources = counts.moves[used], model.sources[used]
        slope = (sources @ model.targets.T + model.base).softmax(dim=1).mul_(moves.sum(dim=1, keepdim=True))
        slope = slope.sub_(moves).div_(totals)
        model.sources.grad = place(model.sources, slope @ model.targets)
        model.targets.grad = slope.T @ sources
        model.base.grad = slope.sum(dim=0)
        optimizer.step()


def train(
    model: Bilinear,
    tokens: Array,
    training: Training,
    dtype: Any,
    watch: Callable[[int, Bilinear], bool] | None = None,
) -> None:
    """Climb the likelihood of a text, in place; `watch` is called after each epoch, and ends the work."""
    torch = import_torch()
    device, rng = model.words.device, np.random.default_rng(training.seed)
    torch.manual_seed(training.seed)
    optimizer, expect = _adam(model.parameters, training.rate, training.decay), Replayed(expected)
    for epoch in range(training.n_epochs):
        table = lanes(tokens, training.n_lanes, device, int(rng.integers(len(tokens))))
        before, per_epoch = None, -(-len(table) // training.n_steps)
        for number, piece in enumerate(pieces(table, training.n_steps)):
            done = (epoch + number / per_epoch) / training.n_epochs
            _set_rate(optimizer, training.rate * (1.0 - done))
            step = _Step(model, training, dtype, expect)
            before = step.climb(piece, before)
            optimizer.step()
        if watch is not None and watch(epoch, model):
            return


class _Step:
    """One step: the states and features in use, their probabilities, and the slopes."""

    def __init__(
        self, model: Bilinear, training: Training, dtype: Any, expect: Callable[..., Expected] = expected
    ) -> None:
        torch = import_torch()
        self.model, self.dtype, self.expect = model, dtype, expect
        n, d = model.states.shape
        device, keep = model.states.device, 1.0 - training.dropped_features
        size = min(n, max(1, _aligned(training.kept_states * n)))
        self.used = torch.randperm(n, device=device)[:size]
        masks = torch.rand((2, size, d), device=device, dtype=model.states.dtype) < keep
        self.masks = masks.to(model.states.dtype) / keep
        self.states = model.states[self.used] * self.masks[0]
        self.sources = model.sources[self.used] * self.masks[1]
        self.targets, self.base = model.targets[self.used], model.base[self.used]
        self.moves = (self.sources @ self.targets.T).add_(self.base).softmax(dim=1)
        self.narrow = self.states.to(dtype)
        self.words = model.words.to(dtype)
        scores = wide_product(self.words, self.narrow.T).add_(model.bias[:, None])
        top = scores.amax(dim=0)
        self.sums = scores.sub_(top).exp_().sum(dim=0)  # of exponentials over the largest of their state
        self.logs = self.sums.log() + top
        self.exponentials = scores.to(dtype)

    def climb(self, piece: torch.Tensor, before: Any) -> Any:
        """Set the gradients of the model; what the next step needs of this one."""
        model, flat = self.model, piece.reshape(-1)
        vectors = self.words[flat]
        scores = wide_product(vectors, self.narrow.T).add_(model.bias[flat][:, None])
        emitted = scores.sub_(self.logs).exp_().to(self.dtype)
        prior = self._prior(before, piece.shape[1])
        found = self.expect(prior, emitted.view(*piece.shape, -1), self.moves.to(self.dtype))
        self._slopes_of_words(found, flat, vectors)
        self._slopes_of_moves(found, len(flat))
        return found.last, self.sources

    def _prior(self, before: Any, n_lanes: int) -> torch.Tensor:
        """What is known of the first states: by moves from the states of the step before."""
        if before is None:
            return self.base.softmax(dim=0).repeat(n_lanes, 1)
        last, sources = before
        moves = (sources @ self.targets.T).add_(self.base).softmax(dim=1)
        return wide_product(last, moves.to(last.dtype))

    def _slopes_of_words(self, found: Expected, flat: torch.Tensor, vectors: torch.Tensor) -> None:
        torch, model = import_torch(), self.model
        size, posterior = 1.0 / len(flat), found.posterior
        weights = posterior.sum(dim=0, dtype=model.words.dtype) / self.sums
        slope = weights[:, None] * wide_product(self.exponentials.T, self.words)
        slope = (slope - wide_product(posterior.T, vectors)) * self.masks[0] * size
        model.states.grad = torch.zeros_like(model.states).index_copy_(0, self.used, slope)
        scaled = (weights[:, None] * self.states).to(self.dtype)
        slope = wide_product(self.exponentials, scaled)
        slope.index_add_(0, flat, wide_product(posterior, self.narrow), alpha=-1.0)
        model.words.grad = slope.mul_(size)
        slope = wide_product(self.exponentials, weights[:, None].to(self.dtype))[:, 0]
        slope = slope - torch.bincount(flat, minlength=len(slope)).to(slope.dtype)
        model.bias.grad = slope * size

    def _slopes_of_moves(self, found: Expected, n_tokens: int) -> None:
        torch, model = import_torch(), self.model
        slope = (self.moves * found.moves.sum(dim=1, keepdim=True) - found.moves) / n_tokens
        place: Any = lambda like, rows: torch.zeros_like(like).index_copy_(0, self.used, rows)  # noqa: E731
        model.sources.grad = place(model.sources, (slope @ self.targets) * self.masks[1])
        model.targets.grad = place(model.targets, slope.T @ self.sources)
        model.base.grad = place(model.base, slope.sum(dim=0))


def perplexity(model: Bilinear, tokens: Array, n_lanes: int = 256, warm: int = 100) -> float:
    """Of a text, read in lanes."""
    chain = model.chain()
    found = probabilities(tokens, chain.initial, chain.moves, chain.by_word, n_lanes, warm)
    return float(np.exp(-np.log(np.maximum(found, 1e-300)).mean()))


def _adam(parameters: list[torch.Tensor], rate: float, decay: float) -> Any:
    torch = import_torch()
    fused = {"fused": True} if parameters[0].device.type == "cuda" else {}
    return torch.optim.AdamW(parameters, lr=rate, betas=(0.9, 0.99), weight_decay=decay, **fused)


def _set_rate(optimizer: Any, rate: float) -> None:
    for group in optimizer.param_groups:
        group["lr"] = rate


def _aligned(number: float) -> int:
    """A number of states that fills the units of a GPU: a multiple of 64, where there are many."""
    return round(number) if number < 128 else 64 * round(number / 64)


@dataclass(frozen=True, eq=False)
class Prepared:
    """Tokens to learn from and to choose by, and how frequent words are; ends are coded behind the words."""

    tokens: Int32s
    held: Int32s | None
    unigram: Floats


class Work:
    """Tensors of a text, and the steps from them to a model.

    Parameters
    ----------
    text : Prepared
        The text.
    n_states, n_features : int
        Number of hidden states, and the length of vectors.
    training : Training
        How to train; its seed is that of the start too.
    device : {"cpu", "cuda", "auto"}
        Where to work: on a GPU in bfloat16, else in float32.
    """

    def __init__(
        self, text: Prepared, n_states: int, n_features: int, training: Training, device: str = "auto"
    ) -> None:
        torch = import_torch()
        self.device = chosen_device(device)
        self.dtype = torch.bfloat16 if self.device.type == "cuda" else torch.float32
        self.text, self.training = text, training
        self.unigram = self._tensor(text.unigram.astype(np.float32))
        self.n_states, self.n_features = min(n_states, len(text.tokens)), n_features

    def _tensor(self, array: Any) -> Any:
        return on_device(array, self.device)

    def started(self, views: Views | None, progress: Progress = silent) -> Bilinear:
        """Random vectors, moved to what clusters of tokens and some iterations of EM expect, given views."""
        model = Bilinear.random(self.unigram, self.n_states, self.n_features, self.training.seed)
        if views is not None:
            fit_to_counts(model, self._counts(views, progress), self.training, self.dtype)
        return model

    def _counts(self, views: Views, progress: Progress) -> TensorCounts:
        past, future = (self._tensor(part.astype(np.int64)) for part in views[:2])
        pasts, futures = (self._tensor(part.astype(np.float32)) for part in views[2:])
        labels, centres = cluster_tokens(past, future, pasts, futures, self.n_states, self.training.seed)
        groups = group_states(centres, self.training.seed)
        tokens = self._tensor(self.text.tokens.astype(np.int64))
        counts = label_counts(labels, tokens, self.n_states, len(self.unigram))
        for k in range(_ITERATIONS):
            progress(f"EM, iteration {k + 1}", (k + 1) / (_ITERATIONS + 1))
            chain = smoothed(counts, groups, self.unigram, _WORDS, _MOVES)
            counts = expect_text(chain, self.text.tokens, self.dtype)
        return counts

    def trained(self, model: Bilinear, progress: Progress = silent) -> tuple[Bilinear, list[float]]:
        """The best of the models that held-out text was shown to, and its log-likelihoods."""
        n_epochs, scores = self.training.n_epochs, list[float]()
        best, held = [part.clone() for part in model.parameters], self.text.held

        def watch(epoch: int, now: Bilinear) -> bool:
            progress(f"epoch {epoch + 1} of {n_epochs}", (epoch + 1) / n_epochs)
            if held is None or ((epoch + 1) % max(n_epochs // _LOOKS, 1) and epoch + 1 < n_epochs):
                return False
            scores.append(-float(np.log(perplexity(now, held))))
            if scores[-1] >= max(scores):
                for kept, part in zip(best, now.parameters, strict=True):
                    kept.copy_(part)
            return len(scores) > _PATIENCE and max(scores[-_PATIENCE:]) < max(scores)

        train(model, self.text.tokens, self.training, self.dtype, watch)
        return (model if held is None else Bilinear(*best)), scores
