"""Distributional vectors from running text: count in windows, weight, normalize, perhaps compress."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from sigmastar.bilexical.counts.ppmi import Weighting, WindowCounter, normalized, ppmi
from sigmastar.bilexical.data.text import Text, coded_blocks, word_frequencies
from sigmastar.bilexical.model.vectors import Vectors


@dataclass(frozen=True)
class VectorSettings:
    """How to count and to weight.

    Contexts are the `n_contexts` most frequent words. `sided` counts words on the left and on the
    right apart: twice the coordinates, a better predictor of which modifiers fit a head, and no better one of
    attachment. With `n_dimensions` vectors are compressed to so many singular directions.
    """

    window: int = 2
    n_contexts: int = 2000
    sided: bool = False
    weighting: Weighting = ppmi
    min_count: int = 2
    n_dimensions: int | None = None
    lower_case: bool = True


def learn_vectors(text: Text, settings: VectorSettings) -> Vectors:
    """Vectors of all words met `min_count` times; the text passes twice and is never held as a whole."""
    words, frequencies = frequent_words(text, settings)
    if not words:
        raise ValueError(f"no word occurs {settings.min_count} times; lower min_count or give more text")
    counts = window_counts(text, words, frequencies, settings)
    vectors = Vectors(words, normalized(settings.weighting(counts)))
    return vectors if settings.n_dimensions is None else vectors.compressed(settings.n_dimensions)


def frequent_words(text: Text, settings: VectorSettings) -> tuple[tuple[str, ...], list[int]]:
    """The words met `min_count` times and how often, the most frequent first."""
    met = word_frequencies(text, settings.lower_case)
    ordered = sorted((-count, word) for word, count in met.items() if count >= settings.min_count)
    return tuple(word for _, word in ordered), [-count for count, _ in ordered]


def window_counts(
    text: Text, words: tuple[str, ...], frequencies: list[int], settings: VectorSettings
) -> sparse.csr_array:
    """Counts of words by contexts, which are the first of the words."""
    totals = np.array(frequencies, dtype=np.int64)
    counter = WindowCounter.of(totals, settings.n_contexts, settings.window, settings.sided)
    codes = {word: code for code, word in enumerate(words)}
    for block in coded_blocks(text, codes, settings.lower_case):
        counter.add(*block)
    return counter.counts()
