"""Pairs of words in a table: `head TAB modifier`, with a count in a third column where there is one."""

from __future__ import annotations

from sigmastar.core.errors import InputError
from sigmastar.core.text_files import TextPath, display_name, open_text

WordPairs = list[tuple[str, str]]


def read_pairs(path: TextPath) -> WordPairs:
    """Read (head, modifier) pairs; a pair with count n comes n times."""
    found: WordPairs = []
    for number, line in enumerate(open_text(path), 1):
        if not line.strip():
            continue
        cells = line.split("\t")
        if len(cells) not in (2, 3) or not cells[0] or not cells[1]:
            raise InputError(
                f"expected 'head TAB modifier' and perhaps a count, found {line[:60]!r}",
                file=display_name(path),
                line=number,
            )
        found += [(cells[0], cells[1])] * (_count(cells[2], path, number) if len(cells) == 3 else 1)
    if not found:
        raise InputError("the file holds no pairs", file=display_name(path))
    return found


def _count(cell: str, path: TextPath, line: int) -> int:
    if not cell.strip().isdecimal() or int(cell) > 10_000_000:
        raise InputError(f"count {cell[:40]!r} is not a whole number", file=display_name(path), line=line)
    return int(cell)
