"""Chains of features with softmax-margin loss (Gimpel and Smith 2010), a low-rank block between neighbours.

    min  sum_sentences log sum_y exp(score(y) + cost x wrong tags) - score(gold)  +  weight |H|_*

with the nuclear norm of the block H = L R^T by the squared norms of its factors. The factors start from the
correlations of the counted block; stochastic steps shrink to zero over the passes. `hankel` has the
structured hinge, and blocks over longer prefixes and suffixes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from sigmastar.core.arrays import Floats, Int64s
from sigmastar.core.progress import Progress, silent
from sigmastar.core.views import correlate, shortened
from sigmastar.optimise.factored import triples_of_product
from sigmastar.taggers.data.feature_templates import OWN, TemplateFeatures, frequent_names, word_features
from sigmastar.taggers.kernels.feature_chain import MarginWeights, Schedule, TokenFeatures, train_margin
from sigmastar.taggers.learn.lexicon import TaggedCorpus
from sigmastar.taggers.model.feature_chain import MarginTags, hankel_classes, token_features, token_views
from sigmastar.taggers.model.lexicon import feature_matrix, places_of

LEAST_PAIR = 50  # tokens of a word and its tag that have a class of their own


@dataclass(frozen=True)
class MarginTraining:
    """The cost of a wrong tag, the size of steps, rank and pull of H, and the share of features dropped."""

    cost: float = 1.0
    rate: float = 0.3
    rank: int = 16
    decay: float = 1e-3
    dropout: float = 0.3


USUAL = MarginTraining()


def learn_margin(
    corpus: TaggedCorpus,
    rng: np.random.Generator,
    n_epochs: int,
    training: MarginTraining = USUAL,
    progress: Progress = silent,
) -> MarginTags:
    """Train in `n_epochs` passes over the sentences."""
    lexicon, sentences = corpus.lexicon, corpus.sentences
    lattice = lexicon.lattice(sentences, with_gold=True)
    columns = token_views(lexicon, sentences, lattice).templates()
    templates = TemplateFeatures.of(columns)
    names = frequent_names([word_features(word) for word in lexicon.words])
    if sentences.own is not None:
        names += tuple(f"{OWN}{name}" for name in frequent_names(sentences.own))
    looks = feature_matrix(map(word_features, lexicon.words), places_of(names))
    features = token_features(templates, columns, looks, places_of(names), lexicon, sentences)
    pairs = corpus.frequent_pairs(LEAST_PAIR)
    classes = hankel_classes(pairs, lexicon, sentences.types, lattice)
    weights = MarginWeights(
        np.zeros((templates.n_features + len(names), lexicon.n_tags), dtype=np.float32),
        np.zeros((lexicon.n_tags + 1, lexicon.n_tags + 1)),
        *spectral_factors(corpus, pairs, training.rank),
    )
    squares = MarginWeights(*map(np.ones_like, weights))
    for epoch in range(n_epochs):
        progress(f"training features, pass {epoch + 1} of {n_epochs}", epoch / n_epochs)
        dropped = rng.random(len(features.codes)) < training.dropout
        left = TokenFeatures(features.starts, np.where(dropped, np.int32(-1), features.codes))
        order = rng.permutation(len(sentences))
        schedule = Schedule(training.cost, training.rate * (1 - epoch / n_epochs), training.decay)
        train_margin(order, lattice.arrays, corpus.tags, left, classes, schedule, weights, squares)
    factors = _trimmed(weights.left, weights.right)
    return MarginTags(templates, names, looks, weights.features, weights.arrows, pairs, *factors)


def spectral_factors(corpus: TaggedCorpus, pairs: Int64s, rank: int) -> tuple[Floats, Floats]:
    """L and R from the correlations of classes of neighbours, without the constant one."""
    n = corpus.lexicon.n_tags + len(pairs)
    of_token, offsets = corpus.symbols(pairs), corpus.sentences.offsets
    at = np.setdiff1d(np.arange(len(of_token)), offsets[:-1])  # all but the first words of sentences
    if not len(at):
        return np.zeros((n, 0)), np.zeros((n, 0))
    counts = sparse.csr_array((np.ones(len(at)), (of_token[at - 1], of_token[at])), shape=(n, n))
    found = correlate(counts, rank + 1).without_constant()
    left, right = (side / found.total**0.25 for side in (found.left(0.5), found.right(0.5)))
    return shortened(left), shortened(right)


def _trimmed(left: Floats, right: Floats) -> tuple[Floats, Floats]:
    """Factors of the rank that the nuclear norm left."""
    if not left.shape[1] or not left.any():
        return left[:, :0].copy(), right[:, :0].copy()
    triples = triples_of_product(left, right)
    root = np.sqrt(triples.singular_values)
    return np.ascontiguousarray(triples.left * root), np.ascontiguousarray(triples.right * root)
