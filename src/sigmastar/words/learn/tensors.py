"""Word models on tensors, for thousands of states: EM, then vectors trained by stochastic gradient.

Lines are read as one stream, also where they are apart: what follows an end is then how lines begin.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sigmastar.automata.data.strings import Strings
from sigmastar.core.arrays import Int32s
from sigmastar.core.progress import Progress, silent, stage
from sigmastar.core.torch_device import chosen_device, import_torch
from sigmastar.words.counts import token_views
from sigmastar.words.gpu.bilinear import Bilinear, Training, fit_to_counts, perplexity, train
from sigmastar.words.gpu.em import (
    TensorCounts,
    cluster_tokens,
    expect_text,
    group_states,
    label_counts,
    smoothed,
)
from sigmastar.words.learn.words import Apart, WordFit, WordSettings, default_states, unigram_of, with_ngram
from sigmastar.words.model.emissions import Vectors
from sigmastar.words.model.hmm import WordHmm

LEAST = 1e-4
_ITERATIONS = 4  # of EM before the fit
_WORDS, _MOVES = 0.85, 1.5  # discounts of EM
_LOOKS, _PATIENCE = 12, 2  # at held-out text while training; how many in a row may be worse


@dataclass(frozen=True)
class TensorSettings:
    """Where to work, and how to train."""

    device: str = "auto"
    n_features: int = 256
    n_epochs: int = 145


def learn_on_tensors(
    strings: Strings,
    settings: WordSettings,
    tensors: TensorSettings,
    rng: np.random.Generator,
    validation: Strings | None = None,
    progress: Progress = silent,
) -> WordFit:
    """Learn a log-bilinear word model."""
    apart = Apart.of(strings, settings.held_out, settings.is_stream, rng, validation)
    work = _Work(apart, settings, tensors, int(rng.integers(2**31)))
    model, scores = work.trained(work.started(stage(progress, 0.0, 0.2)), stage(progress, 0.2, 0.95))
    progress("n-grams", 0.95)
    return with_ngram(_words_of(model, apart, settings), scores, apart, settings)


class _Work:
    """Tensors of a corpus, and the steps from them to a model."""

    def __init__(self, apart: Apart, settings: WordSettings, tensors: TensorSettings, seed: int) -> None:
        torch = import_torch()
        self.device = chosen_device(tensors.device)
        self.dtype = torch.bfloat16 if self.device.type == "cuda" else torch.float32
        self.settings, self.tensors, self.seed = settings, tensors, seed
        self.strings, self.tokens = apart.kept, apart.kept.outcomes.astype(np.int32)
        self.held: Int32s | None = None if apart.held is None else apart.held.outcomes.astype(np.int32)
        self.unigram = self._tensor(unigram_of(apart.kept).astype(np.float32))
        wanted = settings.n_states or default_states(len(self.tokens))
        self.n_states = min(wanted, len(self.tokens))

    def _tensor(self, array: Any) -> Any:
        return import_torch().from_numpy(np.ascontiguousarray(array)).to(self.device)

    def started(self, progress: Progress) -> Bilinear:
        """Random vectors, moved to what clusters of tokens and some iterations of EM expect."""
        model = Bilinear.random(self.unigram, self.n_states, self.tensors.n_features, self.seed)
        if not self.settings.is_spectral:
            return model
        progress("two views of every token", 0.0)
        fit_to_counts(model, self._counts(progress), self._training, self.dtype)
        return model

    def _counts(self, progress: Progress) -> TensorCounts:
        views = token_views(self.strings)
        past, future = (self._tensor(part.astype(np.int64)) for part in (views.past, views.future))
        points = self._tensor(views.pasts), self._tensor(views.futures)
        labels, centres = cluster_tokens(past, future, *points, self.n_states, self.seed)
        groups = group_states(centres, self.seed)
        tokens = self._tensor(self.tokens.astype(np.int64))
        counts = label_counts(labels, tokens, self.n_states, len(self.unigram))
        for k in range(_ITERATIONS):
            progress(f"EM, iteration {k + 1}", (k + 1) / (_ITERATIONS + 1))
            chain = smoothed(counts, groups, self.unigram, _WORDS, _MOVES)
            counts = expect_text(chain, self.tokens, self.dtype)
        return counts

    @property
    def _training(self) -> Training:
        return Training(n_epochs=self.tensors.n_epochs, seed=self.seed)

    def trained(self, model: Bilinear, progress: Progress) -> tuple[Bilinear, list[float]]:
        """The best of the models that held-out text was shown to, and its log-likelihoods."""
        n_epochs, scores = self._training.n_epochs, list[float]()
        best = [part.clone() for part in model.parameters]

        def watch(epoch: int, now: Bilinear) -> bool:
            progress(f"epoch {epoch + 1} of {n_epochs}", (epoch + 1) / n_epochs)
            if self.held is None or ((epoch + 1) % max(n_epochs // _LOOKS, 1) and epoch + 1 < n_epochs):
                return False
            scores.append(-float(np.log(perplexity(now, self.held))))
            if scores[-1] >= max(scores):
                for kept, part in zip(best, now.parameters, strict=True):
                    kept.copy_(part)
            return len(scores) > _PATIENCE and max(scores[-_PATIENCE:]) < max(scores)

        train(model, self.tokens, self._training, self.dtype, watch)
        return (model if self.held is None else Bilinear(*best)), scores


def _words_of(model: Bilinear, apart: Apart, settings: WordSettings) -> WordHmm:
    """The model as a distribution on strings."""
    chain = model.chain()
    ends = chain.initial * chain.by_word[-1]
    first = ((ends / ends.sum()) @ chain.moves).cpu().numpy()
    words, bias, states = (part.float().cpu().numpy() for part in (model.words, model.bias, model.states))
    emissions = Vectors(*(np.ascontiguousarray(part) for part in (words, bias, states)))
    moves = np.ascontiguousarray(chain.moves.float().cpu().numpy())
    return WordHmm(apart.kept.alphabet, first, moves, emissions, settings.is_stream, LEAST)
