"""Distributional vectors from running text: count in windows, weight, normalise, perhaps compress."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sigmastar.bilexical.counts.associations import Weighting, normalised, ppmi
from sigmastar.bilexical.counts.windows import WindowCounter
from sigmastar.bilexical.data.text import coded_blocks, word_frequencies
from sigmastar.bilexical.model.vectors import Vectors
from sigmastar.core.text_files import TextPath


def learn_vectors(
    paths: Sequence[TextPath],
    window: int = 2,
    n_contexts: int = 2000,
    weighting: Weighting = ppmi,
    min_count: int = 2,
    dimension: int | None = None,
    lower_case: bool = True,
    sided: bool = False,
) -> Vectors:
    """Vectors of all words met `min_count` times; contexts are the `n_contexts` most frequent words.

    `sided` tells words on the left from words on the right: twice the coordinates, a better judge of which
    modifiers fit a head, and no better one of attachment.

    With `dimension` they are compressed to so many singular directions. The text passes twice: once for
    the frequencies, once for the counts, and is never held as a whole.
    """
    frequencies = word_frequencies(paths, lower_case)
    ordered = sorted(((-count, word) for word, count in frequencies.items() if count >= min_count))
    words = tuple(word for _, word in ordered)
    if not words:
        raise ValueError(f"no word occurs {min_count} times; lower min_count or give more text")
    counter = WindowCounter.of(np.array([-count for count, _ in ordered]), n_contexts, window, sided)
    codes = {word: code for code, word in enumerate(words)}
    for block in coded_blocks(paths, codes, lower_case):
        counter.add(*block)
    vectors = Vectors(words, normalised(weighting(counter.counts())))
    return vectors if dimension is None else vectors.compressed(dimension)
