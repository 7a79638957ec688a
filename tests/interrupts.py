"""Children that hear interrupts, wherever the tests themselves run."""

from __future__ import annotations

import signal


def hear_interrupts() -> None:
    """For a child before it starts: background jobs of a shell ignore interrupts, and so would it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
