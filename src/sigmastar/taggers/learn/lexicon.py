"""The lexicon of a tagger: counts of words, and a log-linear guess learned on the rare ones.

Rare words stand for those to come: their tags given their affixes and shape, by softmax regression with a
quadratic penalty, by a few passes of AdaGrad (`taggers.kernels.softmax_training`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import chain

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sigmastar.taggers.data.sentences import TaggedSentences, require_tagged
from sigmastar.taggers.data.word_features import word_classes, word_features
from sigmastar.taggers.kernels.softmax_training import softmax_passes
from sigmastar.taggers.model.lexicon import (
    TagLexicon,
    feature_matrix,
    narrowest_classes,
    places_of,
    softmax_of,
)

Array = NDArray[np.float64]

RARE = 10  # words met at most so often teach the guess
LEAST_CLASS = 50  # tokens in a class of words
SHRINKAGE = 1.0
LEAST = 1e-3
PENALTY = 1.0
RATE, N_PASSES = 0.1, 10


def learn_lexicon(sentences: TaggedSentences, rare: int = RARE, shrinkage: float = SHRINKAGE) -> TagLexicon:
    """Count words with tags, and learn to guess from the rare ones."""
    tags = tuple(sorted(set(require_tagged(sentences).tags or ())))
    types, codes = sentences.types, sentences.type_codes
    shape = (len(types), len(tags))
    ones = np.ones(sentences.n_words)
    counts = sparse.csr_array((ones, (codes, sentences.tag_codes(tags))), shape=shape)
    counts.sum_duplicates()
    totals = np.bincount(codes, minlength=len(types))
    learners = np.flatnonzero(totals <= max(rare, int(totals.min())))
    names = [word_features(word) for word in types]
    features = _frequent_features(names[i] for i in learners)
    matrix = feature_matrix(names, places_of(features))
    weights = fit_softmax(matrix[learners], counts[learners].toarray(), PENALTY)
    classes = frequent_classes(types, totals)
    guessed = softmax_of(matrix, weights).astype(np.float32).astype(float)  # as files keep it
    class_of = narrowest_classes(types, classes)
    return TagLexicon(
        tags, tuple(types), counts, features, weights, classes, guessed, class_of, shrinkage, LEAST
    )


def frequent_classes(types: list[str], totals: NDArray[np.int64]) -> tuple[str, ...]:
    """Signatures that hold enough words; the widest, that holds all, among them."""
    mass: Counter[str] = Counter()
    for word, count in zip(types, totals.tolist(), strict=True):
        for name in word_classes(word):
            mass[name] += count
    return tuple(sorted(name for name, count in mass.items() if count >= LEAST_CLASS or not name))


def _frequent_features(names: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    met = Counter(chain.from_iterable(names))
    return tuple(sorted(name for name, count in met.items() if count >= 2))


def fit_softmax(features: sparse.csr_array, counts: Array, penalty: float, n_passes: int = N_PASSES) -> Array:
    """Weights (features + constant) x classes that maximise sum counts log softmax - penalty / 2 |W|^2."""
    met = np.append(np.bincount(features.indices, minlength=features.shape[1]), features.shape[0])
    weights = np.zeros((features.shape[1] + 1, counts.shape[1]))
    softmax_passes(
        features.indptr.astype(np.int64), features.indices.astype(np.int32), counts,
        penalty / np.maximum(met, 1), RATE, n_passes, weights, np.full(weights.shape, 1e-3),
    )  # fmt: skip
    return weights
