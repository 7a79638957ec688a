"""A long reproduction in parts: what is finished is kept beside the result until all of it is there.

A line of the file is one part, `{"key": .., "rows": ..}`, after a first line that names the run.
What another run left is not taken.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

from sigmastar.core.atomic import atomic_write

Row = TypeVar("Row", bound=tuple[Any, ...])

NAME = "unfinished.jsonl"


class Unfinished:
    """Parts of a run by key; nothing is kept where there is no folder."""

    def __init__(self, folder: Path | None = None, run: str = "") -> None:
        self._lock = Lock()
        self._file = None if folder is None else folder / NAME
        self._known = dict[str, list[list[Any]]]()
        if self._file is None:
            return
        self._known = _read(self._file, run)
        self._file.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(self._file) as stream:
            stream.write(json.dumps({"run": run}) + "\n")
            stream.writelines(_line(key, rows) for key, rows in self._known.items())

    def rows(self, key: str, restore: Callable[..., Row], make: Callable[[], Iterable[Row]]) -> list[Row]:
        """The rows of a part: those kept, or else those made now."""
        if key in self._known:
            return [restore(*row) for row in self._known[key]]
        made = list(make())
        if self._file is not None:
            with self._lock, self._file.open("a", encoding="utf-8") as stream:
                stream.write(_line(key, made))
        return made

    def finish(self) -> None:
        """The result is written: forget the parts."""
        if self._file is not None:
            self._file.unlink(missing_ok=True)


def _line(key: str, rows: Sequence[Any]) -> str:
    return json.dumps({"key": key, "rows": rows}) + "\n"


def _read(file: Path, run: str) -> dict[str, list[list[Any]]]:
    """What a run left; a last line that was cut short does not count."""
    if not file.exists():
        return {}
    known = dict[str, list[list[Any]]]()
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines()):
        try:
            found = json.loads(line)
        except ValueError:
            break
        if number == 0:
            if found != {"run": run}:
                return {}
        else:
            known[found["key"]] = found["rows"]
    return known
