"""Distributional vectors from running text: count in windows, weight, normalize, perhaps compress.

What word vectors can do alone: their inner product, in the form that is best on validation heads.

    phi(m)^T phi(h)                    equation 1 of Madhyastha et al. (2014)
    phi(m)^T V_k V_k^T phi(h)          equation 2: the k leading directions V_k of the vectors

No pair teaches anything here; but windows, weightings of the counts and k are chosen as a learner chooses its
penalty, so that the rival of a learned operator is as good as it can be.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import add

import numpy as np
from scipy import sparse

from sigmastar.bilexical.counts import WEIGHTINGS, Weighting, WindowCounter, normalized, ppmi
from sigmastar.bilexical.data.pairs import HeadSplit, Pairs
from sigmastar.bilexical.data.text import Text, coded_blocks, pieces_of, word_frequencies
from sigmastar.bilexical.metrics import pairwise_accuracy
from sigmastar.bilexical.model.operator import BilexicalModel, FullWeights, LowRankWeights
from sigmastar.bilexical.model.vectors import Vectors
from sigmastar.core.arrays import Int64s
from sigmastar.core.engines import is_spread, spread
from sigmastar.core.progress import announce

_PER_WORD, _PER_NEIGHBOUR = 2.4e-7, 8e-9
"""Seconds of one core that the second pass takes."""


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
    announce(sum(frequencies) * (_PER_WORD + _PER_NEIGHBOUR * 2 * settings.window), "counting neighbours")
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
    task = partial(_window_counts, words, totals, settings)
    return spread(task, pieces_of(text), add) if is_spread() else task(text)


def _window_counts(
    words: tuple[str, ...], totals: Int64s, settings: VectorSettings, text: Text
) -> sparse.csr_array:
    """Counts are whole numbers: those of pieces of the text add up to those of the whole."""
    counter = WindowCounter.of(totals, settings.n_contexts, settings.window, settings.sided)
    codes = {word: code for code, word in enumerate(words)}
    for block in coded_blocks(text, codes, settings.lower_case):
        counter.add(*block)
    return counter.counts()


WINDOWS = (2, 5, 10)
RANKS: tuple[int | None, ...] = (10, 20, 40, 100, 300, None)
"""Numbers of directions that are tried; None: all."""


@dataclass(frozen=True, eq=False)
class ChosenInnerProduct:
    """The best of several inner products.

    Parameters
    ----------
    model : BilexicalModel
        The inner product.
    form : str
        The name of its vectors.
    rank : int or None
        Number of leading directions; None: all.
    validation_scores : dict
        Pairwise accuracy on validation heads, by form and rank.
    """

    model: BilexicalModel
    form: str
    rank: int | None
    validation_scores: dict[tuple[str, int | None], float]


def inner_product(
    pairs: Pairs, vectors: Vectors, split: HeadSplit, rank: int | None = None
) -> BilexicalModel:
    """A model that learns nothing from pairs: how alike the vectors of two words are.

    Parameters
    ----------
    pairs
        Their modifiers can be asked for.
    vectors
        Of the words.
    split
        Popularity is counted on its training heads.
    rank
        Leading directions of the vectors to use (equation 2 of Madhyastha et al.); None: all (equation 1).

    Returns
    -------
    BilexicalModel
        W is the identity, or projects to the leading directions.
    """
    popularity = pairs.select(split.train).popularity
    if rank is None:
        return BilexicalModel(
            pairs.modifiers, popularity, vectors, FullWeights(np.eye(vectors.dimension)), split
        )
    directions = vectors.directions(rank)
    weights = LowRankWeights(directions, np.ones(directions.shape[1]), directions)
    return BilexicalModel(pairs.modifiers, popularity, vectors, weights, split)


def vector_forms(
    text: Text, windows: Sequence[int] = WINDOWS, weightings: Sequence[str] = tuple(WEIGHTINGS)
) -> dict[str, Vectors]:
    """Vectors of one text in several forms.

    Parameters
    ----------
    text
        As `WordVectors` takes it.
    windows
        Numbers of words to each side.
    weightings
        Names of weightings of counts: "ppmi", "sqrt", "raw".

    Returns
    -------
    dict
        Vectors by names such as "sqrt, window 10".
    """
    settings, forms = VectorSettings(), {}
    words, frequencies = frequent_words(text, settings)
    for window in windows:
        counts = window_counts(text, words, frequencies, replace(settings, window=window))
        for name in weightings:
            forms[f"{name}, window {window}"] = Vectors(words, normalized(WEIGHTINGS[name](counts)))
    return forms


def best_inner_product(
    pairs: Pairs, forms: Mapping[str, Vectors], split: HeadSplit, ranks: Sequence[int | None] = RANKS
) -> ChosenInnerProduct:
    """The inner product that orders the modifiers of validation heads best.

    Parameters
    ----------
    pairs
        Of all heads; those of test heads are not looked at.
    forms
        Vectors by name, as `vector_forms` gives them.
    split
        Its validation heads choose.
    ranks
        Numbers of leading directions to try; None: all.

    Returns
    -------
    ChosenInnerProduct
        The best form and rank, and what each reached.
    """
    held = pairs.select(split.validation)
    numbers = [rank for rank in ranks if rank is not None]
    models: dict[tuple[str, int | None], BilexicalModel] = {}
    for form, vectors in forms.items():
        if numbers:
            widest = inner_product(pairs, vectors, split, max(numbers))
            models |= {(form, rank): widest.projected(rank) for rank in numbers}
        if None in ranks:
            models[form, None] = inner_product(pairs, vectors, split)
    scores = {key: pairwise_accuracy(model.scores, held).micro for key, model in models.items()}
    form, rank = max(scores, key=scores.__getitem__)
    return ChosenInnerProduct(models[form, rank], form, rank, scores)
