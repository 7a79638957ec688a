"""Models that are being opened: each once, two at a time, the one that was asked for last first.

A first opening may learn a model and compile what answers it. Whoever looks through a list of models asks for
several on the way to one: those that were passed by wait, and keep no thread from answering.
"""

from __future__ import annotations

import threading
from concurrent.futures import Future, ThreadPoolExecutor

from sigmastar.explorer.gallery import Shown


class Openings:
    """What becomes of the models that were asked for."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(2, "openings")
        self._lock = threading.Lock()
        self._waiting: list[Shown] = []
        self._futures: dict[Shown, Future[None]] = {}

    def of(self, shown: Shown) -> Future[None]:
        """What is done when a model is open; one that failed is tried again."""
        with self._lock:
            known = self._futures.get(shown)
            if shown in self._waiting:
                self._waiting.remove(shown)
                self._waiting.append(shown)
            if known is not None and not (known.done() and known.exception()):
                return known
            future = self._futures[shown] = Future()
            future.set_running_or_notify_cancel()  # who gives up waiting does not end it for others
            self._waiting.append(shown)
            self._pool.submit(self._open_last)
            return future

    def end(self) -> None:
        """Open no more."""
        self._pool.shutdown(cancel_futures=True)

    def _open_last(self) -> None:
        with self._lock:
            shown = self._waiting.pop()
            future = self._futures[shown]
        try:
            shown.open()
        except BaseException as problem:
            future.set_exception(problem)
        else:
            future.set_result(None)
