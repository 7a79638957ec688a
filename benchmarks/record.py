"""Results on disk: rows as they come, then one JSON file with where its figures come from.

While a question runs, `<question>.jsonl` in the work folder grows: a header, rows, and a line for each
finished unit. A run that was stopped is taken up from there. The result of a whole run with default
choices goes to the results folder; a quick or partial one never overwrites it.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Iterable
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.harness import Finding, Question, Row, Settings, say
from sigmastar.core.atomic import atomic_write
from sigmastar.core.provenance import git_commit, provenance

HERE = Path(__file__).parent


class Ledger:
    """The rows of finished units of one question, in memory and in its file."""

    def __init__(self, path: Path, signature: dict[str, Any], resume: bool = False) -> None:
        self.path, self.signature = path, signature
        self.rows: list[Row] = []
        self.done: dict[str, dict[str, Any]] = {}
        if resume and path.exists():
            self._read()
        self._rewrite()

    def add(self, row: Row) -> None:
        """Write a row down at once; it counts when its unit is finished."""
        self._append({"row": row})

    def finish(self, unit: str, rows: list[Row], files: dict[str, str]) -> None:
        entry = {"done": unit, "commit": git_commit(), "date": now(), "load": load(), "files": files}
        self.done[unit] = entry
        self.rows += rows
        self._append(entry)

    @property
    def files(self) -> dict[str, str]:
        return {name: digest for entry in self.done.values() for name, digest in entry["files"].items()}

    @property
    def load(self) -> float:
        """The highest load of the machine while units were measured."""
        return max((entry.get("load", 0.0) for entry in self.done.values()), default=0.0)

    @property
    def commits(self) -> list[str]:
        return sorted({entry["commit"] or "unknown" for entry in self.done.values()})

    def _read(self) -> None:
        entries = _readable_lines(self.path)
        header = next(entries, {}).get("header")
        if header != self.signature:
            say(f"{self.path.name}: kept from a run with other settings ({header}); starting anew")
            return
        rows: list[Row] = []
        for entry in entries:
            if "row" in entry:
                rows.append(entry["row"])
            else:
                self.done[entry["done"]] = entry
        self.rows = [row for row in rows if row["unit"] in self.done]

    def _rewrite(self) -> None:
        """Leave out rows of units that were not finished: those are measured again."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        entries = [{"header": self.signature}, *({"row": row} for row in self.rows), *self.done.values()]
        self.path.write_text("".join(json.dumps(entry) + "\n" for entry in entries), encoding="utf-8")

    def _append(self, entry: dict[str, Any]) -> None:
        with self.path.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(entry) + "\n")


def signature(question: Question, settings: Settings) -> dict[str, Any]:
    """What two runs must share for their rows to stand in one table."""
    methods = list(settings.methods) if settings.methods else None
    return {"question": question.name, "seed": settings.seed, "quick": settings.quick, "methods": methods}


def result(question: Question, settings: Settings, ledger: Ledger, findings: list[Finding]) -> dict[str, Any]:
    """All that is known about a run, ready for JSON."""
    source = provenance(settings.seed, combined_hash(ledger.files), now())
    return _strict(
        {
            "question": question.name,
            "title": question.title,
            "settings": {**ledger.signature, "units": list(ledger.done)},
            "provenance": {**asdict(source), "commits": ledger.commits, "load": ledger.load},
            "data": ledger.files,
            "findings": [_finding(finding) for finding in findings],
            "rows": ledger.rows,
        }
    )


def write_result(path: Path, content: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as stream:
        stream.write(json.dumps(content, indent=1, allow_nan=False) + "\n")


def file_hashes(paths: Iterable[Path], root: Path | None) -> dict[str, str]:
    """SHA-256 of files, by their names below `root`."""
    return {
        path.relative_to(root).as_posix() if root else path.name: hashlib.sha256(
            path.read_bytes()
        ).hexdigest()
        for path in paths
    }


def combined_hash(files: dict[str, str]) -> str:
    """One hash for all files; empty where a question makes its own data."""
    if not files:
        return ""
    return hashlib.sha256("".join(f"{files[name]}  {name}\n" for name in sorted(files)).encode()).hexdigest()


def load() -> float:
    """How many processes wanted to run in the last minute; 0 where the system does not say."""
    return round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else 0.0


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _finding(finding: Finding) -> dict[str, Any]:
    target = str(finding.target) if finding.target else None
    return {
        "label": finding.label,
        "value": finding.value,
        "target": target,
        "verdict": finding.verdict or None,
        "note": finding.note or None,
    }


def _readable_lines(path: Path) -> Iterable[dict[str, Any]]:
    """The entries of a file whose last line may have been cut off."""
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            yield json.loads(line)
        except json.JSONDecodeError:
            return


def _strict(value: Any) -> Any:
    """JSON has no infinity: write it as text."""
    if isinstance(value, dict):
        return {key: _strict(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_strict(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value
