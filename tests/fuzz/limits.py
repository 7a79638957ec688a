"""What one input may take: ten seconds of the processor, and a gigabyte of memory that lies in the machine.

Clocks are those of the processor, so that a busy machine is no finding. Where nothing happens at all, the
time of the wall counts, less what the system kept the process waiting for a processor. Memory is what was
written to: address space that a thread or an allocator only reserves is none.
"""

from __future__ import annotations

import resource
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

CALL = "PYTHONPATH=tests .venv/bin/python -m fuzz"
SECONDS, PATIENCE, GIGABYTE = 10.0, 12, 1 << 30
ADDRESS_SPACE = 8 * GIGABYTE
"""Beyond this a request is refused, so that no input can end the machine's other work."""
TOO_SLOW = f"longer than {SECONDS:.0f} s of the processor"
TOO_SILENT = f"nothing for {PATIENCE * SECONDS:.0f} s"
TOO_LARGE = "more than a gigabyte"
_OF_LOAD = (TOO_SLOW, TOO_SILENT, TOO_LARGE, "MemoryError", "out of memory", f"signal {signal.SIGKILL.value}")


class TooSlow(BaseException):
    """An input took longer than it may."""


@contextmanager
def alarms() -> Iterator[None]:
    """Inside, `limited` may be used."""

    def stop(number: int, _: object) -> None:
        raise TooSlow(TOO_SLOW if number == signal.SIGPROF else TOO_SILENT)

    before = {number: signal.signal(number, stop) for number in (signal.SIGPROF, signal.SIGALRM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """What takes longer is `TooSlow`: by the processor's clock, or by the wall's where nothing happens."""
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.setitimer(signal.ITIMER_REAL, PATIENCE * seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)


def may_be_the_load(problem: str) -> bool:
    """Whether a busy machine, or what was left by inputs before, may have caused a problem."""
    return any(words in problem for words in _OF_LOAD)


class Memory:
    """The most memory that lay in the machine for this process since it was last asked about."""

    def __init__(self) -> None:
        self._forget()

    def is_too_large(self) -> bool:
        """Whether the process took a gigabyte more than it had at first; asked again, it counts from now."""
        if _peak() <= self._at_first + GIGABYTE:
            return False
        self._forget()
        return True

    def _forget(self) -> None:
        with suppress(OSError):  # elsewhere the peak stays, and only what is above it can be seen
            Path("/proc/self/clear_refs").write_text("5")
        self._at_first = _peak()


def _peak() -> int:
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


class Patience:
    """How long nothing may be heard of a process: by the wall, less what it waited for a processor."""

    def __init__(self, process: int) -> None:
        self._process, self._start, self._waited = process, time.monotonic(), _waited(process)

    def is_over(self) -> bool:
        silent = time.monotonic() - self._start - (_waited(self._process) - self._waited)
        return silent > PATIENCE * SECONDS


def _waited(process: int) -> float:
    """Seconds that a process was ready and had no processor, where the system tells."""
    try:
        return int(Path(f"/proc/{process}/schedstat").read_text().split()[1]) * 1e-9
    except (OSError, IndexError):
        return 0.0


def limit_address_space() -> tuple[int, int]:
    """Let requests beyond all measure fail; gives the limits of before."""
    with open("/proc/self/statm") as stream:
        now = int(stream.read().split()[0]) * resource.getpagesize()
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (now + ADDRESS_SPACE, before[1]))
    return before


@contextmanager
def bounded_address_space() -> Iterator[None]:
    """Inside, requests beyond all measure are a `MemoryError`."""
    before = limit_address_space()
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
