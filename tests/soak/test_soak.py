"""Some rounds of the soak; `make soak` takes its time."""

from __future__ import annotations

import contextlib
import gc
import io
import threading
import weakref
from pathlib import Path

import pytest

from sigmastar.cli import command
from soak.rounds import Measure, growth, soak


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is read from /proc")
def test_files_and_threads_do_not_grow(tmp_path: Path) -> None:
    problems = growth(soak(tmp_path, 0.0))
    assert not [problem for problem in problems if "memory" not in problem]  # six rounds: caches still fill


def test_what_grows_is_found(tmp_path: Path) -> None:
    kept, end = list[object](), threading.Event()

    def leaking(place: Path, number: int) -> None:
        kept.append(b"x" * (30 << 20))  # a process of tests may hold a gigabyte; zeros would not be taken
        kept.append(open(place / str(number), "w"))  # noqa: SIM115
        thread = threading.Thread(target=end.wait)
        thread.start()

    try:
        found = "; ".join(growth(soak(tmp_path, 0.0, leaking, 9)))
    finally:
        end.set()
        for stream in kept[1::2]:
            stream.close()  # type: ignore[attr-defined]
    assert "memory grew" in found
    assert "files grew" in found
    assert "threads grew" in found


def test_a_little_noise_is_no_growth() -> None:
    measures = [Measure(100_000_000 + 500_000 * (k % 3), 10, 3) for k in range(12)]
    assert growth(measures) == []


@pytest.mark.parametrize(
    "words",
    [("score", "no model", "no data"), ("learn", "nothing"), ("learn", "automaton", "DATA", "-o", "MODEL")],
)
def test_no_stream_outlives_its_command(words: tuple[str, ...], tmp_path: Path) -> None:
    """A program that gives each command a stream of its own does not keep them all."""
    (tmp_path / "DATA").write_text("a b\nb\na a b\n" * 20)
    typed = [str(tmp_path / word) if word.isupper() else word for word in words]

    def told() -> tuple[str, weakref.ref[io.StringIO]]:
        stream = io.StringIO()
        with contextlib.redirect_stderr(stream), pytest.raises(SystemExit):
            command(typed, prog_name="sigmastar")
        return stream.getvalue(), weakref.ref(stream)

    text, stream = told()
    gc.collect()
    assert text
    assert stream() is None
