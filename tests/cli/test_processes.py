"""The command as the shell sees it: what it loads, signals, pipes, full disks."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from interrupts import hear_interrupts

SIGMASTAR = [sys.executable, "-m", "sigmastar"]
TERMINAL = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
HEAVY = {"numpy", "numba", "scipy", "rich", "safetensors", "matplotlib"}


def loaded_after(*words: str) -> set[str]:
    code = (
        "import sys, json, atexit\n"
        "atexit.register(lambda: print(json.dumps(sorted(sys.modules)), file=sys.stderr))\n"
        f"sys.argv = {['sigmastar', *words]!r}\n"
        "from sigmastar.cli import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    return set(json.loads(done.stderr.splitlines()[-1]))


@pytest.mark.parametrize(
    "words", [("--help",), ("--version",), ("learn", "--help"), ("score", "--help"), ("lern",), ()]
)
def test_help_loads_nothing_heavy(words: tuple[str, ...]) -> None:
    assert not loaded_after(*words) & HEAVY


def test_the_check_of_what_is_loaded_can_fail() -> None:
    assert "numpy" in loaded_after("learn", "automaton", "--help")


def test_results_and_messages_go_their_own_ways(folder: Path) -> None:
    done = subprocess.run(
        [*SIGMASTAR, "score", folder / "fast.model", "-", "-q"], input="a b\n", capture_output=True, text=True
    )
    assert done.returncode == 0
    assert float(done.stdout) < 0
    assert done.stderr == ""


def test_a_reader_that_leaves_is_no_error_message(folder: Path) -> None:
    words = [*SIGMASTAR, "sample", folder / "ngram.model", "-n", "50000", "-q"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 141  # 128 and the number of SIGPIPE


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_full_disk_behind_standard_output(folder: Path) -> None:
    for words in (["show", folder / "fast.model"], ["sample", folder / "fast.model"], ["--help"]):
        with open("/dev/full", "w") as full:
            done = subprocess.run([*SIGMASTAR, *words], stdout=full, stderr=subprocess.PIPE, text=True)
        assert done.returncode == 1
        assert done.stderr.count("\n") == 1
        assert "no space left on device" in done.stderr.lower()


def on_terminal(*words: str | Path, interrupt_at: str | None = None) -> tuple[int, bytes, str]:
    """Run with standard error on a terminal: the status, standard output, and what the terminal saw."""
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [*SIGMASTAR, *words],
        stdout=subprocess.PIPE,
        stderr=follower,
        env=TERMINAL,
        preexec_fn=hear_interrupts,
    )
    os.close(follower)
    seen, alarm = "", threading.Timer(120, process.kill)
    alarm.start()
    try:
        while text := _read(leader):
            seen += text
            if interrupt_at is not None and interrupt_at in seen:
                process.send_signal(signal.SIGINT)
                interrupt_at = None
        printed, _ = process.communicate()
    finally:
        alarm.cancel()
        os.close(leader)
    return process.returncode, printed, seen


def _read(terminal: int) -> str:
    try:
        return os.read(terminal, 10_000).decode(errors="replace")
    except OSError:  # the other side is closed
        return ""


def test_an_interrupt_during_training_leaves_nothing(folder: Path, tmp_path: Path) -> None:
    call = (
        "learn",
        "automaton",
        folder / "lines.txt",
        "--method",
        "em",
        "--seeds",
        "100000",
        "--states",
        "5",
    )
    status, printed, seen = on_terminal(*call, "-o", tmp_path / "m", interrupt_at="iteration")
    assert (status, printed) == (130, b"")
    assert "sigmastar: interrupted; no unfinished file is left" in seen
    assert "Traceback" not in seen
    assert list(tmp_path.iterdir()) == []


def test_an_interrupt_before_the_work_is_told() -> None:
    script = (
        "import sys\n"
        "from sigmastar.cli import group\n"
        "def interrupted():\n    raise KeyboardInterrupt\n"
        "group.hear_signals = interrupted\n"
        "sys.argv = ['sigmastar', '--version']\n"
        "group.main()\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (130, "sigmastar: interrupted; no unfinished file is left\n")


def test_an_interrupt_while_the_command_line_is_imported_is_told() -> None:
    script = (
        "import builtins, runpy\n"
        "real = builtins.__import__\n"
        "def interrupted(name, *more, **named):\n"
        "    if name.startswith('sigmastar.cli'):\n"
        "        raise KeyboardInterrupt\n"
        "    return real(name, *more, **named)\n"
        "builtins.__import__ = interrupted\n"
        "runpy.run_module('sigmastar', run_name='__main__', alter_sys=True)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (130, "sigmastar: interrupted; no unfinished file is left\n")


LONG_KERNEL = """
import os, signal, sys, threading
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # whoever runs the tests may have it ignored, as nohup does
from sigmastar.cli.failures import hear_signals
from sigmastar.core.atomic import atomic_write
from sigmastar.core.jit import kernel

@kernel
def spin(n):
    total = 1
    for k in range(n):
        total = (total * 31 + k) % 1_000_003
    return total

spin(10)
hear_signals()
with atomic_write(sys.argv[1]) as stream:
    stream.write("half of it")
    stream.flush()
    threading.Timer(0.5, os.kill, (os.getpid(), int(sys.argv[2]))).start()
    spin(10**13)
"""


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (signal.SIGINT, "interrupted"),
        (signal.SIGTERM, "ended by SIGTERM"),
        (signal.SIGHUP, "ended by SIGHUP"),
    ],
)
def test_signals_inside_a_long_kernel_are_answered(tmp_path: Path, number: int, said: str) -> None:
    (tmp_path / "script.py").write_text(LONG_KERNEL)  # a file: its kernel is kept
    done = subprocess.run(
        [sys.executable, tmp_path / "script.py", tmp_path / "out", str(int(number))],
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=hear_interrupts,
        timeout=60,
    )
    assert done.returncode == 128 + number
    assert done.stderr == f"sigmastar: {said}; no unfinished file is left\n"
    assert not list(tmp_path.glob("*out*"))


INTERRUPTED_KERNEL = """
import signal, time
from typing import NamedTuple
import numpy as np
from sigmastar.core.jit import kernel

class Sums(NamedTuple):
    first: np.ndarray
    second: np.ndarray

@kernel
def twice(numbers):
    return Sums(2 * numbers, numbers)

def interrupt(number, frame):
    raise KeyboardInterrupt

numbers, caught = np.ones(100_000), 0
twice(numbers)
signal.signal(signal.SIGALRM, interrupt)
end = time.monotonic() + 2  # most of the time is in the kernel
while time.monotonic() < end:
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.0005)
        while True:
            twice(numbers)
    except (KeyboardInterrupt, SystemError):
        caught += 1
print(caught)
"""


def test_interrupts_between_kernels_do_not_crash(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(INTERRUPTED_KERNEL)
    done = subprocess.run([sys.executable, tmp_path / "script.py"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert int(done.stdout) > 50


def test_signals_wait_where_native_code_takes_no_exception() -> None:
    """As llvmlite's callbacks: what is raised inside is printed and lost."""
    script = (
        "import signal, time\n"
        "from sigmastar.cli.failures import hear_signals\n"
        "hear_signals()\n"
        "def callback():\n    signal.raise_signal(signal.SIGINT)\n    return 'whole'\n"
        "code = callback.__code__.replace(co_filename='/x/llvmlite/binding/executionengine.py')\n"
        "callback.__code__ = code\n"
        "print(callback())\n"
        "try:\n    time.sleep(30)\nexcept KeyboardInterrupt:\n    print('heard')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, preexec_fn=hear_interrupts
    )
    assert done.stdout.split() == ["whole", "heard"]


def test_a_terminal_sees_progress(folder: Path, tmp_path: Path) -> None:
    call = ("learn", "automaton", folder / "lines.txt", "-o", tmp_path / "m")
    status, printed, seen = on_terminal(*call)
    assert (status, printed) == (0, b"")
    assert "\x1b[" in seen
    assert "states" in seen
    status, printed, seen = on_terminal(*call, "--quiet")
    assert (status, printed, seen) == (0, b"", "")


def test_an_interrupt_ends_the_families_of_the_demo(tmp_path: Path) -> None:
    status, printed, seen = on_terminal(
        "demo", "--processes", "2", "--out", tmp_path, interrupt_at="automata:"
    )
    assert (status, printed) == (130, b"")
    assert "sigmastar: interrupted; no unfinished file is left" in seen
    assert "Traceback" not in seen
    assert list(tmp_path.iterdir()) == []
