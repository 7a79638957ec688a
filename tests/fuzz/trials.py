"""Inputs on trial one after the other, and findings that can be tried again from a file.

What a busy machine may have caused (time, memory) counts where it comes back in a process of its own, which
runs a right input first, so that imports and compiling are not measured.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from fuzz.limits import (
    CALL,
    SECONDS,
    TOO_LARGE,
    TOO_SILENT,
    TOO_SLOW,
    Memory,
    Patience,
    TooSlow,
    alarms,
    limit_address_space,
    limited,
    may_be_the_load,
)

FOLDER = Path(os.environ.get("FUZZ_FINDINGS", "fuzz-findings"))
READY = "ready"


@dataclass(frozen=True)
class Case:
    """An input: bytes, and what else must be known to try it."""

    content: bytes
    how: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Target:
    """What gets inputs: how they are drawn, what is wrong with one (nothing: ""), and one that is right."""

    name: str
    draw: Callable[[random.Random], Case]
    problem: Callable[[Case], str]
    right: Case
    close: Callable[[], object] = lambda: None


class Finding(NamedTuple):
    """What went wrong, and the input that shows it: the `number`th that the seed draws."""

    target: str
    problem: str
    case: Case
    seed: int
    number: int

    def __str__(self) -> str:
        """All of it, with the command that shows it again."""
        path = self.save()
        return (
            f"{self.target}: {self.problem}\n        seed {self.seed}, input {self.number}; "
            f"to see again: {CALL} --again {path}\n        that file: {path.read_text().strip()}"
        )

    def save(self) -> Path:
        """Write the input to a file that `--again` reads."""
        kept = {"target": self.target, "problem": self.problem, "seed": self.seed, "number": self.number}
        kept |= {"how": self.case.how, "content": self.case.content.decode("latin-1")}
        text = json.dumps(kept)
        FOLDER.mkdir(parents=True, exist_ok=True)
        path = FOLDER / f"{self.target.replace(' ', '-')}-{sha256(text.encode()).hexdigest()[:12]}.json"
        path.write_text(text + "\n")
        return path

    @classmethod
    def load(cls, path: Path) -> Finding:
        read = json.loads(path.read_text())
        case = Case(read["content"].encode("latin-1"), read["how"])
        return cls(read["target"], read["problem"], case, read["seed"], read["number"])


def fuzz(target: Target, n_inputs: int, seed: int, until: float = float("inf")) -> tuple[int, list[Finding]]:
    """How many inputs a target got, and findings."""
    rng, findings, memory = random.Random(f"{target.name} {seed}"), list[Finding](), Memory()
    try:
        with alarms():
            for number in range(n_inputs):
                if number and time.monotonic() > until:
                    return number, findings
                case = target.draw(rng)
                if problem := _problem(target, case, memory):
                    findings += _confirmed(Finding(target.name, problem, case, seed, number))
    finally:
        target.close()
    return n_inputs, findings


def _problem(target: Target, case: Case, memory: Memory) -> str:
    try:
        with limited(SECONDS):
            problem = target.problem(case)
    except TooSlow as slow:
        problem = str(slow)
    return TOO_LARGE if memory.is_too_large() and not problem else problem


def _confirmed(finding: Finding) -> list[Finding]:
    if not may_be_the_load(finding.problem):
        return [finding]
    problem = tried_alone(finding)
    return [finding._replace(problem=f"{finding.problem}; alone: {problem}")] if problem else []


def tried_alone(finding: Finding) -> str:
    """What is wrong with the input of a finding in a process of its own, which `again` runs."""
    command = [sys.executable, "-m", "fuzz", "--again", str(finding.save())]
    paths = os.pathsep.join(path for path in sys.path if path)
    with subprocess.Popen(
        command, env={**os.environ, "PYTHONPATH": paths}, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        while (line := process.stdout.readline()) and line.strip() != READY:
            pass
        patience = Patience(process.pid)
        while process.poll() is None:
            if patience.is_over():
                process.kill()
                return TOO_SILENT
            time.sleep(0.05)
        said = process.stdout.read().strip()
    if process.returncode == -signal.SIGPROF:
        return TOO_SLOW
    if process.returncode < 0:
        return f"signal {-process.returncode}"
    return said if said or not process.returncode else f"exit {process.returncode} before an answer"


def again(target: Target, case: Case) -> str:
    """Try a right input and then `case`; longer than it may take, the process ends, in compiled code too."""
    target.problem(target.right)
    limit_address_space()
    memory = Memory()
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    print(READY, flush=True)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    problem = target.problem(case)
    signal.setitimer(signal.ITIMER_PROF, 0)
    return TOO_LARGE if memory.is_too_large() and not problem else problem
