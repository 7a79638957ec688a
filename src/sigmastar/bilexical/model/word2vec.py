"""Word vectors in word2vec's text format.

    n_words dimension
    word x1 x2 ... xd        separated by blanks, one word a line

A file without the first line (as GloVe writes) is read too.
"""

from __future__ import annotations

from typing import TextIO

import numpy as np

from sigmastar.bilexical.model.vectors import Vectors, dense
from sigmastar.core.errors import InputError
from sigmastar.core.text_files import TextPath, display_name, open_text


def read_word2vec(path: TextPath) -> Vectors:
    """Read vectors; of a word that comes twice the first counts."""
    rows: dict[str, list[float]] = {}
    dimension = 0
    for number, line in enumerate(open_text(path), 1):
        cells = line.rstrip().split(" ")
        if number == 1 and len(cells) == 2 and all(cell.isdecimal() for cell in cells):
            dimension = int(cells[1])
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
    """Write vectors with enough digits to read the same numbers back from single precision."""
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
