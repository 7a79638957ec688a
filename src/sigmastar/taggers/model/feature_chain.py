"""Chains of tags scored by features and by a low-rank block between neighbours.

    score(x, y) = sum_i w(y_i) . f(x, i) + B[y_{i-1}, y_i] + H[past class, future class],   H = L R^T

The classes of H are the tag before a gap with its word where both are frequent together, and the same behind
it. It is a conditional random field; most of what it knows is in the weights of features. `hankel` has the
taggers of Quattoni, Balle, Carreras and Globerson (2014), whose block is all there is beside the lexicon.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from sigmastar.core.arrays import Array, Floats, Int32s, Int64s, Singles
from sigmastar.core.errors import InputError
from sigmastar.core.stored_parts import (
    Parts,
    distinct_texts,
    floats,
    indices,
    integers,
    rises_within,
    rising,
    row_starts,
    singles,
)
from sigmastar.taggers.data.feature_templates import (
    OWN,
    TemplateFeatures,
    TokenViews,
    View,
    joined,
    template_name,
    templates_of,
    word_features,
)
from sigmastar.taggers.data.sentences import TaggedSentences
from sigmastar.taggers.kernels.chains import Chain
from sigmastar.taggers.kernels.feature_chain import MarginWeights, TokenFeatures, margin_scores
from sigmastar.taggers.model.lattice import TagLattice, TagMarginals
from sigmastar.taggers.model.lexicon import TagLexicon, csr_rows, feature_matrix, places_of
from sigmastar.taggers.model.refined import Ratios

if TYPE_CHECKING:
    from scipy import sparse

KIND = "chain"
FORMER_KIND = "max-margin"  # of model files


@dataclass(frozen=True, eq=False)
class MarginTags:
    """Weights of features x tags, moves between tags (edge last), and the factors of the Hankel block."""

    templates: TemplateFeatures
    names: tuple[str, ...]
    looks: sparse.csr_array  # known words x names
    weights: Singles
    arrows: Floats
    classes: Int64s  # sorted word x n_tags + tag of the frequent pairs; their rows of L, R follow the tags'
    left: Floats
    right: Floats

    @cached_property
    def name_codes(self) -> dict[str, int]:
        return places_of(self.names)

    @cached_property
    def has_own(self) -> bool:
        """Whether some features are of the users."""
        return any(name.startswith(OWN) for name in self.names)

    def named_weights(self, lexicon: TagLexicon) -> Iterator[tuple[str, str, float]]:
        """Features in words, tags, and the weights of both together that are not zero."""
        names: dict[str, Sequence[str]] = {"class": lexicon.classes, "guess": lexicon.tags}
        names |= {str(k) if k else "word": list(part) for k, part in enumerate(lexicon.parts)}
        names |= {f"raw{k}": [str(c) for c in range(size)] for k, size in enumerate(lexicon.raw_sizes)}
        read_by = templates_of(lexicon.n_observed, has_raw=lexicon.raw is not None)
        keyed = zip(read_by, self.templates.keys, strict=True)
        of_templates = (template_name(read, key, names) for read, keys in keyed for key in keys.tolist())
        for feature, row in zip(chain(of_templates, self.names), self.weights, strict=True):
            for tag in np.flatnonzero(row).tolist():
                yield feature, lexicon.tags[tag], float(row[tag])

    def marginals(self, lexicon: TagLexicon, sentences: TaggedSentences, lattice: TagLattice) -> TagMarginals:
        if self.has_own and sentences.own is None:
            raise InputError("the tagger was learned with own features of tokens; give these with the words")
        columns = token_views(lexicon, sentences, lattice).templates()
        features = token_features(self.templates, columns, self.looks, self.name_codes, lexicon, sentences)
        classes = hankel_classes(self.classes, lexicon, sentences.types, lattice)
        scores = Chain(np.zeros(int(lattice.token_starts[-1])), np.zeros(int(lattice.block_starts[-1])))
        weights = MarginWeights(self.weights, self.arrows, self.left, self.right)

        def task(low: int, high: int) -> None:
            margin_scores(lattice.arrays, low, high, features, classes, weights, scores)

        lattice.each_shard(task)
        return lattice.chain(*scores)

    PARTS: ClassVar[Parts] = Parts(
        header={"names": distinct_texts},
        sizes={"names": "names"},
        arrays={
            "weights": singles("features", "tags"),
            "looks": indices("looks", of="names"),
            "look_starts": row_starts("words", of="looks"),
            "arrows": floats("tags+1", "tags+1"),
            "classes": rising("classes", of="word_tags"),
            "left": floats("bistrings", "rank"),
            "right": floats("bistrings", "rank"),
            "keys": integers("keys", least=0, most=2**62),
            "key_counts": indices("templates", of="keys+1", type="int64"),
        },
    )

    def to_parts(self) -> tuple[dict[str, Array], dict[str, Any]]:
        arrays: dict[str, Array] = {
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
    def from_parts(cls, arrays: dict[str, Array], header: dict[str, Any], lexicon: TagLexicon) -> MarginTags:
        sizes, names = cls.PARTS.check(arrays, header, **lexicon.sizes), tuple(header["names"])
        ends = np.append(0, np.cumsum(arrays["key_counts"]))
        if ends[-1] != sizes["keys"]:
            raise ValueError("the features of a tagger do not fit its templates")
        if not rises_within(arrays["keys"], ends):
            raise ValueError("the features of each template must be sorted")
        if sizes["features"] != sizes["keys"] + len(names):
            raise ValueError("the weights of a tagger do not fit its features")
        if sizes["bistrings"] != sizes["tags"] + sizes["classes"]:
            raise ValueError("the Hankel block of a tagger does not fit its classes")
        looks, rows = arrays["looks"], arrays["look_starts"].astype(np.int32)
        matrix = csr_rows(np.ones(len(looks)), looks, rows, (sizes["words"], len(names)))
        templates = TemplateFeatures(tuple(np.split(arrays["keys"], ends[1:-1])))
        block = arrays["arrows"], arrays["classes"], arrays["left"], arrays["right"]
        return cls(templates, names, matrix, arrays["weights"].astype(np.float32), *block)


def token_views(lexicon: TagLexicon, sentences: TaggedSentences, lattice: TagLattice) -> TokenViews:
    """What templates read; the guess of a word is its likeliest candidate."""
    types = sentences.types
    parts = [lexicon.part_codes(types, k) for k in range(1 + lexicon.n_observed)]

    def view(of_types: Array, size: int) -> View:
        return View.of(of_types.astype(np.int64)[sentences.type_codes], size, sentences.offsets)

    words, *observed = (view(codes, len(names)) for codes, names in zip(parts, lexicon.parts, strict=True))
    classes = view(lexicon.class_codes(types), len(lexicon.classes))
    raw = tuple(map(view, lexicon.raw_codes(types).T, lexicon.raw_sizes))
    return TokenViews(words, classes, view(lattice.likeliest, lexicon.n_tags), tuple(observed), raw)


def token_features(
    templates: TemplateFeatures,
    columns: Sequence[Int64s],
    looks: sparse.csr_array,
    places: Mapping[str, int],
    lexicon: TagLexicon,
    sentences: TaggedSentences,
) -> TokenFeatures:
    """Features of tokens by templates, and by the looks of their words: kept ones of words that are known.

    Looks are numbered after the features of templates.
    """
    known = lexicon.codes(sentences.types)
    strange = np.flatnonzero(known < 0)
    found = feature_matrix((word_features(sentences.types[i]) for i in strange.tolist()), places)
    rows = known.copy()
    rows[strange] = looks.shape[0] + np.arange(len(strange))
    indices = np.concatenate([looks.indices, found.indices]) + np.int32(templates.n_features)
    starts = np.append(looks.indptr, looks.indptr[-1] + found.indptr[1:])
    codes = templates.codes(columns)
    if sentences.own is not None:
        codes = np.column_stack([codes, own_codes(sentences.own, places, templates.n_features)])
    return TokenFeatures(*joined(codes, rows[sentences.type_codes], starts, indices))


def own_codes(own: Sequence[tuple[str, ...]], places: Mapping[str, int], first: int) -> Int32s:
    """The features that users gave each token, -1 where they are unknown or fewer than of another."""
    distinct = list(dict.fromkeys(own))
    table = np.full((len(distinct), max(map(len, distinct), default=0)), -1, dtype=np.int32)
    for row, names in zip(table, distinct, strict=True):
        at = [places.get(f"{OWN}{name}") for name in names]
        row[: len(at)] = [-1 if place is None else first + place for place in at]
    numbers = {names: row for row, names in enumerate(distinct)}
    return table[np.fromiter(map(numbers.__getitem__, own), np.int64, count=len(own))]


def hankel_classes(classes: Int64s, lexicon: TagLexicon, types: list[str], lattice: TagLattice) -> Int32s:
    """Of every candidate: its tag, or n_tags + the place of (word, tag) among the frequent pairs."""
    words = np.repeat(lexicon.codes(types).astype(np.int64), np.diff(lattice.starts))
    at, known = Ratios(classes, np.zeros((0, 0))).find(
        np.where(words >= 0, words * lexicon.n_tags + lattice.tags, -1)
    )
    return np.where(known, lexicon.n_tags + at, lattice.tags).astype(np.int32)
