"""Chains of tags scored by features and by a low-rank Hankel block.

    score(x, y) = sum_i w(y_i) . f(x, i) + B[y_{i-1}, y_i] + H[past class, future class],   H = L R^T

The classes of H are bistrings on both sides of a gap: the tag before with its word where both are frequent
together, and the same behind the gap. Quattoni, Balle, Carreras and Globerson (2014).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sigmastar.taggers.counts.features import TemplateFeatures, TokenViews, View, joined
from sigmastar.taggers.data.sentences import TaggedSentences
from sigmastar.taggers.data.word_features import word_features
from sigmastar.taggers.kernels.scores import margin_scores
from sigmastar.taggers.model.lattice import TagLattice, TagMarginals
from sigmastar.taggers.model.lexicon import TagLexicon, feature_matrix, places_of
from sigmastar.taggers.model.refined import Ratios

Array = NDArray[np.float64]
Codes = NDArray[np.int32]
Longs = NDArray[np.int64]
KIND = "max-margin"


@dataclass(frozen=True, eq=False)
class MarginTags:
    """Weights of features x tags, moves between tags (edge last), and the factors of the Hankel block."""

    templates: TemplateFeatures
    names: tuple[str, ...]
    looks: sparse.csr_array  # known words x names
    weights: NDArray[np.float32]
    arrows: Array
    classes: Longs  # sorted word x n_tags + tag of the frequent pairs; their rows of L, R follow the tags'
    left: Array
    right: Array

    @cached_property
    def name_codes(self) -> dict[str, int]:
        return places_of(self.names)

    def candidate_classes(self, lexicon: TagLexicon, types: list[str], lattice: TagLattice) -> Codes:
        """The row of L and of R of every candidate of every type."""
        return hankel_classes(self.classes, lexicon, types, lattice)

    def marginals(self, lexicon: TagLexicon, sentences: TaggedSentences, lattice: TagLattice) -> TagMarginals:
        return lattice.chain(*self.potentials(lexicon, sentences, lattice))

    def potentials(
        self, lexicon: TagLexicon, sentences: TaggedSentences, lattice: TagLattice
    ) -> tuple[Array, Array]:
        """Scores of candidates and of pairs of them, flat."""
        codes = self.templates.codes(token_views(lexicon, sentences, lattice).templates())
        starts, features = with_looks(codes, self.looks, self.name_codes, lexicon, sentences)
        first_look = self.templates.n_features
        classes = self.candidate_classes(lexicon, sentences.types, lattice)
        firsts, arrows = np.zeros(int(lattice.token_starts[-1])), np.zeros(int(lattice.block_starts[-1]))

        def task(low: int, high: int) -> None:
            margin_scores(
                lattice.offsets, low, high, lattice.types, lattice.starts, lattice.tags,
                lattice.token_starts, lattice.block_starts, starts, features, codes.shape[1],
                first_look, self.weights, self.arrows,
                classes, self.left, self.right, firsts, arrows,
            )  # fmt: skip

        lattice.each_shard(task)
        return firsts, arrows

    def to_parts(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        arrays: dict[str, NDArray[Any]] = {
            "weights": self.weights,
            "looks": self.looks.indices.astype(np.int32),
            "look_starts": self.looks.indptr.astype(np.int64),
            "arrows": self.arrows,
            "classes": self.classes,
            "left": self.left,
            "right": self.right,
            "keys": np.concatenate(self.templates.keys),
            "key_counts": np.array([len(keys) for keys in self.templates.keys], dtype=np.int64),
        }
        return arrays, {"kind": KIND, "names": list(self.names)}

    @classmethod
    def from_parts(cls, arrays: dict[str, NDArray[Any]], header: dict[str, Any]) -> MarginTags:
        keys = np.split(arrays["keys"], np.cumsum(arrays["key_counts"])[:-1])
        templates, names = TemplateFeatures(tuple(keys)), tuple(header["names"])
        if len(arrays["weights"]) != templates.n_features + len(names):
            raise ValueError("the weights of a tagger do not fit its features")
        looks = looks_of(arrays["look_starts"], arrays["looks"], len(names))
        parts = (arrays[name] for name in ("weights", "arrows", "classes", "left", "right"))
        return cls(templates, names, looks, *parts)


def looks_of(starts: Longs, indices: Codes, n_names: int) -> sparse.csr_array:
    """Which of the names each known word has."""
    shape = (len(starts) - 1, n_names)
    return sparse.csr_array((np.ones(len(indices)), indices, starts.astype(np.int32)), shape=shape)


def token_views(lexicon: TagLexicon, sentences: TaggedSentences, lattice: TagLattice) -> TokenViews:
    """What templates look at; the guess of a word is its likeliest candidate."""
    types = sentences.types
    parts = [lexicon.part_codes(types, k) for k in range(1 + lexicon.n_observed)]

    def view(of_types: NDArray[Any], size: int) -> View:
        return View.of(of_types.astype(np.int64)[sentences.type_codes], size, sentences.offsets)

    words, *observed = (view(codes, len(names)) for codes, names in zip(parts, lexicon.parts, strict=True))
    classes = view(lexicon.class_codes(types), len(lexicon.classes))
    return TokenViews(words, classes, view(lattice.likeliest, lexicon.n_tags), tuple(observed))


def with_looks(
    codes: Codes,
    looks: sparse.csr_array,
    places: Mapping[str, int],
    lexicon: TagLexicon,
    sentences: TaggedSentences,
) -> tuple[Longs, Codes]:
    """Features of tokens by templates, and by the looks of their words: kept ones of words that are known."""
    known = lexicon.codes(sentences.types)
    strange = np.flatnonzero(known < 0)
    found = feature_matrix((word_features(sentences.types[i]) for i in strange.tolist()), places)
    rows = known.copy()
    rows[strange] = looks.shape[0] + np.arange(len(strange))
    indices = np.concatenate([looks.indices, found.indices])
    starts = np.append(looks.indptr, looks.indptr[-1] + found.indptr[1:])
    return joined(codes, rows[sentences.type_codes], starts, indices)


def hankel_classes(classes: Longs, lexicon: TagLexicon, types: list[str], lattice: TagLattice) -> Codes:
    """Of every candidate: its tag, or n_tags + the place of (word, tag) among the frequent pairs."""
    words = np.repeat(lexicon.codes(types).astype(np.int64), np.diff(lattice.starts))
    at, known = Ratios(classes, np.zeros((0, 0))).find(
        np.where(words >= 0, words * lexicon.n_tags + lattice.tags, -1)
    )
    return np.where(known, lexicon.n_tags + at, lattice.tags).astype(np.int32)
