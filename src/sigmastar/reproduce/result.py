"""What a reproduction finds: tables and pictures, and the paper's claims beside ours.

It is printed as text, and written as one page (`report.html`), the figures with their provenance
(`figures.json`) and the pictures one by one (`NAME.svg`). The pages of all papers are made of the same
pieces: `tabulated` makes a table of records by named columns, `drawn` leaves out pictures where they cannot
be drawn, `curves` is a picture of learning curves.

A long reproduction in parts: what is finished is kept beside the result until all of it is there.

A line of the file is one part, `{"key": .., "rows": ..}`, after a first line that names the run.
What another run left is not taken.

When a claim holds: a difference needs a test, and one that no test can tell is open.

    paired    items judged by both sides; the interval of the mean difference by the bootstrap
    slopes    log error against log size, one line per case with a common slope; Student's interval

A verdict is True, False, or None for what the data leave open.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from operator import attrgetter
from pathlib import Path
from textwrap import fill
from threading import Lock
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from sigmastar.core.atomic import atomic_write
from sigmastar.core.figures import Curve, MissingMatplotlibError, label_series, plot_learning_curves, to_svg
from sigmastar.core.intervals import Estimate, PairedComparison, paired_comparison
from sigmastar.core.page import Cell, Picture, Section, Table, Text, format_cell, render
from sigmastar.core.progress import Progress, stage
from sigmastar.core.provenance import Provenance

PAGE, FIGURES = "report.html", "figures.json"
_WIDTH = 110
_VERDICTS = {True: "yes", False: "no", None: "open"}

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Claim:
    """Something that a paper states or shows, and what came out here."""

    paper: str
    ours: str
    holds: bool | None = None  # None: neither, or the paper leaves it open


@dataclass(frozen=True)
class Reproduction:
    """The result for one paper."""

    name: str
    title: str
    about: Sequence[str]  # paragraphs: what was done, and how it differs from the paper
    tables: Sequence[Table]
    claims: Sequence[Claim]
    pictures: Mapping[str, Picture]
    figures: Mapping[str, Any]  # every number, for programs
    provenance: Provenance

    def __str__(self) -> str:
        parts = [self.title, *(_table_text(table) for table in (*self.tables, claims_table(self.claims)))]
        return "\n\n".join(parts)

    def extended(
        self,
        about: Sequence[str] = (),
        tables: Sequence[Table] = (),
        claims: Sequence[Claim] = (),
        figures: Mapping[str, Any] | None = None,
        pictures: Mapping[str, Picture] | None = None,
    ) -> Reproduction:
        """The same with a further part."""
        return replace(
            self,
            about=[*self.about, *about],
            tables=[*self.tables, *tables],
            claims=[*self.claims, *claims],
            figures={**self.figures, **(figures or {})},
            pictures={**self.pictures, **(pictures or {})},
        )

    def write(self, folder: Path) -> None:
        """Write the page, the figures and the pictures into a folder, which is made if need be."""
        folder.mkdir(parents=True, exist_ok=True)
        for name, picture in self.pictures.items():
            _write(folder / f"{name}.svg", picture.svg + "\n")
        _write(folder / FIGURES, json.dumps(plain(self._record()), indent=1, allow_nan=False) + "\n")
        _write(folder / PAGE, render(self.title, self._sections(), self.provenance.entries()))

    def _record(self) -> dict[str, Any]:
        claims = [asdict(claim) for claim in self.claims]
        provenance = asdict(self.provenance)
        return {"paper": self.name, "provenance": provenance, "claims": claims, **self.figures}

    def _sections(self) -> list[Section]:
        return [
            Section("What was done", [Text(text) for text in self.about]),
            Section("The claims", [Text(_claim_text(claim)) for claim in self.claims]),
            Section("Figures", list(self.pictures.values()) or [Text(str(MissingMatplotlibError()))]),
            Section("Tables", list(self.tables)),
        ]


def tabulated(
    caption: str, items: Iterable[Item], columns: Mapping[str, str | Callable[[Item], Cell]], note: str = ""
) -> Table:
    """One row per item; a column shows an attribute of an item, or a function of it."""
    shown = [attrgetter(column) if isinstance(column, str) else column for column in columns.values()]
    return Table(caption, tuple(columns), [tuple(cell(item) for cell in shown) for item in items], note=note)


def drawn(pictures: Callable[[], Mapping[str, Picture]]) -> Mapping[str, Picture]:
    """Pictures, or none where they cannot be drawn."""
    try:
        return pictures()
    except MissingMatplotlibError:
        return {}


def curves(
    lines: Mapping[str, Curve], x: str, y: str, title: str, caption: str, wide: bool = False, **scales: bool
) -> Picture:
    """A picture of learning curves; a wide one has its legend beside the lines, not upon them."""
    figure = plot_learning_curves(lines, x, y, title, **scales)
    if wide:
        figure.set_size_inches(8.0, 3.8)
        label_series(figure.axes[0], loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return Picture(to_svg(figure, caption), caption, f"{title}: {', '.join(lines)} against {x}. {caption}")


def percent(share: float, digits: int = 1) -> str:
    """A share as text."""
    return f"{100 * share:.{digits}f}%"


def part(progress: Progress, start: float, share: float) -> Progress:
    """The progress of a part of the work: `share` of the whole, from `start` on."""
    return stage(progress, start, start + share)


def timed(function: Callable[[], Result]) -> tuple[Result, float]:
    """What a function gives, and the processor time that it took: other load is left out."""
    start = time.process_time()
    result = function()
    return result, time.process_time() - start


def claims_table(claims: Sequence[Claim]) -> Table:
    rows = [(claim.paper, claim.ours, _VERDICTS[claim.holds]) for claim in claims]
    return Table("The paper's claims beside ours", ("the paper", "here", "holds here"), rows)


def _claim_text(claim: Claim) -> str:
    return f"{claim.paper}. Here: {claim.ours}. Holds here: {_VERDICTS[claim.holds]}."


def plain(value: Any) -> Any:
    """A value as JSON has it; numbers that are not finite become null."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value


def _write(path: Path, text: str) -> None:
    with atomic_write(path) as stream:
        stream.write(text)


def _table_text(table: Table) -> str:
    """A table in columns as wide as their longest cell; one too wide for that, entry by entry."""
    cells = [[format_cell(cell) for cell in row] for row in table.rows]
    widths = [max(map(len, column)) for column in zip(table.columns, *cells, strict=True)]
    lines = _columns(table.columns, cells, widths)
    if max(map(len, lines)) > _WIDTH:
        lines = [line for row in cells for line in _entry(table.columns, row)]
    note = [fill(table.note, _WIDTH)] if table.note else []
    return "\n".join([table.caption, *lines, *note])


def _columns(names: Sequence[str], cells: list[list[str]], widths: list[int]) -> list[str]:
    rows = [list(names), ["-" * width for width in widths], *cells]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]


def _entry(names: Sequence[str], row: list[str]) -> list[str]:
    width = max(map(len, names)) + 2
    pairs = zip(names, row, strict=True)
    return [
        fill(f"{name + ':':<{width}}{cell}", _WIDTH, initial_indent="  ", subsequent_indent=" " * (width + 2))
        for name, cell in pairs
    ] + [""]


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


def above(gap: Estimate | PairedComparison, least: float = 0.0) -> bool | None:
    """Whether a difference is above `least`: open where its interval holds that."""
    if gap.low > least:
        return True
    return False if gap.high < least else None


def significant(difference: float, p_value: float) -> bool | None:
    """Whether a gain is one: open where a test at 5% cannot tell."""
    return None if p_value >= 0.05 else difference > 0


def all_of(verdicts: Sequence[bool | None]) -> bool | None:
    """Whether all hold: no, where one does not; open, where none fails and one is open."""
    if not verdicts or any(verdict is False for verdict in verdicts):
        return False if verdicts else None
    return None if any(verdict is None for verdict in verdicts) else True


def gain(first: ArrayLike, second: ArrayLike, rng: np.random.Generator) -> PairedComparison:
    """The mean of first - second over items, larger being better."""
    return paired_comparison(np.asarray(first), np.asarray(second), rng, higher_is_better=True)


def points(gap: Estimate | PairedComparison, scale: float = 100.0) -> str:
    """A difference with its interval, as text."""
    value = gap.value if isinstance(gap, Estimate) else gap.difference
    low, high = scale * gap.low, scale * gap.high
    return f"{scale * value:+.1f} points, 95% interval {low:+.1f} to {high:+.1f}"


@dataclass(frozen=True)
class Slope:
    """A slope in log-log, with the ends of its interval of 95%."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.2f} ({self.low:.2f} to {self.high:.2f})"

    def reaches(self, rate: float) -> bool | None:
        """Whether something falls at least as fast as size^rate, `rate` below 0.

        Yes, where the interval holds or is below the rate; no, where it is above; open, where it does not
        even tell a fall from none.
        """
        if self.high >= 0 and self.low <= rate:
            return None
        return bool(self.low <= rate)


def common_slope(sizes: ArrayLike, errors: ArrayLike) -> Slope:
    """Of log errors (cases x sizes) against log sizes, with a line of its own height for every case."""
    x, y = np.log(np.asarray(sizes, dtype=float)), np.log(np.atleast_2d(np.asarray(errors, dtype=float)))
    known = np.isfinite(y)
    table = np.where(known, y, np.nan)
    shifted = np.where(known, x, np.nan) - np.nanmean(np.where(known, x, np.nan), axis=1, keepdims=True)
    heights = table - np.nanmean(table, axis=1, keepdims=True)
    spread = float(np.nansum(shifted**2))
    value = float(np.nansum(shifted * heights) / spread)
    freedom = int(known.sum()) - len(y) - 1
    if freedom < 1:
        return Slope(value, -np.inf, np.inf)
    noise = float(np.nansum((heights - value * shifted) ** 2)) / freedom
    reach = float(special.stdtrit(freedom, 0.975)) * np.sqrt(noise / spread)
    return Slope(value, value - reach, value + reach)
