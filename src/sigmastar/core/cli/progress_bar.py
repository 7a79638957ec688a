"""Progress on standard error, if it is a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import click

from sigmastar.core.progress import Progress, silent

Say = Progress


@contextmanager
def watching(message: str, quiet: bool = False) -> Iterator[Say]:
    """A bar while the block runs, on a terminal only; it is gone afterwards."""
    if quiet or not sys.stderr.isatty():
        yield silent
        return
    from rich.console import Console  # most calls are short or go into files: they need not load it
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task(message, total=None)

        def say(message: str, done: float | None = None) -> None:
            bars.update(task, description=message, completed=done or 0.0, total=None if done is None else 1.0)

        yield say


def tell(message: str, quiet: bool = False) -> None:
    """A line for the user, not part of the result."""
    if not quiet:
        click.echo(message, err=True)
