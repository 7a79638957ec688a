"""Progress: the one way in which long work reports how far it is.

    progress("EM, iteration 3", 0.3)        a message, and the share of the work that is done, if it is known

Work that consists of stages hands each of them the part of the whole that it stands for (`stage`). Fits are
told to the logger `sigmastar` too (`told`), which has no handler of its own: nothing is written where nobody
listens.

    logging.getLogger("sigmastar").setLevel(logging.DEBUG)      what is being done, as it is done
    logging.getLogger("sigmastar").setLevel(logging.INFO)       a line per fit
    SpectralAutomaton(verbose=True)                             the same on standard error, without any set-up

How long a fit will take is told before it begins (`on_long_work`) where records of families hold the seconds
of default estimators by sizes of data (`Family.paces`), or where the learner tries a little of the work
(`announce`); else not: a wrong estimate is worse than none.

Commands show it on standard error (`watching`): a bar if it is a terminal, else one line where the work will
take long. The time that is left is that of the share that is not done, at the speed so far; compiling
kernels, which happens once, does not count.

What learners measure is one stream of events to whoever listens (`listening`). Families do not report; the
drivers that they learn through do:

    `core.em`            log-likelihood of the training data by iteration, held-out score at the checks
    `core.race`          the score of every start after every leg
    `core.rank`          held-out score by number of states, singular values, their noise, the choice
    `core.factors`       singular values of a block
    `optimise.solvers`   the objective by iteration
    `watching`           what is being done, and the share of the work that is done
    `core.cli.learning`  where the model was written

Nothing is kept here, and where nobody listens a report costs a test for an empty list. Listeners are called
on the thread that reports, which may be any, and must return at once. What other processes do is not heard.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:  # commands that only print their help do not load NumPy
    from sigmastar.core.arrays import Floats

Listener = TypeVar("Listener", bound=Callable[..., None])
LOGGER = logging.getLogger("sigmastar")
LOGGER.addHandler(logging.NullHandler())
LONG = 10.0  # seconds of work that are told beforehand
_INDIFFERENT = {"random_state", "n_jobs", "progress", "verbose", "decoding", "threshold", "ledger", "vectors"}
_listeners: list[Callable[[float, str], None]] = []
_INSIDE: ContextVar[bool] = ContextVar("fitting", default=False)


class Progress(Protocol):
    """Anything that can be called with a message and the share of the work that is done."""

    def __call__(self, message: str, done: float | None = None) -> None: ...


def silent(message: str, done: float | None = None) -> None:
    """Report nothing."""


def stage(progress: Progress, begin: float, end: float) -> Progress:
    """The progress of one stage as a part of the whole.

    Parameters
    ----------
    progress
        Where the whole is reported.
    begin, end
        The shares of the whole that are done when the stage begins and ends.

    Returns
    -------
    Progress
        To be handed to the stage; its shares, from 0 to 1, are mapped to `begin` to `end`.

    Examples
    --------
    >>> second_half = stage(lambda message, done=None: print(message, done), 0.5, 1.0)
    >>> second_half("counting", 0.5)
    counting 0.75
    """

    def report(message: str, done: float | None = None) -> None:
        progress(message, None if done is None else begin + (end - begin) * done)

    return report


@contextmanager
def told(name: str, verbose: bool, progress: Progress | None) -> Iterator[Progress | None]:
    """The progress of a fit, which is logged and with `verbose` written to standard error too.

    Parameters
    ----------
    name : str
        What is fitted.
    verbose : bool
        Whether standard error gets it.
    progress : callable or None
        What was asked for; called as before.
    """
    begin = time.perf_counter()
    _tell(f"{name}: fit begins", verbose, logging.DEBUG)
    yield _logged(name, verbose, progress or silent) if _is_heard(verbose) else progress
    _tell(f"{name}: fitted in {time.perf_counter() - begin:.2f} s", verbose, logging.INFO)


def _is_heard(verbose: bool) -> bool:
    return verbose or LOGGER.isEnabledFor(logging.DEBUG)


def _logged(name: str, verbose: bool, progress: Progress) -> Progress:
    def report(message: str, done: float | None = None) -> None:
        share = "" if done is None else f" ({100 * done:.0f}%)"
        _tell(f"{name}: {message}{share}", verbose, logging.DEBUG)
        progress(message, done)

    return report


def _tell(message: str, verbose: bool, level: int) -> None:
    LOGGER.log(level, message)
    if verbose:
        print(message, file=sys.stderr)


def expected_seconds(estimator: Any, data: Any) -> float | None:
    """What a fit will take of one core, about; None where nothing is known.

    Parameters
    ----------
    estimator : Estimator
        As it will be fitted.
    data : object
        The container that `fit` will get.
    """
    from sigmastar.core.family import families  # whose records hold the paces

    if not set(estimator._changed_parameters()) <= _INDIFFERENT:
        return None
    name = type(estimator).__name__
    found = [family.paces[name] for family in families().values() if name in family.paces]
    return found[0].of(data) if found else None


def on_long_work(callback: Callable[[float, str], None]) -> Callable[[], None]:
    """Have `callback` called with the seconds that work will take, before it begins, where they are many.

    Parameters
    ----------
    callback : callable
        Takes seconds, and what the work is, as "learning". Fits inside of fits are parts, and not told.

    Returns
    -------
    callable
        Takes the callback back.
    """
    return _joined(_listeners, callback)


def _joined(listeners: list[Listener], listener: Listener) -> Callable[[], None]:
    listeners.append(listener)

    def forget() -> None:
        with suppress(ValueError):
            listeners.remove(listener)

    return forget


@contextmanager
def announced(estimator: Any, data: Any) -> Iterator[None]:
    """A fit, told beforehand to those who listen."""
    is_part, token = _INSIDE.get(), _INSIDE.set(True)
    try:
        if _listeners and not is_part:
            announce(expected_seconds(estimator, data) or 0.0, "learning")
        yield
    finally:
        _INSIDE.reset(token)


def announce(seconds: float | Callable[[], float], work: str) -> None:
    """Tell those who listen how long work that begins now will take, where that is long.

    An estimate that costs a trial is a function, which is called where somebody listens.
    """
    found = seconds if not callable(seconds) else seconds() if _listeners else 0.0
    for listener in _listeners if found > LONG else ():
        listener(found, work)


class Measure(Enum):
    """What a point is a measurement of, by what."""

    CLIMB = "log-likelihood of the training data per item, by iteration"
    DESCENT = "loss with its penalty, by iteration"
    HELD_OUT = "score per held-out item, by iteration"
    START = "score of a start, by leg of the race"
    SIZE = "held-out score, by number of states"


@dataclass(frozen=True)
class Phase:
    """What is being done, and the share of the whole that is done, if it is known."""

    message: str
    done: float | None = None


@dataclass(frozen=True, eq=False)
class Point:
    """A measurement; those of one curve come with equal objects, which can be hashed."""

    measure: Measure
    x: float
    y: float
    curve: object
    name: str = ""


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Singular values, and where known the largest one of chance and the number of states that was chosen."""

    singular_values: Sequence[float] | Floats
    noise_level: float | None = None
    chosen: int | None = None


@dataclass(frozen=True)
class Saved:
    """A model file that is complete."""

    path: str


Event = Phase | Point | Spectrum | Saved
_hearers: list[Callable[[Event], Any]] = []


@contextmanager
def listening(listener: Callable[[Event], Any]) -> Iterator[None]:
    """Have a function called with all that is reported while the block runs, on whatever thread.

    Parameters
    ----------
    listener : callable
        Takes an event.

    Examples
    --------
    >>> heard = []
    >>> with listening(heard.append):
    ...     report(Phase("counting", 0.5))
    >>> report(Phase("counting", 1.0))
    >>> heard
    [Phase(message='counting', done=0.5)]
    """
    _hearers.append(listener)
    try:
        yield
    finally:
        _hearers.remove(listener)


def report(event: Event) -> None:
    """Hand an event to all who listen."""
    for listener in tuple(_hearers):
        listener(event)


Say = Progress


@contextmanager
def watching(message: str, quiet: bool = False, estimates: bool = True) -> Iterator[Say]:
    """A bar while the block runs, on a terminal, and gone afterwards; elsewhere a line if it takes long.

    Without `estimates` nothing is told of the time that is left: where other processes compile kernels, that
    would count as work. Where this one has to compile some, a line tells it.
    """
    with _compiling_told(quiet), _shown(message, quiet, estimates) as say:
        yield say


@contextmanager
def _compiling_told(quiet: bool) -> Iterator[None]:
    """A line at the first kernel that has to be compiled; none where somebody waits for that already."""
    if quiet or compilation.waiting:
        yield
        return
    forget = on_compile(lambda: tell("compiling kernels, once: seconds, of parsers a few minutes"))
    try:
        yield
    finally:
        forget()


@contextmanager
def _shown(message: str, quiet: bool, estimates: bool) -> Iterator[Say]:
    if quiet or not (estimates or sys.stderr.isatty()):
        yield _reported(silent)
        return
    from sigmastar.core.time_estimates import Outlook, line_if_long  # which needs NumPy, and this module

    outlook = Outlook()
    if not sys.stderr.isatty():
        yield _reported(line_if_long(outlook))
        return
    from rich.console import Console  # most calls are short or go into files: they need not load it
    from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bars

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]}", markup=False),
    )
    with Bars(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task(message, total=None, left="")

        def say(message: str, done: float | None = None) -> None:
            seconds = outlook.seconds_left(done) if estimates else None
            left = "" if seconds is None else f"about {in_words(seconds)} left"
            total = None if done is None else 1.0
            bars.update(task, description=message, completed=done or 0.0, total=total, left=left)

        yield _reported(say)


def _reported(say: Say) -> Say:
    """The same, told to those who listen to events too."""

    def told(message: str, done: float | None = None) -> None:
        report(Phase(message, done))
        say(message, done)

    return told


class Compilation:
    """How long kernels have been compiled for, and who is told; `core.jit` has it begin and end.

    Compilers work under a lock, so beginnings and ends never interleave.
    """

    def __init__(self) -> None:
        self.waiting: list[Callable[[], None]] = []
        self._done, self._began, self._depth = 0.0, 0.0, 0

    def begin(self) -> None:
        self._depth += 1
        if self._depth == 1:  # kernels that a kernel calls are compiled within it
            self._began = time.perf_counter()
        while self.waiting:
            self.waiting.pop(0)()

    def end(self) -> None:
        self._depth -= 1
        if not self._depth:
            self._done += time.perf_counter() - self._began

    def seconds(self) -> float:
        """Seconds of this process so far, those of a compilation under way included; the cache takes none."""
        return self._done + (time.perf_counter() - self._began if self._depth else 0.0)


compilation = Compilation()


def on_compile(callback: Callable[[], None]) -> Callable[[], None]:
    """Have `callback` called once, when the next kernel is compiled that is not in the cache.

    Parameters
    ----------
    callback : callable
        Takes nothing. Called before the compilation, by the thread that needs the kernel.

    Returns
    -------
    callable
        Takes the callback back, called or not, for example when the command that gave it has ended.

    Examples
    --------
    >>> forget = on_compile(lambda: print("compiling kernels (once)"))
    >>> forget()
    """
    return _joined(compilation.waiting, callback)


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
        import click  # learners do without

        click.echo(message, file=sys.stderr)  # by err=True click would keep every stream that was ever there
