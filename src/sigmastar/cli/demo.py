"""`sigmastar demo`: every family on data that it generates."""

from __future__ import annotations

import os
import sys
import time
from functools import partial

import click

from sigmastar.core.atomic import atomic_write
from sigmastar.core.cli.options import json_option, quiet_option, seed_option
from sigmastar.core.cli.printing import to_json
from sigmastar.core.errors import InputError
from sigmastar.core.page import format_cell
from sigmastar.core.progress import tell, watching
from sigmastar.report import DemoReport, run_demo


@click.command()
@click.option(
    "--out", default="sigmastar-demo", show_default=True, metavar="DIR", help="Folder for report.html."
)
@seed_option
@click.option(
    "--processes",
    type=click.IntRange(min=1),
    default=os.cpu_count() or 1,
    show_default="one per core",
    help="Number of families that run side by side; with 1 times are not disturbed.",
)
@json_option
@quiet_option
def command(out: str, seed: int, processes: int, as_json: bool, quiet: bool) -> None:
    """Every family learns from data that it generates: a table here, pictures in DIR/report.html."""
    if os.path.exists(out) and not os.path.isdir(out):
        raise InputError("is a file; give --out a folder, which is made where there is none", file=out)
    is_silent = quiet or sys.stderr.isatty()  # where a bar is
    tell("every family learns: seconds each, the first time a few minutes in all", is_silent)
    with watching("demo", quiet, estimates=processes == 1) as say:
        ended = partial(_tell_end, time.perf_counter(), is_silent)
        report = run_demo(out, seed, say, n_processes=processes, ended=ended)
    with atomic_write("-") as stream:
        stream.write(_in_json(report) if as_json else _in_text(report))
    tell(f"report: {report.path}", quiet)


def _tell_end(begin: float, is_silent: bool, family: str) -> None:
    tell(f"{family}: done after {time.perf_counter() - begin:.0f} s", is_silent)


def _in_text(report: DemoReport) -> str:
    """The table in columns as wide as their longest cell."""
    rows = [list(report.table.columns)]
    rows += [["" if cell is None else format_cell(cell) for cell in row] for row in report.table.rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
    return "".join(line.rstrip() + "\n" for line in lines)


def _in_json(report: DemoReport) -> str:
    rows = [
        {
            "family": row.family,
            "learner": row.learner,
            "seconds": row.seconds,
            **row.measures,
            "interval": [row.interval.low, row.interval.high] if row.interval else None,
        }
        for row in report.rows
    ]
    return to_json({"rows": rows, "report": str(report.path)}) + "\n"
