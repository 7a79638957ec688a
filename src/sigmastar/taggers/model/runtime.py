"""Taggers where there is NumPy alone."""

from __future__ import annotations

import numpy as np

from sigmastar.core.arrays import Floats
from sigmastar.taggers.data.sentences import Sentences, as_sentences
from sigmastar.taggers.model.tagger import Tagger


class TaggerRuntime:
    """What is asked of taggers."""

    def __init__(self, model: Tagger) -> None:
        self.model = model

    @property
    def classes(self) -> tuple[str, ...]:
        """The tags, in the order of the columns of `predict_proba`."""
        return self.model.tags

    def predict(self, X: Sentences) -> list[list[str]]:
        """One tag per word of each sentence."""
        sentences = as_sentences(X)
        with np.errstate(all="ignore"):
            return sentences.cut(self.model.predict(sentences))

    def predict_proba(self, X: Sentences) -> list[Floats]:
        """One table per sentence, words x tags."""
        sentences = as_sentences(X)
        with np.errstate(all="ignore"):
            table = self.model.predict_proba(sentences)
        return np.split(table, sentences.offsets[1:-1]) if len(sentences) else []
