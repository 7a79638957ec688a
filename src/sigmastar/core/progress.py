"""Progress of long work: what is being done, and how much of it is done."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Called with a message, and with the share of the work that is done, from 0 to 1, where it is known."""

    def __call__(self, message: str, done: float | None = None) -> None: ...


def silent(message: str, done: float | None = None) -> None:
    """Progress that is not shown."""
