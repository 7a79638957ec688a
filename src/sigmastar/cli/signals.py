"""Signals: an interrupt or an end that comes where an exception would do harm waits a moment.

Compiled code and the compiler call back into Python in places that expect no exception: it would be lost,
or end in a segmentation fault. And Python hears no signal while its main thread is inside a kernel, which may
run for minutes: a thread of its own hears all of them, and ends the process where the main one is silent.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from types import FrameType

from sigmastar.core.atomic import remove_unfinished

_CALLED_FROM_NATIVE_CODE = ("numba/core/serialize.py", "llvmlite/binding/executionengine.py")
_A_MOMENT = 0.02
_PATIENCE = 0.7  # seconds that the main thread has to answer a signal
_last_answer = 0.0


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
