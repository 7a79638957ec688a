"""Outputs as records: what `predict`, `score` and `sample` write, as JSONL or CSV where that is asked for.

A command writes its own text, or objects with `--json`, one per line. Records are made of these here, once
for all families: a score is a number, a line a field, text in blocks (CoNLL-U, columns) a field per block. In
CSV an object that holds a list has a row per item of it, and its number in the column `record`.
"""

from __future__ import annotations

import copy
import csv
import inspect
import json
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, groupby
from typing import Any, TextIO

import click

from sigmastar.core.atomic import atomic_write, require_folder
from sigmastar.core.cli.printing import to_json

Record = dict[str, Any]

ENDINGS = {".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv"}
FIELDS = {"score": "score", "predict": "text", "sample": "text"}
"""The field of a line, by command."""


class TableCommand(click.Command):
    """A command whose lines are columns, with tabs between."""

    def __init__(self, *args: Any, columns: tuple[str, ...], **options: Any) -> None:
        super().__init__(*args, **options)
        self.columns = columns


def writes_records(command: click.Command, name: str) -> click.Command:
    """A command with the option `--output-format`, whose default is the ending of the output."""
    if not any(option.name == "output" for option in command.params):
        return command
    found, inner = copy.copy(command), command.callback
    assert inner is not None
    option = click.Option(
        ["--output-format"],
        type=click.Choice(["text", "jsonl", "csv"]),
        help="Format of the output  [default: jsonl or csv by the ending of --output, else text]",
    )
    found.params = [*command.params, option]
    found.help = inspect.cleandoc(command.help or "")
    has_json = any(option.name == "as_json" for option in command.params)

    def callback(output_format: str | None, **options: Any) -> Any:
        wanted = output_format or ENDINGS.get(os.path.splitext(options["output"])[1].lower(), "text")
        if wanted == "text":
            return inner(**options)
        if has_json:
            options["as_json"] = True
        fields = command.columns if isinstance(command, TableCommand) else (FIELDS[name],)
        return _written(inner, options, wanted, lambda lines: _records(lines, has_json, fields))

    found.callback = callback
    return found


def _written(
    inner: Callable[..., Any],
    options: dict[str, Any],
    wanted: str,
    records_of: Callable[[Iterable[str]], Iterator[Record]],
) -> Any:
    """Let a command write beside, and put what it wrote into its place as records."""
    output = options["output"]
    require_folder(output)
    with tempfile.TemporaryDirectory() as folder:
        beside = os.path.join(folder, "text")
        result = inner(**{**options, "output": beside})
        with open(beside, encoding="utf-8", newline="\n") as lines, atomic_write(output) as stream:
            records = records_of(line.rstrip("\n") for line in lines)
            (_write_csv if wanted == "csv" else _write_jsonl)(records, stream)
    return result


def _records(lines: Iterable[str], has_json: bool, fields: tuple[str, ...]) -> Iterator[Record]:
    if has_json:
        block = 1
        for line in lines:
            block += not line  # series of rows have a blank line between them
            if line:
                yield json.loads(line) if block == 1 else {"block": block, **json.loads(line)}
    elif fields == ("score",):
        yield from ({"score": float(line)} for line in lines)
    else:
        kept = list(lines)
        is_blocks = any("\t" in line for line in kept) and not kept[-1]  # sentences end with a blank line
        for text in _blocks(kept) if is_blocks else kept:
            yield dict(zip(fields, text.split("\t", len(fields) - 1), strict=False))


def _blocks(lines: Iterable[str]) -> Iterator[str]:
    for is_filled, block in groupby(lines, bool):
        if is_filled:
            yield "\n".join(block)


def _write_jsonl(records: Iterable[Record], stream: TextIO) -> None:
    stream.writelines(to_json(record) + "\n" for record in records)  # a score of -inf is null


def _write_csv(records: Iterable[Record], stream: TextIO) -> None:
    rows = chain.from_iterable(_rows(record, number) for number, record in enumerate(records, 1))
    kept = list(rows)
    names = dict.fromkeys(name for row in kept for name in row)
    writer = csv.DictWriter(stream, list(names), restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(kept)


def _rows(record: Record, number: int) -> Iterator[Record]:
    """A row, or one per item of the first list and of lists as long as it; other lists are left out."""
    lists = {name: value for name, value in record.items() if isinstance(value, list)}
    plain = {name: value for name, value in record.items() if not isinstance(value, (list, dict))}
    nested = {name: to_json(value) for name, value in record.items() if isinstance(value, dict)}
    if not lists:
        yield {**plain, **nested}
        return
    size = len(next(iter(lists.values())))
    alike = {name: value for name, value in lists.items() if len(value) == size}
    for place in range(size):
        row = {"record": number, **plain, **nested}
        for name, value in alike.items():
            item = value[place]
            if isinstance(item, dict) and len(alike) == 1:
                row |= {
                    key: to_json(each) if isinstance(each, (list, dict)) else each
                    for key, each in item.items()
                }
            else:
                row[name] = to_json(item) if isinstance(item, (list, dict)) else item
        yield row
