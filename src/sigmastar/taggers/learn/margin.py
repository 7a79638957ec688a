"""Max-margin taggers with spectral regularisation (Quattoni, Balle, Carreras and Globerson 2014).

    min  sum_sentences log sum_y exp(score(y) + cost x wrong tags) - score(gold)  +  weight |H|_*

the smooth bound of the structured hinge, with the nuclear norm of the Hankel block H = L R^T by the squared
norms of its factors (`optimise.factored`). The factors start from the singular vectors of the counted
block; stochastic steps shrink to zero over the passes.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sigmastar.core.factors import factorize_up_to
from sigmastar.optimise.factored import triples_of_product
from sigmastar.taggers.counts.features import TemplateFeatures, frequent_names
from sigmastar.taggers.data.word_features import word_features
from sigmastar.taggers.kernels.margin_training import train_margin
from sigmastar.taggers.learn.refinement import TaggedCorpus
from sigmastar.taggers.model.lexicon import feature_matrix, places_of
from sigmastar.taggers.model.margin import MarginTags, hankel_classes, token_views, with_looks

Array = NDArray[np.float64]
Codes = NDArray[np.int32]
Longs = NDArray[np.int64]

N_EPOCHS, RATE, COST, RANK, DECAY, DROPOUT = 5, 0.3, 1.0, 16, 1e-3, 0.3
LEAST_PAIR = 50


def learn_margin(
    corpus: TaggedCorpus,
    rng: np.random.Generator,
    n_epochs: int = N_EPOCHS,
    rank: int = RANK,
    decay: float = DECAY,
    cost: float = COST,
    rate: float = RATE,
    dropout: float = DROPOUT,
    watch: Callable[[MarginTags, float], None] | None = None,
) -> MarginTags:
    """Train in `n_epochs` passes over the sentences."""
    lexicon, sentences = corpus.lexicon, corpus.sentences
    lattice = lexicon.lattice(sentences, with_gold=True)
    columns = token_views(lexicon, sentences, lattice).templates()
    templates = TemplateFeatures.of(columns)
    names = frequent_names([list(word_features(word)) for word in lexicon.words])
    looks = feature_matrix(map(word_features, lexicon.words), places_of(names))
    starts, features = with_looks(templates.codes(columns), looks, places_of(names), lexicon, sentences)
    features = numbered_on(features, starts, len(columns), templates.n_features)
    classes = frequent_pairs(corpus)
    of_candidate = hankel_classes(classes, lexicon, sentences.types, lattice)
    left, right = spectral_factors(corpus, classes, rank)
    weights = np.zeros((templates.n_features + len(names), lexicon.n_tags), dtype=np.float32)
    arrows = np.zeros((lexicon.n_tags + 1, lexicon.n_tags + 1))
    steps = (np.ones_like(weights), np.ones_like(arrows), np.ones((len(left) + len(right), left.shape[1])))
    for epoch in range(n_epochs):
        dropped = rng.random(len(features)) < dropout if dropout else np.zeros(len(features), dtype=bool)
        loss = train_margin(
            rng.permutation(len(sentences)), sentences.offsets, lattice.types, lattice.starts, lattice.tags,
            corpus.tags, starts, features, of_candidate, of_candidate, cost, rate * (1 - epoch / n_epochs),
            decay, dropped, weights, steps[0], arrows, steps[1], left, right, steps[2],
        )  # fmt: skip
        if watch is not None:
            watch(MarginTags(templates, names, looks, weights, arrows, classes, left, right), loss)
    return MarginTags(templates, names, looks, weights, arrows, classes, *_trimmed(left, right))


def numbered_on(features: Codes, starts: Longs, n_templates: int, first_look: int) -> Codes:
    """One numbering for both kinds of features: looks after those of templates."""
    place = np.arange(len(features)) - np.repeat(starts[:-1], np.diff(starts))
    return np.where(place >= n_templates, features + first_look, features).astype(np.int32)


def frequent_pairs(corpus: TaggedCorpus, least: int = LEAST_PAIR) -> Longs:
    """Sorted word x n_tags + tag of pairs met often."""
    return corpus.pair_keys[np.bincount(corpus.pairs, minlength=len(corpus.pair_keys)) >= least]


def symbols_of_tokens(corpus: TaggedCorpus, pairs: Longs) -> Longs:
    """Of each token n_tags + the place of its word and tag among `pairs`, or its tag alone."""
    places = np.searchsorted(pairs, corpus.pair_keys)
    known = np.append(pairs, -1)[places] == corpus.pair_keys
    return np.where(known, corpus.lexicon.n_tags + places, corpus.pair_tags)[corpus.pairs]


def spectral_factors(corpus: TaggedCorpus, classes: Longs, rank: int) -> tuple[Array, Array]:
    """L and R from the leading singular triples, after the constant one, of the correlations of classes."""
    n = corpus.lexicon.n_tags + len(classes)
    of_token = symbols_of_tokens(corpus, classes)
    inner = np.ones(len(of_token), dtype=bool)
    inner[corpus.sentences.offsets[:-1]] = False
    at = np.flatnonzero(inner)
    if not len(at):  # all sentences have one word: no pair to learn from
        return np.zeros((n, 0)), np.zeros((n, 0))
    counts = sparse.csr_array((np.ones(len(at)), (of_token[at - 1], of_token[at])), shape=(n, n))
    d_r, d_c = (np.maximum(np.asarray(counts.sum(axis=axis)).ravel(), 1.0) for axis in (1, 0))
    scaled = (sparse.diags_array(d_r**-0.5) @ counts @ sparse.diags_array(d_c**-0.5)).tocsr()
    found = factorize_up_to(scaled, rank + 1)
    scale = np.sqrt(found.singular_values[1:] * np.sqrt(d_r.sum()))
    left, right = (
        found.left[:, 1:] * scale / np.sqrt(d_r)[:, None],
        found.right[:, 1:] * scale / np.sqrt(d_c)[:, None],
    )
    return _tame(left), _tame(right)


def _tame(factor: Array, largest: float = 1.0) -> Array:
    """Rows of rare classes are long by chance: none is left longer than `largest`."""
    norms = np.sqrt((factor**2).sum(axis=1, keepdims=True))
    return np.ascontiguousarray(factor * np.minimum(1.0, largest / np.maximum(norms, 1e-300)))


def _trimmed(left: Array, right: Array) -> tuple[Array, Array]:
    """Factors of the rank that the nuclear norm left."""
    if not left.shape[1] or not left.any():
        return left[:, :0].copy(), right[:, :0].copy()
    triples = triples_of_product(left, right)
    root = np.sqrt(triples.singular_values)
    return np.ascontiguousarray(triples.left * root), np.ascontiguousarray(triples.right * root)
