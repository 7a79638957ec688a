"""An engine of workers that a Dask scheduler has: the user's cluster, wherever it runs.

Workers of the machine that asks leave parts in files of a folder that goes with the job, as the processes
of `worker_processes` do: who merges parts maps them, and nothing is sent. Elsewhere parts go from worker to
worker over the network, and the last one comes to who asked.

A file has the name of its node in the tree and is there whole or not at all. So a task that runs again, since
what Dask knew of it went with a killed worker, finds what it had made; only then are its two halves removed.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from sigmastar.core.engines import RETRIES, Branch, Node, Tree, branches
from sigmastar.core.errors import InputError
from sigmastar.core.ledger import Filed, Part
from sigmastar.core.progress import Progress, silent
from sigmastar.core.resources import limited_threads

_OPTIONS = {"pure": False, "retries": RETRIES}


@dataclass(frozen=True)
class Cluster:
    """A Dask cluster that the user runs; parts are merged by its workers.

    Parameters
    ----------
    client : distributed.Client
        Its client.
    is_own : bool
        Whether the client was made for this engine, and is closed with it; the cluster is the user's always.
    """

    client: Any
    is_own: bool = False

    def run(
        self,
        task: Callable[[Any], Part],
        items: Sequence[Any],
        merge: Callable[[Part, Part], Part],
        progress: Progress = silent,
    ) -> Part:
        """What the tasks give, merged; as `Here.run`."""
        branch = Branch(task, merge)
        with TemporaryDirectory(prefix="sigmastar-", ignore_cleanup_errors=True) as folder:
            if not self._is_seen(folder):
                whole: Part = self._merged(branch, items, progress)
                return whole
            filed: Part = self._merged(_InFiles(branch, folder), items, progress).taken()
            return filed

    def close(self) -> None:
        """Let the client go, where no one else has it."""
        if self.is_own:
            self.client.close()

    def _is_seen(self, folder: str) -> bool:
        """Whether all workers are on this machine, and see its files."""
        if not all("://127." in address for address in self.client.nthreads()):
            return False
        return all(self.client.run(os.path.isdir, folder).values())

    def _merged(self, branch: Branch | _InFiles, items: Sequence[Any], progress: Progress) -> Any:
        as_completed: Any = import_module("distributed").as_completed
        pieces = branches(items, max(sum(self.client.nthreads().values()), 1))
        job = self.client.submit(_itself, branch, **_OPTIONS)  # sent once, not with each branch
        leaves, root = self._tree_of(job, len(items), pieces)
        sizes = {leaf.key: len(piece) for leaf, (_, piece) in zip(leaves, pieces, strict=True)}
        n_done = 0
        for leaf in as_completed(leaves):
            n_done += sizes[leaf.key]
            progress(f"shard {n_done} of {len(items)}", n_done / len(items))
        del leaves, leaf  # so that the cluster may forget each part once it is merged
        return self.client.gather(root)

    def _tree_of(
        self, job: Any, n_items: int, pieces: Sequence[tuple[Node, Sequence[Any]]]
    ) -> tuple[list[Any], Any]:
        """Leaves and the root. What is submitted first is done first: merges do not wait for all leaves."""
        tree, leaves = Tree[Any](n_items), list[Any]()
        for place, piece in pieces:
            leaves.append(self.client.submit(_done, job, place, piece, **_OPTIONS))
            both = tree.settle(place, leaves[-1])
            while both is not None:
                node, *halves = both
                both = tree.settle(node, self.client.submit(_both, job, node, *halves, **_OPTIONS))
        return leaves, tree.root


class _InFiles(NamedTuple):
    """The work of a branch whose parts are written into a folder."""

    branch: Branch
    folder: str

    def made(self, node: Node, make: Callable[[], Any]) -> Filed:
        """What was filed for a node, or what is made now."""
        file = os.path.join(self.folder, "{}-{}".format(*node))
        head = f"{file}.head"
        with suppress(OSError), open(head, "rb") as stream:
            known: Filed = pickle.load(stream)
            return known
        own = f"{file}.{os.getpid()}"
        filed = Filed.of(own, make())._replace(file=file)
        os.replace(own, file)
        with open(own, "wb") as stream:
            pickle.dump(filed, stream, 5)
        os.replace(own, head)
        return filed


def _itself(branch: Any) -> Any:
    return branch


def _done(job: Branch | _InFiles, node: Node, items: Sequence[Any]) -> Any:
    if isinstance(job, Branch):
        return job(items)
    return job.made(node, lambda: job.branch(items))


def _both(job: Branch | _InFiles, node: Node, left: Any, right: Any) -> Any:
    with limited_threads(1):
        if isinstance(job, Branch):
            return job.merge(left, right)
        filed = job.made(node, lambda: job.branch.merge(left.taken(), right.taken()))
    for half in (left, right):
        for file in (half.file, f"{half.file}.head"):
            with suppress(OSError):
                os.remove(file)
    return filed


def connected(address: str) -> Any:
    """The client of a scheduler."""
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
