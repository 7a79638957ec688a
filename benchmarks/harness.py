"""How a question is asked: units measured one by one, rows kept as they come, targets beside figures.

A question falls into units (a problem, a corpus). Measuring a unit yields rows; the rows of finished
units are concluded into findings, some with a target. A timing is never a test: a target that is
missed is reported as "not reached", and the exit status stays 0.
"""

from __future__ import annotations

import gc
import importlib.util
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from sigmastar.core.resources import one_blas_thread

Row = dict[str, Any]
Result = TypeVar("Result")


class Skip(Exception):
    """A question or unit that cannot be asked here, and why."""


@dataclass(frozen=True)
class Settings:
    """What a user may choose; `problems` and `methods` are None for all of them."""

    seed: int = 0
    quick: bool = False
    problems: tuple[str, ...] | None = None
    methods: tuple[str, ...] | None = None
    data: Path | None = None

    def chosen(self, methods: Sequence[str]) -> list[str]:
        """Those of `methods` that are asked for, in their order."""
        unknown = set(self.methods or ()) - set(methods)
        if unknown:
            raise Skip(f"no method {', '.join(sorted(unknown))}; there are {', '.join(methods)}")
        return [name for name in methods if self.methods is None or name in self.methods]

    def rng(self, *keys: int) -> np.random.Generator:
        return np.random.default_rng([self.seed, *keys])


@dataclass(frozen=True)
class Target:
    """What is to be reached: at most or at least a value."""

    sense: str  # "<=", ">=", "<" or ">"
    value: float

    def reached(self, measured: float) -> bool:
        compare = {"<=": np.less_equal, ">=": np.greater_equal, "<": np.less, ">": np.greater}[self.sense]
        return bool(compare(measured, self.value))

    def __str__(self) -> str:
        return f"{self.sense} {self.value:g}"


@dataclass(frozen=True)
class Finding:
    """A figure drawn from all rows, and what it was hoped to be."""

    label: str
    value: float
    target: Target | None = None
    note: str = ""

    @property
    def verdict(self) -> str:
        if self.target is None:
            return ""
        return "reached" if self.target.reached(self.value) else "not reached"


@dataclass(frozen=True)
class Question:
    """One file of this folder."""

    name: str
    title: str
    units: Callable[[Settings], list[str]]
    measure: Callable[[str, Settings], Iterable[Row]]
    conclude: Callable[[list[Row]], list[Finding]]
    columns: tuple[str, ...]
    files: Callable[[str, Settings], list[Path]] = field(default=lambda unit, settings: [])
    prepare: Callable[[Settings], None] = field(default=lambda settings: None)
    modules: tuple[str, ...] = ()  # peers that must be installed

    def asked_units(self, settings: Settings) -> list[str]:
        """The units to measure; refuses names that are not among them."""
        if settings.problems is None:
            return self.units(settings)
        every = self.units(Settings(seed=settings.seed, methods=settings.methods, data=settings.data))
        unknown = [name for name in settings.problems if name not in every]
        if unknown:
            raise Skip(f"no problem {', '.join(unknown)}; there are {', '.join(every)}")
        return list(settings.problems)

    def require_modules(self) -> None:
        missing = [name for name in self.modules if importlib.util.find_spec(name) is None]
        if missing:
            raise Skip(
                f"needs {' and '.join(missing)}: install benchmarks/requirements.txt, as `make bench` does"
            )


@dataclass(frozen=True)
class Timing:
    """Medians of several runs: time on the clock, and time on the processor (less moved by neighbours)."""

    seconds: float
    cpu_seconds: float
    n_runs: int


def timed(function: Callable[[], Result], n_runs: int = 1) -> tuple[Result, Timing]:
    """The last result of `n_runs` calls, and their median times. Warm kernels up before."""
    wall, cpu = [], []
    for _ in range(n_runs):
        gc.collect()
        at, cpu_at = time.perf_counter(), time.process_time()
        result = function()
        cpu.append(time.process_time() - cpu_at)
        wall.append(time.perf_counter() - at)
    return result, Timing(float(np.median(wall)), float(np.median(cpu)), n_runs)


def say(message: str) -> None:
    """Progress and warnings go to standard error; tables alone to standard output."""
    print(message, file=sys.stderr, flush=True)


def measured(question: Question, unit: str, settings: Settings) -> Iterable[Row]:
    """The rows of a unit, one BLAS thread, each with its unit's name."""
    with one_blas_thread():
        for row in question.measure(unit, settings):
            yield {"unit": unit, **row}
