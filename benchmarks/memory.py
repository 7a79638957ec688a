"""How much memory do `fast`, `convex` and `auto` take on the largest PAutomaC corpus?

Each is run in processes of its own (`benchmarks.probe`). The allowance is three times the coded corpus
plus the count blocks, one entry of a sparse matrix taken as 12 bytes; the larger of both peaks counts:
the resident one leaves out what fits into memory that the warm-up has given back, the traced one what
compiled kernels allocate.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.corpora import largest_pautomac, pautomac_problem
from benchmarks.harness import Finding, Question, Row, Settings, Skip, Target
from benchmarks.probe import STATUS
from benchmarks.record import HERE

METHODS = ("fast", "convex", "auto")
KINDS = ("rss", "traced")
QUICK = "7"


def units(settings: Settings) -> list[str]:
    if not STATUS.exists():
        raise Skip(f"needs {STATUS}, which this system does not have")
    largest_pautomac(settings)
    return settings.chosen(METHODS)


def measure(method: str, settings: Settings) -> Iterator[Row]:
    path = files(method, settings)[0]
    resident, traced = (_probe(method, path, settings.seed, kind) for kind in KINDS)
    allowance = 3 * resident["corpus"] + resident["blocks"]
    yield {
        "method": method,
        "strings": resident["strings"],
        "peak MB": resident["peak"] / 1e6,
        "traced MB": traced["peak"] / 1e6,
        "whole process MB": resident["whole process"] / 1e6,
        "corpus MB": resident["corpus"] / 1e6,
        "blocks MB": resident["blocks"] / 1e6,
        "allowance MB": allowance / 1e6,
        "of allowance": max(resident["peak"], traced["peak"]) / allowance,
    }


def _probe(method: str, path: Path, seed: int, kind: str) -> dict[str, int]:
    words = [sys.executable, "-m", "benchmarks.probe", method, str(path), str(seed), kind]
    done = subprocess.run(words, capture_output=True, text=True, cwd=HERE.parent)
    if done.returncode:
        raise RuntimeError(f"the probe of {method} failed: {done.stderr.strip().splitlines()[-1:]}")
    figures: dict[str, int] = json.loads(done.stdout)
    return figures


def conclude(rows: list[Row]) -> list[Finding]:
    return [
        finding
        for row in rows
        for finding in (
            Finding(f"{row['method']}: peak / allowance", row["of allowance"], Target("<=", 1.0)),
            Finding(f"{row['method']}: whole process, MB", row["whole process MB"], Target("<", 1000.0)),
        )
    ]


def files(method: str, settings: Settings) -> list[Path]:
    number = QUICK if settings.quick else largest_pautomac(settings)
    return pautomac_problem(number, settings).files[:1]


QUESTION = Question(
    name="memory",
    title="Peak memory on the largest PAutomaC corpus",
    units=units,
    measure=measure,
    conclude=conclude,
    columns=("strings", "peak MB", "traced MB", "whole process MB", "corpus MB", "blocks MB", "allowance MB"),
    files=files,
)
