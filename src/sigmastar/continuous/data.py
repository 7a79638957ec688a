"""Series: sequences of vectors as one array of rows plus offsets.

Series `i` is `values[offsets[i]:offsets[i + 1]]`. In files a line is a row, its numbers separated by commas,
tabs or blanks; a blank line ends a series, and a first line without numbers names the columns.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sigmastar.core.arrays import Array, Floats, Int64s
from sigmastar.core.errors import InputError
from sigmastar.core.text_files import display_name, open_text

_SEPARATORS = re.compile(r"[,;\s]+")


@dataclass(frozen=True, eq=False)
class Series:
    """Sequences of vectors of one length."""

    values: Floats  # rows x dimensions
    offsets: Int64s

    @classmethod
    def of(cls, sequences: Any, lengths: Sequence[int] | None = None) -> Series:
        """From a list of arrays (rows x dimensions, or flat), or from one array, which `lengths` may cut.

        >>> Series.of([[1.0, 2.0], [3.0]]).offsets.tolist()
        [0, 2, 3]
        >>> Series.of(np.zeros((5, 2))).lengths.tolist()  # one array is one series, as in hmmlearn
        [5]
        """
        if isinstance(sequences, Series):
            return sequences
        sequences = as_array(sequences)
        if lengths is not None:
            flat = _rows(sequences, "X")
            ends = np.append(0, np.cumsum(np.asarray(lengths, dtype=np.int64)))
            if ends[-1] != len(flat):
                raise InputError(f"lengths add up to {ends[-1]}, but there are {len(flat)} rows")
            return cls(flat, ends)
        if is_one_array(sequences):
            sequences = [sequences]
        parts = [_rows(part, f"series {number}") for number, part in enumerate(sequences, 1)]
        widths = {part.shape[1] for part in parts if len(part)}
        if len(widths) > 1:
            raise InputError(f"series have vectors of {' and '.join(map(str, sorted(widths)))} numbers")
        width = widths.pop() if widths else 1
        values = np.concatenate([np.zeros((0, width)), *(part for part in parts if len(part))])
        return cls(values, np.append(0, np.cumsum([len(part) for part in parts])).astype(np.int64))

    @property
    def lengths(self) -> Int64s:
        return np.diff(self.offsets)

    @property
    def n_dimensions(self) -> int:
        return int(self.values.shape[1])

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __iter__(self) -> Iterator[Floats]:
        return iter(np.split(self.values, self.offsets[1:-1]) if len(self) else [])

    def first(self, n_rows: int) -> Series:
        """Whole series up to about so many rows, one at least; a long one is cut."""
        n = max(1, int(np.searchsorted(self.offsets, n_rows, side="right")) - 1)
        offsets = np.minimum(self.offsets[: n + 1], n_rows)
        return Series(self.values[: offsets[-1]], offsets)


def as_array(sequences: Any) -> Any:
    """The numbers of a table, as pandas has them; all else as it is."""
    is_table = hasattr(sequences, "columns") and hasattr(sequences, "to_numpy")
    return sequences.to_numpy() if is_table else sequences


def is_one_array(sequences: Any) -> bool:
    """Whether these are the rows of one array, and no list of arrays."""
    return isinstance(sequences, np.ndarray) and sequences.ndim < 3 and sequences.dtype != object


def _rows(part: Any, name: str) -> Floats:
    try:
        rows = np.asarray(part, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name} must hold numbers, rows x dimensions") from None
    rows = rows[:, None] if rows.ndim == 1 else rows
    if rows.ndim != 2:
        raise InputError(f"{name} must be rows x dimensions, not an array of shape {rows.shape}")
    if not np.isfinite(rows).all():
        raise InputError(f"{name} holds NaN or infinity; leave such rows out or fill them")
    return np.ascontiguousarray(rows)


def read_series(path: str | os.PathLike[str]) -> Series:
    """Series from a file.

    Parameters
    ----------
    path : str or path
        A row of numbers per line, a blank line between series; "-" is standard input.

    Returns
    -------
    Series
        All of one width.
    """
    file, parts, rows, width = display_name(path), list[Array](), list[list[float]](), 0
    for number, line in enumerate(open_text(path), 1):
        words = [word for word in _SEPARATORS.split(line.strip()) if word]
        if not words:
            parts, rows = [*parts, np.array(rows)] if rows else parts, []
            continue
        try:
            row = list(map(float, words))
        except ValueError:
            if number == 1:
                continue  # names of the columns
            problem = (
                f"{line.strip()[:40]!r} is no row of numbers; write them with blanks or commas between, and "
                "learn from strings of symbols by `sigmastar learn automaton`"
            )
            raise InputError(problem, file=file, line=number) from None
        if width and len(row) != width:
            raise InputError(f"{len(row)} numbers, where lines above have {width}", file=file, line=number)
        width = len(row)
        rows.append(row)
    parts = [*parts, np.array(rows)] if rows else parts
    if not parts:
        raise InputError("there are no numbers", file=file)
    try:
        return Series.of(parts)
    except InputError as problem:
        raise InputError(problem.problem, file=file) from None


def written_series(parts: Iterable[Array]) -> Iterator[str]:
    """Lines of a file."""
    for number, part in enumerate(parts):
        if number:
            yield ""
        yield from (",".join(f"{value:.9g}" for value in row) for row in part.tolist())
