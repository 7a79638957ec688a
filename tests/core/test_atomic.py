"""A file is written whole or not at all."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from interrupts import hear_interrupts
from sigmastar.core.atomic import atomic_write, atomic_write_bytes, require_folder
from sigmastar.core.errors import InputError


def test_text_appears_at_the_end_of_the_block(tmp_path: Path) -> None:
    path = tmp_path / "out"
    with atomic_write(path) as stream:
        stream.write("é\n")
        assert not path.exists()
    assert path.read_bytes() == "é\n".encode()
    assert os.listdir(tmp_path) == ["out"]


def test_bytes(tmp_path: Path) -> None:
    atomic_write_bytes(tmp_path / "out", b"\x00\xff")
    assert (tmp_path / "out").read_bytes() == b"\x00\xff"


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_an_error_or_interrupt_leaves_the_old_file(error: type[BaseException], tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_text("old")

    def write() -> None:
        with atomic_write(path) as stream:
            stream.write("new" * 100_000)
            raise error

    with pytest.raises(error):
        write()
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["out"]


def test_a_real_interrupt_leaves_nothing(tmp_path: Path) -> None:
    program = (
        "import sys, time\nfrom sigmastar.core.atomic import atomic_write\n"
        "with atomic_write(sys.argv[1]) as stream:\n"
        "    stream.write('half'); stream.flush(); print('ready', flush=True); time.sleep(60)\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path / "out")],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        preexec_fn=hear_interrupts,
    )
    assert child.stdout is not None
    with child.stdout:
        assert child.stdout.readline() == b"ready\n"
        assert len(os.listdir(tmp_path)) == 1
        time.sleep(0.05)
        child.send_signal(signal.SIGINT)
        assert child.wait(20) != 0
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no /dev/full")
@pytest.mark.parametrize("size", [1, 1_000_000])
def test_a_full_disk_is_one_clear_error(size: int) -> None:
    def write() -> None:
        with atomic_write("/dev/full") as stream:
            stream.write("x" * size)

    with pytest.raises(InputError, match=r"^/dev/full: no space left on device") as caught:
        write()
    assert "\n" not in str(caught.value)
    with pytest.raises(InputError, match="no space left on device"):
        atomic_write_bytes("/dev/full", b"x" * size)


def test_a_full_disk_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "out"
    path.write_text("old")

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match=r"out: no space left on device; free some space"):
        atomic_write_bytes(path, b"new")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["out"]


def test_standard_output(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    with atomic_write("-") as stream:
        stream.write("text\n")
    atomic_write_bytes("/dev/stdout", b"\xff")
    assert capsysbinary.readouterr().out == b"text\n\xff"


def test_a_named_pipe_is_written_directly(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    atomic_write_bytes(pipe, b"through")
    assert os.read(reader, 100) == b"through"
    os.close(reader)
    assert os.listdir(tmp_path) == ["pipe"]


def test_links_and_modes_stay(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("old")
    (tmp_path / "real").chmod(0o640)
    (tmp_path / "link").symlink_to("real")
    with atomic_write(tmp_path / "link") as stream:
        stream.write("new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"
    assert (tmp_path / "real").stat().st_mode & 0o777 == 0o640


def test_a_new_file_has_the_mode_of_the_mask(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        atomic_write_bytes(tmp_path / "out", b"")
    finally:
        os.umask(before)
    assert (tmp_path / "out").stat().st_mode & 0o777 == 0o640


def test_wrong_targets_say_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is a folder; give the name of a file"):
        atomic_write_bytes(tmp_path, b"")
    with pytest.raises(InputError, match=r"the folder .*nowhere does not exist; make it first"):
        atomic_write_bytes(tmp_path / "nowhere" / "out", b"")


def test_errors_of_the_block_itself_pass_through(tmp_path: Path) -> None:
    def write() -> None:
        with atomic_write(tmp_path / "out"):
            (tmp_path / "other").read_text()

    with pytest.raises(FileNotFoundError, match="other"):
        write()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no /dev/full")
def test_standard_output_on_a_full_disk() -> None:
    program = (
        "from sigmastar.core.atomic import atomic_write\n"
        "with atomic_write('-') as stream: stream.write('x')\n"
    )
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-c", program], stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert done.returncode != 0
    assert b"standard output: no space left on device" in done.stderr


def test_a_protected_file_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_text("old")
    path.chmod(0o444)
    for write in (lambda: atomic_write_bytes(path, b"new"), lambda: require_folder(str(path))):
        with pytest.raises(InputError, match="is write-protected"):
            write()
    assert path.read_text() == "old"


def test_what_killed_writers_left_is_swept(tmp_path: Path) -> None:
    left, fresh, other = (
        tmp_path / f".{name}.part" for name in ("out.0123456789ab", "out.ba9876543210", "out.txt")
    )
    for path in (left, fresh, other):
        path.write_text("half")
    for path in (left, other):
        os.utime(path, (1.0, 1.0))
    atomic_write_bytes(tmp_path / "out", b"new")
    assert sorted(os.listdir(tmp_path)) == sorted([fresh.name, other.name, "out"])
