"""What ends a command early: errors, in one line with an exit status, signals, and closed streams.

exit 1    the work failed: one line on standard error: where, why, and what to do
exit 2    the call was wrong
exit 141  whoever read the output left, as head does: the status of a process that SIGPIPE ended
exit 130  interrupted; files appear whole or not at all, so nothing partial is left
exit 143  ended by SIGTERM (129 by SIGHUP), likewise

An interrupt or an end that comes where an exception would do harm waits a moment: compiled code and the
compiler call back into Python in places that expect no exception. It would be lost, or end in a segmentation
fault. And Python hears no signal while its main thread is inside a kernel, which may run for minutes: a
thread of its own hears all of them, and ends the process where the main one is silent.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
import threading
import time
import traceback
from contextlib import suppress
from types import FrameType
from typing import Any

import click

from sigmastar.core.atomic import remove_unfinished
from sigmastar.core.errors import InputError
from sigmastar.core.progress import tell

TRACEBACK = "SIGMASTAR_TRACEBACK"
OF_MODEL = "sigmastar.of_model"  # in the context of a command on a model whose family is known
_CALLED_FROM_NATIVE_CODE = ("numba/core/serialize.py", "llvmlite/binding/executionengine.py")
_A_MOMENT = 0.02
_PATIENCE = 0.7  # seconds that the main thread has to answer a signal
_last_answer = 0.0


# click before 8.2 prints the help itself
_NO_ARGUMENTS: tuple[type[click.UsageError], ...] = (
    (click.exceptions.NoArgsIsHelpError,) if hasattr(click.exceptions, "NoArgsIsHelpError") else ()
)


class Ended(SystemExit):
    """SIGTERM or SIGHUP; the code is what shells make of the signal."""


def hear_signals() -> None:
    """Let Ctrl-C, SIGTERM and SIGHUP end the work in order, unless the caller has them ignored (`nohup`)."""
    if signal.getsignal(signal.SIGINT) == signal.default_int_handler:
        signal.signal(signal.SIGINT, _heard)
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, _heard)
    if os.name == "posix" and threading.current_thread() is threading.main_thread():
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        threading.Thread(target=_watch, args=(reader,), daemon=True).start()


def _watch(reader: int) -> None:
    """Read every signal as it comes; what is not answered in time is answered here."""
    while True:
        for number in os.read(reader, 64):
            if signal.getsignal(number) is not _heard:
                continue
            came = time.monotonic()
            time.sleep(_PATIENCE)
            if _last_answer < came - _PATIENCE:
                _end_at_once(number)


def _end_at_once(number: int) -> None:
    remove_unfinished()
    what = "interrupted" if number == signal.SIGINT else f"ended by {signal.Signals(number).name}"
    shown = "\r\x1b[K\x1b[?25h" if os.isatty(2) else ""  # a bar may stand there, and hide the cursor
    try:
        os.write(2, f"{shown}sigmastar: {what}; no unfinished file is left\n".encode())
    finally:
        os._exit(128 + number)


def _heard(number: int, frame: FrameType | None) -> None:
    global _last_answer
    _last_answer = time.monotonic()
    if _called_from_native_code(frame):
        # Not raise_signal: it is the main thread that must hear it, whatever that waits for.
        main = threading.main_thread().ident or 0
        again = threading.Timer(_A_MOMENT, signal.pthread_kill, (main, number))
        again.daemon = True
        again.start()
    elif number == signal.SIGINT:
        raise KeyboardInterrupt
    else:
        raise Ended(128 + number)


def _called_from_native_code(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename.replace("\\", "/").endswith(_CALLED_FROM_NATIVE_CODE):
            return True
        frame = frame.f_back
    return False


def open_closed_streams() -> None:
    """Services run commands without streams: no file may take their places, and no message may fail."""
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        if getattr(sys, name) is None:
            flags = os.O_RDWR if name == "stderr" else os.O_RDONLY if mode == "w" else os.O_WRONLY
            handle = os.open(os.devnull, flags)  # the wrong way round: what is asked of it is an error
            if handle != number:
                os.dup2(handle, number)
                os.close(handle)
            setattr(sys, name, os.fdopen(number, mode, closefd=False))


class Interrupted(Exception):
    """Ctrl-C."""


class Unread(Exception):
    """Whoever read standard output left."""


def report(problem: BaseException) -> int:
    """Print what went wrong, in one line; the exit status."""
    if isinstance(problem, (BrokenPipeError, Unread)):
        _silence_output()
        return 141
    if isinstance(problem, SystemExit) and not isinstance(problem, Ended):
        return problem.code if isinstance(problem.code, int) else 1
    if isinstance(problem, OSError) and problem.errno == errno.EBADF and problem.filename is None:
        _silence_output()
        problem = InputError("is closed; give a file with -o", file="standard output")
    if isinstance(problem, _NO_ARGUMENTS):  # the message is the whole help
        problem.show()
        return problem.exit_code
    if os.environ.get(TRACEBACK):
        traceback.print_exception(problem)
    message, status = _in_words(problem)
    tell(f"sigmastar: {' '.join(message.split())}")
    return status


def _cause(problem: BaseException | None, kinds: Any) -> BaseException | None:
    """The error of some kind that this one came from: inside a compiled kernel Ctrl-C is a SystemError."""
    while problem is not None and not isinstance(problem, kinds):
        problem = problem.__cause__ or problem.__context__
    return problem


def _in_words(problem: BaseException) -> tuple[str, int]:
    if isinstance(problem, click.UsageError):
        return _usage(problem), problem.exit_code
    if isinstance(problem, click.ClickException):
        return problem.format_message(), problem.exit_code
    if (ended := _cause(problem, Ended)) is not None:
        name = signal.Signals(int(str(ended)) - 128).name
        return f"ended by {name}; no unfinished file is left", int(str(ended))
    if _cause(problem, (Interrupted, KeyboardInterrupt, click.Abort)) is not None:
        return "interrupted; no unfinished file is left", 130
    if isinstance(problem, MemoryError) and not isinstance(problem, InputError):
        return "out of memory; use fewer strings, states or symbols, or a larger --max-memory", 1
    if isinstance(problem, (InputError, ImportError)):
        return str(problem), 1
    if isinstance(problem, OSError):
        place = f"{problem.filename}: " if problem.filename else ""
        return f"{place}{problem.strerror or problem}", 1
    if isinstance(problem, ValueError):
        return str(problem), 1
    kind = type(problem).__name__
    return f"unexpected {kind}: {problem}; this is a bug, set {TRACEBACK}=1 for the place and report it", 1


def _usage(problem: click.UsageError) -> str:
    path = problem.ctx.command_path if problem.ctx else "sigmastar"
    if problem.ctx and OF_MODEL in problem.ctx.meta:
        path += " MODEL"  # the options are those of its family
    text = problem.format_message().rstrip(".")
    return f"{text}{'' if text.endswith('?') else ';'} see {path} --help"


def _silence_output() -> None:
    """The reader of our output is gone: let the interpreter's last flush go nowhere."""
    with suppress(OSError, ValueError):  # where standard output is no file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
