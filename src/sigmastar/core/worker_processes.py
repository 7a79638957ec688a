"""An engine of processes on this machine: who is free takes the next branch, or merges two parts.

Parts lie in files of a folder that goes with the job, one file each, which are mapped and not sent: a merge
reads two and writes one, and the process that asked reads the last one. A process that is killed takes
nothing with it but what it was at.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from functools import lru_cache
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from sigmastar.core.engines import RETRIES, Branch, Node, Tree, branches
from sigmastar.core.ledger import Filed, Part
from sigmastar.core.progress import Progress, silent
from sigmastar.core.resources import WorkerPool, limited_threads

_JOB = "job"


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
        with TemporaryDirectory(prefix="sigmastar-", ignore_cleanup_errors=True) as folder:
            try:
                desk = _Desk(folder, Branch(task, merge), len(items), branches(items, self.n_workers))
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
        running = dict[Future[Filed], _Order]()
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
    parts: tuple[Filed, ...] = ()


class _Desk:
    """What is to do, what was done, and the folder where parts lie while they wait for each other."""

    def __init__(
        self, folder: str, branch: Branch, n_items: int, pieces: Sequence[tuple[Node, Sequence[Any]]]
    ) -> None:
        self.folder, self.tree, self.n_done = folder, Tree[Filed](n_items), 0
        self.waiting = [_Order(node, items) for node, items in reversed(pieces)]
        self.tries: dict[Node, int] = {}
        with open(os.path.join(folder, _JOB), "wb") as stream:
            pickle.dump(branch, stream, 5)  # once, however many orders there are

    @property
    def is_done(self) -> bool:
        return (len(self.tree.widths) - 1, 0) in self.tree.waiting

    def take(self, order: _Order, filed: Filed) -> None:
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


def _done(folder: str, order: _Order) -> Filed:
    """In a worker: what an order asks for, in a file of the folder."""
    branch = _branch_of(folder)
    if order.parts:
        with limited_threads(1):
            part = branch.merge(*(part.taken() for part in order.parts))
    else:
        part = branch(order.items)
    return Filed.of(os.path.join(folder, "{}-{}".format(*order.node)), part)


@lru_cache(maxsize=1)
def _branch_of(folder: str) -> Branch:
    with open(os.path.join(folder, _JOB), "rb") as stream:
        branch: Branch = pickle.load(stream)
    return branch
