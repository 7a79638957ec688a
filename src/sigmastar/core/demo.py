"""What a family of models brings to the demo: rows for the table and a section for the report."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from sigmastar.core.intervals import Estimate
from sigmastar.core.page import Section, Table, format_cell
from sigmastar.core.progress import Progress, compilation

Result = TypeVar("Result")
BOLD = (
    "; bold is a learner whose interval lies beyond those of all others, and where intervals overlap, "
    "learners may be level."
)
"""What notes of tables say of their marks."""


def timed(work: Callable[[], Result]) -> tuple[Result, float]:
    """What `work` gives, and its seconds without those of compilers, which a first run alone needs."""
    begin, compiled = time.perf_counter(), compilation.seconds()
    result = work()
    return result, time.perf_counter() - begin - (compilation.seconds() - compiled)


@dataclass(frozen=True)
class DemoRow:
    """One learner of one family: how good, by named measures, and how long it took.

    `interval` is that of the first measure, over the fresh data that it was judged on.
    """

    family: str
    learner: str
    measures: Mapping[str, float]
    seconds: float | None = None
    interval: Estimate | None = None

    @property
    def quality(self) -> str:
        """All measures; the interval stands behind the first."""
        first, *others = (f"{name} {_short(value)}" for name, value in self.measures.items())
        return ", ".join([first + (f" ({self.spread})" if self.interval else ""), *others])

    @property
    def spread(self) -> str | None:
        return f"{_short(self.interval.low)} to {_short(self.interval.high)}" if self.interval else None


def _short(value: float) -> str:
    return f"{value:.4f}" if abs(value) < 10 else format_cell(value)


def ahead(found: Sequence[Estimate], is_error: bool = False) -> int | None:
    """The place of the figure whose interval lies beyond those of all others, if there is one."""
    sign = -1.0 if is_error else 1.0
    ends = [sorted((sign * each.low, sign * each.high)) for each in found]
    best = max(range(len(found)), key=lambda place: sign * found[place].value)
    is_apart = all(ends[best][0] > high for place, (_, high) in enumerate(ends) if place != best)
    return best if is_apart else None


def learner_table(title: str, rows: Sequence[DemoRow], is_error: bool = False) -> Table:
    """The learners of a family by their first measure; the best is marked where it is so beyond chance."""
    measure = next(iter(rows[0].measures))
    values = [row.measures[measure] for row in rows]
    cells = [
        (row.learner, _short(value), row.spread, None if row.seconds is None else f"{row.seconds:.2f}")
        for row, value in zip(rows, values, strict=True)
    ]
    learners = [place for place, row in enumerate(rows) if row.seconds is not None]
    found = [rows[k].interval or Estimate(values[k], values[k], values[k], 1) for k in learners]
    first = ahead(found, is_error)
    marked = frozenset() if first is None else frozenset({(learners[first], 1)})
    note = f"{'Lower' if is_error else 'Higher'} is better{BOLD}"
    return Table(title, ("learner", measure, "95% interval", "seconds"), cells, marked, note)


@dataclass(frozen=True)
class DemoResult:
    """Everything that one family shows."""

    rows: tuple[DemoRow, ...]
    section: Section
    data_hash: str = field(default="")


class DemoFamily(Protocol):
    """A family of models that can show itself on data that it generates."""

    @property
    def name(self) -> str: ...

    def run(self, seed: int, progress: Progress) -> DemoResult: ...
