"""Strings with a number or a label each: one per line, `string TAB value`."""

from __future__ import annotations

import math
from dataclasses import dataclass

from sigmastar.core.errors import InputError
from sigmastar.core.skipping import by_line
from sigmastar.core.text_files import TextPath, display_name, open_text, skips

Word = tuple[str, ...]


@dataclass(frozen=True)
class Table:
    """Strings and what stands behind them, as text; without values where the file has one column."""

    strings: list[Word]
    values: list[str] | None

    @property
    def numbers(self) -> list[float]:
        """The values as numbers, of a table that was read with `numeric`."""
        return [float(value) for value in self.values or []]


@skips(by_line)
def read_table(
    path: TextPath, characters: bool = False, need_values: bool = True, numeric: bool = False
) -> Table:
    """Read a table of strings and values.

    Parameters
    ----------
    path : str or path
        A file, plain, gzip or zstandard; `-` is standard input.
    characters : bool
        Whether every character is a symbol; otherwise symbols are separated by blanks.
    need_values : bool
        Whether a line without a value is an error; otherwise values are left out.
    numeric : bool
        Whether a value that is no finite number is an error.

    Returns
    -------
    Table
        In the order of the file.
    """
    rows = [_cells(line, path, number, need_values) for number, line in enumerate(open_text(path), 1)]
    if numeric:
        for number, (_, value) in enumerate(rows, 1):
            _require_number(value or "", path, number)
    if not rows:
        raise InputError("the file is empty; expected lines of string TAB value", file=display_name(path))
    strings = [tuple(text) if characters else tuple(text.split()) for text, _ in rows]
    values = [value for _, value in rows]
    return Table(strings, None if None in values else [value for value in values if value is not None])


def _cells(line: str, path: TextPath, number: int, need_values: bool) -> tuple[str, str | None]:
    text, tab, value = line.rstrip("\r\n").rpartition("\t")
    if tab:
        return text, value.strip()
    if need_values:
        raise InputError(
            "the line has no value; write string TAB value", file=display_name(path), line=number
        )
    return value, None


def _require_number(value: str, path: TextPath, line: int) -> None:
    try:
        problem = "" if math.isfinite(float(value)) else "is not finite; leave the line out"
    except ValueError:
        problem = "is not a number; for labels use --task classification"
    if problem:
        raise InputError(f"{value!r} {problem}", file=display_name(path), line=line)
