"""Rows of cells between tabs, found in the bytes of a whole file.

Lines are told apart by arithmetic on bytes: blank ones, comments, rows without a word, rows with one. The
rows with a word are cut out in runs, and split once: cell c of row r is `cells[n_columns * r + c]`. If
every n-th separator is a line end, and there are n for each row, then all rows have n columns. Whole numbers
are read from their digits, all rows at a time. So no step works on one line alone, unless it is in error.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sigmastar.core.arrays import Flags, Indices, Int64s
from sigmastar.core.errors import InputError
from sigmastar.core.text_files import Block, TextPath, decoded, display_name, line_blocks

Bytes = NDArray[np.uint8]

_TAB, _LINE_END, _COMMENT, _ZERO, _NONE = (ord(mark) for mark in "\t\n#0_")
_MOST_DIGITS = 8
NO_NUMBER, WRONG_NUMBER = -1, -2


class TabRows:
    """The lines of a file by kind. With `numbered` rows begin with an ID, and comments with `#`.

    Only rows whose ID is a whole number hold a word; the others are among `others`, with the comments.
    """

    def __init__(self, path: TextPath, n_columns: int, numbered: bool) -> None:
        self.file, self.n_columns = display_name(path), n_columns
        self._content = b"".join(block.content for block in line_blocks(path)).removesuffix(b"\n") + b"\n"
        data = np.frombuffer(self._content, dtype=np.uint8)
        self._ends = np.flatnonzero(data == _LINE_END)
        self._starts = np.append(0, self._ends[:-1] + 1)
        blank = self._starts == self._ends
        comment = (data[self._starts] == _COMMENT) & numbered
        row = ~(blank | comment)
        word = row & _begin_with_number(data, self._starts) if numbered else row
        self.blank_numbers = np.flatnonzero(blank) + 1
        self.numbers = np.flatnonzero(word) + 1
        self._joined = self._pieces(word)
        self._data = np.frombuffer(self._joined, dtype=np.uint8)
        self._stops = np.flatnonzero((self._data == _TAB) | (self._data == _LINE_END))
        self.wordless = np.flatnonzero(row & ~word) + 1
        self._require_columns(np.flatnonzero(row))
        places = np.flatnonzero(comment | (row & ~word))
        self.other_numbers, self.others = places + 1, self._lines(places)

    @cached_property
    def cells(self) -> list[str]:
        """All cells, row after row. Ask late: the collector of garbage walks this list when it runs."""
        cells = self._text(self._joined.replace(b"\n", b"\t")).split("\t")
        cells.pop()  # after the last separator
        return cells

    def column(self, number: int) -> list[str]:
        return self.cells[number :: self.n_columns]

    def whole_numbers(self, column: int) -> Int64s:
        """The cells of a column as numbers; `_` is NO_NUMBER, all else that is none WRONG_NUMBER."""
        ends = self._stops[column :: self.n_columns]
        starts = np.append(-1, self._stops[:-1])[column :: self.n_columns] + 1
        values, after = _leading_numbers(self._data, starts)
        values[(after < ends) | (starts == ends)] = WRONG_NUMBER
        values[(ends == starts + 1) & (self._data[starts] == _NONE)] = NO_NUMBER
        return values

    def line(self, number: int) -> str:
        """The line of that number, counted from 1."""
        return self._text(self._content[self._starts[number - 1] : self._ends[number - 1]])

    def error(self, problem: str, line: int) -> InputError:
        return InputError(problem, file=self.file, line=int(line))

    def _pieces(self, chosen: Flags) -> bytes:
        """The chosen lines, cut out run by run."""
        edges = np.flatnonzero(np.diff(np.concatenate([[False], chosen, [False]]).astype(np.int8)))
        runs = zip(self._starts[edges[::2]].tolist(), self._ends[edges[1::2] - 1].tolist(), strict=True)
        return b"".join([self._content[start : end + 1] for start, end in runs])

    def _lines(self, places: Indices) -> list[str]:
        spans = zip(self._starts[places].tolist(), self._ends[places].tolist(), strict=True)
        lines = self._text(b"\n".join([self._content[start:end] for start, end in spans])).split("\n")
        return lines if len(places) else []

    def _text(self, part: bytes) -> str:
        try:
            return part.decode()
        except UnicodeDecodeError:
            return decoded(Block(1, self._content), self.file)  # which names the line

    def _require_columns(self, rows: Indices) -> None:
        if not len(rows):
            raise InputError("the file holds no sentence", file=self.file)
        n, n_words = self.n_columns, len(self.numbers)
        straight = (
            len(self._stops) == n * n_words and (self._data[self._stops[n - 1 :: n]] == _LINE_END).all()
        )
        suspects = self.wordless - 1 if straight else rows
        for at in suspects.tolist():
            found = self._content.count(b"\t", self._starts[at], self._ends[at]) + 1
            if found != n:
                raw = "" if found > 1 else "; raw text is for models of `sigmastar learn pipeline`"
                raise self.error(f"expected {n} columns with tabs between them, found {found}{raw}", at + 1)


def _begin_with_number(data: Bytes, starts: Int64s) -> Flags:
    """Whether digits and a tab begin each line; too many digits count too: their message comes later."""
    _, after = _leading_numbers(data, starts)
    ended: Flags = (data[after] == _TAB) | (after == starts + _MOST_DIGITS)
    return ended & (after > starts)


def _leading_numbers(data: Bytes, starts: Int64s) -> tuple[Int64s, Int64s]:
    """The numbers that digits from `starts` on spell, at most 8 of them, and where each ends."""
    values, after, open_ = np.zeros(len(starts), dtype=np.int64), starts.copy(), np.arange(len(starts))
    for _ in range(_MOST_DIGITS):
        digits = data[after[open_]] - np.uint8(_ZERO)  # below 0 wraps around to far above 9
        more = digits < 10
        open_ = open_[more]
        values[open_] = 10 * values[open_] + digits[more]
        after[open_] += 1
    return values, after
