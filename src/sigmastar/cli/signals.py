"""Signals: an interrupt or an end that comes where an exception would do harm waits a moment.

Compiled code and the compiler call back into Python in places that expect no exception: it would be lost,
or end in a segmentation fault.
"""

from __future__ import annotations

import signal
import threading
from types import FrameType

_CALLED_FROM_NATIVE_CODE = ("numba/core/serialize.py", "llvmlite/binding/executionengine.py")
_A_MOMENT = 0.02


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


def _heard(number: int, frame: FrameType | None) -> None:
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
