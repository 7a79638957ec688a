"""The lexicon of a tagger: counts of words, and a log-linear guess learned on the rare ones.

Rare words stand for those to come: their tags given their affixes and shape, by softmax regression with a
quadratic penalty, solved by L-BFGS.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, sparse, special

from sigmastar.operators.tag_lexicon import TagLexicon, feature_matrix, guess, narrowest_classes, places_of
from sigmastar.structures.tagged import TaggedSentences, require_tagged
from sigmastar.structures.word_features import word_classes, word_features

Array = NDArray[np.float64]

RARE = 10  # words met at most so often teach the guess
LEAST_CLASS = 50  # tokens in a class of words
SHRINKAGE = 1.0
LEAST = 1e-3
PENALTY = 0.5


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
    features, weights = _learn_guess([types[i] for i in learners], counts[learners].toarray())
    classes = frequent_classes(types, totals)
    guessed = guess(types, places_of(features), weights).astype(np.float32).astype(float)  # as files keep it
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


def _learn_guess(types: list[str], counts: Array) -> tuple[tuple[str, ...], Array]:
    met = Counter(name for word in types for name in word_features(word))
    features = tuple(sorted(name for name, count in met.items() if count >= 2))
    return features, fit_softmax(feature_matrix(types, places_of(features)), counts, PENALTY)


def fit_softmax(features: sparse.csr_array, counts: Array, penalty: float, n_iterations: int = 60) -> Array:
    """Weights (features + constant) x classes that maximise sum counts log softmax - penalty / 2 |W|^2."""
    transposed, totals = features.T.tocsr(), counts.sum(axis=1, keepdims=True)
    shape = (features.shape[1] + 1, counts.shape[1])

    def objective(flat: Array) -> tuple[float, Array]:
        weights = flat.reshape(shape)
        logs = special.log_softmax(np.asarray(features @ weights[:-1]) + weights[-1], axis=1)
        slope = totals * np.exp(logs) - counts
        gradient = np.vstack([np.asarray(transposed @ slope), slope.sum(axis=0)]) + penalty * weights
        return -float((counts * logs).sum()) + 0.5 * penalty * float(flat @ flat), gradient.ravel()

    options: dict[str, Any] = {"maxiter": n_iterations, "maxcor": 7}
    start = np.zeros(shape)
    found = optimize.minimize(  # type: ignore[call-overload]
        objective, start.ravel(), jac=True, method="L-BFGS-B", options=options
    )
    return np.asarray(found.x).reshape(shape)
