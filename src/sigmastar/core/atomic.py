"""Writing files all at once or not at all.

A file is written under a temporary name in its own folder, flushed to the disk, and renamed over the
target; an error or an interrupt removes it, so that a reader never meets half a file. What a process left
that was killed is removed by the next one that writes the same file, an hour later. Standard output (`-`) and
targets that are no regular files (pipes, devices) cannot be renamed over and are written directly.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import stat
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, TextIO

from sigmastar.core.errors import InputError

STANDARD = ("-", "/dev/stdout")
_STANDARD_NAME = "standard output"
_ABANDONED = 3600.0  # seconds after which nobody writes to a temporary file any more
_DISK_ERRORS = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS}
_unfinished: set[str] = set()  # temporary files of this process


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[TextIO]:
    """A UTF-8 text stream; the file appears under `path` when the block ends without an error."""
    with _writing(path, binary=False) as stream:
        yield stream


def atomic_write_bytes(path: str | os.PathLike[str], content: bytes) -> None:
    """Write `content` to `path`, all of it or nothing."""
    atomic_write_pieces(path, [content])


def atomic_write_pieces(path: str | os.PathLike[str], pieces: Iterable[bytes | memoryview]) -> None:
    """Write `pieces` one after the other to `path`, all of them or nothing."""
    with _writing(path, binary=True) as stream:
        for piece in pieces:
            stream.write(piece)


def remove_unfinished() -> None:
    """Remove the temporary files of this process, which is about to end without leaving its blocks."""
    for name in list(_unfinished):
        with suppress(OSError):
            os.unlink(name)


def require_folder(output: str) -> None:
    """Refuse a place that does not exist, or a file that is protected, before the work, not after it."""
    if not output:
        raise InputError("the output has an empty name; give -o the name of a file, or - for standard output")
    folder = os.path.dirname(os.path.realpath(output) if os.path.islink(output) else output) or "."
    if output != "-" and not os.path.isdir(folder):
        raise InputError(f"the folder {folder} does not exist; make it first", file=output)
    if output != "-" and os.path.isfile(output):
        _require_unprotected(output, output)


def refuse_terminal(output: str) -> None:
    """Refuse to write a file of bytes to a terminal, where it is of no use and may change how it writes."""
    if output in STANDARD and sys.stdout.isatty():
        raise InputError("is a terminal, and this is no text; give -o a file", file=_STANDARD_NAME)


@contextmanager
def _writing(path: str | os.PathLike[str], binary: bool) -> Iterator[Any]:
    name = os.fspath(path)
    if not name:
        raise InputError("the output has an empty name; give the name of a file, or - for standard output")
    try:
        if name in STANDARD:
            with _standard_output(binary) as stream:
                yield stream
        elif _is_special(name):
            with _direct(name, binary) as stream:
                yield stream
        else:
            with _renamed(name, binary) as stream:
                yield stream
    except OSError as problem:
        if problem.errno in _DISK_ERRORS:
            file = _STANDARD_NAME if name in STANDARD else name
            raise InputError(f"{_words(problem)}; free some space or write elsewhere", file=file) from None
        raise


@contextmanager
def _standard_output(binary: bool) -> Iterator[Any]:
    if binary:
        refuse_terminal("-")
    stream = sys.stdout.buffer if binary else sys.stdout
    yield stream
    stream.flush()


@contextmanager
def _direct(name: str, binary: bool) -> Iterator[Any]:
    stream = _opened(name, name, os.O_WRONLY, binary)
    try:
        yield stream
        stream.flush()
    finally:
        with suppress(OSError):  # closing flushes once more: the first error is the one to tell
            stream.close()


@contextmanager
def _renamed(name: str, binary: bool) -> Iterator[Any]:
    target = Path(os.path.realpath(name))  # a link stays, what it points to is replaced
    if target.exists():
        _require_unprotected(str(target), name)
    temporary = target.with_name(f".{target.name[:200]}.{secrets.token_hex(6)}.part")
    stream: IO[Any] | None = None
    _unfinished.add(str(temporary))
    try:
        stream = _opened(str(temporary), name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, binary)
        yield stream
        stream.flush()
        os.fsync(stream.fileno())
        stream.close()
        _keep_mode(temporary, target)
        os.replace(temporary, target)
    except BaseException:  # KeyboardInterrupt too
        if stream is not None:
            with suppress(OSError):
                stream.close()
        temporary.unlink(missing_ok=True)
        raise
    finally:
        _unfinished.discard(str(temporary))
    _sync_folder(target.parent)
    _sweep(target)


def _require_unprotected(path: str, name: str) -> None:
    """A rename does not ask whether the file that it replaces may be written."""
    if not os.stat(path).st_mode & 0o222 or not os.access(path, os.W_OK):
        raise InputError("is write-protected; choose another name, or chmod u+w it first", file=name)


def _sweep(target: Path) -> None:
    """Remove what processes left that were killed while they wrote the same file."""
    left = re.compile(re.escape(f".{target.name[:200]}.") + r"[0-9a-f]{12}\.part")
    with suppress(OSError), os.scandir(target.parent) as files:
        for file in files:
            if left.fullmatch(file.name) and time.time() - file.stat().st_mtime > _ABANDONED:
                os.unlink(file.path)


def _opened(path: str, name: str, flags: int, binary: bool) -> IO[Any]:
    try:
        handle = os.open(path, flags | getattr(os, "O_CLOEXEC", 0), 0o666)
    except OSError as problem:
        raise InputError(_cannot_write(problem, name), file=name) from None
    return os.fdopen(handle, "wb") if binary else os.fdopen(handle, "w", encoding="utf-8", newline="\n")


def _is_special(name: str) -> bool:
    """Whether the target exists and is no regular file; a folder is refused."""
    try:
        mode = os.stat(name).st_mode
    except OSError:
        return False
    if stat.S_ISDIR(mode):
        raise InputError("is a folder; give the name of a file to write", file=name)
    return not stat.S_ISREG(mode) or name.startswith(("/dev/fd/", "/dev/std", "/proc/"))


def _keep_mode(temporary: Path, target: Path) -> None:
    with suppress(FileNotFoundError):  # a new file has the mode that the user's mask gives
        temporary.chmod(stat.S_IMODE(target.stat().st_mode))


def _sync_folder(folder: Path) -> None:
    """Make the rename itself durable, where the system can."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _cannot_write(problem: OSError, name: str) -> str:
    folder = os.path.dirname(name) or "."
    if problem.errno in (errno.ENOENT, errno.ENOTDIR):
        return f"the folder {folder} does not exist; make it first"
    if problem.errno in (errno.EACCES, errno.EPERM):
        return f"no permission to write in {folder}; choose another place"
    return f"cannot be written: {_words(problem)}"


def _words(problem: OSError) -> str:
    words = os.strerror(problem.errno or 0)
    return words[:1].lower() + words[1:]


def write_lines(output: str, lines: Iterable[str]) -> None:
    """Write lines, given without their ends; `-` is standard output."""
    with atomic_write(output) as stream:
        stream.writelines(f"{line}\n" for line in lines)
