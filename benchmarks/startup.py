"""How long does a user wait for `sigmastar --help`, and for `import sigmastar`?"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.harness import Finding, Question, Row, Settings, Skip, Target, timed

COMMANDS = ("sigmastar --help", "import sigmastar", "python alone")
N_RUNS, N_RUNS_QUICK = 10, 3


def units(settings: Settings) -> list[str]:
    if not _script().exists():
        raise Skip(f"needs the command sigmastar beside {sys.executable}: install the package")
    return list(COMMANDS)


def measure(command: str, settings: Settings) -> Iterator[Row]:
    words = _words(command)
    _start(words)  # files are read into the cache of the system
    _, timing = timed(lambda: _start(words), N_RUNS_QUICK if settings.quick else N_RUNS)
    yield {"seconds": timing.seconds, "n_runs": timing.n_runs}


def _script() -> Path:
    return Path(sys.executable).with_name("sigmastar")


def _words(command: str) -> list[str]:
    return {
        "sigmastar --help": [str(_script()), "--help"],
        "import sigmastar": [sys.executable, "-c", "import sigmastar"],
        "python alone": [sys.executable, "-c", "pass"],
    }[command]


def _start(words: list[str]) -> None:
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)


def conclude(rows: list[Row]) -> list[Finding]:
    targets = {"sigmastar --help": Target("<", 0.3)}
    return [Finding(f"{row['unit']}: seconds", row["seconds"], targets.get(row["unit"])) for row in rows]


QUESTION = Question(
    name="startup",
    title="Start-up: wall time, median of several starts",
    units=units,
    measure=measure,
    conclude=conclude,
    columns=("seconds", "n_runs"),
)
