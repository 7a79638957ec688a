"""Engines: where the tasks of a job on shards run, and how what they give becomes one.

    leaves   0  1  2  3  4       one task per shard
             |__|  |__|  |
               |____|    |       merged in a tree whose shape is the number of shards' alone
                  |______|

So every engine, on any number of workers, gives the same result to the last bit, also of sums of floats.
Workers merge too: where there are many shards, whole branches of the tree are one piece of work, and the
rest is merged by whoever is free. Arrays of parts lie in files that processes map instead of sending them.
What is lost with a worker runs again. With a ledger (a folder) tasks that are done stay done: each writes
what it found, and a job that was stopped reads it instead of working again.
"""

from __future__ import annotations

import hashlib
import mmap
import os
import pickle
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np

from sigmastar.core.atomic import atomic_write_pieces
from sigmastar.core.container import read_data, read_head, views, written
from sigmastar.core.errors import InputError
from sigmastar.core.progress import Progress, silent
from sigmastar.core.resources import WorkerPool, limited_threads

Item = TypeVar("Item")
Part = TypeVar("Part")
RETRIES = 2
_BRANCHES = 8  # of a worker
_ALIGNED, _JOB = 64, "job"


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


Node = tuple[int, int]  # level from the leaves, and place in it


class _Tree(Generic[Part]):
    """Parts merged as soon as both halves of a node are there."""

    def __init__(self, n_leaves: int, merge: Callable[[Part, Part], Part] | None = None) -> None:
        if n_leaves < 1:
            raise ValueError("a job needs at least one shard")
        self.merge, self.waiting, self.widths = merge, dict[Node, Part](), [n_leaves]
        while self.widths[-1] > 1:
            self.widths.append(-(-self.widths[-1] // 2))

    def settle(self, node: Node, part: Part) -> tuple[Node, Part, Part] | None:
        """Keep a part; or the node above it and both its halves, where the other one is there."""
        level, place = node
        while self.widths[level] > 1:
            if place ^ 1 < self.widths[level]:
                if (level, place ^ 1) not in self.waiting:
                    break
                other = self.waiting.pop((level, place ^ 1))
                above = level + 1, place // 2
                return (above, part, other) if place % 2 == 0 else (above, other, part)
            level, place = level + 1, place // 2
        self.waiting[level, place] = part
        return None

    def add(self, leaf: int, part: Part) -> None:
        both = self.settle((0, leaf), part)
        while both is not None and self.merge is not None:
            node, left, right = both
            both = self.settle(node, self.merge(left, right))

    @property
    def root(self) -> Part:
        return self.waiting[len(self.widths) - 1, 0]


class _Branch(NamedTuple):
    """A piece of work for one worker: neighbours in the tree that become one part."""

    task: Callable[[Any], Any]
    merge: Callable[[Any, Any], Any]

    def __call__(self, items: Sequence[Any]) -> Any:
        with limited_threads(1):  # the workers are as many as there are cores for them
            tree = _Tree[Any](len(items), self.merge)
            for number, item in enumerate(items):
                tree.add(number, self.task(item))
            return tree.root


def _branches(items: Sequence[Any], n_workers: int) -> list[Sequence[Any]]:
    """Items in whole branches of their tree, of which each worker has several, so that all end together."""
    width = 1
    while len(items) >= 2 * width * n_workers * _BRANCHES:
        width *= 2
    return [items[begin : begin + width] for begin in range(0, len(items), width)]


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
        """What the tasks give, merged; as `Here.run`. The merge goes to the workers, as the task does."""
        branches = _branches(items, self.n_workers)
        with TemporaryDirectory(prefix="sigmastar-", ignore_cleanup_errors=True) as folder:
            try:
                desk = _Desk(folder, _Branch(task, merge), branches)
                while not desk.is_done:
                    for n_done in self._round(desk):
                        progress(f"shard {n_done} of {len(items)}", n_done / len(items))
            except BaseException:
                self._leave()
                raise
            root: Part = desk.tree.root.taken()
            return root

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

    def _round(self, desk: _Desk) -> Iterator[int]:
        """How many shards are done, whenever some are, until all are or the pool breaks."""
        running = dict[Future[_Filed], _Order]()
        self._pool = self._pool or WorkerPool(self.n_workers)
        try:
            while desk.waiting or running:
                while desk.waiting and len(running) < self.n_workers + 1:  # one is at hand for who is free
                    order = desk.waiting.pop()
                    running[self._pool.submit(_done, desk.folder, order)] = order
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    filed = future.result()
                    desk.take(running.pop(future), filed)
                    yield desk.n_done
        except BrokenExecutor as problem:
            self._leave()
            if desk.lost(running.values()) > RETRIES:
                problem.add_note("a worker was killed in the same shard again and again")
                raise


class _Order(NamedTuple):
    """Work for a process: a branch of the tree, or two parts to merge."""

    node: Node
    items: Sequence[Any]
    parts: tuple[_Filed, ...] = ()


class _Filed(NamedTuple):
    """A part whose arrays lie in a file."""

    file: str
    rest: bytes
    ends: tuple[int, ...]  # where each array ends

    @classmethod
    def of(cls, file: str, part: Any) -> _Filed:
        buffers, ends = list[pickle.PickleBuffer](), list[int]()
        rest = pickle.dumps(part, 5, buffer_callback=buffers.append)
        with open(file, "wb") as stream:
            for buffer in buffers:
                stream.write(bytes(-stream.tell() % _ALIGNED))
                stream.write(buffer.raw())
                ends.append(stream.tell())
        return cls(file, rest, tuple(ends))

    def taken(self) -> Any:
        """The part, mapped; who writes to its arrays writes to a copy."""
        if not self.ends or not self.ends[-1]:
            return pickle.loads(self.rest, buffers=[bytearray() for _ in self.ends])
        with open(self.file, "rb") as stream:
            whole = memoryview(mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_COPY))
        begins = [end + -end % _ALIGNED for end in (0, *self.ends[:-1])]
        return pickle.loads(
            self.rest, buffers=[whole[begin:end] for begin, end in zip(begins, self.ends, strict=True)]
        )


class _Desk:
    """What is to do, what was done, and the folder where parts lie while they wait for each other."""

    def __init__(self, folder: str, branch: _Branch, branches: Sequence[Sequence[Any]]) -> None:
        self.folder, self.tree, self.n_done = folder, _Tree[_Filed](len(branches)), 0
        self.waiting = [_Order((0, place), items) for place, items in enumerate(branches)][::-1]
        self.tries: dict[Node, int] = {}
        with open(os.path.join(folder, _JOB), "wb") as stream:
            pickle.dump(branch, stream, 5)  # once, however many orders there are

    @property
    def is_done(self) -> bool:
        return (len(self.tree.widths) - 1, 0) in self.tree.waiting

    def take(self, order: _Order, filed: _Filed) -> None:
        for part in order.parts:
            os.remove(part.file)
        self.n_done += len(order.items)
        both = self.tree.settle(order.node, filed)
        if both is not None:
            self.waiting.append(_Order(both[0], (), both[1:]))  # before others: it frees room

    def lost(self, orders: Iterable[_Order]) -> int:
        """Put orders back, whoever had them is gone; how often the unluckiest of them was lost."""
        for order in orders:
            self.waiting.append(order)
            self.tries[order.node] = self.tries.get(order.node, 0) + 1
        return max(self.tries.values())


def _done(folder: str, order: _Order) -> _Filed:
    """In a worker: what an order asks for, in a file of the folder."""
    branch = _branch_of(folder)
    if order.parts:
        with limited_threads(1):
            part = branch.merge(*(part.taken() for part in order.parts))
    else:
        part = branch(order.items)
    return _Filed.of(os.path.join(folder, "{}-{}".format(*order.node)), part)


@lru_cache(maxsize=1)
def _branch_of(folder: str) -> _Branch:
    with open(os.path.join(folder, _JOB), "rb") as stream:
        branch: _Branch = pickle.load(stream)
    return branch


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
        branches = _branches(items, max(sum(self.client.nthreads().values()), 1))
        job = self.client.submit(_itself, _Branch(task, merge), **options)  # sent once, not with each branch
        tree = _Tree[Any](len(branches), lambda *both: self.client.submit(_merged, job, *both, **options))
        leaves = [self.client.submit(_called, job, branch, **options) for branch in branches]
        sizes = {leaf.key: len(branch) for leaf, branch in zip(leaves, branches, strict=True)}
        for number, leaf in enumerate(leaves):
            tree.add(number, leaf)
        root, n_done = tree.root, 0
        for leaf in as_completed(leaves):
            n_done += sizes[leaf.key]
            progress(f"shard {n_done} of {len(items)}", n_done / len(items))
        del leaves, leaf, tree  # so that the cluster may forget each part once it is merged
        return root.result()  # type: ignore[no-any-return]

    def close(self) -> None:
        """The cluster is the user's."""


def _itself(branch: _Branch) -> _Branch:
    return branch


def _called(branch: _Branch, items: Sequence[Any]) -> Any:
    return branch(items)


def _merged(branch: _Branch, left: Any, right: Any) -> Any:
    return branch.merge(left, right)


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
