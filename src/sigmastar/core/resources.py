"""What a process may take of the machine: threads, worker processes, memory.

Threads are for kernels that release the interpreter lock. Worker processes end with the process that began
them, however that ends; tasks on processes and clusters are spread by `core.engines`. An interrupt, an end by
a signal or an error does not wait for tasks that run: their workers are ended. Where the process is killed it
can end nobody, and workers would wait for tasks for ever: each watches its parent.

Linux promises memory that it does not have and then ends the process. Inside `limited` an allocation above
the limit is a `MemoryError` instead, and work whose size is known beforehand asks `require_memory` before it
begins.
"""

from __future__ import annotations

import multiprocessing
import os
import re
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from sigmastar.core.errors import InputError

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


_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_LEAST = 256 << 20  # below this the interpreter and its libraries do not fit
_RESERVE = 256 << 20  # left to everything else on the machine
_CONTROL_GROUPS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")

_LIMIT: ContextVar[int | None] = ContextVar("memory", default=None)


def parsed_size(text: str) -> int:
    """A number of bytes, written with a unit.

    Parameters
    ----------
    text : str
        Such as 500M or 2G.

    Returns
    -------
    int
        Bytes.

    Examples
    --------
    >>> parsed_size("2G"), parsed_size("512 MB")
    (2147483648, 536870912)
    """
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)i?B?\s*", text, re.IGNORECASE)
    if found is None:
        raise ValueError(f"{text!r} is no size; write it as 500M or 2G")
    size = int(float(found[1]) * _UNITS[found[2].upper()])
    if size < _LEAST:
        raise ValueError(f"{text} is too little; the least is {written_size(_LEAST)}")
    return size


def written_size(n_bytes: float) -> str:
    """A size for people: two digits and a unit."""
    for unit, factor in reversed(_UNITS.items()):
        if n_bytes >= factor:
            return (
                f"{n_bytes / factor:.2g} {unit}B"
                if n_bytes < 100 * factor
                else f"{n_bytes / factor:.0f} {unit}B"
            )
    return f"{n_bytes:.0f} B"


def free_memory() -> int:
    """Bytes that this process may still take: the limit around, the container's, or what the machine has."""
    limit = _LIMIT.get()
    return _free_on_machine() if limit is None else min(limit - _taken(), _free_on_machine())


def require_memory(n_bytes: float, work: str, remedy: str) -> None:
    """Refuse work that would take more memory than there is.

    Parameters
    ----------
    n_bytes : float
        An estimate of what it takes.
    work : str
        What it is, as in "the table of 30,000 symbols and 500 states".
    remedy : str
        What to do instead, as in "use fewer --states".
    """
    free = free_memory()
    if n_bytes > free:
        raise InputError(
            f"{work} needs about {written_size(n_bytes)}, {written_size(max(free, 0))} are free; {remedy}"
        )


@contextmanager
def limited(n_bytes: int | None = None) -> Iterator[int]:
    """Keep the process below a size: an allocation beyond it is a `MemoryError`.

    Parameters
    ----------
    n_bytes : int or None
        The size; None: what the process has and the machine has free.

    Yields
    ------
    int
        The limit.
    """
    size = _taken() + _free_on_machine() if n_bytes is None else n_bytes
    token = _LIMIT.set(size)
    try:
        with _enforced(size):
            yield size
    finally:
        _LIMIT.reset(token)


@contextmanager
def _enforced(size: int) -> Iterator[None]:
    try:
        import resource  # not on Windows
    except ImportError:
        yield
        return
    before, hard = resource.getrlimit(resource.RLIMIT_DATA)
    allowed = [limit for limit in (size, before, hard) if limit != resource.RLIM_INFINITY]
    resource.setrlimit(resource.RLIMIT_DATA, (min(allowed), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (before, hard))


def _taken() -> int:
    """Private memory of this process, in bytes."""
    fields = _numbers("/proc/self/status")
    return 1024 * fields.get("VmData", 0)


def _free_on_machine() -> int:
    fields = _numbers("/proc/meminfo")
    found = [1024 * fields["MemAvailable"] - _RESERVE] if "MemAvailable" in fields else []
    for name in _CONTROL_GROUPS:
        text = _content(name).strip()
        if text.isdecimal() and int(text) < 1 << 60:
            found.append(int(text) - _RESERVE)
    return min(found, default=1 << 60)


def _numbers(path: str) -> dict[str, int]:
    """Lines such as `MemAvailable:  1024 kB`."""
    found = re.findall(r"^(\w+):\s+(\d+)", _content(path), re.MULTILINE)
    return {name: int(number) for name, number in found}


def _content(path: str) -> str:
    try:
        return Path(path).read_text()
    except OSError:
        return ""
