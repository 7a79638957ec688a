"""Records of JSONL, CSV and Parquet files as lines: of each record the text of one field, or of several.

    --field text             {"id": 7, "text": "a b"}        ->    a b
    --field word,sound       word,sound,note / cat,K AE T,   ->    cat TAB K AE T

Readers read lines and know nothing of records. Line numbers stay those of the file. A list of texts in JSON
is joined by blanks; line ends inside a text become blanks.
"""

from __future__ import annotations

import csv
import json
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

from sigmastar.core.errors import InputError
from sigmastar.core.text_files import PARQUET, Block, LeftOut, TextPath, decoded, reading_policy

_JSON = (".jsonl", ".ndjson")
_TABLES = (".csv", ".tsv")
_DELIMITERS = ",\t;"
_ROWS = 4096  # of Parquet that are read at a time
_LINE_END = re.compile(r"\r\n|[\r\n]")
RECORDS = (*_JSON, *_TABLES)
"""How the names of such files end, compressed ones with .gz or .zst behind it."""


def _plain_name(file: str) -> str:
    return file.lower().removesuffix(".gz").removesuffix(".zst")


def is_parquet(path: TextPath) -> bool:
    """Whether a file holds columns in the manner of Parquet, by its first bytes."""
    if not os.path.isfile(path):
        return False
    with open(path, "rb") as stream:
        return stream.read(len(PARQUET)) == PARQUET


def parquet_lines(path: str, fields: str) -> Iterator[Block]:
    """The fields of all rows of a Parquet file, one row per line."""
    try:
        from pyarrow import ArrowException, parquet
    except ImportError:
        raise ImportError("Parquet files need pyarrow; pip install 'sigmastar[parquet]'") from None
    names, n_before = [name.strip() for name in fields.split(",")], 0
    try:
        file = parquet.ParquetFile(path)
        columns = file.schema_arrow.names
        if strange := [name for name in names if name not in columns]:
            raise InputError(f"has no column {strange[0]!r}; it has {', '.join(columns[:5])}", file=path)
        for batch in file.iter_batches(_ROWS, columns=names):
            for number, record in enumerate(batch.to_pylist(), n_before + 1):
                yield from _line(record, names, path, number)
            n_before += len(batch)
    except ArrowException as problem:
        raise InputError(f"is no sound Parquet file ({problem})", file=path) from None


def record_lines(blocks: Iterator[Block], fields: str, file: str) -> Iterator[Block]:
    """The fields of all records, one record per line.

    Parameters
    ----------
    blocks : iterator of Block
        The lines of the file.
    fields : str
        Names of fields, with commas between.
    file : str
        The name of the file, which tells the format; else its first line does.
    """
    names = [name.strip() for name in fields.split(",")]
    first = next(blocks, None)
    if first is None:
        return
    everything, head = chain([first], blocks), decoded(first, file).lstrip()
    if _plain_name(file).endswith(_JSON) or head.startswith("{"):
        yield from _of_json(everything, names, file)
    else:
        yield from _of_table(everything, names, file)


def _of_json(blocks: Iterable[Block], names: Sequence[str], file: str) -> Iterator[Block]:
    for block in blocks:
        for number, line in enumerate(decoded(block, file).split("\n"), block.first_line):
            if line.strip():
                yield from _line(_parsed(line), names, file, number)


def _parsed(line: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _of_table(blocks: Iterable[Block], names: Sequence[str], file: str) -> Iterator[Block]:
    lines = (line for block in blocks for line in re.findall(r"[^\n]*\n|[^\n]+", decoded(block, file)))
    head = next(lines)
    delimiter = max(_DELIMITERS, key=head.count)
    rows = csv.reader(chain([head], lines), delimiter=delimiter)
    columns = _row(rows, file, 1) or []
    if any(name not in columns for name in names):
        problem = f"no JSONL, and a table without the columns {', '.join(names)}; it has {_shown(columns)}"
        raise InputError(problem, file=file, line=1)
    while True:
        number = rows.line_num + 1
        row = _row(rows, file, number)
        if row is None:
            return
        if row:
            yield from _line(dict(zip(columns, row, strict=False)), names, file, number)


def _row(rows: Iterator[list[str]], file: str, number: int) -> list[str] | None:
    """The next row, None where there is none."""
    try:
        return next(rows, None)
    except csv.Error as problem:
        raise InputError(f"is no row of a table: {problem}", file=file, line=number) from None


def _line(record: Any, names: Sequence[str], file: str, number: int) -> Iterator[Block]:
    """The line of a record; one without a field is an error, or left out."""
    cells = [_text(record.get(name)) for name in names] if isinstance(record, dict) else [None]
    if None not in cells:
        texts = [cell or "" for cell in cells]
        line = texts[0] if len(texts) == 1 else "\t".join(text.replace("\t", " ") for text in texts)
        yield Block(number, f"{line}\n".encode())
        return
    missing = names[cells.index(None)] if isinstance(record, dict) else ""
    lacking = f"has no text in field {missing!r}; it has {_shown(record)}" if missing else ""
    problem = lacking or "is no record of JSON"
    if reading_policy().on_error == "stop":
        raise InputError(problem, file=file, line=number)
    reading_policy().left_out.append(LeftOut(file, number, problem))


def _shown(columns: Iterable[str]) -> str:
    """The first names of a table, or of a record, for a message."""
    return ", ".join(columns)[:80]


def _text(value: Any) -> str | None:
    if isinstance(value, str):
        return _LINE_END.sub(" ", value) if _is_whole(value) else None
    if isinstance(value, list):
        parts = [_text(part) for part in value]
        return None if None in parts else " ".join(part or "" for part in parts)
    return str(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _is_whole(text: str) -> bool:
    """Whether a text can be written: JSON may hold half a character, \\ud800."""
    return text.isascii() or not any("\ud800" <= character <= "\udfff" for character in text)
