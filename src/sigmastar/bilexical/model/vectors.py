"""Word vectors: one row per word, sparse where most entries are zero; model files and word2vec's text format.

    n_words dimension
    word x1 x2 ... xd        separated by blanks, one word per line

A word that has no vector is looked up in lower case; if that is unknown too its row is zero, so that
every bilinear form of it is zero: a model then falls back on what it has learned without the word.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, TextIO

import numpy as np
from scipy import sparse

from sigmastar.bilexical.counts import normalized
from sigmastar.core.arrays import Array, Floats
from sigmastar.core.errors import InputError
from sigmastar.core.factors import factorize_up_to
from sigmastar.core.model_reading import is_model_file, load_model
from sigmastar.core.notebook import Shown
from sigmastar.core.stored_parts import (
    Parts,
    check_header,
    distinct_texts,
    floats,
    indices,
    lists,
    row_starts,
    singles,
    whole,
)
from sigmastar.core.text_files import TextPath, display_name, open_text, whole_number

Rows = sparse.csr_array | Floats


@dataclass(frozen=True, eq=False, repr=False)
class Vectors(Shown):
    """Words in a fixed order, and a vector of each.

    Parameters
    ----------
    words : tuple of str
        Distinct words.
    matrix : csr_array or array
        One row per word.

    Examples
    --------
    >>> vectors = Vectors(("cat", "dog"), np.array([[1.0, 0.0], [0.6, 0.8]]))
    >>> vectors.rows(["Dog", "unheard"]).tolist()
    [[0.6, 0.8], [0.0, 0.0]]
    >>> vectors.nearest("cat")
    [('dog', 0.6)]
    """

    words: tuple[str, ...]
    matrix: Rows

    def __post_init__(self) -> None:
        if len(self.words) != self.matrix.shape[0]:
            raise ValueError(f"{len(self.words)} words for {self.matrix.shape[0]} vectors")
        if len(self.places) != len(self.words):
            raise ValueError("each word has one vector only")

    def __repr__(self) -> str:
        return f"Vectors({len(self)} words, {self.dimension} dimensions)"

    def __deepcopy__(self, memo: object) -> Vectors:
        """Nothing changes vectors: a clone of an estimator may share them."""
        return self

    @cached_property
    def places(self) -> dict[str, int]:
        """The row of each word."""
        return {word: place for place, word in enumerate(self.words)}

    @property
    def dimension(self) -> int:
        """The length of a vector."""
        return int(self.matrix.shape[1])

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and self._place(word) >= 0

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
        return Vectors(self.words, _unit_rows(factorize_up_to(self.matrix, dimension).outside))

    def directions(self, rank: int) -> Floats:
        """The leading right singular vectors, one per column; they are found once."""
        asked, found = self.__dict__.get("_directions", (0, None))
        if rank > asked:
            found = factorize_up_to(self.matrix, rank).right
            self.__dict__["_directions"] = rank, found
        directions: Floats = found[:, :rank]
        return directions

    def normalized(self) -> Vectors:
        """The same directions, each of length 1."""
        if isinstance(self.matrix, sparse.csr_array):
            return Vectors(self.words, normalized(self.matrix))
        return Vectors(self.words, _unit_rows(self.matrix))

    def nearest(self, word: str, k: int = 10) -> list[tuple[str, float]]:
        """The words of the largest inner product with a word, itself left out."""
        similarity = np.asarray(self.matrix @ dense(self.rows([word]))[0]).ravel()
        if (own := self._place(word)) >= 0:
            similarity[own] = -np.inf
        best = np.argsort(-similarity, kind="stable")[:k]
        return [(self.words[i], float(similarity[i])) for i in best if np.isfinite(similarity[i])]

    PARTS: ClassVar[Parts] = Parts(
        header={"words": distinct_texts, "shape": lists},
        sizes={"words": "words"},
        arrays={
            "matrix": floats("words", "dimension").or_none(),
            "values": singles("entries").or_none(),
            "columns": indices("entries", of="dimension").or_none(),
            "row_starts": row_starts("words", of="entries").or_none(),
        },
    )

    def to_parts(self) -> tuple[dict[str, Array], dict[str, Any]]:
        """Arrays and a description for a model file; sparse entries in single precision."""
        header: dict[str, Any] = {"words": list(self.words), "shape": list(self.matrix.shape)}
        if not isinstance(self.matrix, sparse.csr_array):
            return {"matrix": self.matrix}, header
        arrays: dict[str, Array] = {
            "values": self.matrix.data.astype(np.float32),
            "columns": self.matrix.indices.astype(np.int32),
            "row_starts": self.matrix.indptr.astype(np.int64),
        }
        return arrays, header

    @classmethod
    def from_parts(cls, arrays: dict[str, Array], header: dict[str, Any]) -> Vectors:
        """The vectors of a model file, checked."""
        check_header(header, cls.PARTS.header)
        words, most = tuple(header["words"]), sum(array.size for array in arrays.values())
        _, dimension = header["shape"]
        check_header({"dimension": dimension}, {"dimension": whole(0, 1000 + 10 * (len(words) + most))})
        cls.PARTS.check(arrays, header, dimension=dimension)
        if "matrix" in arrays:
            return cls(words, arrays["matrix"])
        parts = arrays["values"].astype(np.float64), arrays["columns"], arrays["row_starts"]
        return cls(words, sparse.csr_array(parts, shape=(len(words), dimension)))

    def parts_below(self, name: str) -> tuple[dict[str, Array], dict[str, Any]]:
        """The parts of vectors that belong to another model, with `name` and a dot in front."""
        arrays, header = self.to_parts()
        return {f"{name}.{key}": array for key, array in arrays.items()}, header

    @classmethod
    def from_below(cls, name: str, arrays: dict[str, Array], header: dict[str, Any]) -> Vectors:
        """The inverse of `parts_below`."""
        prefix = f"{name}."
        inner = {key.removeprefix(prefix): array for key, array in arrays.items() if key.startswith(prefix)}
        return cls.from_parts(inner, header)

    def _place(self, word: str) -> int:
        place = self.places.get(word)
        return self.places.get(word.lower(), -1) if place is None else place


def dense(rows: Rows) -> Floats:
    """Rows as an ordinary array."""
    return rows.toarray() if isinstance(rows, sparse.csr_array) else np.asarray(rows)


def _unit_rows(rows: Floats) -> Floats:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(lengths > 0, lengths, 1.0)


def read_vectors(path: TextPath) -> Vectors:
    """Read vectors of either format.

    Parameters
    ----------
    path
        A model file, or text as word2vec or GloVe write it, which is normalized.

    Returns
    -------
    Vectors
        Rows of length 1, if the file is of this program.
    """
    if is_model_file(path):
        vectors: Vectors = load_model(path, "vectors")
        return vectors
    return read_word2vec(path).normalized()


def read_word2vec(path: TextPath) -> Vectors:
    """Read word2vec's text format; its first line may be missing, as GloVe writes it.

    Parameters
    ----------
    path
        The file.

    Returns
    -------
    Vectors
        As they stand there; of a word that comes twice the first counts.
    """
    rows: dict[str, list[float]] = {}
    dimension = 0
    for number, line in enumerate(open_text(path), 1):
        cells = line.rstrip().split(" ")
        sizes = [whole_number(cell) for cell in cells] if number == 1 and len(cells) == 2 else [None]
        if None not in sizes:
            dimension = sizes[1] or 0
            continue
        if len(cells) < 2:
            continue
        dimension = dimension or len(cells) - 1
        word, values = _parsed(cells, dimension, path, number)
        rows.setdefault(word, values)
    if not rows:
        raise InputError("the file holds no vectors", file=display_name(path))
    return Vectors(tuple(rows), np.array(list(rows.values()), dtype=np.float64))


def write_word2vec(vectors: Vectors, stream: TextIO) -> None:
    """Write word2vec's text format, with enough digits to read single precision back unchanged.

    Parameters
    ----------
    vectors
        What to write; its words hold no blanks.
    stream
        Where to write it.
    """
    stream.write(f"{len(vectors)} {vectors.dimension}\n")
    for first in range(0, len(vectors), 1000):
        words = vectors.words[first : first + 1000]
        for word, row in zip(words, dense(vectors.matrix[first : first + 1000]).tolist(), strict=True):
            if not word or len(word.split()) != 1:
                raise InputError(f"the word {word!r} holds a blank, which the format cannot write")
            stream.write(f"{word} {' '.join(f'{value:.9g}' for value in row)}\n")


def _parsed(cells: list[str], dimension: int, path: TextPath, line: int) -> tuple[str, list[float]]:
    """The word, which may hold blanks itself, and its numbers."""
    try:
        values = [float(cell) for cell in cells[-dimension:]]
    except ValueError:
        values = []
    if len(cells) <= dimension or len(values) != dimension or not np.isfinite(values).all():
        raise InputError(
            f"expected a word and {dimension} numbers, found {' '.join(cells)[:60]!r}",
            file=display_name(path),
            line=line,
        )
    return " ".join(cells[:-dimension]), values
