"""How far do corpora on disk carry: rates of counting, memory against size, workers against one process?

Text comes from a generator while it is read (`benchmarks.scale_probe`), so that any size can be tried. Each
stage runs in a process of its own, whose resident peak is what counts: one budget of 256 MB, which is full at
1e7 already, serves all sizes. On top of it 1e9 is learned by two processes within the usual budget, with 200
states, and counted by two workers of each kind, as are 2e8, where what workers take to begin weighs more. The
size 1e9 takes most of the time; a part of the question is asked by `python -m benchmarks scale --problems
rates,1e7,1e8`, and `--resume` goes on with the others.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.harness import Finding, Question, Row, Settings, Target
from benchmarks.record import HERE

SIZES = {"1e6": 1_000_000, "1e7": 10_000_000, "1e8": 100_000_000, "1e9": 1_000_000_000}
STATES, EM_STATES, CLASSES = 200, 64, 300
BUDGET = 256 << 20
CALM = {
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "500ms",
    "distributed.admin.system-monitor.interval": "10s",
}
"""What the guide to corpora recommends where a cluster has as many workers as cores."""
ROUNDS = 3  # of workers against one process, in turn, of which the medians count


def units(settings: Settings) -> list[str]:
    if settings.quick:
        return ["rates", "1e6"]
    return ["rates", "1e7", "1e8", "1e9", "workers", "em", "svd"]


def measure(unit: str, settings: Settings) -> Iterator[Row]:
    folder = Path(tempfile.mkdtemp(prefix="scale-"))
    try:
        if unit in SIZES:
            yield from _sizes(unit, folder, settings)
        elif unit == "svd":
            yield from _svd()
        else:
            n_tokens = 1_000_000 if settings.quick else _TOKENS[unit]
            _piped(n_tokens, settings.seed, folder / "corpus")
            yield from {"rates": _rates, "workers": _workers, "em": _em}[unit](folder, n_tokens, settings)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


_TOKENS = {"rates": 20_000_000, "workers": 200_000_000, "em": 10_000_000}


def _probe(*words: object) -> dict[str, Any]:
    done = subprocess.run(_call(*words), capture_output=True, text=True, cwd=HERE.parent)
    if done.returncode:
        raise RuntimeError(f"{words[0]} failed: {done.stderr.strip().splitlines()[-1:]}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _call(*words: object) -> list[str]:
    return [sys.executable, "-m", "benchmarks.scale_probe", *map(str, words)]


def _piped(n_tokens: int, seed: int, folder: Path) -> dict[str, Any]:
    """A corpus built from a generator, which no disk holds."""
    with subprocess.Popen(_call("text", n_tokens, seed), stdout=subprocess.PIPE, cwd=HERE.parent) as source:
        done = subprocess.run(
            _call("build", "-", folder), stdin=source.stdout, capture_output=True, text=True, cwd=HERE.parent
        )
    if done.returncode:
        raise RuntimeError(f"build failed: {done.stderr.strip().splitlines()[-1:]}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _rates(folder: Path, n_tokens: int, settings: Settings) -> Iterator[Row]:
    """On one core, in processor seconds: neighbours move them less than the clock."""
    text = folder / "text"
    with open(text, "wb") as stream:
        subprocess.run(_call("text", n_tokens, settings.seed), stdout=stream, cwd=HERE.parent, check=True)
    found = _probe("build", text, folder / "other")
    start = _probe("build", _small(folder), folder / "small")["cpu"]  # imports and kernels
    yield {"what": "from text", "M tokens per s": found["tokens"] / (found["cpu"] - start) / 1e6}
    for n_classes in (CLASSES, 5 * CLASSES):
        counted = _probe("count", folder / "corpus", n_classes, 1)
        rate = counted["tokens"] / counted["count cpu"] / 1e6
        yield {"what": f"from shards, {n_classes} classes", "M tokens per s": rate}


def _small(folder: Path) -> Path:
    (folder / "few").write_text("a b\nb a\n")
    return folder / "few"


def _compiled(folder: Path, settings: Settings) -> None:
    """Compiling kernels, which are kept, takes some 60 MB; it comes before all sizes, not to the first."""
    _piped(SIZES["1e6"], settings.seed, folder / "first")
    _probe("learn", folder / "first", STATES, 1, BUDGET // 16)


def _sizes(unit: str, folder: Path, settings: Settings) -> Iterator[Row]:
    _compiled(folder, settings)
    built = _piped(SIZES[unit], settings.seed, folder / "corpus")
    yield _row(f"build {unit}", built, built["peak MB"])
    learned = _probe("learn", folder / "corpus", STATES, 1, BUDGET)
    yield _row(f"learn {unit}", learned, learned["peak MB"])
    if unit == "1e9":
        both = _probe("learn", folder / "corpus", STATES, 2)
        yield _row(f"two processes {unit}", both, both["peak MB"] + 2 * both["worker MB"])
        yield from _efficiencies(folder / "corpus", 1, unit)


def _row(what: str, found: dict[str, Any], peak: float) -> Row:
    return {"what": what, "seconds": found["seconds"], "cpu": found["cpu"], "MB": peak}


def _workers(folder: Path, n_tokens: int, settings: Settings) -> Iterator[Row]:
    corpus = folder / "corpus"
    rows = list(_efficiencies(corpus, ROUNDS))
    yield from rows
    killed = _probe("killed", corpus, 5 * CLASSES)
    same = killed["killed"] and killed["sha256"] == rows[0]["sha256"]
    yield {"what": "one of two killed", "same": float(same)}


def _efficiencies(corpus: Path, n_rounds: int, size: str = "") -> Iterator[Row]:
    """Workers against one process, which count the same corpus in turn."""
    import dask
    from distributed import Client, LocalCluster

    n_classes = 5 * CLASSES
    found: dict[str, list[dict[str, Any]]] = {"one process": [], "two processes": [], "Dask, two workers": []}
    for _ in range(n_rounds):
        for what, n_workers in (("one process", 1), ("two processes", 2)):
            found[what].append(_probe("count", corpus, n_classes, n_workers))
        with (
            dask.config.set(CALM),
            LocalCluster(2, threads_per_worker=1, dashboard_address=":0") as cluster,
            Client(cluster),
        ):
            found["Dask, two workers"].append(
                _probe("count", corpus, n_classes, 1, cluster.scheduler_address)
            )
    times = {what: median(round["count seconds"] for round in rounds) for what, rounds in found.items()}
    first = found["one process"][0]["sha256"]
    for what, seconds in times.items():
        efficiency = times["one process"] / seconds / (1 if what == "one process" else 2)
        same = float(all(round["sha256"] == first for round in found[what]))
        name = f"{what}, {size} tokens" if size else what
        yield {"what": name, "seconds": seconds, "efficiency": efficiency, "same": same, "sha256": first}


def _em(folder: Path, n_tokens: int, settings: Settings) -> Iterator[Row]:
    shards, whole = (_probe("em", folder / "corpus", EM_STATES, n) for n in (2, 0))
    apart = abs(shards["log-likelihood"] / whole["log-likelihood"] - 1.0)
    peak = shards["peak MB"] + 2 * shards["worker MB"]
    yield {"what": "EM iteration, shards", "seconds": shards["seconds"], "MB": peak, "apart": apart}
    yield {"what": "EM iteration, one piece", "seconds": whole["seconds"], "MB": whole["peak MB"]}


def _svd() -> Iterator[Row]:
    """In processor seconds of one process with one thread."""
    found = _probe("svd", STATES)
    for name in ("factorize", "PROPACK", "ARPACK"):
        yield {"what": f"SVD, {found['nonzeros']:,} nonzeros, {name}", "cpu": found[f"{name} cpu"]}


def conclude(rows: list[Row]) -> list[Finding]:
    by_name = {row["what"]: row for row in rows}
    findings = [
        Finding(f"M tokens per s, {name}", by_name[name]["M tokens per s"], Target(">=", least))
        for name, least in (("from text", 3.0), (f"from shards, {CLASSES} classes", 20.0))
        if name in by_name
    ]
    peaks = [row["MB"] for row in rows if row["what"].startswith(("build ", "learn "))]
    if peaks:
        findings.append(Finding("largest peak, MB", max(peaks), Target("<=", 2048.0)))
    for stage in ("build", "learn"):
        found = [row["MB"] for row in rows if row["what"].startswith(f"{stage} ")]
        if len(found) > 1:
            findings.append(
                Finding(f"{stage}: largest peak / smallest", max(found) / min(found), Target("<=", 1.1))
            )
    for row in rows:
        if row["what"] == "two processes 1e9":
            findings.append(Finding("10^9 tokens to a model, s", row["seconds"], Target("<=", 900.0)))
        if "efficiency" in row and not row["what"].startswith("one process"):
            findings.append(Finding(f"efficiency, {row['what']}", row["efficiency"], Target(">=", 0.85)))
        if "same" in row:
            findings.append(Finding(f"same result, {row['what']}", row["same"], Target(">=", 1.0)))
        if row["what"].endswith("factorize"):
            findings.append(Finding("singular vectors of 50,000 x 50,000, s", row["cpu"], Target("<=", 9.0)))
        if "apart" in row:
            findings.append(Finding("EM over shards, likelihood apart", row["apart"], Target("<=", 1e-9)))
            findings.append(Finding("EM over shards, peak MB", row["MB"], Target("<=", 1536.0)))
    return findings


QUESTION = Question(
    name="scale",
    title="Corpora larger than memory",
    units=units,
    measure=measure,
    conclude=conclude,
    columns=("what", "M tokens per s", "seconds", "cpu", "MB", "efficiency", "same", "apart"),
)
