"""The lexicon of a tagger: counts of words, and a log-linear guess learned on the rare ones.

Rare words stand for unknown ones: their tags given their affixes and shape, by softmax regression with a
quadratic penalty, by a few passes of AdaGrad.

    max over W   sum_i sum_t counts[i, t] log softmax(sum_{f in i} W_f + W_constant)[t]  -  penalty / 2 |W|^2

The share of a feature in the penalty is paid wherever the feature occurs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import numpy as np
from scipy import sparse

from sigmastar.core.adagrad import step
from sigmastar.core.arrays import Floats, Int32s, Int64s
from sigmastar.core.jit import kernel, part
from sigmastar.core.word_classes import WordClasses
from sigmastar.taggers.data.feature_templates import word_classes, word_features
from sigmastar.taggers.data.sentences import TaggedSentences, require_tagged
from sigmastar.taggers.model.lexicon import (
    TagLexicon,
    feature_matrix,
    narrowest_classes,
    places_of,
    softmax_of,
)

RARE = 10  # words with at most so many tokens teach the guess
LEAST_CLASS = 50  # tokens in a class of words
SHRINKAGE = 1.0
LEAST = 1e-3
PENALTY = 1.0
RATE, N_PASSES = 0.1, 10


def learn_lexicon(
    sentences: TaggedSentences,
    rare: int = RARE,
    shrinkage: float = SHRINKAGE,
    raw: WordClasses | None = None,
) -> TagLexicon:
    """Count words with tags, and learn to guess from the rare ones; `raw` are classes by raw text."""
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
    weights = _as_kept(fit_softmax(matrix[learners], counts[learners].toarray(), PENALTY))
    classes = frequent_classes(types, totals)
    guessed = _as_kept(softmax_of(matrix, weights))
    class_of = narrowest_classes(types, classes)
    return TagLexicon(
        tags, tuple(types), counts, features, weights, classes, guessed, class_of, shrinkage, LEAST, raw
    )


def _as_kept(table: Floats) -> Floats:
    """Rounded as model files keep it."""
    return table.astype(np.float32).astype(np.float64)


def frequent_classes(types: list[str], totals: Int64s) -> tuple[str, ...]:
    """Signatures that hold enough words; the widest, that holds all, among them."""
    mass: Counter[str] = Counter()
    for word, count in zip(types, totals.tolist(), strict=True):
        for name in word_classes(word):
            mass[name] += count
    return tuple(sorted(name for name, count in mass.items() if count >= LEAST_CLASS or not name))


def _frequent_features(names: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    met = Counter(chain.from_iterable(names))
    return tuple(sorted(name for name, count in met.items() if count >= 2))


def fit_softmax(
    features: sparse.csr_array, counts: Floats, penalty: float, n_passes: int = N_PASSES
) -> Floats:
    """Weights (features + constant) x classes that maximize sum counts log softmax - penalty / 2 |W|^2."""
    met = np.append(np.bincount(features.indices, minlength=features.shape[1]), features.shape[0])
    weights = np.zeros((features.shape[1] + 1, counts.shape[1]))
    starts, codes = features.indptr.astype(np.int64), features.indices.astype(np.int32)
    penalties, squares = penalty / np.maximum(met, 1), np.full(weights.shape, 1e-3)
    for number in range(n_passes):
        order = np.arange(len(counts))[:: 1 if number % 2 == 0 else -1].copy()
        _softmax_pass(order, starts, codes, counts, penalties, weights, squares)
    return weights


@kernel
def _softmax_pass(
    order: Int64s,
    starts: Int64s,
    features: Int32s,
    counts: Floats,
    penalties: Floats,
    weights: Floats,
    squares: Floats,
) -> None:
    """One pass over the rows in the order given; `weights` (features and the constant x classes) change."""
    constant, slope = len(weights) - 1, np.zeros(counts.shape[1])
    for i in order:
        row = features[starts[i] : starts[i + 1]]
        _softmax_slope(row, counts[i], weights, slope)
        for j in range(len(row) + 1):
            f = row[j] if j < len(row) else constant
            for t in range(len(slope)):
                step(weights, squares, (f, t), slope[t] + penalties[f] * weights[f, t], RATE)


@part
def _softmax_slope(row: Int32s, counts: Floats, weights: Floats, slope: Floats) -> None:
    """What the scores of one row should go down by: its total times the softmax, less its counts."""
    constant, top, mass, total = len(weights) - 1, -np.inf, 0.0, 0.0
    for t in range(len(slope)):
        slope[t] = weights[constant, t]
    for f in row:
        for t in range(len(slope)):
            slope[t] += weights[f, t]
    for t in range(len(slope)):
        top, total = max(top, slope[t]), total + counts[t]
    for t in range(len(slope)):
        slope[t] = np.exp(slope[t] - top)
        mass += slope[t]
    for t in range(len(slope)):
        slope[t] = total * slope[t] / mass - counts[t]


@dataclass(frozen=True, eq=False)
class TaggedCorpus:
    """Sentences coded by their lexicon: tags, words, and the distinct pairs of both."""

    lexicon: TagLexicon
    sentences: TaggedSentences

    @classmethod
    def of(cls, sentences: TaggedSentences, raw: WordClasses | None = None) -> TaggedCorpus:
        """With a lexicon learned from these sentences; those without words are left out."""
        lengths = sentences.lengths
        whole = sentences if (lengths > 0).all() else sentences.select(np.flatnonzero(lengths))
        return cls(learn_lexicon(whole, raw=raw), whole)

    @cached_property
    def tags(self) -> Int32s:
        return self.sentences.tag_codes(self.lexicon.tags)

    @cached_property
    def _distinct(self) -> tuple[Int64s, Int32s]:
        words = self.lexicon.codes(self.sentences.types)[self.sentences.type_codes].astype(np.int64)
        keys, places = np.unique(words * self.lexicon.n_tags + self.tags, return_inverse=True)
        return keys, places.astype(np.int32)

    @property
    def pair_keys(self) -> Int64s:
        """Sorted word x n_tags + tag of the pairs."""
        return self._distinct[0]

    @property
    def pairs(self) -> Int32s:
        """The pair of each token."""
        return self._distinct[1]

    @property
    def pair_tags(self) -> Int64s:
        return self.pair_keys % self.lexicon.n_tags

    @cached_property
    def class_keys(self) -> Int64s:
        """class x n_tags + tag of each pair."""
        words, tags = np.divmod(self.pair_keys, self.lexicon.n_tags)
        return self.lexicon.class_of[words].astype(np.int64) * self.lexicon.n_tags + tags

    def frequent_pairs(self, least: int) -> Int64s:
        """Sorted word x n_tags + tag of frequent pairs."""
        return self.pair_keys[np.bincount(self.pairs, minlength=len(self.pair_keys)) >= least]

    def symbols(self, pairs: Int64s) -> Int64s:
        """Of each token n_tags + the place of its word and tag among `pairs`, or its tag alone."""
        places = np.searchsorted(pairs, self.pair_keys)
        known = np.append(pairs, -1)[places] == self.pair_keys
        return np.where(known, self.lexicon.n_tags + places, self.pair_tags)[self.pairs]

    def words_or_classes(self, least: int) -> Int32s:
        """Of each token its word, or if that is rare its class of words."""
        codes = self.sentences.type_codes
        frequent = np.bincount(codes)[codes] >= least
        classes = len(self.sentences.types) + self.lexicon.class_codes(self.sentences.types)[codes]
        return np.where(frequent, codes, classes).astype(np.int32)
