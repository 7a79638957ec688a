"""Work in shards, on one core or on many machines.

    result = merge( .. merge(merge(task(shard 0), task(shard 1)), task(shard 2)) .. )

Parts are merged in the order of their shards, whoever finishes first, so that sums of floats come out
the same on every executor. What is finished is kept in a ledger: only shards that failed run again.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

Shard = TypeVar("Shard")
Part = TypeVar("Part")
Result = TypeVar("Result", covariant=True)
Mapper = Callable[..., Iterable[Any]]
"""How tasks are run: one after the other (`map`), or side by side (`thread_map`)."""


class Future(Protocol[Result]):
    """A result to come."""

    def result(self) -> Result: ...


class Executor(Protocol):
    """Anything that runs functions: a pool of threads or processes, loky, a Dask client."""

    def submit(self, function: Callable[[Shard], Part], argument: Shard, /) -> Future[Part]: ...


def map_reduce(
    task: Callable[[Shard], Part],
    shards: Iterable[Shard],
    merge: Callable[[Part, Part], Part],
    executor: Executor | Callable[[], Executor] | None = None,
    retries: int = 2,
) -> Part:
    """Run `task` on every shard and merge the parts in the order of the shards.

    Without `executor` everything runs here, one shard after the other. A function that gives an
    executor, such as loky's `get_reusable_executor`, is asked anew before each round: so a pool that
    broke with a killed worker is replaced. A shard that fails is tried `retries` more times; then its
    last error is raised, with a note that names the shard (counted from 0).

    >>> map_reduce(len, ["one", "two", "three"], int.__add__)
    11
    """
    ledger = _Ledger(list(shards), merge)
    if not ledger.shards:
        raise ValueError("map_reduce needs at least one shard")
    failures = _run_round(task, ledger, _executor(executor))
    for _ in range(retries):
        if failures:
            failures = _run_round(task, ledger, _executor(executor))
    if failures:
        number, error = min(failures.items())
        error.add_note(f"in shard {number} of {len(ledger.shards)} (from 0), tried {retries + 1} times")
        raise error
    return ledger.total


class _Ledger(Generic[Shard, Part]):
    """Which shards are open, and what the finished ones gave; parts are merged as soon as order allows."""

    def __init__(self, shards: list[Shard], merge: Callable[[Part, Part], Part]) -> None:
        self.shards, self.merge = shards, merge
        self.parts: dict[int, Part] = {}  # finished, but an earlier shard is still open
        self.n_merged = 0
        self.total: Part

    def open_shards(self) -> list[int]:
        return [number for number in range(self.n_merged, len(self.shards)) if number not in self.parts]

    def finish(self, number: int, part: Part) -> None:
        self.parts[number] = part
        while self.n_merged in self.parts:
            part = self.parts.pop(self.n_merged)
            self.total = self.merge(self.total, part) if self.n_merged else part
            self.n_merged += 1


def _run_round(
    task: Callable[[Shard], Part], ledger: _Ledger[Shard, Part], executor: Executor
) -> dict[int, Exception]:
    """Submit every open shard once; the errors of those that failed."""
    failures: dict[int, Exception] = {}
    futures: dict[int, Future[Part]] = {}
    for number in ledger.open_shards():
        try:
            futures[number] = executor.submit(task, ledger.shards[number])
        except Exception as error:  # a broken pool refuses work
            failures[number] = error
    for number, future in futures.items():
        try:
            part = future.result()
        except Exception as error:
            failures[number] = error
        else:
            ledger.finish(number, part)
    return failures


def _executor(executor: Executor | Callable[[], Executor] | None) -> Executor:
    if executor is None:
        return _Here()
    if hasattr(executor, "submit"):
        return executor
    return executor()


class _Here:
    """The executor that needs nothing: a task runs when its result is asked for."""

    def submit(self, function: Callable[[Shard], Part], argument: Shard, /) -> Future[Part]:
        return _Later(function, argument)


@dataclass(frozen=True)
class _Later(Generic[Shard, Part]):
    function: Callable[[Shard], Part]
    argument: Shard

    def result(self) -> Part:
        return self.function(self.argument)


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
