"""Progress: the one way in which long work reports how far it is.

    progress("EM, iteration 3", 0.3)        a message, and the share of the work that is done, if it is known

Work that consists of stages hands each of them the part of the whole that it stands for (`stage`). Fits are
told to the logger `sigmastar` too (`told`), which has no handler of its own: nothing is written where nobody
listens.

    logging.getLogger("sigmastar").setLevel(logging.DEBUG)      what is being done, as it is done
    logging.getLogger("sigmastar").setLevel(logging.INFO)       a line per fit
    SpectralAutomaton(verbose=True)                             the same on standard error, without any set-up

How long a fit will take is told before it begins (`on_long_work`) where that is known: the records of
families hold the seconds that default estimators take by the sizes of their data (`Family.paces`). Other
settings, and data whose size is not known beforehand, have no estimate: a wrong one is worse than none.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any, Protocol

LOGGER = logging.getLogger("sigmastar")
LOGGER.addHandler(logging.NullHandler())
LONG = 10.0  # seconds of work that are told beforehand
_INDIFFERENT = {"random_state", "n_jobs", "progress", "verbose", "decoding", "threshold", "ledger"}
_listeners: list[Callable[[float], None]] = []
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


def on_long_work(callback: Callable[[float], None]) -> Callable[[], None]:
    """Have `callback` called with the seconds that a fit will take, before it begins, where they are many.

    Parameters
    ----------
    callback : callable
        Takes seconds. Fits inside of fits are their parts, and not told.

    Returns
    -------
    callable
        Takes the callback back.
    """
    _listeners.append(callback)

    def forget() -> None:
        with suppress(ValueError):
            _listeners.remove(callback)

    return forget


@contextmanager
def announced(estimator: Any, data: Any) -> Iterator[None]:
    """A fit, told beforehand to those who listen."""
    is_part, token = _INSIDE.get(), _INSIDE.set(True)
    try:
        if _listeners and not is_part:
            seconds = expected_seconds(estimator, data) or 0.0
            for listener in _listeners if seconds > LONG else ():
                listener(seconds)
        yield
    finally:
        _INSIDE.reset(token)
