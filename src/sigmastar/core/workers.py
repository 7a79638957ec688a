"""Worker processes that end with the process that began them, however that ends.

An interrupt, an end by a signal or an error does not wait for tasks that run: their workers are ended. Where
the process is killed it can end nobody, and workers would wait for tasks for ever: each watches its parent.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from types import TracebackType
from typing import Any


class WorkerPool(ProcessPoolExecutor):
    """A pool of processes, each a new interpreter; a block that fails or is interrupted ends them.

    Parameters
    ----------
    n_workers : int
        Their number.
    begin : callable, optional
        What a worker calls first.
    *arguments : object
        Arguments of `begin`; queues of processes may be among them.
    """

    def __init__(self, n_workers: int, begin: Callable[..., None] | None = None, *arguments: Any) -> None:
        super().__init__(n_workers, multiprocessing.get_context("spawn"), _begin, (begin, arguments))

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        if kind is not None:
            self.end()
        return super().__exit__(kind, problem, trace)

    def end(self) -> None:
        """End the workers without waiting for what they do; tasks that run are lost."""
        for worker in list((getattr(self, "_processes", None) or {}).values()):
            worker.terminate()
        self.shutdown(cancel_futures=True)


def _begin(begin: Callable[..., None] | None, arguments: tuple[Any, ...]) -> None:
    """An interrupt ends a worker and prints nothing: the process that started it reports."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    if begin is not None:
        begin(*arguments)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
