"""Word vectors: one row a word, sparse where most entries are zero.

A word that has no vector is looked up in lower case; if that is unknown too its row is zero, so that
every bilinear form of it is zero: the model then falls back on what it knows without the word.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sigmastar.bilexical.counts.associations import normalised
from sigmastar.core.factors import factorize_up_to

Array = NDArray[np.float64]
Rows = sparse.csr_array | Array


@dataclass(frozen=True, eq=False)
class Vectors:
    """Words in a fixed order, and a row of `matrix` for each."""

    words: tuple[str, ...]
    matrix: Rows

    def __post_init__(self) -> None:
        if len(self.words) != self.matrix.shape[0]:
            raise ValueError(f"{len(self.words)} words for {self.matrix.shape[0]} vectors")
        if len(self.places) != len(self.words):
            raise ValueError("each word has one vector only")

    @cached_property
    def places(self) -> dict[str, int]:
        return {word: place for place, word in enumerate(self.words)}

    @property
    def dimension(self) -> int:
        return int(self.matrix.shape[1])

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: str) -> bool:
        return self._place(word) >= 0

    def rows(self, words: Sequence[str]) -> Rows:
        """The vectors of words, in their order; zeros where a word is unknown."""
        places = np.array([self._place(word) for word in words], dtype=np.int64)
        known = places >= 0
        if not isinstance(self.matrix, sparse.csr_array):
            return np.where(known[:, None], self.matrix[np.maximum(places, 0)], 0.0)
        picks = sparse.csr_array(
            (np.ones(int(known.sum())), (np.flatnonzero(known), places[known])),
            shape=(len(places), len(self)),
        )
        return sparse.csr_array(picks @ self.matrix)

    def select(self, words: Iterable[str]) -> Vectors:
        """The vectors of those of `words` that there are."""
        kept = tuple(dict.fromkeys(word for word in words if word in self.places))
        return Vectors(kept, self.matrix[[self.places[word] for word in kept]])

    def compressed(self, dimension: int) -> Vectors:
        """The leading singular directions: U S, rows of length 1."""
        factors = factorize_up_to(self.matrix, dimension)
        rows = factors.outside
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        return Vectors(self.words, np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0))

    def normalised(self) -> Vectors:
        """The same directions, each of length 1."""
        if isinstance(self.matrix, sparse.csr_array):
            return Vectors(self.words, normalised(self.matrix))
        lengths = np.linalg.norm(self.matrix, axis=1, keepdims=True)
        return Vectors(self.words, self.matrix / np.where(lengths > 0, lengths, 1.0))

    def nearest(self, word: str, k: int = 10) -> list[tuple[str, float]]:
        """The words of the largest inner product with a word, itself left out."""
        similarity = np.asarray(self.matrix @ dense(self.rows([word]))[0]).ravel()
        if (own := self._place(word)) >= 0:
            similarity[own] = -np.inf
        best = np.argsort(-similarity, kind="stable")[:k]
        return [(self.words[i], float(similarity[i])) for i in best if np.isfinite(similarity[i])]

    def to_parts(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        header: dict[str, Any] = {"words": list(self.words), "shape": list(self.matrix.shape)}
        if not isinstance(self.matrix, sparse.csr_array):
            return {"matrix": self.matrix}, header
        arrays: dict[str, NDArray[Any]] = {
            "values": self.matrix.data.astype(np.float32),
            "columns": self.matrix.indices.astype(np.int32),
            "row_starts": self.matrix.indptr.astype(np.int64),
        }
        return arrays, header

    @classmethod
    def from_parts(cls, arrays: dict[str, NDArray[Any]], header: dict[str, Any]) -> Vectors:
        words = tuple(header["words"])
        if "matrix" in arrays:
            return cls(words, np.asarray(arrays["matrix"], dtype=np.float64))
        parts = (arrays["values"].astype(np.float64), arrays["columns"], arrays["row_starts"])
        return cls(words, _checked(parts, tuple(header["shape"])))

    def _place(self, word: str) -> int:
        place = self.places.get(word)
        return self.places.get(word.lower(), -1) if place is None else place


def dense(rows: Rows) -> Array:
    """Rows as an ordinary array."""
    return rows.toarray() if isinstance(rows, sparse.csr_array) else np.asarray(rows)


def _checked(parts: tuple[NDArray[Any], ...], shape: tuple[int, ...]) -> sparse.csr_array:
    """A sparse matrix from a file: places outside of it would be read as memory of others."""
    values, columns, starts = parts
    if (
        len(starts) != shape[0] + 1
        or starts[0] != 0
        or starts[-1] != len(values)
        or (np.diff(starts) < 0).any()
    ):
        raise ValueError("the rows of the vectors do not fit together")
    if len(columns) != len(values) or (len(columns) and not 0 <= columns.min() <= columns.max() < shape[1]):
        raise ValueError("the columns of the vectors do not fit their dimension")
    return sparse.csr_array((values, columns, starts), shape=(shape[0], shape[1]))
