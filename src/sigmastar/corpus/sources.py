"""What a corpus is built from: text, gzip, zstandard, JSONL, Parquet, standard input, as blocks of lines.

Work is cut into units that do not depend on the number of workers: 64 MB of plain text or JSONL, row groups
of Parquet, or a whole file where it is compressed. Records of JSONL and Parquet are strings; line ends inside
them are blanks.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any, NamedTuple

from sigmastar.core.engines import ranges
from sigmastar.core.errors import InputError
from sigmastar.core.text_files import (
    Block,
    Held,
    LeftOut,
    decoded,
    display_name,
    line_blocks,
    reading_policy,
)

FORMATS = ("lines", "jsonl", "parquet")
UNIT_BYTES = 64 << 20
_PIECE = 1 << 20
_MARKS = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"\x00\x00")
_PARQUET_ROWS = 4096


@dataclass(frozen=True)
class Unit:
    """A piece of work: a file, the lines of one that begin between two places, or some of its row groups."""

    path: str
    format: str
    field: str | None = None
    begin: int = 0
    end: int = -1

    @property
    def is_range(self) -> bool:
        return self.end >= 0


class Source(NamedTuple):
    """What tells whether a file is still the one that was read."""

    name: str
    size: int
    changed: int


def source_of(path: str) -> Source:
    """A file as it is now; standard input has no size."""
    if path == "-":
        return Source("standard input", 0, 0)
    try:
        status = os.stat(path)
    except OSError:
        raise InputError("there is no such file; check the name", file=path) from None
    if os.path.isdir(path):
        raise InputError("is a folder; give the files inside it", file=path)
    return Source(os.path.abspath(path), status.st_size, status.st_mtime_ns)


def format_of(path: str, given: str | None, field: str | None) -> str:
    """The format by what was asked for, or by the name of the file."""
    name = path.lower().removesuffix(".gz").removesuffix(".zst")
    found = (
        "parquet" if name.endswith(".parquet") else "jsonl" if name.endswith((".jsonl", ".ndjson")) else None
    )
    chosen = given or found or ("jsonl" if field else "lines")
    if chosen == "lines" and field is not None:
        raise ValueError("--field is for --format jsonl or parquet, not lines")
    return chosen


def units_of(paths: Sequence[str], given: str | None = None, field: str | None = None) -> list[Unit]:
    """The work on some files, in their order."""
    units = list[Unit]()
    for path in paths:
        chosen = format_of(path, given, field)
        of_records = None if chosen == "lines" else field or "text"
        if chosen == "parquet":
            groups = ranges(_group_sizes(path), UNIT_BYTES)
            units += [Unit(path, chosen, of_records, *some) for some in groups]
        elif path != "-" and _is_plain(path):
            size = os.stat(path).st_size
            edges = [*range(0, max(size, 1), UNIT_BYTES), size]
            units += [Unit(path, chosen, of_records, a, b) for a, b in pairwise(edges)]
        else:
            units.append(Unit(path, chosen, of_records))
    return units


def _is_plain(path: str) -> bool:
    """Whether lines can be told by their bytes: UTF-8 without a mark, not compressed, a regular file."""
    if not os.path.isfile(path) or reading_policy().encoding not in (None, "utf-8"):
        return False
    with open(path, "rb") as stream:
        return not stream.read(4).startswith(_MARKS)


def blocks_of(unit: Unit) -> Iterator[bytes]:
    """Whole lines in UTF-8, one string each, in blocks; bad ones are an error, or left out by the policy."""
    if unit.format == "parquet":
        yield from _parquet_blocks(unit)
    elif unit.format == "jsonl":
        yield from _json_blocks(unit)
    else:
        for block in _lines_of(unit):
            yield _valid(block, display_name(unit.path))


def _lines_of(unit: Unit) -> Iterator[Block]:
    return _range_blocks(unit) if unit.is_range else line_blocks(unit.path)


def _range_blocks(unit: Unit) -> Iterator[Block]:
    """The lines that begin in a range: a line belongs to the unit where its first byte is."""
    line = 1
    with open(unit.path, "rb") as stream:
        if unit.begin:
            stream.seek(unit.begin - 1)
            stream.readline()  # the end of a line of the unit before
        while (at := stream.tell()) < unit.end:
            piece = stream.read(min(_PIECE, unit.end - at))
            if not piece.endswith(b"\n"):
                piece += stream.readline()
            if not piece.endswith(b"\n") and at:
                piece += b"\n"  # a lone CR then is none of the line ends of a file that has no others
            try:
                for block in line_blocks(Held(unit.path, piece)):
                    yield Block(line + block.first_line - 1, block.content)
            except InputError as problem:
                raise _placed(problem, line - 1) from None
            line += piece.count(b"\n")


def _placed(problem: InputError, n_before: int) -> InputError:
    line = None if problem.line is None else problem.line + n_before
    return InputError(problem.problem, file=problem.file, line=line)


def lines_before(unit: Unit) -> int:
    """The number of lines that begin before a range: only messages ask for it."""
    n_lines, left, last = 0, unit.begin, b"\n"
    with open(unit.path, "rb") as stream:
        while left > 0 and (piece := stream.read(min(_PIECE, left))):
            n_lines, left, last = n_lines + piece.count(b"\n"), left - len(piece), piece[-1:]
    return n_lines + (last != b"\n")


def _valid(block: Block, file: str) -> bytes:
    """The content of a block; lines that are no UTF-8 are refused or left out."""
    try:
        decoded(block, file)
        return block.content
    except InputError:
        if reading_policy().on_error == "stop":
            raise
    kept = list[bytes]()
    for number, line in enumerate(block.content.split(b"\n")[:-1], block.first_line):
        try:
            decoded(Block(number, line), file)
            kept.append(line)
        except InputError as problem:
            _leave_out(problem)
    return b"\n".join([*kept, b""])


def _leave_out(problem: InputError) -> None:
    reading_policy().left_out.append(LeftOut(problem.file or "", problem.line or 0, problem.problem))


def _json_blocks(unit: Unit) -> Iterator[bytes]:
    for block in _lines_of(unit):
        found = list[str]()
        for number, line in enumerate(decoded(block, display_name(unit.path)).split("\n"), block.first_line):
            if not line.strip():
                continue
            try:
                found.append(_text_of_json(line, unit, number))
            except InputError as problem:
                if reading_policy().on_error == "stop":
                    raise
                _leave_out(problem)
        if found:
            yield _one_per_line(found)


def _text_of_json(line: str, unit: Unit, number: int) -> str:
    file = display_name(unit.path)
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        raise InputError(
            "is no JSON; --on-error skip leaves such lines out", file=file, line=number
        ) from None
    text = record.get(unit.field) if isinstance(record, dict) else None
    if not isinstance(text, str):
        keys = ", ".join(list(record)[:5]) if isinstance(record, dict) else type(record).__name__
        raise InputError(f"has no text in field {unit.field!r}; there are: {keys}", file=file, line=number)
    return text


def _one_per_line(texts: Sequence[str]) -> bytes:
    return "\n".join([*(" ".join(text.splitlines()) for text in texts), ""]).encode(errors="replace")


@contextmanager
def _parquet(path: str) -> Iterator[Any]:
    if path == "-":
        raise InputError("Parquet begins at the end of a file, which a pipe does not show; give the file")
    try:
        from pyarrow import ArrowException, parquet
    except ImportError:
        raise ImportError("Parquet files need pyarrow; pip install 'sigmastar[parquet]'") from None
    try:
        yield parquet.ParquetFile(path)
    except ArrowException as problem:
        raise InputError(f"is no sound Parquet file ({problem})", file=path) from None


def _group_sizes(path: str) -> list[int]:
    with _parquet(path) as file:
        known = file.metadata
        return [known.row_group(number).total_byte_size for number in range(known.num_row_groups)]


def _parquet_blocks(unit: Unit) -> Iterator[bytes]:
    groups = range(unit.begin, unit.end)
    with _parquet(unit.path) as file:
        if unit.field not in file.schema_arrow.names:
            names = ", ".join(file.schema_arrow.names[:5])
            raise InputError(f"has no column {unit.field!r}; it has {names}", file=unit.path)
        for batch in file.iter_batches(_PARQUET_ROWS, groups, [unit.field]):
            yield _one_per_line([_text_of_cell(cell, unit) for cell in batch.column(0).to_pylist()])


def _text_of_cell(cell: Any, unit: Unit) -> str:
    if not isinstance(cell, str):
        raise InputError(f"column {unit.field!r} holds {type(cell).__name__}, not text", file=unit.path)
    return cell


def as_header(unit: Unit) -> dict[str, Any]:
    """A unit as JSON holds it."""
    return asdict(unit)
