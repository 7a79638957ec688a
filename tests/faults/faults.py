"""Commands whose files and disks fail, or that are killed: whole outputs or none.

Each run is a forked process, in which the nth call of some kind fails, or which gets a signal at some moment.
It leads a group of processes, so that workers which outlive it are found.
"""

from __future__ import annotations

import builtins
import errno
import json
import os
import random
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from cli.calls import succeed
from sigmastar.cli import main

KINDS = ("write", "fsync", "rename", "open", "read", "chmod", "memory")
SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGKILL, signal.SIGHUP)
ERRORS = (errno.ENOSPC, errno.EIO, errno.EROFS, errno.EACCES)
BEFORE = b"what was there before"
_SECONDS_TO_END = 20.0  # for workers whose parent is gone

Files = Mapping[str, bytes]


class Job(NamedTuple):
    """A command that writes into a folder of its own, and what that holds afterwards.

    `exact` is false where two runs differ, by dates and times: documents are then whole or not. Of a job that
    `resumes`, parts may stay when it ends too early.
    """

    words: list[str]
    folder: Path
    old: Files
    new: Files
    seconds: float
    exact: bool = True
    resumes: bool = False


def job(
    words: list[str], folder: Path, old: str | None = "out", exact: bool = True, resumes: bool = False
) -> Job:
    """Run a command once as it should be, to know what it writes; `old` names a file that is there before."""
    made = Job(words, folder, {} if old is None else {old: BEFORE}, {}, 0.0, exact, resumes)
    _lay_out(made)
    succeed(*words)  # here: forked processes find modules and kernels loaded
    _lay_out(made)
    begin = time.monotonic()
    assert _forked(words, lambda: None).status == 0, words
    return made._replace(new=_content(folder), seconds=time.monotonic() - begin)


def _lay_out(job: Job) -> None:
    shutil.rmtree(job.folder, ignore_errors=True)
    if job.old:
        job.folder.mkdir(parents=True)
    for name, content in job.old.items():
        (job.folder / name).write_bytes(content)


def _content(folder: Path) -> Files:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def fail_at(job: Job, kind: str, number: int, error: int) -> str:
    """Let the `number`th call of a kind fail; what is wrong afterwards, nothing where all is well."""
    _lay_out(job)
    end = _forked(job.words, lambda: _break(kind, number, error))
    place = f"{job.words[:2]} {kind} {number} {errno.errorcode[error]}"
    return _fault(job, place, end, (0, 1), leftovers=False) or _again(job, place)


def kill_after(job: Job, number: int, seconds: float) -> str:
    """End the process by a signal; what is wrong afterwards."""
    _lay_out(job)
    end = _forked(job.words, lambda: None, (number, seconds))
    allowed = (0, 128 + number, -number, LATE)
    place = f"{job.words[:2]} signal {number} after {seconds:.3f} s"
    found = _fault(job, place, end, allowed, leftovers=number == signal.SIGKILL)
    for left in job.folder.rglob(".*.part"):
        left.unlink()
    return found or _again(job, place)


def _again(job: Job, place: str) -> str:
    if job.resumes and job.exact and _content(job.folder) == job.new:  # done: to begin again is refused
        return ""
    end = _forked(job.words, lambda: None)
    return _fault(job, f"{place}, then again", end, (0,), leftovers=False)


def _fault(job: Job, place: str, end: End, allowed: tuple[int, ...], leftovers: bool) -> str:
    status = end.status
    if status == LEFT_BEHIND:
        return f"{place}: processes are left"
    if status not in allowed:
        return f"{place}: exit status {status} {end.trace}".rstrip()
    found = _content(job.folder)
    left = sorted(name for name in found if name.endswith(".part"))
    if left and not leftovers:
        return f"{place}: left {left}"
    for name, content in found.items():
        if problem := _problem(job, name, content, status == 0):
            return f"{place}: {name} {problem} ({len(content)} bytes)"
    if status == 0 and not set(found) - set(left) >= set(job.new):
        return f"{place}: success, but without {sorted(set(job.new) - set(found))}"
    return ""


def _problem(job: Job, name: str, content: bytes, is_done: bool) -> str:
    if name not in job.new:
        return "" if name.endswith(".part") or (job.resumes and not is_done) else "should not be there"
    is_new = content == job.new[name] if job.exact else _is_whole(name, content)
    if is_new or (content == job.old.get(name) and not is_done):
        return ""
    return "is old, though all is done" if content == job.old.get(name) else "is neither old nor new"


def _is_whole(name: str, content: bytes) -> bool:
    if name.endswith(".json"):
        try:
            json.loads(content)
        except ValueError:
            return False
        return True
    return content.rstrip().endswith((b"</html>", b"</svg>"))


LATE, ESCAPED, LEFT_BEHIND = 70, 71, 72  # LATE: a signal after the last line of the command


class End(NamedTuple):
    """How a process ended: its status, minus the signal where one ended it; the trace of what escaped."""

    status: int
    trace: str = ""


def _forked(words: list[str], prepare: Callable[[], None], killed: tuple[int, float] | None = None) -> End:
    """The end of a command in a process of its own.

    Signals wait until the child is ready for them: an earlier one would reach the handlers of the tests.
    """
    told = os.memfd_create("trace")
    heard = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    child = os.fork()
    if not child:
        status = LATE
        try:
            os.setpgrp()
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
        except BaseException as problem:
            status = 130 if isinstance(problem, KeyboardInterrupt) and _is_early(problem) else ESCAPED
            os.write(
                told, "".join(traceback.format_exception(problem)).encode() if status == ESCAPED else b""
            )
        finally:  # whatever comes: the child must not go on as a second process of the tests
            os._exit(status)
    signal.pthread_sigmask(signal.SIG_SETMASK, heard)
    if killed is not None:
        time.sleep(killed[1])
        os.kill(child, killed[0])
    _, status = os.waitpid(child, 0)
    os.lseek(told, 0, os.SEEK_SET)
    with os.fdopen(told, errors="replace") as stream:
        trace = stream.read()
    return End(os.waitstatus_to_exitcode(status) if _ends(child) else LEFT_BEHIND, trace)


def _is_early(problem: BaseException) -> bool:
    """Whether a signal that waited for the mask came before the first line of the command.

    That may be while the mask is taken off, which is where signals are seen first.
    """
    here = problem.__traceback__
    inside = None if here is None else here.tb_next
    return inside is None or inside.tb_frame.f_code is not main.__code__ or inside.tb_next is None


def _ends(group: int) -> bool:
    """Whether all processes of a group end; those that do not are ended."""
    until = time.monotonic() + _SECONDS_TO_END
    while time.monotonic() < until:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.01)
    os.killpg(group, signal.SIGKILL)
    return False


def _break(kind: str, number: int, error: int) -> None:
    """Let the `number`th call of some function fail in this process."""
    calls = [0]

    def failing(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            calls[0] += 1
            if calls[0] == number:
                raise MemoryError if kind == "memory" else OSError(error, os.strerror(error))
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
    elif kind == "memory":
        for name in ("zeros", "empty", "full", "concatenate"):
            setattr(np, name, failing(getattr(np, name)))
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


def random_runs(jobs: list[Job], n_runs: int, seed: int) -> list[str]:
    """Runs with faults and signals, chosen by chance; findings. What takes long comes rarely."""
    rng, findings = random.Random(seed), []
    weights = [1.0 / max(job.seconds, 0.1) for job in jobs]
    for number in range(n_runs):
        if number and number % 50 == 0:
            print(f"{number} runs", flush=True)
        (chosen,) = rng.choices(jobs, weights)
        if rng.random() < 0.5:
            found = fail_at(chosen, rng.choice(KINDS), rng.randint(1, 8), rng.choice(ERRORS))
        else:
            found = kill_after(chosen, rng.choice(SIGNALS), rng.uniform(0.0, 1.2 * chosen.seconds))
        if found:
            findings.append(found)
            print(f"    {found}", flush=True)
    return findings
