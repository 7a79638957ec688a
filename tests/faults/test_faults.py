"""Faults of disks and signals at any moment: the old output is whole or the new one is."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import sigmastar.report
from faults.faults import ESCAPED, KINDS, Job, _forked, fail_at, kill_after, random_runs
from faults.jobs import Places, small_jobs

SIGMASTAR = [sys.executable, "-m", "sigmastar"]


@pytest.fixture(scope="module")
def jobs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Job]]:
    demos = sigmastar.report.demos
    try:
        yield small_jobs(Places(tmp_path_factory.mktemp("faults")))
    finally:
        sigmastar.report.demos = demos


@pytest.mark.parametrize("kind", KINDS)
def test_the_first_calls_fail(jobs: list[Job], kind: str) -> None:
    findings = [fail_at(each, kind, number, 28) for each in jobs[:2] for number in (1, 2)]
    assert not any(findings), findings


def test_faults_at_random(jobs: list[Job]) -> None:
    assert random_runs(jobs[:-1], 24, seed=0) == []


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_workers_end_with_the_process_that_started_them(jobs: list[Job], number: int) -> None:
    assert not kill_after(jobs[-1], number, 0.5 * jobs[-1].seconds)


def test_the_harness_can_fail(jobs: list[Job]) -> None:
    wrong = jobs[0]._replace(new={"out": b"other"})
    assert "out is neither old nor new" in fail_at(wrong, "fsync", 99, 28)
    assert "without ['more']" in fail_at(jobs[0]._replace(new={**jobs[0].new, "more": b""}), "fsync", 99, 28)


def test_a_signal_that_waited_for_the_command_is_no_finding() -> None:
    assert _forked(["--help"], lambda: os.kill(os.getpid(), signal.SIGINT)).status == 130


def test_what_escapes_from_a_command_is_told() -> None:
    def escape() -> None:
        raise RuntimeError("which nobody expected")

    end = _forked(["--help"], escape)
    assert end.status == ESCAPED
    assert "RuntimeError: which nobody expected" in end.trace


def test_sigterm_while_a_file_is_written_leaves_nothing(folder: Path, tmp_path: Path) -> None:
    process = subprocess.Popen(
        [*SIGMASTAR, "sample", folder / "ngram.model", "-n", "3000000", "-o", tmp_path / "drawn"],
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 60
    while not list(tmp_path.iterdir()) and time.monotonic() < deadline and process.poll() is None:
        time.sleep(0.02)
    process.terminate()
    _, said = process.communicate(timeout=60)
    assert (process.returncode, said) == (143, "sigmastar: ended by SIGTERM; no unfinished file is left\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("closing", "status", "said"),
    [
        ("<&-", 1, "standard input: cannot be read"),
        (">&-", 1, "standard output: is closed"),
        ("2>&-", 0, ""),
    ],
)
def test_closed_streams(folder: Path, closing: str, status: int, said: str) -> None:
    words = f"'{sys.executable}' -m sigmastar score '{folder / 'ngram.model'}' - {closing}"
    done = subprocess.run(words, shell=True, input="a b\n", capture_output=True, text=True)
    assert done.returncode == status
    assert said in done.stderr
    assert "bug" not in done.stderr


def test_learning_without_a_place_for_messages(folder: Path, tmp_path: Path) -> None:
    call = f"learn automaton '{folder / 'lines.txt'}' --method ngram -o '{tmp_path / 'm'}'"
    words = f"'{sys.executable}' -m sigmastar {call} 2>&-"
    assert subprocess.run(words, shell=True).returncode == 0
    assert (tmp_path / "m").exists()


def test_a_poor_environment(folder: Path, tmp_path: Path) -> None:
    """The locale C, no home, a cache folder that cannot be written, Windows line ends."""
    (tmp_path / "strings").write_bytes("é b\r\nb\r\n".encode())
    (tmp_path / "cache").write_text("no folder")
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
        "LC_ALL": "C",
        "PYTHONCOERCECLOCALE": "0",
        "PYTHONUTF8": "0",
        "HOME": "/nonexistent",
        "NUMBA_CACHE_DIR": str(tmp_path / "cache"),
    }
    call = ("learn", "automaton", tmp_path / "strings", "--method", "ngram", "-o", tmp_path / "m", "-q")
    done = subprocess.run([*SIGMASTAR, *call], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    done = subprocess.run(
        [*SIGMASTAR, "sample", tmp_path / "m", "-o", tmp_path / "drawn"], capture_output=True, env=environment
    )
    assert done.returncode == 0, done.stderr
    assert set((tmp_path / "drawn").read_text(encoding="utf-8").split()) <= {"é", "b"}
