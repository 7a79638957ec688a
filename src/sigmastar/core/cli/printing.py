"""What commands print: figures to be read, or as JSON for programs; records of JSONL or CSV.

A command writes its own text, or objects with `--json`, one per line. Records are made of these here, once
for all families: a score is a number, a line a field, text in blocks (CoNLL-U, columns) a field per block. In
CSV an object that holds a list has a row per item of it, and its number in the column `record`.
"""

from __future__ import annotations

import csv
import json
import math
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, groupby
from typing import TYPE_CHECKING, Any, TextIO

from sigmastar.core.atomic import atomic_write, require_folder

if TYPE_CHECKING:  # estimates need scipy, which most commands do without
    from sigmastar.core.intervals import Estimate

Record = dict[str, Any]

FIELDS = {"score": "score", "predict": "text", "sample": "text"}
"""The field of a line, by command."""


def print_figures(figures: Mapping[str, Any], as_json: bool, output: str = "-") -> None:
    """Names and values, one per line, without those that there are none of; in JSON they are null."""
    with atomic_write(output) as stream:
        if as_json:
            stream.write(to_json(figures) + "\n")
            return
        found = {name: value for name, value in figures.items() if value is not None}
        width = max(map(len, found), default=0)
        stream.writelines(f"{name:<{width}}  {_shown(value)}\n" for name, value in found.items())


def with_interval(name: str, estimate: Estimate | None) -> dict[str, float | None]:
    """A figure and the ends of its interval, under `name`, `name_low` and `name_high`.

    Examples
    --------
    >>> from sigmastar.core.intervals import Estimate
    >>> with_interval("accuracy", Estimate(0.9, 0.8, 0.95, 20))
    {'accuracy': 0.9, 'accuracy_low': 0.8, 'accuracy_high': 0.95}
    >>> with_interval("accuracy", None)
    {'accuracy': None}
    """
    if estimate is None:
        return {name: None}
    return {name: estimate.value, f"{name}_low": estimate.low, f"{name}_high": estimate.high}


def to_json(value: Any) -> str:
    return json.dumps(_plain(value), allow_nan=False)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, (bool, int, str)) else str(value)


def _shown(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def write_records(
    command: Callable[..., Any], options: dict[str, Any], wanted: str, fields: tuple[str, ...], has_json: bool
) -> Any:
    """Let a command write beside, and put what it wrote into its place as records, "jsonl" or "csv"."""
    output = options["output"]
    require_folder(output)
    with tempfile.TemporaryDirectory() as folder:
        beside = os.path.join(folder, "text")
        result = command(**{**options, "output": beside})
        with open(beside, encoding="utf-8", newline="\n") as lines, atomic_write(output) as stream:
            records = _records((line.rstrip("\n") for line in lines), has_json, fields)
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
