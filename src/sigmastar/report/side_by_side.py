"""Families of the demo in processes of their own.

A first run compiles every kernel, which threads of one process cannot share: numba compiles under a lock.
"""

from __future__ import annotations

import gc
import multiprocessing
import signal
from collections.abc import Sequence
from concurrent.futures import Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from queue import Empty
from typing import Any

from sigmastar.core.demo import DemoFamily, DemoResult, Progress
from sigmastar.core.parallel import limited_threads

_LOOK_EVERY = 0.1  # seconds between two looks at what the families tell
_OBJECTS_BETWEEN_COLLECTIONS = 50_000  # a compiler makes many: at 700, a tenth of its time is spent there


def run_here(families: Sequence[DemoFamily], seed: int, progress: Progress) -> list[DemoResult]:
    """One family after the other."""
    board = _Board(progress, len(families))
    return [family.run(seed, board.of(number)) for number, family in enumerate(families)]


def run_side_by_side(
    families: Sequence[DemoFamily], seed: int, progress: Progress, n_processes: int
) -> list[DemoResult]:
    """Every family in one of `n_processes` processes, with one thread each; results in the order asked."""
    board, context = _Board(progress, len(families)), multiprocessing.get_context("spawn")
    told, others = context.Queue(), multiprocessing.active_children()
    pool = ProcessPoolExecutor(min(n_processes, len(families)), context, _begin, (told,))
    try:
        futures = [pool.submit(_run, number, family, seed) for number, family in enumerate(families)]
        _watch(futures, told, board)
        return [future.result() for future in futures]
    except BaseException:  # an interrupt too: nobody waits for families that are under way
        for worker in set(multiprocessing.active_children()).difference(others):
            worker.terminate()
        raise
    finally:  # the pool itself joins its workers: a second one to join them would race with it
        pool.shutdown(cancel_futures=True)


@dataclass(frozen=True)
class _Told:
    """What a family in another process says."""

    number: int
    message: str
    done: float


class _Board:
    """How far each family is, and the mean of it."""

    def __init__(self, progress: Progress, n_families: int) -> None:
        self.progress, self.done = progress, [0.0] * n_families

    def show(self, told: _Told) -> None:
        self.done[told.number] = told.done
        self.progress(told.message, sum(self.done) / len(self.done))

    def of(self, number: int) -> Progress:
        """The progress of one family; those before it are finished."""
        self.done[:number] = [1.0] * number
        return lambda message, done: self.show(_Told(number, message, done))


def _watch(futures: Sequence[Future[DemoResult]], told: Any, board: _Board) -> None:
    """Pass on what is told until all are done, or one has failed."""
    open_futures = set(futures)
    while open_futures:
        finished, open_futures = wait(open_futures, timeout=_LOOK_EVERY)
        for future in finished:
            future.result()
        try:
            while True:
                board.show(told.get_nowait())
        except Empty:
            continue


_told: Any = None  # of a worker: the queue that it was born with


def _begin(told: Any) -> None:
    """An interrupt ends a worker without a word: whoever started it tells."""
    global _told
    _told = told
    gc.freeze()
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _run(number: int, family: DemoFamily, seed: int) -> DemoResult:
    with limited_threads(1):
        return family.run(seed, lambda message, done: _told.put(_Told(number, message, done)))
