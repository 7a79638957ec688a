"""The demo: every family learns from data that it generates, one table, one page.

A family joins by the `demo` of its record: its rows then stand in the table, its section in the page.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from sigmastar.core.atomic import atomic_write
from sigmastar.core.demo import DemoFamily, DemoResult, DemoRow, Progress, silent
from sigmastar.core.family import families as all_families
from sigmastar.core.family import load
from sigmastar.core.page import Section, Table, Text, render
from sigmastar.core.provenance import Provenance, provenance
from sigmastar.report.side_by_side import run_here, run_side_by_side

FIRST = ("automata", "taggers", "transducers", "pcfg", "treebanks")
"""Families whose demo takes longest: side by side with the others they end together."""


def demos() -> tuple[DemoFamily, ...]:
    """The demos of all families that have one, the longest first."""
    known = {name: family.demo for name, family in all_families().items() if family.demo is not None}
    order = [*(name for name in FIRST if name in known), *(name for name in known if name not in FIRST)]
    return tuple(load(known[name])() for name in order)


TITLE = "Sigmastar demo"
LEAD = "Models of strings and sentences learned by linear algebra: count, factorise, solve."


@dataclass(frozen=True)
class DemoReport:
    """What the demo found, and where its page was written."""

    rows: tuple[DemoRow, ...]
    path: Path
    provenance: Provenance

    @property
    def table(self) -> Table:
        return summary(self.rows)


def run_demo(
    out_dir: str | os.PathLike[str],
    seed: int = 0,
    progress: Progress = silent,
    families: Sequence[DemoFamily] | None = None,
    n_processes: int = 1,
) -> DemoReport:
    """Run every family and write `report.html` into `out_dir`, which is made if it is not there."""
    families = demos() if families is None else families
    folder = Path(out_dir)
    folder.mkdir(parents=True, exist_ok=True)  # before the work, so that a bad place is told at once
    if n_processes > 1:
        results = run_side_by_side(families, seed, progress, n_processes)
    else:
        results = run_here(families, seed, progress)
    rows = tuple(row for result in results for row in result.rows)
    date = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    origin = provenance(seed, _hashes(families, results), date)
    page = render(TITLE, [_summary_section(rows), *(r.section for r in results)], origin.entries(), LEAD)
    path = folder / "report.html"
    with atomic_write(path) as stream:
        stream.write(page)
    progress("done", 1.0)
    return DemoReport(rows, path, origin)


def summary(rows: Sequence[DemoRow]) -> Table:
    """The table of all families."""
    cells = [(row.family, row.learner, row.quality, _seconds(row.seconds)) for row in rows]
    return Table("Quality and training time", ("family", "learner", "quality", "seconds"), cells)


def _summary_section(rows: Sequence[DemoRow]) -> Section:
    explanation = (
        "Each family generates its own data from a known model, learns from it, and is judged on fresh data. "
        "The sections below explain the measures."
    )
    return Section("Summary", [Text(explanation), summary(rows)])


def _seconds(seconds: float | None) -> str | None:
    return None if seconds is None else f"{seconds:.2f}"


def _hashes(families: Sequence[DemoFamily], results: Sequence[DemoResult]) -> str:
    named = [(family.name, result.data_hash) for family, result in zip(families, results, strict=True)]
    return ", ".join(f"{name} {digest}" for name, digest in named if digest)
