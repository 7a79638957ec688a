"""Commands whose files and disks fail, or that are killed: whole outputs or none.

Each run is a forked process, in which the nth call of some kind fails, or which gets a signal at some moment.
"""

from __future__ import annotations

import builtins
import errno
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from sigmastar.cli import main

KINDS = ("write", "fsync", "rename", "open", "read", "chmod")
SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGKILL, signal.SIGHUP)
ERRORS = (errno.ENOSPC, errno.EIO, errno.EROFS, errno.EACCES)


class Job(NamedTuple):
    """A command, the file that it writes, and what that holds before and after."""

    words: list[str]
    output: Path
    old: bytes
    new: bytes


def job(words: list[str], output: Path) -> Job:
    """Run a command once as it should be, to know what it writes."""
    assert _forked(words, lambda: None) == 0, words
    new = output.read_bytes()
    return Job(words, output, b"what was there before", new)


def fail_at(job: Job, kind: str, number: int, error: int) -> str:
    """Let the `number`th call of a kind fail; what is wrong afterwards, nothing where all is well."""
    job.output.write_bytes(job.old)
    status = _forked(job.words, lambda: _break(kind, number, error))
    place = f"{job.words[:2]} {kind} {number} {errno.errorcode[error]}"
    return _fault(job, place, status, (0, 1), leftovers=False) or _again(job, place)


def kill_after(job: Job, number: int, seconds: float) -> str:
    """End the process by a signal; what is wrong afterwards."""
    job.output.write_bytes(job.old)
    status = _forked(job.words, lambda: None, (number, seconds))
    allowed = (0, 128 + number, -number)
    place = f"{job.words[:2]} signal {number} after {seconds:.3f} s"
    found = _fault(job, place, status, allowed, leftovers=number == signal.SIGKILL)
    for left in job.output.parent.glob(".*.part"):
        left.unlink()
    return found or _again(job, place)


def _again(job: Job, place: str) -> str:
    status = _forked(job.words, lambda: None)
    return _fault(job, f"{place}, then again", status, (0,), leftovers=False, whole=(job.new,))


def _fault(
    job: Job,
    place: str,
    status: int,
    allowed: tuple[int, ...],
    leftovers: bool,
    whole: tuple[bytes, ...] = (),
) -> str:
    content = job.output.read_bytes()
    if content not in (whole or (job.old, job.new)):
        return f"{place}: the output is neither old nor new ({len(content)} bytes)"
    if status not in allowed:
        return f"{place}: exit status {status}"
    if status == 0 and content != job.new:
        return f"{place}: success, but the old output"
    left = [path.name for path in job.output.parent.glob(".*.part")]
    return f"{place}: left {left}" if left and not leftovers else ""


def _forked(words: list[str], prepare: Callable[[], None], killed: tuple[int, float] | None = None) -> int:
    """The exit status of a command in a process of its own, minus the signal where one ended it.

    Signals wait until the child is ready for them: an earlier one would reach the handlers of the tests.
    """
    heard = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    child = os.fork()
    if not child:
        status = 70
        try:
            null = os.open(os.devnull, os.O_RDWR)
            for stream in (1, 2):
                os.dup2(null, stream)
            sys.stdout, sys.stderr = os.fdopen(1, "w", closefd=False), os.fdopen(2, "w", closefd=False)
            for number in SIGNALS[:2] + SIGNALS[3:]:
                signal.signal(
                    number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL
                )
            sys.argv = ["sigmastar", *words]
            prepare()
            signal.pthread_sigmask(signal.SIG_SETMASK, heard)
            main()
        except SystemExit as problem:
            status = problem.code if isinstance(problem.code, int) else 1
        except BaseException:
            status = 71
        os._exit(status)
    signal.pthread_sigmask(signal.SIG_SETMASK, heard)
    if killed is not None:
        time.sleep(killed[1])
        os.kill(child, killed[0])
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


def _break(kind: str, number: int, error: int) -> None:
    """Let the `number`th call of some function fail in this process."""
    calls = [0]

    def failing(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            calls[0] += 1
            if calls[0] == number:
                raise OSError(error, os.strerror(error))
            return function(*args, **kwargs)

        return call

    if kind == "write":
        opened = os.fdopen

        def fdopen(*args: Any, **kwargs: Any) -> Any:
            stream = opened(*args, **kwargs)
            return _Stream(stream, failing(stream.write)) if stream.writable() else stream

        os.fdopen = fdopen
    elif kind == "read":
        builtins.open = failing(builtins.open)
    else:
        name = {"fsync": "fsync", "rename": "replace", "open": "open", "chmod": "stat"}[kind]
        setattr(os, name, failing(getattr(os, name)))


class _Stream:
    """A stream whose writes may fail."""

    def __init__(self, stream: Any, write: Callable[..., Any]) -> None:
        self.stream, self.write = stream, write

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)


def random_runs(jobs: list[Job], n_runs: int, seed: int, longest: float) -> list[str]:
    """Runs with faults and signals, chosen by chance; findings."""
    rng, findings = random.Random(seed), []
    for _ in range(n_runs):
        chosen = rng.choice(jobs)
        if rng.random() < 0.5:
            found = fail_at(chosen, rng.choice(KINDS), rng.randint(1, 8), rng.choice(ERRORS))
        else:
            found = kill_after(chosen, rng.choice(SIGNALS), rng.uniform(0.0, longest))
        if found:
            findings.append(found)
    return findings
