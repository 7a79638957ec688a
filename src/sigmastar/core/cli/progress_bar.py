"""Progress on standard error: a bar if it is a terminal, else one line where the work will take long.

The time that is left is that of the share that is not done, at the speed so far; compiling kernels, which
happens once, does not count.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click

from sigmastar.core.progress import Progress, silent

Say = Progress
LONG = 30.0  # seconds of work that are told beforehand
_LEAST_SECONDS, _LEAST_SHARE = 3.0, 0.02  # that an estimate rests on


@contextmanager
def watching(message: str, quiet: bool = False, estimates: bool = True) -> Iterator[Say]:
    """A bar while the block runs, on a terminal, and gone afterwards; elsewhere a line if it takes long.

    Without `estimates` nothing is told of the time that is left: where other processes compile kernels, that
    would count as work.
    """
    if quiet or not (estimates or sys.stderr.isatty()):
        yield silent
        return
    outlook = Outlook()
    if not sys.stderr.isatty():
        yield _line_if_long(outlook)
        return
    from rich.console import Console  # most calls are short or go into files: they need not load it
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]}", markup=False),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task(message, total=None, left="")

        def say(message: str, done: float | None = None) -> None:
            seconds = outlook.seconds_left(done) if estimates else None
            left = "" if seconds is None else f"about {in_words(seconds)} left"
            total = None if done is None else 1.0
            bars.update(task, description=message, completed=done or 0.0, total=total, left=left)

        yield say


class Outlook:
    """How long work will take.

    Parameters
    ----------
    clock : callable
        Seconds of work so far, from any beginning.
    """

    def __init__(self, clock: Callable[[], float] | None = None) -> None:
        self.clock = clock or _seconds_of_work
        self.begin = self.clock()

    def seconds_left(self, done: float | None) -> float | None:
        """An estimate from the share that is done; None where it would rest on too little."""
        passed = self.clock() - self.begin
        if done is None or done < _LEAST_SHARE or passed < _LEAST_SECONDS:
            return None
        return passed * (1.0 - min(done, 1.0)) / done


def _seconds_of_work() -> float:
    jit = sys.modules.get("sigmastar.core.jit")  # where it is not loaded nothing was compiled
    return time.perf_counter() - (jit.compiled_seconds() if jit is not None else 0.0)


def _line_if_long(outlook: Outlook) -> Say:
    told = False

    def say(message: str, done: float | None = None) -> None:
        nonlocal told
        if told:
            return
        seconds = outlook.seconds_left(done)
        if seconds is not None and seconds > LONG:
            told = True
            tell(f"{message}: about {in_words(seconds)} left")

    return say


def in_words(seconds: float) -> str:
    """A length of time for people, in one unit.

    Examples
    --------
    >>> in_words(42.3), in_words(400.0), in_words(9000.0)
    ('42 s', '7 min', '2.5 hours')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} hours"


def counted(number: int, noun: str) -> str:
    """A number of things; the noun is in the singular, and its plural ends in s.

    Examples
    --------
    >>> counted(1, "string"), counted(2, "string")
    ('1 string', '2 strings')
    """
    return f"{number} {noun}{'' if number == 1 else 's'}"


def tell(message: str, quiet: bool = False) -> None:
    """A line for the user, not part of the result."""
    if not quiet:
        click.echo(message, err=True)
