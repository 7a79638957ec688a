"""Forged model files on trial: a right checksum, one array spoilt, then every command that uses the model.

A forked process spoils arrays one after the other, and loads what it made. Where a file is accepted it runs
`show`, `sample`, `score`, `evaluate` and `predict` on it. A crash, a traceback, an error called a bug, a raw
warning, more than ten seconds or more than a gigabyte is a finding; the rest is left to a new process. What a
busy machine may have caused counts where it comes back in a process that tries nothing else.
"""

from __future__ import annotations

import faulthandler
import json
import os
import select
import signal
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np

from forged.forging import Forge
from forged.mutations import mutated
from forged.small_models import Small
from fuzz.limits import (
    CALL,
    SECONDS,
    TOO_LARGE,
    TOO_SILENT,
    TOO_SLOW,
    Memory,
    Patience,
    limit_address_space,
    may_be_the_load,
)
from sigmastar.cli import command
from sigmastar.core import model_format, model_reading
from sigmastar.core.errors import ModelFileError
from sigmastar.core.model_reading import load_model

BATCH = 500  # files per process: more might take more than the gigabyte by and by
_BAD = ("Traceback", "this is a bug", "Warning", "out of memory")
Task = tuple[int, str]
"""The number of a mutation, and the array that it spoils."""


class Report(NamedTuple):
    """What became of a file."""

    outcome: str
    digest: str
    was_run: bool = False
    finding: str = ""


def warm_up(models: Mapping[str, Small], folder: Path) -> None:
    """Run all commands on the models themselves, so that forked processes find their kernels compiled."""
    for small in models.values():
        for call in small.calls:
            output = folder / "warm"
            _run([word if word != "MODEL" else str(small.model) for word in call], output)


def try_model(
    small: Small,
    numbers: Iterable[int],
    folder: Path,
    until: float = float("inf"),
    most_runs: int = 10**9,
    arrays: Sequence[str] | None = None,
) -> tuple[Counter[str], list[str]]:
    """All arrays of a model, or some, with some mutations: counts of what happened, and findings in words."""
    counts, findings = Counter[str](), list[str]()
    forge = Forge.of(small.model)
    # Arrays inside: where time runs out, all of them were on trial.
    tasks = [(number, name) for number in numbers for name in arrays or forge.arrays]
    known = {_digest(forge.pieces({}))}  # two mutations may give the same file, or the model itself
    while tasks and time.monotonic() < until:
        trial = _Trial(small, forge, folder, known, most_runs - counts["run"])
        reports, end = trial.of(tasks[:BATCH], until)
        for task, report in zip(tasks, reports, strict=False):
            counts.update(["files", report.outcome, *(["run"] if report.was_run else [])])
            findings += trial.confirmed(task, report.finding)
            known.add(report.digest)
        if end:  # the process ended in the file after those that it has told of
            counts.update(["files"])
            findings += trial.confirmed(tasks[len(reports)], end)
        tasks = tasks[len(reports) + bool(end) :]
    return counts, findings


def _digest(pieces: Sequence[bytes | memoryview]) -> str:
    """The first piece is the header, which holds the checksum of all."""
    return sha256(pieces[0]).hexdigest()


class _Trial(NamedTuple):
    """Files of one process."""

    small: Small
    forge: Forge
    folder: Path
    known: set[str]
    most_runs: int

    def confirmed(self, task: Task, problem: str) -> list[str]:
        """A problem that the load did not cause, if there is one, with the command that shows it again."""
        if problem and may_be_the_load(problem):
            reports, alone = self.of([task], float("inf"))
            alone = alone or "".join(report.finding for report in reports)
            problem = alone and f"{problem}; alone: {alone}"
        number, array = task
        name = self.small.model.stem
        again = f"--only forged --models {name} --arrays {array} --seed {number} --mutations 1 --seconds 1000"
        told = f"{self.small.model.name} {array} {number}: {problem}\n        to see again: {CALL} {again}"
        return [told] if problem else []

    def of(self, tasks: Sequence[Task], until: float) -> tuple[list[Report], str]:
        """What became of the files, and how the process ended where it did before its time."""
        saying, said = os.pipe()
        child = os.fork()
        if not child:
            try:
                _limit()
                self._try_all(tasks, until, lambda text: os.write(said, text))
                os._exit(0)
            except BaseException as problem:
                self._output.write_text(repr(problem))
            finally:
                os._exit(98)
        os.close(said)
        with os.fdopen(saying, "rb", buffering=0) as stream:
            reports, is_silent = _heard(stream, child)
        if is_silent:
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        if not status:
            return reports, ""
        call = self._said.read_text()
        if is_silent:
            return reports, f"{call}: {TOO_SILENT}"
        return reports, f"{call}: {self._last_words(status)}"

    @property
    def _said(self) -> Path:
        return self.folder / "said"

    @property
    def _output(self) -> Path:
        return self.folder / "output"

    def _last_words(self, status: int) -> str:
        if os.WIFSIGNALED(status):
            number = os.WTERMSIG(status)
            return TOO_SLOW if number == signal.SIGPROF else f"signal {number}"
        return self._output.read_text(errors="replace")[-300:]

    def _try_all(self, tasks: Sequence[Task], until: float, tell: Callable[[bytes], object]) -> None:
        known, n_run, memory = set(self.known), 0, Memory()
        for task in tasks:
            if time.monotonic() > until:
                return
            signal.setitimer(signal.ITIMER_PROF, SECONDS)  # of the processor: a busy machine is no finding
            report = self._tried(task, known, n_run < self.most_runs)
            if memory.is_too_large() and not report.finding:
                report = report._replace(finding=TOO_LARGE)
            known.add(report.digest)
            n_run += report.was_run
            tell(json.dumps(report).encode() + b"\n")
            if report.finding:
                return  # who knows what it left behind

    def _tried(self, task: Task, known: set[str], may_run: bool) -> Report:
        number, name = task
        self._said.write_text("load")
        pieces = self.forge.pieces({name: mutated(self.forge.arrays[name], number)})
        digest = _digest(pieces)
        if digest in known:
            return Report("tried before", digest)
        target = self.folder / "forged"
        target.write_bytes(b"".join(pieces))
        with _loaded_once():
            try:
                load_model(target)
            except ModelFileError:
                return Report("refused", digest)
            except Exception as problem:
                return Report("failed", digest, finding=f"load: {type(problem).__name__} {problem}")
            return Report("accepted", digest, may_run, self._finding(target) if may_run else "")

    def _finding(self, target: Path) -> str:
        """What went wrong with the commands on a file; nothing where all is well."""
        for call in self.small.calls:
            self._said.write_text(" ".join(call))
            try:
                _run([word if word != "MODEL" else str(target) for word in call], self._output)
            except BaseException as problem:
                return f"{' '.join(call)}: {problem!r}"
            text = self._output.read_text(errors="replace")
            if any(word in text for word in _BAD):
                return f"{' '.join(call)}: {text[-300:]}"
        return ""


@contextmanager
def _loaded_once() -> Iterator[None]:
    """Inside, a file is read and built once: its commands share the model, as requests to a server do."""
    read, built = lru_cache(maxsize=1)(model_reading.read_arrays), dict[tuple[str, type], Any]()

    def build(family: type, arrays: Any, description: Any, name: str) -> Any:
        if (name, family) not in built:
            built[name, family] = made(family, arrays, description, name)
        return built[name, family]

    made = model_reading._built
    with patch.object(model_reading, "read_arrays", read), patch.object(model_reading, "_built", build):
        yield


def _heard(stream: Any, process: int) -> tuple[list[Report], bool]:
    """What a process tells until it ends, and whether it was silent for too long."""
    told, patience = b"", Patience(process)
    while not patience.is_over():
        if not select.select([stream], [], [], 1.0)[0]:
            continue
        piece = stream.read(1 << 16)
        if not piece:
            return [Report(*json.loads(line)) for line in told.splitlines()], False
        told, patience = told + piece, Patience(process)
    return [Report(*json.loads(line)) for line in told.splitlines()], True


def flip_bits(
    source: Path, n_flips: int, folder: Path, until: float = float("inf"), seed: int = 0
) -> tuple[int, list[str]]:
    """Bits of a file flipped one by one, without a new checksum: all must be refused."""
    content, rng, target = source.read_bytes(), np.random.default_rng(seed), folder / "flipped"
    findings = []
    for number in range(n_flips):
        if time.monotonic() > until:
            return number, findings
        place = int(rng.integers(8 * len(content)))
        changed = bytearray(content)
        changed[place // 8] ^= 1 << place % 8
        target.write_bytes(changed)
        if problem := _acceptance(target):
            findings.append(f"{source.name}, bit {place}: {problem}")
    return n_flips, findings


def cut_off(source: Path, n_cuts: int, folder: Path, until: float = float("inf")) -> tuple[int, list[str]]:
    """The first bytes of a file: every number of them, or `n_cuts` numbers where those are fewer."""
    target, size = folder / "cut", source.stat().st_size
    target.write_bytes(source.read_bytes())
    findings, lengths = [], range(0, size, max(1, size // n_cuts))
    once = lru_cache(maxsize=1)(model_format._parsed)  # behind the header all cuts leave the same one
    with patch.object(model_format, "_parsed", once):
        for number, length in enumerate(reversed(lengths)):  # the file shrinks: nothing is written again
            if time.monotonic() > until:
                return number, findings
            os.truncate(target, length)
            if problem := _acceptance(target):
                findings.append(f"{source.name}, {length} bytes: {problem}")
    return len(lengths), findings


def _acceptance(path: Path) -> str:
    """What is wrong where a file is not refused in words."""
    try:
        load_model(path)
    except ModelFileError:
        return ""
    except Exception as problem:
        return f"{type(problem).__name__} {problem}"
    return "accepted"


def _limit() -> None:
    faulthandler.disable()  # a crash is told as a finding, not as a stack in the log of the tests
    signal.signal(signal.SIGPROF, signal.SIG_DFL)  # also inside compiled code
    limit_address_space()


def _run(words: list[str], output: Path) -> None:
    """A command with all that it prints in a file."""
    stdout, stderr = sys.stdout, sys.stderr
    with open(output, "w") as stream:
        sys.stdout = sys.stderr = stream
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("default")  # as users have it, not tests
                command(words, prog_name="sigmastar")
        except SystemExit:
            pass
        finally:
            sys.stdout, sys.stderr = stdout, stderr
