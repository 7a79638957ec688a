"""Children that hear interrupts, wherever the tests themselves run."""

from __future__ import annotations

import signal


def hear_interrupts() -> None:
    """For a child before it starts: a shell's background jobs ignore interrupts, and children inherit that."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
