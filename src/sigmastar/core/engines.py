"""Engines: where the tasks of a job on shards run, and how what they give becomes one.

    leaves   0  1  2  3  4       one task per shard
             |__|  |__|  |
               |____|    |       merged in a tree whose shape is the number of shards' alone
                  |______|

So every engine, on any number of workers, gives the same result to the last bit, also of sums of floats.
Workers merge too: where there are many shards, whole branches of the tree are one piece of work, and the
rest is merged by whoever is free. Arrays of parts lie in files that processes map instead of sending them;
one process alone does so with parts of 8 shards, so that what it holds does not grow with the corpus.
What is lost with a worker runs again. With a ledger (a folder) tasks that are done stay done: each writes
what it found, and a job that was stopped reads it instead of working again.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from itertools import count, pairwise
from operator import add
from tempfile import TemporaryDirectory
from typing import Any, Generic, NamedTuple, Protocol

import numpy as np

from sigmastar.core.arrays import Int64s
from sigmastar.core.ledger import Filed, Part
from sigmastar.core.progress import Progress, silent
from sigmastar.core.resources import limited_threads, thread_map

RETRIES = 2
_BRANCHES = 4  # of a worker
_HELD = 8  # shards whose parts wait in memory: what is held does not grow with the corpus


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
        from sigmastar.core.dask_cluster import Cluster, connected  # which needs this module

        return Cluster(connected(client), is_own=True) if isinstance(client, str) else Cluster(client)
    if workers is not None and workers < 1:
        raise ValueError(f"workers={workers} must be at least 1")
    if workers is None or workers == 1:
        return Here()
    from sigmastar.core.worker_processes import Processes  # which needs this module

    return Processes(workers)


@dataclass
class _Asked:
    """An engine that is made when it is needed first."""

    workers: int | None
    client: Any
    engine: Engine | None = None

    def get(self) -> Engine:
        self.engine = self.engine or engine_of(self.workers, self.client)
        return self.engine


_at_hand: ContextVar[_Asked | None] = ContextVar("engine", default=None)


@contextmanager
def spreading(workers: int | None = None, client: Any = None) -> Iterator[None]:
    """Inside, `spread` runs its tasks on the engine that is asked for."""
    if workers is not None and workers < 1:
        raise ValueError(f"workers={workers} must be at least 1")
    asked = _Asked(workers, client)
    token = _at_hand.set(asked if client is not None or (workers or 1) > 1 else None)
    try:
        yield
    finally:
        _at_hand.reset(token)
        if asked.engine is not None:
            asked.engine.close()


def is_spread() -> bool:
    """Whether other processes share the work."""
    return _at_hand.get() is not None


def spread(task: Callable[[Any], Part], items: Sequence[Any], merge: Callable[[Part, Part], Part]) -> Part:
    """What the tasks give, merged, on the engine at hand: this process, or what `spreading` has set.

    This is how families count: a task counts some structures, and counts are merged. Items must not depend on
    the number of workers; then sums of floats do not either. What a single task does is done here.
    """
    asked = _at_hand.get()
    return (Here() if asked is None or len(items) == 1 else asked.get()).run(task, items, merge)


def shared(task: Callable[[Any], Part], items: Sequence[Any], merge: Callable[[Part, Part], Part]) -> Part:
    """`spread`, of items in memory: where no engine is at hand threads share them."""
    if is_spread():
        return spread(task, items, merge)
    tree = Tree(len(items), merge)
    for number, part in enumerate(thread_map(task, items)):
        tree.add(number, part)
    return tree.root


def spread_each(
    places: Sequence[Any],
    given: Callable[[Any], Any],
    task: Callable[[Any], Part],
    keep: Callable[[Any, Part], None],
) -> None:
    """`keep(place, task(given(place)))` for all places; threads share the tasks, or the engine at hand.

    What is given is made here, and what the task gives is kept here.
    """
    if not is_spread() or not places:
        thread_map(lambda place: keep(place, task(given(place))), places)
        return
    parts = spread(partial(_alone, task), [given(place) for place in places], add)
    for place, part in zip(places, parts, strict=True):
        keep(place, part)


def _alone(task: Callable[[Any], Part], item: Any) -> list[Part]:
    return [task(item)]


def ranges(sizes: Sequence[int] | Int64s, most: int) -> list[tuple[int, int]]:
    """Neighbours of which each group has a size of at most `most`, or is alone; one empty group of none.

    Examples
    --------
    >>> ranges([2, 2, 3, 1, 9], 5)
    [(0, 2), (2, 4), (4, 5)]
    """
    ends, edges = np.cumsum(sizes), [0]
    while edges[-1] < len(ends):
        before = ends[edges[-1] - 1] if edges[-1] else 0
        edges.append(max(int(np.searchsorted(ends, before + most, side="right")), edges[-1] + 1))
    return list(pairwise(edges)) or [(0, 0)]


Node = tuple[int, int]  # level from the leaves, and place in it


class Tree(Generic[Part]):
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


class Branch(NamedTuple):
    """A piece of work for one worker: neighbours in the tree that become one part."""

    task: Callable[[Any], Any]
    merge: Callable[[Any, Any], Any]

    def __call__(self, items: Sequence[Any]) -> Any:
        with limited_threads(1):  # the workers are as many as there are cores for them
            return merged_parts(self.task, items, self.merge)


def merged_parts(
    task: Callable[[Any], Part], items: Sequence[Any], merge: Callable[[Part, Part], Part]
) -> Part:
    """What the tasks give, one after the other; parts of more than a few shards wait in files."""
    if len(items) <= _HELD:
        tree = Tree(len(items), merge)
        for number, item in enumerate(items):
            tree.add(number, task(item))
        return tree.root
    with TemporaryDirectory(prefix="sigmastar-", ignore_cleanup_errors=True) as folder:
        names = map(partial(os.path.join, folder), map(str, count()))

        def merge_files(left: Filed, right: Filed) -> Filed:
            both = Filed.of(next(names), merge(left.taken(), right.taken()))
            os.remove(left.file)
            os.remove(right.file)
            return both

        pieces = [items[begin : begin + _HELD] for begin in range(0, len(items), _HELD)]
        filed = Tree(len(pieces), merge_files)
        for number, piece in enumerate(pieces):
            filed.add(number, Filed.of(next(names), merged_parts(task, piece, merge)))
        whole: Part = filed.root.taken()
        return whole


def branches(items: Sequence[Any], n_workers: int) -> list[tuple[Node, Sequence[Any]]]:
    """Items in whole branches of their tree, with the node of each.

    Each worker has several, and they grow smaller towards the end, so that all end together.

    Examples
    --------
    >>> [len(branch) for _, branch in branches(range(40), 2)]
    [4, 4, 4, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]
    """
    found, begin = list[tuple[Node, Sequence[Any]]](), 0
    while begin < len(items):
        share = max((len(items) - begin) // (n_workers * _BRANCHES), 1)
        level = share.bit_length() - 1
        while begin % (1 << level):
            level -= 1
        end = begin + (1 << level)
        found.append(((level, begin >> level), items[begin:end]))
        begin = end
    return found


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
        numbers = count()

        def told(item: Any) -> Part:
            number = next(numbers)
            progress(f"shard {number + 1} of {len(items)}", number / len(items))
            return task(item)

        return merged_parts(told, items, merge)

    def close(self) -> None:
        """Nothing to let go."""
