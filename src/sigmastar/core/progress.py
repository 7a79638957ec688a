"""Progress: the one way in which long work reports how far it is.

    progress("EM, iteration 3", 0.3)        a message, and the share of the work that is done, if it is known

Work that consists of stages hands each of them the part of the whole that it stands for (`stage`).
"""

from __future__ import annotations

from typing import Protocol


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
