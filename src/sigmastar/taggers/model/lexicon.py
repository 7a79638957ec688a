"""The lexicon: the distribution of tags by the word alone.

    p(t | x) = (count(x, t) + s p'(t | x)) / (count(x) + s)

with p' log-linear in the affixes and the shape of the word: the only source for unknown words. Words also
fall into classes by shape and ending, for models that back off from words to classes. Where other columns are
observed, x is the word with what stands in them, and so are its features and classes.

Rows of sparse matrices are those of SciPy, or a stand-in where a process has NumPy alone (`csr_rows`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np

from sigmastar.core.arrays import Array, Floats, Int32s, Int64s
from sigmastar.core.errors import InputError
from sigmastar.core.model_reading import above, below
from sigmastar.core.plain_kernels import is_installed
from sigmastar.core.stored_parts import Parts, between, distinct_texts, indices, row_starts, singles
from sigmastar.core.word_classes import WordClasses
from sigmastar.taggers.data.feature_templates import SEPARATOR, word_classes, word_features, word_of
from sigmastar.taggers.data.sentences import TaggedSentences
from sigmastar.taggers.model.lattice import TagLattice

if TYPE_CHECKING:
    from scipy import sparse


def csr_rows(data: Floats, indices: Array, indptr: Array, shape: tuple[int, int]) -> sparse.csr_array:
    """A matrix by its rows, as SciPy's `csr_array` or as what behaves like it."""
    if is_installed():
        return cast("sparse.csr_array", PlainRows(data, indices, indptr, shape))
    from scipy import sparse

    return sparse.csr_array((data, indices, indptr), shape=shape)


@dataclass(frozen=True, eq=False)
class PlainRows:
    """What models ask of a matrix of rows."""

    data: Floats
    indices: Array
    indptr: Array
    shape: tuple[int, int]

    def __getitem__(self, rows: Array) -> PlainRows:
        sizes = np.diff(self.indptr)[rows].astype(np.int64)
        starts = np.append(0, np.cumsum(sizes))
        at = np.arange(starts[-1]) + np.repeat(self.indptr[rows] - starts[:-1], sizes)
        return PlainRows(self.data[at], self.indices[at], starts, (len(rows), self.shape[1]))

    @property
    def _row_of(self) -> Array:
        return np.repeat(np.arange(self.shape[0]), np.diff(self.indptr))

    def toarray(self) -> Floats:
        dense = np.zeros(self.shape)
        np.add.at(dense, (self._row_of, self.indices), self.data)
        return dense

    def sum(self, axis: int) -> Floats:
        places = self.indices if axis == 0 else self._row_of
        return np.bincount(places, self.data, self.shape[1 - axis]).astype(np.float64)

    def __matmul__(self, other: Any) -> Floats:
        product = np.zeros((self.shape[0], other.shape[1]))
        np.add.at(product, self._row_of, self.data[:, None] * other[self.indices])
        return product


@dataclass(frozen=True, eq=False)
class TagLexicon:
    """Counts of known words, a log-linear guess for unknown ones."""

    tags: tuple[str, ...]
    words: tuple[str, ...]  # symbols, where other columns are observed
    counts: sparse.csr_array  # words x tags
    features: tuple[str, ...]
    weights: Floats  # features + 1 (the constant) x tags
    classes: tuple[str, ...]
    guessed: Floats  # p'(t | x) of each known word, words x tags
    class_of: Int32s  # of each known word
    shrinkage: float
    least: float  # candidates below this probability are dropped
    raw: WordClasses | None = None  # by raw text

    @property
    def n_tags(self) -> int:
        return len(self.tags)

    @property
    def sizes(self) -> dict[str, int]:
        """Sizes that members of a tagger are declared in."""
        n, words = self.n_tags, len(self.words)
        return {"tags": n, "words": words, "word_tags": words * n, "class_tags": len(self.classes) * n}

    @cached_property
    def n_observed(self) -> int:
        """Columns that are given beside the word."""
        return self.words[0].count(SEPARATOR) if self.words else 0

    @cached_property
    def parts(self) -> tuple[dict[str, int], ...]:
        """Codes of the words alone, and of what stands in each observed column."""
        if not self.n_observed:
            return (self.word_codes,)
        columns = zip(*(symbol.split(SEPARATOR) for symbol in self.words), strict=True)
        return tuple(places_of(list(dict.fromkeys(column))) for column in columns)

    def part_codes(self, types: Sequence[str], number: int) -> Int64s:
        """Of each symbol the code of its word (0) or of an observed column (from 1), -1 if it is unknown."""
        if not self.n_observed:
            return self.codes(types).astype(np.int64)
        found = (self.parts[number].get(symbol.split(SEPARATOR)[number], -1) for symbol in types)
        return np.fromiter(found, np.int64, count=len(types))

    @cached_property
    def word_codes(self) -> dict[str, int]:
        return places_of(self.words)

    @cached_property
    def feature_codes(self) -> dict[str, int]:
        return places_of(self.features)

    @cached_property
    def prior(self) -> Floats:
        """p(t) on the words learned from."""
        total = np.asarray(self.counts.sum(axis=0), dtype=np.float64).ravel()
        return total / float(total.sum())

    def codes(self, types: Sequence[str]) -> Int32s:
        """The code of each word, -1 if it is unknown."""
        return np.fromiter(map(self.word_codes.get, types, repeat(-1)), np.int32, count=len(types))

    def class_codes(self, types: Sequence[str]) -> Int32s:
        """The narrowest class of each word."""
        codes = self.codes(types)
        found = self.class_of[np.maximum(codes, 0)].copy()
        strange = np.flatnonzero(codes < 0)
        found[strange] = narrowest_classes([types[i] for i in strange.tolist()], self.classes)
        return found

    def raw_codes(self, types: Sequence[str]) -> Int64s:
        """The classes of each word by raw text, -1 where they are unknown; types x sizes, or x none."""
        if self.raw is None:
            return np.zeros((len(types), 0), dtype=np.int64)
        return self.raw.of([word_of(symbol) for symbol in types])

    @property
    def raw_sizes(self) -> tuple[int, ...]:
        return () if self.raw is None else self.raw.sizes

    def guesses(self, types: Sequence[str]) -> Floats:
        """p'(t | x) from what each word looks like."""
        codes = self.codes(types)
        found = self.guessed[np.maximum(codes, 0)]
        strange = np.flatnonzero(codes < 0)
        found[strange] = guess([types[i] for i in strange.tolist()], self.feature_codes, self.weights)
        return found

    def distributions(self, types: Sequence[str]) -> Floats:
        """p(t | x) of each word."""
        codes, guessed = self.codes(types), self.guesses(types)
        counts = self.counts[np.maximum(codes, 0)].toarray() * (codes >= 0)[:, None]
        totals: Floats = counts.sum(axis=1, keepdims=True)
        return (counts + self.shrinkage * guessed) / (totals + self.shrinkage)

    def lattice(self, sentences: TaggedSentences, with_gold: bool = False) -> TagLattice:
        """The candidates of every word of a corpus; `with_gold` the true tags are among them."""
        if len(sentences.observed) != self.n_observed:
            raise InputError(
                f"the tagger was learned with {self.n_observed} observed columns beside the words; these "
                f"sentences have {len(sentences.observed)}"
            )
        chances = self.distributions(sentences.types) if sentences.n_words else np.zeros((0, self.n_tags))
        kept = chances >= self.least
        kept[np.arange(len(chances)), chances.argmax(axis=1)] = True
        if with_gold:
            kept[sentences.type_codes, sentences.tag_codes(self.tags)] = True
        rows, tags = np.nonzero(kept)
        starts = np.searchsorted(rows, np.arange(len(chances) + 1)).astype(np.int64)
        return TagLattice(
            sentences.offsets, sentences.type_codes, starts, tags.astype(np.int32), chances[rows, tags]
        )

    PARTS: ClassVar[Parts] = Parts(
        header={
            **dict.fromkeys(("tags", "words", "features", "classes"), distinct_texts),
            "shrinkage": between(0.0, 1e9),
            "least": between(0.0, 1.0),
            "raw?": dict,
        },
        inner=("raw.",),
        sizes={name: name for name in ("tags", "words", "features", "classes")},
        arrays={
            "data": singles("entries", least=0.0),
            "indices": indices("entries", of="tags"),
            "indptr": row_starts("words", of="entries"),
            "weights": singles("features+1", "tags"),
            "guessed": singles("words", "tags", least=0.0, most=1.0 + 1e-6),
            "class_of": indices("words", of="classes"),
        },
    )

    def to_parts(self) -> tuple[dict[str, Array], dict[str, Any]]:
        arrays: dict[str, Array] = {
            "data": self.counts.data.astype(np.float32),
            "indices": self.counts.indices.astype(np.int32),
            "indptr": self.counts.indptr.astype(np.int64),
            "weights": self.weights.astype(np.float32),
            "guessed": self.guessed.astype(np.float32),
            "class_of": self.class_of,
        }
        header = {
            "tags": list(self.tags),
            "words": list(self.words),
            "features": list(self.features),
            "classes": list(self.classes),
            "shrinkage": self.shrinkage,
            "least": self.least,
        }
        if self.raw is not None:
            numbers, header["raw"] = self.raw.to_parts()
            arrays |= above("raw.", numbers)
        return above("lexicon.", arrays), header

    @classmethod
    def from_parts(cls, arrays: dict[str, Array], header: dict[str, Any]) -> TagLexicon:
        own = below("lexicon.", arrays)
        sizes = cls.PARTS.check(own, header)
        names = (tuple(header[name]) for name in ("tags", "words", "features", "classes"))
        tags, words, features, classes = names
        if not tags or not words or "" not in classes:
            raise ValueError("the lexicon lacks tags, words, or the class of all words")
        if len({word.count(SEPARATOR) for word in words}) > 1:
            raise ValueError("the words of the lexicon do not have as many columns each")
        data, guessed, weights = (own[name].astype(np.float64) for name in ("data", "guessed", "weights"))
        of_tags = np.bincount(own["indices"], data, sizes["tags"])
        if not of_tags.min() > 0:
            raise ValueError("the counts of the lexicon lack a tag")
        rows = own["indices"], own["indptr"].astype(np.int32)
        counts = csr_rows(data, *rows, (sizes["words"], sizes["tags"]))
        numbers = float(header["shrinkage"]), float(header["least"])
        raw = WordClasses.from_parts(below("raw.", own), header["raw"]) if "raw" in header else None
        return cls(tags, words, counts, features, weights, classes, guessed, own["class_of"], *numbers, raw)


def guess(types: Sequence[str], places: Mapping[str, int], weights: Floats) -> Floats:
    """Softmax of the weights of what words look like; the last row of weights is the constant."""
    return softmax_of(feature_matrix(map(word_features, types), places), weights)


def softmax_of(features: sparse.csr_array, weights: Floats) -> Floats:
    scores: Floats = np.asarray(features @ weights[:-1]) + weights[-1]
    if not len(scores):
        return scores
    shares: Floats = np.exp(scores - scores.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    return shares


def narrowest_classes(types: Sequence[str], classes: Sequence[str]) -> Int32s:
    """The place among `classes` of the narrowest class of each word."""
    places = places_of(classes)
    found = (next(places[name] for name in word_classes(word) if name in places) for word in types)
    return np.fromiter(found, np.int32, len(types))


def places_of(names: Sequence[str]) -> dict[str, int]:
    """Of each name, where it stands."""
    return {name: code for code, name in enumerate(names)}


def feature_matrix(names: Iterable[Sequence[str]], places: Mapping[str, int]) -> sparse.csr_array:
    """Which of the features each word has, from all that it has; `places` are their columns."""
    rows = [[places[name] for name in row if name in places] for row in names]
    lengths = np.array([len(row) for row in rows], dtype=np.int64)
    indices = np.fromiter(chain.from_iterable(rows), np.int32, count=int(lengths.sum()))
    starts = np.append(0, np.cumsum(lengths))
    return csr_rows(np.ones(len(indices)), indices, starts, (len(rows), len(places)))
