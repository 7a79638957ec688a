"""Where figures come from: seed, data, version or commit, machine."""

from __future__ import annotations

import os
import platform
import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sigmastar import __version__


@dataclass(frozen=True)
class Provenance:
    """What is needed to make the same figures again."""

    seed: int | None
    data_hash: str
    version: str
    commit: str | None
    python: str
    numpy: str
    system: str
    cpu: str
    date: str | None = None

    def entries(self) -> dict[str, str]:
        """Names and values for a reader; what is unknown is left out."""
        software = f"sigmastar {self.version}, Python {self.python}, NumPy {self.numpy}"
        named = {
            "Seed": None if self.seed is None else str(self.seed),
            "Data (SHA-256)": self.data_hash,
            "Software": software,
            "Commit": self.commit,
            "System": self.system,
            "Processor": self.cpu,
            "Date": self.date,
        }
        return {name: value for name, value in named.items() if value}


def provenance(seed: int | None, data_hash: str = "", date: str | None = None) -> Provenance:
    """The provenance of what this process computes."""
    return Provenance(
        seed=seed,
        data_hash=data_hash,
        version=__version__,
        commit=git_commit(),
        python=platform.python_version(),
        numpy=np.__version__,
        system=f"{platform.system()} {platform.machine()}".strip(),
        cpu=cpu_model(),
        date=date,
    )


_RECORDS = ":(exclude)benchmarks/results"  # they change no measurement


def git_commit() -> str | None:
    """The commit of the source checkout that this package runs from, if it runs from one."""
    root = Path(__file__).resolve().parents[3]
    if not (root / ".git").exists() or not (root / "src" / "sigmastar").is_dir():
        return None
    commit = _git(root, "rev-parse", "HEAD")
    if not commit:
        return None
    changed = _git(root, "status", "--porcelain", "--untracked-files=no", "--", ".", _RECORDS)
    return f"{commit} with changes" if changed else commit


def _git(root: Path, *words: str) -> str | None:
    environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0"}
    try:
        done = subprocess.run(
            ["git", "-C", str(root), *words], capture_output=True, text=True, timeout=10, env=environment
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def cpu_model() -> str:
    """The name of the processor and how many cores this process may use."""
    name = _linux_cpu() or platform.processor() or platform.machine() or "unknown"
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{name}, {cores} cores" if cores and cores > 1 else name


def _linux_cpu() -> str | None:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), None)
