"""The demo: every family learns from data that it generates, one table, one page.

A family joins by the `demo` of its record: its rows then stand in the table, its section in the page.
Families may run in processes of their own: a first run compiles every kernel, which threads of one process
cannot share, since numba compiles under a lock.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from queue import Empty
from typing import Any

from sigmastar.core.atomic import atomic_write
from sigmastar.core.demo import DemoFamily, DemoResult, DemoRow
from sigmastar.core.family import families as all_families
from sigmastar.core.family import load
from sigmastar.core.page import Section, Table, Text, render
from sigmastar.core.progress import Progress, silent
from sigmastar.core.provenance import Provenance, provenance
from sigmastar.core.resources import WorkerPool, limited_threads

TITLE = "Sigmastar demo"
LEAD = "Models of strings and sentences learned by linear algebra: count, factorize, solve."
_LOOK_EVERY = 0.1  # seconds between two looks at how far the families are


def ignored(name: str) -> None:
    """Told to nobody."""


def demos() -> tuple[DemoFamily, ...]:
    """The demos of all families that have one."""
    known = {name: family.demo for name, family in all_families().items() if family.demo is not None}
    return tuple(_Later(name, place) for name, place in known.items())


@dataclass(frozen=True)
class _Later:
    """A demo that is imported where it runs: the process that waits for it needs none of its modules."""

    name: str
    place: str

    def run(self, seed: int, progress: Progress) -> DemoResult:
        family: DemoFamily = load(self.place)()
        return family.run(seed, progress)


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
    ended: Callable[[str], None] = ignored,
) -> DemoReport:
    """Run every family and write `report.html` into `out_dir`, which is made if it is not there.

    `ended` is called with the name of each family that has shown itself, in the order in which they end.
    """
    families = demos() if families is None else families
    folder = Path(out_dir)
    folder.mkdir(parents=True, exist_ok=True)  # before the work, so that a bad place is reported at once
    if n_processes > 1:
        results = run_side_by_side(families, seed, progress, n_processes, ended)
    else:
        results = run_here(families, seed, progress, ended)
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


def run_here(
    families: Sequence[DemoFamily], seed: int, progress: Progress, ended: Callable[[str], None] = ignored
) -> list[DemoResult]:
    """One family after the other."""
    board, results = _Board(progress, len(families)), list[DemoResult]()
    for number, family in enumerate(families):
        results.append(family.run(seed, board.of(number)))
        ended(family.name)
    return results


def run_side_by_side(
    families: Sequence[DemoFamily],
    seed: int,
    progress: Progress,
    n_processes: int,
    ended: Callable[[str], None] = ignored,
) -> list[DemoResult]:
    """Every family in one of `n_processes` processes, with one thread each; results in the order asked."""
    board, reports = _Board(progress, len(families)), multiprocessing.get_context("spawn").Queue()
    with WorkerPool(min(n_processes, len(families)), _begin, reports) as pool:
        futures = {number: pool.submit(_run, number, families[number], seed) for number in _order(families)}
        _watch({future: families[number].name for number, future in futures.items()}, reports, board, ended)
        return [futures[number].result() for number in range(len(families))]


def _order(families: Sequence[DemoFamily]) -> list[int]:
    """The numbers of the families, the longest first, so that all processes end together."""
    known = all_families()
    seconds = [known[one.name].demo_seconds if one.name in known else 0 for one in families]
    return sorted(range(len(families)), key=lambda number: -seconds[number])


class _Board:
    """How far each family is, and the mean of it."""

    def __init__(self, progress: Progress, n_families: int) -> None:
        self.progress, self.done = progress, [0.0] * n_families

    def show(self, number: int, message: str, done: float | None) -> None:
        self.done[number] = self.done[number] if done is None else done
        self.progress(message, sum(self.done) / len(self.done))

    def of(self, number: int) -> Progress:
        """The progress of one family; those before it are finished."""
        self.done[:number] = [1.0] * number
        return lambda message, done=None: self.show(number, message, done)


def _watch(
    futures: Mapping[Future[DemoResult], str], reports: Any, board: _Board, ended: Callable[[str], None]
) -> None:
    """Pass on reports until all are done, or one has failed."""
    open_futures = set(futures)
    while open_futures:
        finished, open_futures = wait(open_futures, timeout=_LOOK_EVERY)
        for future in finished:
            future.result()
            ended(futures[future])
        try:
            while True:
                board.show(*reports.get_nowait())
        except Empty:
            continue


_reports: Any = None  # of a worker: the queue that it was born with


def _begin(reports: Any) -> None:
    global _reports
    _reports = reports
    gc.freeze()


def _run(number: int, family: DemoFamily, seed: int) -> DemoResult:
    with limited_threads(1):
        return family.run(seed, lambda message, done=None: _reports.put((number, message, done)))
