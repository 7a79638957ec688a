"""A busy machine is no finding, a hang or waste of memory is; findings are told whole and come back."""

from __future__ import annotations

import mmap
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import fuzz.limits
import fuzz.trials
from fuzz.limits import GIGABYTE, TOO_LARGE, TOO_SILENT, TOO_SLOW, Memory, Patience, TooSlow, alarms, limited
from fuzz.readers import reader
from fuzz.trials import Case, Finding, Target, tried_alone
from fuzz.trials import fuzz as run

RIGHT = Case(b"a b\n", {})
HERE = Path(__file__).parent.parent


@pytest.fixture(autouse=True)
def _findings_lie_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fuzz.trials.FOLDER", tmp_path / "findings")


def target(problem: str) -> Target:
    return Target("lines", lambda rng: Case(rng.randbytes(2)), lambda case: problem, RIGHT)


def spin(seconds: float) -> str:
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass
    return ""


def test_what_the_load_caused_is_tried_alone_and_counts_only_then(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = {"": 0, TOO_SLOW: 3, TOO_LARGE: 3}
    for answer, n_findings in answers.items():
        monkeypatch.setattr("fuzz.trials.tried_alone", lambda finding, answer=answer: answer)
        for problem in (TOO_SLOW, TOO_SILENT, TOO_LARGE, "MemoryError: "):
            assert len(run(target(problem), 3, 0)[1]) == n_findings
    monkeypatch.setattr("fuzz.trials.tried_alone", lambda finding: "")
    assert len(run(target("KeyError: 'a'"), 3, 0)[1]) == 3  # no load causes this


def test_an_input_that_takes_the_processor_is_too_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fuzz.trials.SECONDS", 0.2)
    monkeypatch.setattr("fuzz.trials.tried_alone", lambda finding: finding.problem)
    slow = Target("lines", lambda rng: RIGHT, lambda case: spin(60), RIGHT)
    assert [finding.problem for finding in run(slow, 1, 0)[1]] == [f"{TOO_SLOW}; alone: {TOO_SLOW}"]


def test_waiting_is_no_time_of_the_processor_but_a_hang_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fuzz.limits.PATIENCE", 3)
    with alarms():
        with limited(0.2):
            time.sleep(0.4)
        with pytest.raises(TooSlow, match=TOO_SILENT), limited(0.2):
            time.sleep(60)


def test_time_without_a_processor_is_no_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    now, waited = [0.0], [0.0]
    monkeypatch.setattr("fuzz.limits.time.monotonic", lambda: now[0])
    monkeypatch.setattr("fuzz.limits._waited", lambda process: waited[0])
    patience = Patience(1)
    now[0], waited[0] = 500.0, 450.0
    assert not patience.is_over()
    waited[0] = 300.0
    assert patience.is_over()


def test_the_system_tells_how_long_a_process_waited_for_a_processor() -> None:
    """Two processes that are held to one processor wait for each other."""
    if not hasattr(os, "sched_setaffinity") or not Path("/proc/self/schedstat").exists():
        pytest.skip("the system does not tell")
    words = [sys.executable, "-c", "while True: pass"]
    both = [subprocess.Popen(words), subprocess.Popen(words)]
    try:
        for process in both:
            os.sched_setaffinity(process.pid, {min(os.sched_getaffinity(0))})
        before = fuzz.limits._waited(both[0].pid)
        end = time.monotonic() + 30
        while fuzz.limits._waited(both[0].pid) < before + 0.1 and time.monotonic() < end:
            time.sleep(0.05)
        assert fuzz.limits._waited(both[0].pid) >= before + 0.1
    finally:
        for process in both:
            process.kill()
            process.wait()


def test_address_space_is_no_memory_until_it_is_written_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fuzz.limits.GIGABYTE", 1 << 26)
    memory = Memory()
    with mmap.mmap(-1, GIGABYTE):
        assert not memory.is_too_large()
    with mmap.mmap(-1, 1 << 27) as taken:
        for at in range(0, len(taken), mmap.PAGESIZE):
            taken[at] = 1
    assert memory.is_too_large()  # it was given back, but it was there
    assert not memory.is_too_large()  # and is not told of another input


def test_threads_take_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each reserves a stack and room to allocate from, which an address space of a gigabyte does not hold."""
    memory, stop = Memory(), threading.Event()
    before = threading.stack_size(64 << 20)
    threads = [threading.Thread(target=stop.wait) for _ in range(24)]
    try:
        with fuzz.limits.bounded_address_space():
            for thread in threads:
                thread.start()
    finally:
        stop.set()
        threading.stack_size(before)
        for thread in threads:
            thread.join()
    assert not memory.is_too_large()


PROBLEMS = {
    "pass": "",
    "import time; time.sleep(600)": TOO_SILENT,
    "import signal; signal.setitimer(signal.ITIMER_PROF, 0.1)\nwhile True: pass": TOO_SLOW,
    "import os; os.abort()": f"signal {signal.SIGABRT.value}",
    "print('KeyError: 1'); raise SystemExit(1)": "KeyError: 1",
    "import sys; sys.exit(3)": "exit 3 before an answer",
}


@pytest.mark.parametrize("work", PROBLEMS)
def test_a_process_of_its_own_decides(work: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "python").write_text(f"#!{sys.executable}\nprint('ready', flush=True)\n{work}\n")
    (tmp_path / "python").chmod(0o700)
    monkeypatch.setattr("fuzz.trials.sys.executable", str(tmp_path / "python"))
    monkeypatch.setattr("fuzz.limits.PATIENCE", 0.2)
    assert tried_alone(Finding("lines", TOO_SLOW, RIGHT, 0, 0)) == PROBLEMS[work]


def test_a_reader_that_is_well_is_well_alone_too(tmp_path: Path) -> None:
    """The command that shows a finding again, on an input that is none."""
    assert tried_alone(Finding("lines", TOO_SLOW, RIGHT, 0, 0)) == ""


def test_a_finding_is_told_whole_and_comes_back_from_its_file(tmp_path: Path) -> None:
    content = random.Random(0).randbytes(5000)
    case = Case(content, {"words": ["\udc80", "x" * 1000]})
    finding = Finding("lines", "KeyError: " + "y" * 1000, case, 7, 11)
    told = str(finding)
    path = next((tmp_path / "findings").iterdir())
    assert Finding.load(path) == finding
    assert all(part in told for part in (finding.problem, "seed 7, input 11", f"--again {path}"))
    assert path.read_text().strip() in told


FAILING = """
import sys
import fuzz.__main__ as main, fuzz.readers as readers
readers._problem = lambda read, path, policy: "x" * 2000 if path.name == "input-lines" else ""
sys.argv = ["fuzz", "--only", "readers", "--inputs", "3", "--seconds", "60", *sys.argv[1:]]
main.main()
"""


def test_findings_are_the_last_lines(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE), *filter(None, sys.path)])}
    environment["FUZZ_FINDINGS"] = str(tmp_path / "kept")
    done = subprocess.run(
        [sys.executable, "-c", FAILING], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1, done.stderr
    last = done.stdout[done.stdout.rindex("3 findings") :]
    assert last.count("x" * 2000) >= 3
    assert last.count("--again") == 3
    assert len(list((tmp_path / "kept").iterdir())) == 3


def test_the_drawn_inputs_of_a_seed_are_the_same(tmp_path: Path) -> None:
    """So that a finding's seed and number say what it was."""
    seeds = {"lines": RIGHT.content}
    drawn = [[reader("lines", tmp_path, seeds).draw(random.Random(3)) for _ in range(2)] for _ in range(2)]
    assert drawn[0] == drawn[1]
