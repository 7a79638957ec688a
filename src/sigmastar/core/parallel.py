"""Threads for kernels that release the interpreter lock, and worker processes that end with the process that
began them, however that ends; tasks on processes and clusters are spread by `core.engines`.

An interrupt, an end by a signal or an error does not wait for tasks that run: their workers are ended. Where
the process is killed it can end nobody, and workers would wait for tasks for ever: each watches its parent.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from types import TracebackType
from typing import Any, TypeVar

Shard = TypeVar("Shard")
Part = TypeVar("Part")
Mapper = Callable[..., Iterable[Any]]
"""How tasks are run: one after the other (`map`), or side by side (`thread_map`)."""


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Keep BLAS to one thread inside: small products gain nothing from more, and shards use the cores."""
    from threadpoolctl import threadpool_limits  # which models read by `sigmastar.runtime` do without

    with threadpool_limits(limits=1, user_api="blas"):
        yield


_n_threads: ContextVar[int | None] = ContextVar("n_threads", default=None)


@contextmanager
def limited_threads(n_threads: int | None) -> Iterator[None]:
    """Inside, kernels on shards share `n_threads` threads (None: one a core), and BLAS has one in each."""
    if n_threads is not None and n_threads < 1:
        raise ValueError(f"n_threads={n_threads} must be at least 1")
    token = _n_threads.set(n_threads)
    try:
        with one_blas_thread():
            yield
    finally:
        _n_threads.reset(token)


def thread_map(task: Callable[[Shard], Part], shards: Sequence[Shard]) -> list[Part]:
    """The task on every shard, in order. For kernels that release the interpreter lock.

    The caller works too: a thread fewer to start, and a core that is awake already.
    """
    n_threads = min(_n_threads.get() or os.cpu_count() or 1, len(shards))
    if n_threads <= 1:
        return [task(shard) for shard in shards]
    parts: dict[int, Part] = {}
    waiting = iter(range(len(shards)))  # shared: whoever is free takes the next

    def work() -> None:
        try:
            for number in waiting:
                parts[number] = task(shards[number])
        except BaseException:
            deque(waiting, maxlen=0)  # the others need not go on
            raise

    with ThreadPoolExecutor(n_threads - 1) as pool:
        others = [pool.submit(work) for _ in range(n_threads - 1)]
        work()
        for other in others:
            other.result()
    return [parts[number] for number in range(len(shards))]


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
