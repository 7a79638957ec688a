"""CoNLL-U treebanks, and the simpler `word TAG head` format; one word a line, a blank line between sentences.

    ID FORM LEMMA UPOS XPOS FEATS HEAD DEPREL DEPS MISC        ten columns, split at tabs only

Multiword tokens (ID `3-4`), empty nodes (ID `8.1`) and comments (`#`) hold no word of the tree: they
are passed over on reading and written back in their places.

Rows of cells between tabs are found in the bytes of a whole file.

Lines are told apart by arithmetic on bytes: blank ones, comments, rows without a word, rows with one. The
rows with a word are cut out in runs, and split once: cell c of row r is `cells[n_columns * r + c]`. If
every n-th separator is a line end, and there are n for each row, then all rows have n columns. Whole numbers
are read from their digits, all rows at a time. So no step works on one line alone, unless it is in error.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sigmastar.core.arrays import Flags, Indices, Int32s, Int64s
from sigmastar.core.atomic import atomic_write
from sigmastar.core.errors import InputError
from sigmastar.core.skipping import by_blank_line
from sigmastar.core.text_files import Block, TextPath, decoded, display_name, line_blocks, skips
from sigmastar.dependency.data.treebank import NO_HEAD, DependencyTreebank, word_places, words_without_root

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
                other = "" if found > 1 else _of_another_kind(self._content[self._starts[at] :][:1])
                raise self.error(f"expected {n} columns with tabs between them, found {found}{other}", at + 1)


def _of_another_kind(first: bytes) -> str:
    """What takes a file without columns, by its first letter."""
    if first == b"(":
        return "; trees in brackets are for `sigmastar learn treebank` and its models"
    return "; raw text is for models of `sigmastar learn pipeline`"


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


N_COLUMNS = 10


def read_treebank(
    path: TextPath, need_heads: bool = True, *, ignore_heads: bool = False
) -> DependencyTreebank:
    """Read a treebank: `.dp` files hold `word TAG head`, all others CoNLL-U.

    Parameters
    ----------
    path : path or file
        May be compressed (`.gz`, `.zst`).
    need_heads : bool
        Whether a word without a head (`_`) is an error.
    ignore_heads : bool
        Whether the column of heads is passed over, whatever stands in it.

    Returns
    -------
    DependencyTreebank
        All sentences of the file.
    """
    return (read_dp if is_dp(path) else read_conllu)(path, need_heads, ignore_heads=ignore_heads)


def is_dp(path: TextPath) -> bool:
    """Whether a file is by its name one of `word TAG head` lines."""
    return os.fspath(path).removesuffix(".gz").removesuffix(".zst").endswith(".dp")


@skips(by_blank_line)
def read_conllu(path: TextPath, need_heads: bool = True, *, ignore_heads: bool = False) -> DependencyTreebank:
    """Read a CoNLL-U file.

    Parameters
    ----------
    path, need_heads, ignore_heads
        As of `read_treebank`.

    Returns
    -------
    DependencyTreebank
        All sentences of the file.
    """
    rows = TabRows(path, N_COLUMNS, numbered=True)
    _require_kinds(rows)
    offsets = _sentence_offsets(rows)
    _require_ids(rows, offsets)
    others = _other_lines(rows, offsets)  # many small tuples: before there are cells, see there
    head = _no_heads(offsets) if ignore_heads else _checked_heads(rows, 6, offsets, need_heads)
    return DependencyTreebank(
        form=rows.column(1), lemma=_rare(rows, 2), upos=rows.column(3), xpos=rows.column(4),
        feats=_rare(rows, 5), head=head, deprel=rows.column(7), deps=_rare(rows, 8), misc=_rare(rows, 9),
        sentence_offsets=offsets, other_lines=others,
    )  # fmt: skip


@skips(by_blank_line)
def read_dp(path: TextPath, need_heads: bool = True, *, ignore_heads: bool = False) -> DependencyTreebank:
    """Read `word TAG head` lines; the tag stands for both tag columns.

    Parameters
    ----------
    path, need_heads, ignore_heads
        As of `read_treebank`.

    Returns
    -------
    DependencyTreebank
        All sentences of the file.
    """
    rows = TabRows(path, 3, numbered=False)
    words, tags, offsets = rows.column(0), rows.column(1), _sentence_offsets(rows)
    head = _no_heads(offsets) if ignore_heads else _checked_heads(rows, 2, offsets, need_heads)
    return DependencyTreebank(words, tags, tags, head, ["_"] * len(words), offsets)


def _no_heads(offsets: Int64s) -> Int32s:
    return np.full(offsets[-1], NO_HEAD, dtype=np.int32)


def format_conllu(treebank: DependencyTreebank) -> Iterator[str]:
    """The lines of a CoNLL-U file, with the lines that hold no word in their old places.

    Parameters
    ----------
    treebank : DependencyTreebank
        The sentences.

    Yields
    ------
    str
        One line, without its end.
    """
    lines = _word_lines(treebank)
    slots = np.arange(treebank.n_words) + np.repeat(np.arange(len(treebank)), treebank.lengths)
    stream = [""] * (treebank.n_words + len(treebank))  # what is left blank ends a sentence
    for slot, line in zip(slots.tolist(), lines, strict=True):
        stream[slot] = line
    done = 0
    for slot, line in treebank.other_lines:
        yield from stream[done:slot]
        yield line
        done = slot
    yield from stream[done:]


def write_conllu(treebank: DependencyTreebank, path: TextPath) -> None:
    """Write a treebank as CoNLL-U.

    Parameters
    ----------
    treebank : DependencyTreebank
        The sentences.
    path : path
        The file, written whole or not at all.
    """
    with atomic_write(path) as stream:
        stream.writelines(f"{line}\n" for line in format_conllu(treebank))


def format_dp(treebank: DependencyTreebank) -> Iterator[str]:
    """The lines of a `word TAG head` file."""
    rows = map("\t".join, zip(treebank.form, treebank.xpos, _head_cells(treebank), strict=True))
    for length in treebank.lengths.tolist():
        for _ in range(length):
            yield next(rows)
        yield ""


def write_dp(treebank: DependencyTreebank, path: TextPath) -> None:
    """Write a treebank as `word TAG head` lines.

    Parameters
    ----------
    treebank : DependencyTreebank
        The sentences.
    path : path
        The file, written whole or not at all.
    """
    with atomic_write(path) as stream:
        stream.writelines(f"{line}\n" for line in format_dp(treebank))


def _rare(rows: TabRows, number: int) -> list[str] | None:
    cells = rows.column(number)
    return None if cells.count("_") == len(cells) else cells


def _sentence_offsets(rows: TabRows) -> Int64s:
    """Sentences end at blank lines; blank lines without a word before them are passed over."""
    before = np.searchsorted(rows.numbers, rows.blank_numbers)
    ends = np.unique(np.append(before, len(rows.numbers)))
    return np.concatenate([[0], ends[ends > 0]]).astype(np.int64)


def _other_lines(rows: TabRows, offsets: Int64s) -> tuple[tuple[int, str], ...]:
    places = rows.other_numbers
    words_before = np.searchsorted(rows.numbers, places)
    # A sentence is over at the first blank line after its last word, not at that word.
    after_last = np.searchsorted(rows.blank_numbers, rows.numbers[offsets[1:] - 1])
    ends = np.append(rows.blank_numbers, np.iinfo(np.int64).max)[after_last]
    slots = words_before + np.searchsorted(ends, places)
    return tuple(zip(slots.tolist(), rows.others, strict=True))


def _require_kinds(rows: TabRows) -> None:
    for number in rows.wordless.tolist():
        identity = rows.line(number).partition("\t")[0]
        parts = identity.split("-" if "-" in identity else ".")
        if len(parts) != 2 or not all(map(str.isdecimal, parts)):
            raise rows.error(f"ID {identity[:40]!r} is not 3, 3-4 or 8.1", number)
    if not len(rows.numbers):
        raise rows.error("ranges and empty nodes alone are no sentence: there is no word", rows.wordless[0])


def _require_ids(rows: TabRows, offsets: Int64s) -> None:
    expected = word_places(offsets)
    for at in np.flatnonzero(rows.whole_numbers(0) != expected)[:1].tolist():
        found = rows.cells[N_COLUMNS * at]
        raise rows.error(
            f"expected ID {expected[at]}, found {found[:40]}: words count 1, 2, ..", rows.numbers[at]
        )


def _checked_heads(rows: TabRows, column: int, offsets: Int64s, need_heads: bool) -> Int32s:
    head = _heads(rows, column, need_heads)
    lengths = np.repeat(np.diff(offsets), np.diff(offsets))
    for at in np.flatnonzero(head > lengths)[:1].tolist():
        raise rows.error(f"head {head[at]} in a sentence of {lengths[at]} words", rows.numbers[at])
    for at in words_without_root(head, offsets)[:1].tolist():
        raise rows.error("the heads of this word form a cycle: they never reach the root 0", rows.numbers[at])
    return head


def _heads(rows: TabRows, column: int, need_heads: bool) -> Int32s:
    head = rows.whole_numbers(column)
    for at in np.flatnonzero(head < (0 if need_heads else NO_HEAD))[:1].tolist():
        cell = rows.cells[rows.n_columns * at + column]
        if cell in ("_", ""):
            raise rows.error("this word has no head; give a number, 0 for the root", rows.numbers[at])
        raise rows.error(f"head {cell[:40]!r} is not a number from 0 on", rows.numbers[at])
    return head.astype(np.int32)


def _word_lines(treebank: DependencyTreebank) -> Iterator[str]:
    n = treebank.n_words
    blank = ["_"] * n
    return map(
        "\t".join,
        zip(
            map(str, word_places(treebank.sentence_offsets).tolist()),
            treebank.form, treebank.lemma or blank, treebank.upos, treebank.xpos, treebank.feats or blank,
            _head_cells(treebank), treebank.deprel, treebank.deps or blank, treebank.misc or blank,
            strict=True,
        ),
    )  # fmt: skip


def _head_cells(treebank: DependencyTreebank) -> list[str]:
    return ["_" if head < 0 else str(head) for head in treebank.head.tolist()]
