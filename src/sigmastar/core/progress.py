"""Progress: the one way in which long work reports how far it is.

    progress("EM, iteration 3", 0.3)        a message, and the share of the work that is done, if it is known

Work that consists of stages hands each of them the part of the whole that it stands for (`stage`). Fits are
told to the logger `sigmastar` too (`told`), which has no handler of its own: nothing is written where nobody
listens.

    logging.getLogger("sigmastar").setLevel(logging.DEBUG)      what is being done, as it is done
    logging.getLogger("sigmastar").setLevel(logging.INFO)       a line per fit
    SpectralAutomaton(verbose=True)                             the same on standard error, without any set-up
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

LOGGER = logging.getLogger("sigmastar")
LOGGER.addHandler(logging.NullHandler())


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
