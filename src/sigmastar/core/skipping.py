"""Dirty data: what becomes of records that cannot be read.

    with reading(on_error="skip") as policy:
        trees = read_brackets("old.mrg")
    policy.left_out        # file, line and problem of each record that was passed over

A reader raises `InputError` at the first record that is wrong, and knows nothing of all this. It is wrapped
(`text_files.skips`): where records are to be skipped and the whole file does not pass, it is read again in
pieces of some hundred records, without those that are named, until each piece passes. So a clean file costs
nothing, and a bad record the reading of one piece. A file that is bad in more than a tenth of its lines is
most likely of another format, and is refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Generic, NamedTuple, TypeVar

from sigmastar.core.errors import InputError
from sigmastar.core.text_files import (
    Held,
    LeftOut,
    ReadingPolicy,
    reading_policy,
    use_policy,
)

Result = TypeVar("Result")

MOST_LEFT_OUT = 0.1
_PIECE = 200  # records
_FEW = 2  # so many bad records are left out of a file of any size


class Record(NamedTuple):
    """The number of its first line, and its lines."""

    first_line: int
    content: bytes

    @property
    def n_lines(self) -> int:
        return self.content.count(b"\n") + (not self.content.endswith(b"\n"))


@contextmanager
def reading(
    encoding: str | None = None,
    on_error: str = "stop",
    bare_words: str | None = None,
    fields: str | None = None,
) -> Iterator[ReadingPolicy]:
    """How files are read inside a `with` block.

    Parameters
    ----------
    encoding : str or None
        Name of the encoding of text files; None: UTF-8, or what a byte order mark tells.
    on_error : {"stop", "skip"}
        Treatment of records that cannot be read: an error, or passing over them.
    bare_words : str or None
        Tag of words that stand beside phrases in trees; None: they stay without one.
    fields : str or None
        Fields of the records of JSONL and CSV files, with commas between, whose texts are read as lines.

    Yields
    ------
    ReadingPolicy
        Its `left_out` holds the records that were passed over, its `n_bare_words` how many words were tagged.

    Examples
    --------
    >>> with reading(on_error="skip") as policy:
    ...     pass
    >>> policy.left_out
    []
    """
    with use_policy(ReadingPolicy(encoding, on_error, bare_words, fields)) as policy:
        yield policy


def by_line(content: bytes) -> list[Record]:
    """Every line is a record."""
    return [Record(number, line) for number, line in enumerate(content.splitlines(keepends=True), 1)]


def by_blank_line(content: bytes) -> list[Record]:
    """Blank lines end records, as in CoNLL's formats."""
    return _split(content, re.compile(rb"^[ \t]*\n+", re.MULTILINE), after=True)


def by_tree(content: bytes) -> list[Record]:
    """A bracket at the beginning of a line begins a record; later lines of a tree are indented.

    Where the first line begins with no bracket, the file holds sentences, one per line.
    """
    if not content.lstrip().startswith(b"("):
        return by_line(content)
    return _split(content, re.compile(rb"^(?=\()", re.MULTILINE), after=False)


def _split(content: bytes, mark: re.Pattern[bytes], after: bool) -> list[Record]:
    places = [found.end() if after else found.start() for found in mark.finditer(content)]
    cuts = sorted({0, *places, len(content)})
    records, line = list[Record](), 1
    for begin, end in pairwise(cuts):
        records.append(Record(line, content[begin:end]))
        line += content.count(b"\n", begin, end)
    return records


def sieved(
    read: Callable[[Held], Result], held: Held, records: Callable[[bytes], list[Record]], n_header: int
) -> Result:
    """What `read` gives of a file, less the records that it refuses; these are noted in the policy around.

    Parameters
    ----------
    read : callable
        From the content of a file to what it holds.
    held : Held
        The content.
    records : callable
        The content as records: `by_line`, `by_blank_line` or `by_tree`.
    n_header : int
        Number of records at the beginning that belong to every piece.

    Returns
    -------
    object
        What `read` returns of the records that are left.
    """
    try:
        return read(held)
    except InputError as problem:
        if problem.line is None:
            raise
    return _Sieve(read, held.name, reading_policy()).read(records(held.content), n_header)


class _Sieve(Generic[Result]):
    """The records of one file, less those that its reader refuses."""

    def __init__(self, read: Callable[[Held], Result], file: str, policy: ReadingPolicy) -> None:
        self.read_piece, self.file, self.policy = read, file, policy
        self.n_lines, self.n_bad_lines, self.n_bad = 0, 0, 0

    def read(self, records: Sequence[Record], n_header: int) -> Result:
        header, rest = list(records[:n_header]), records[n_header:]
        self.n_lines = sum(record.n_lines for record in records)
        kept = list[Record]()
        for start in range(0, len(rest), _PIECE):
            kept += self._passed(header, list(rest[start : start + _PIECE]))
        if not kept:
            raise InputError("no record of it can be read; is it of another format?", file=self.file, line=1)
        return self._whole(header, kept)

    def _whole(self, header: list[Record], kept: list[Record]) -> Result:
        """All that is left; what only shows in the whole file is left out here."""
        while True:
            try:
                return self.read_piece(self._held(header, kept))
            except InputError as problem:
                kept = self._without(header, kept, problem)

    def _passed(self, header: list[Record], piece: list[Record]) -> list[Record]:
        while piece:
            try:
                self.read_piece(self._held(header, piece))
                break
            except InputError as problem:
                if problem.line is None:  # of the piece as a whole, such as a lack of words
                    break
                piece = self._without(header, piece, problem)
        return piece

    def _held(self, header: list[Record], piece: list[Record]) -> Held:
        return Held(self.file, b"".join(record.content for record in (*header, *piece)))

    def _without(self, header: list[Record], piece: list[Record], problem: InputError) -> list[Record]:
        """Take out the record that holds the line which the reader names."""
        line, at = problem.line or 0, sum(record.n_lines for record in header)
        for number, record in enumerate(piece):
            if at < line <= at + record.n_lines:
                self._leave_out(record, record.first_line + line - at - 1, problem.problem)
                return piece[:number] + piece[number + 1 :]
            at += record.n_lines
        raise problem

    def _leave_out(self, record: Record, line: int, problem: str) -> None:
        self.policy.left_out.append(LeftOut(self.file, line, problem))
        self.n_bad += 1
        self.n_bad_lines += record.n_lines
        if self.n_bad > _FEW and self.n_bad_lines > MOST_LEFT_OUT * self.n_lines:
            raise InputError(
                f"more than {MOST_LEFT_OUT:.0%} of its {self.n_lines} lines cannot be read, the last with: "
                f"{problem}; is it of another format?",
                file=self.file,
                line=line,
            )
