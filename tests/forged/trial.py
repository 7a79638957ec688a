"""Forged model files on trial: a right checksum, one array spoilt, then every command that uses the model.

A file is loaded in this process: that runs no compiled code. Where it is accepted, a forked process runs
`show`, `sample`, `score`, `evaluate` and `predict` on it. A crash, a traceback, an error called a bug, a
raw warning, more than ten seconds or more than a gigabyte is a finding.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from forged.forging import forged
from forged.mutations import mutated
from forged.small_models import Small
from sigmastar.cli import command
from sigmastar.core.errors import ModelFileError
from sigmastar.core.model_files import load_model, read_header

SECONDS, PATIENCE, GIGABYTE = 10, 120.0, 1 << 30
_BAD = ("Traceback", "this is a bug", "Warning", "out of memory")


def warm_up(models: Mapping[str, Small], folder: Path) -> None:
    """Run all commands on the models themselves, so that forked processes find their kernels compiled."""
    for small in models.values():
        for call in small.calls:
            output = folder / "warm"
            _run([word if word != "MODEL" else str(small.model) for word in call], output)


def try_model(
    small: Small, numbers: Iterable[int], folder: Path, until: float = float("inf"), most_runs: int = 10**9
) -> tuple[Counter[str], list[str]]:
    """Every array of a model with some mutations: counts of what happened, and findings in words."""
    counts: Counter[str] = Counter()
    findings: list[str] = []
    target, names = folder / "forged", list(read_header(small.model)["arrays"])
    known = {_digest(small.model)}  # two mutations may give the same file, or the model itself
    for number in numbers:  # arrays inside: where time runs out, all of them were on trial
        for name in names:
            if time.monotonic() > until:
                return counts, findings
            _forge(small.model, target, name, number)
            counts["files"] += 1
            if (digest := _digest(target)) in known:
                counts["tried before"] += 1
                continue
            known.add(digest)
            place = f"{small.model.name} {name} {number}"
            try:
                load_model(target)
            except ModelFileError:
                counts["refused"] += 1
                continue
            except Exception as problem:
                findings.append(f"{place}: load: {type(problem).__name__} {problem}")
                continue
            counts["accepted"] += 1
            if counts["run"] < most_runs:
                counts["run"] += 1
                if found := _outcome(small, target, folder):
                    findings.append(f"{place}: {found}")
    return counts, findings


def _digest(path: Path) -> bytes:
    return sha256(path.read_bytes()).digest()


def _forge(source: Path, target: Path, name: str, number: int) -> None:
    def change(header: dict[str, Any], arrays: dict[str, Any]) -> None:
        arrays[name] = mutated(arrays[name], number)

    forged(source, target, change)


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


def _outcome(small: Small, target: Path, folder: Path) -> str:
    """What went wrong with the commands on a file, in a process of their own; nothing where all is well."""
    output, said = folder / "output", folder / "said"
    said.write_text("")
    child = os.fork()
    if not child:
        _limit()
        try:
            for call in small.calls:
                said.write_text(" ".join(call))
                _run([word if word != "MODEL" else str(target) for word in call], output)
                text = output.read_text(errors="replace")
                if any(word in text for word in _BAD):
                    os._exit(99)
            os._exit(0)
        except BaseException as problem:
            output.write_text(repr(problem))
            os._exit(98)
    begin = time.monotonic()
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            break
        if time.monotonic() - begin > PATIENCE:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return f"{said.read_text()}: longer than {PATIENCE:.0f} s"
        time.sleep(0.002)
    if status == 0:
        return ""
    words = (
        output.read_text(errors="replace")[-300:] if os.WIFEXITED(status) else f"signal {os.WTERMSIG(status)}"
    )
    return f"{said.read_text()}: {words}"


def _limit() -> None:
    with open("/proc/self/statm") as stream:
        now = int(stream.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))  # a busy machine is no finding
    resource.setrlimit(resource.RLIMIT_AS, (now + GIGABYTE, now + GIGABYTE))


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
