"""Engines: where the tasks of a job on shards run, and how what they give becomes one.

    leaves   0  1  2  3  4       one task per shard
             |__|  |__|  |
               |____|    |       merged in a tree whose shape is the number of shards' alone
                  |______|

So every engine, on any number of workers, gives the same result to the last bit, also of sums of floats. A
task that is lost with its worker runs again. With a ledger (a folder) tasks that are done stay done: each
writes what it found, and a job that was stopped reads it instead of working again.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from sigmastar.core.atomic import atomic_write_pieces
from sigmastar.core.container import read_data, read_head, views, written
from sigmastar.core.errors import InputError
from sigmastar.core.progress import Progress, silent
from sigmastar.core.resources import WorkerPool, limited_threads

Item = TypeVar("Item")
Part = TypeVar("Part")
RETRIES = 2


class Engine(Protocol):
    """Where tasks run."""

    def run(
        self,
        task: Callable[[Any], Part],
        items: Sequence[Any],
        merge: Callable[[Part, Part], Part],
        progress: Progress = silent,
    ) -> Part: ...

    def close(self) -> None: ...


def engine_of(workers: int | None = None, client: Any = None) -> Engine:
    """The engine that was asked for.

    Parameters
    ----------
    workers : int or None
        Number of processes on this machine; one or None: this process alone.
    client : str or distributed.Client or None
        The scheduler of a Dask cluster, or its address; it goes before `workers`.

    Returns
    -------
    Engine
        An engine to run jobs.
    """
    if client is not None:
        return Cluster(_connected(client) if isinstance(client, str) else client)
    if workers is not None and workers < 1:
        raise ValueError(f"workers={workers} must be at least 1")
    return Here() if workers is None or workers == 1 else Processes(workers)


class _Tree(Generic[Part]):
    """Parts merged as soon as both halves of a node are there."""

    def __init__(self, n_leaves: int, merge: Callable[[Part, Part], Part]) -> None:
        if n_leaves < 1:
            raise ValueError("a job needs at least one shard")
        self.merge, self.waiting, self.widths = merge, dict[tuple[int, int], Part](), [n_leaves]
        while self.widths[-1] > 1:
            self.widths.append(-(-self.widths[-1] // 2))

    def add(self, leaf: int, part: Part) -> None:
        level, place = 0, leaf
        while self.widths[level] > 1:
            if place ^ 1 < self.widths[level]:
                if (level, place ^ 1) not in self.waiting:
                    break
                other = self.waiting.pop((level, place ^ 1))
                part = self.merge(part, other) if place % 2 == 0 else self.merge(other, part)
            level, place = level + 1, place // 2
        self.waiting[level, place] = part

    @property
    def root(self) -> Part:
        return self.waiting[len(self.widths) - 1, 0]


class Here:
    """This process, one shard after the other."""

    def run(
        self,
        task: Callable[[Any], Part],
        items: Sequence[Any],
        merge: Callable[[Part, Part], Part],
        progress: Progress = silent,
    ) -> Part:
        """What the tasks give, merged.

        Parameters
        ----------
        task : callable
            From an item to a part.
        items : sequence
            One per shard.
        merge : callable
            From two neighbours to one part.
        progress : callable
            Told how much is done.

        Returns
        -------
        object
            One part.
        """
        tree = _Tree(len(items), merge)
        for number, item in enumerate(items):
            progress(f"shard {number + 1} of {len(items)}", number / len(items))
            tree.add(number, task(item))
        return tree.root

    def close(self) -> None:
        """Nothing to let go."""


class Processes:
    """Processes on this machine, begun anew where one was killed, and kept from job to job.

    Parameters
    ----------
    n_workers : int
        Their number.
    """

    def __init__(self, n_workers: int) -> None:
        self.n_workers = n_workers
        self._pool: WorkerPool | None = None

    def run(
        self,
        task: Callable[[Any], Part],
        items: Sequence[Any],
        merge: Callable[[Part, Part], Part],
        progress: Progress = silent,
    ) -> Part:
        """What the tasks give, merged; as `Here.run`."""
        tree, tries = _Tree(len(items), merge), [0] * len(items)
        open_items = list(range(len(items)))
        try:
            while open_items:
                n_done = len(items) - len(open_items)
                for number, part in self._round(task, items, open_items, tries):
                    tree.add(number, part)
                    n_done += 1
                    progress(f"shard {n_done} of {len(items)}", n_done / len(items))
        except BaseException:
            self._leave()
            raise
        return tree.root

    def close(self) -> None:
        """Let the processes go; between jobs they have nothing to do."""
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None

    def _leave(self) -> None:
        """End them in the midst of what they do."""
        if self._pool is not None:
            self._pool.end()
            self._pool = None

    def _round(
        self, task: Callable[[Any], Part], items: Sequence[Any], open_items: list[int], tries: list[int]
    ) -> Iterator[tuple[int, Part]]:
        """Parts as they come, until all are there or the pool breaks; what is done leaves `open_items`."""
        waiting, running = list(reversed(open_items)), dict[Future[Part], int]()
        self._pool = self._pool or WorkerPool(self.n_workers)
        while waiting or running:
            try:
                while waiting and len(running) < self.n_workers + 1:  # one is at hand for who is free
                    number = waiting.pop()
                    running[self._pool.submit(_alone, task, items[number])] = number
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    part = future.result()
                    number = running.pop(future)
                    open_items.remove(number)
                    yield number, part
            except BrokenExecutor as problem:
                self._leave()
                for number in running.values():
                    tries[number] += 1
                if max(tries) > RETRIES:
                    problem.add_note("a worker was killed in the same shard again and again")
                    raise
                return


def _alone(task: Callable[[Any], Part], item: Any) -> Part:
    """A task in one thread: the workers are as many as there are cores for them."""
    with limited_threads(1):
        return task(item)


@dataclass(frozen=True)
class Cluster:
    """A Dask cluster that the user runs; parts are merged by its workers.

    Parameters
    ----------
    client : distributed.Client
        Its client.
    """

    client: Any

    def run(
        self,
        task: Callable[[Any], Part],
        items: Sequence[Any],
        merge: Callable[[Part, Part], Part],
        progress: Progress = silent,
    ) -> Part:
        """What the tasks give, merged; as `Here.run`."""
        as_completed: Any = import_module("distributed").as_completed
        options = {"pure": False, "retries": RETRIES}
        tree = _Tree(len(items), lambda left, right: self.client.submit(merge, left, right, **options))
        leaves = [self.client.submit(_alone, task, item, **options) for item in items]
        for number, leaf in enumerate(leaves):
            tree.add(number, leaf)
        root = tree.root
        for n_done, _ in enumerate(as_completed(leaves), 1):
            progress(f"shard {n_done} of {len(items)}", n_done / len(items))
        del leaves, tree  # so that the cluster may forget each part once it is merged
        return root.result()  # type: ignore[no-any-return]

    def close(self) -> None:
        """The cluster is the user's."""


def _connected(address: str) -> Any:
    try:
        client: Any = import_module("distributed").Client
    except ImportError:
        raise ImportError("a scheduler needs Dask; pip install 'sigmastar[dask]'") from None
    try:
        return client(address, timeout=10)
    except (OSError, ValueError) as problem:
        raise InputError(
            f"no Dask scheduler answers there ({type(problem).__name__}); start one and its workers",
            file=address,
        ) from None


@dataclass(frozen=True)
class Ledger:
    """What finished tasks found, one file each, so that a job that was stopped goes on.

    Parameters
    ----------
    folder : path
        Where the files lie; workers on other machines must see it too.
    job : str
        What the job is: parts of another one are not taken for its own.
    """

    folder: Path
    job: str

    def keeping(self, task: Callable[[Any], Part], kind: Callable[..., Part]) -> Kept[Part]:
        """The task with a memory; `kind` is the named tuple of arrays that it gives."""
        self.folder.mkdir(parents=True, exist_ok=True)
        return Kept(self, task, kind)

    def file_of(self, item: Any) -> Path:
        """Where the part of an item is kept."""
        digest = hashlib.sha256(f"{self.job}\n{item!r}".encode()).hexdigest()
        return self.folder / f"{digest[:32]}.part"

    def close(self) -> None:
        """Forget all parts: the job is done."""
        shutil.rmtree(self.folder, ignore_errors=True)


@dataclass(frozen=True)
class Kept(Generic[Part]):
    """A task that looks into the ledger first."""

    ledger: Ledger
    task: Callable[[Any], Part]
    kind: Callable[..., Part]

    def __call__(self, item: Any) -> Part:
        file = self.ledger.file_of(item)
        if (known := _read_part(file)) is not None:
            return self.kind(**known)
        part: Any = self.task(item)
        arrays = {name: np.asarray(value) for name, value in part._asdict().items()}
        atomic_write_pieces(file, written(arrays, {}))
        return part  # type: ignore[no-any-return]


def _read_part(file: Path) -> dict[str, Any] | None:
    if not os.path.exists(file):
        return None
    try:
        with open(file, "rb") as stream:
            head = read_head(stream)
            return views(head, read_data(stream, head.n_bytes))
    except ValueError:
        return None  # damaged: the task runs again
