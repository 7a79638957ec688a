"""From tokens to a log-bilinear model: clusters, EM, the fit to its counts, and training with held-out text.

Nothing here needs compiled kernels: tokens, views of them and how frequent words are come as arrays, so that
they can be prepared on one machine and learned from on another.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sigmastar.core.arrays import Array, Floats, Int32s
from sigmastar.core.progress import Progress, silent
from sigmastar.core.torch_device import chosen_device, import_torch, on_device
from sigmastar.words.gpu.bilinear import Bilinear, Training, fit_to_counts, perplexity, train
from sigmastar.words.gpu.em import (
    TensorCounts,
    cluster_tokens,
    expect_text,
    group_states,
    label_counts,
    smoothed,
)

Views = tuple[Array, Array, Array, Array]
"""Of every token its past and its future class, and where the classes lie (`counts.TokenViews`)."""

_ITERATIONS = 4  # of EM before the fit
_WORDS, _MOVES = 0.85, 1.5  # discounts of EM
_LOOKS, _PATIENCE = 12, 2  # at held-out text while training; how many in a row may be worse


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
