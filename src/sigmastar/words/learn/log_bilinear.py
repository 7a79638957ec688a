"""Word models on tensors, for thousands of states: EM, then vectors trained by stochastic gradient.

Lines are read as one stream, also where they are apart: what follows an end is then how lines begin.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sigmastar.automata.data.strings import Strings
from sigmastar.core.progress import Progress, silent, stage
from sigmastar.words.counts import token_views
from sigmastar.words.gpu.log_bilinear import Bilinear, Prepared, Training, Views, Work
from sigmastar.words.learn.word_model import (
    Apart,
    WordFit,
    WordSettings,
    default_states,
    unigram_of,
    with_ngram,
)
from sigmastar.words.model.emissions import Vectors
from sigmastar.words.model.hmm import WordHmm

LEAST = 3e-5  # of 4,096 states on validation text 178.1 in 25 s; 1e-4 178.5 in 21 s, 1e-5 178.0 in 35 s


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
    training = Training(n_epochs=tensors.n_epochs, seed=int(rng.integers(2**31)))
    text = prepared(apart)
    n_states = settings.n_states or default_states(len(text.tokens))
    work = Work(text, n_states, tensors.n_features, training, tensors.device)
    progress("two views of every token", 0.0)
    views = views_of(apart.kept) if settings.is_spectral else None
    model, scores = work.trained(work.started(views, stage(progress, 0.0, 0.2)), stage(progress, 0.2, 0.95))
    progress("n-grams", 0.95)
    return with_ngram(_words_of(model, apart, settings), scores, apart, settings)


def prepared(apart: Apart) -> Prepared:
    """The arrays that tensors are made of."""
    tokens = apart.kept.outcomes.astype(np.int32)
    held = None if apart.held is None else apart.held.outcomes.astype(np.int32)
    return Prepared(tokens, held, unigram_of(apart.kept))


def views_of(strings: Strings) -> Views:
    """The classes of every token, and where they lie."""
    found = token_views(strings)
    return found.past, found.future, found.pasts, found.futures


def _words_of(model: Bilinear, apart: Apart, settings: WordSettings) -> WordHmm:
    """The model as a distribution on strings."""
    chain = model.chain()
    ends = chain.initial * chain.by_word[-1]
    first = ((ends / ends.sum()) @ chain.moves).cpu().numpy()
    words, bias, states = (part.float().cpu().numpy() for part in (model.words, model.bias, model.states))
    emissions = Vectors(*(np.ascontiguousarray(part) for part in (words, bias, states)))
    moves = np.ascontiguousarray(chain.moves.float().cpu().numpy())
    return WordHmm(apart.kept.alphabet, first, moves, emissions, settings.is_stream, LEAST)
