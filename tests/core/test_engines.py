"""Engines: one result to the last bit, whoever works, whoever is killed, wherever a job was stopped."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from sigmastar.core.dask_cluster import Cluster
from sigmastar.core.engines import Engine, Here, Tree, branches, engine_of
from sigmastar.core.errors import InputError
from sigmastar.core.ledger import Ledger
from sigmastar.core.worker_processes import Processes


class Sums(NamedTuple):
    """A part: floats whose sum depends on the order, and which items went in."""

    total: np.ndarray
    items: np.ndarray


def summed(folder: str, killer: int, item: int) -> Sums:
    """A part of its own per item; the first call with `killer` takes its process with it."""
    with open(Path(folder) / f"{item}.calls", "a") as stream:
        stream.write("x")
    if item == killer and not (mark := Path(folder) / "killed").exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return Sums(np.random.default_rng(item).standard_normal(3) * 10.0**item, np.array([item]))


def merged(first: Sums, second: Sums) -> Sums:
    return Sums(first.total + second.total, np.concatenate([first.items, second.items]))


@pytest.fixture(scope="module")
def cluster() -> Iterator[object]:
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            2, threads_per_worker=1, dashboard_address=":0", memory_limit=None, silence_logs=50
        ) as local,
        distributed.Client(local) as client,
    ):
        yield client


class FarCluster(Cluster):
    """Workers that see no file of this machine: parts are sent."""

    def _is_seen(self, folder: str) -> bool:
        return False


@pytest.mark.parametrize(
    "n_items", [1, 7, 75]
)  # the last one: whole branches of the tree are one piece of work, or wait in files
def test_every_engine_gives_the_same_bits(n_items: int, tmp_path: Path, cluster: object) -> None:
    task = partial(summed, str(tmp_path), -1)
    whole = Here().run(task, range(n_items), merged)
    assert whole.items.tolist() == list(range(n_items))
    tree = Tree(n_items, merged)
    for item in range(n_items):
        tree.add(item, task(item))
    assert tree.root.total.tobytes() == whole.total.tobytes()
    engines: list[Engine] = [Cluster(cluster), FarCluster(cluster)]
    if n_items > 1:
        engines.append(Processes(2))
    for engine in engines:
        found = engine.run(task, range(n_items), merged)
        assert found.items.tolist() == whole.items.tolist()
        assert found.total.tobytes() == whole.total.tobytes()


def met(item: int) -> Sums:
    return Sums(np.zeros(0), np.array([], np.int64))


def who_merges(first: Sums, second: Sums) -> Sums:
    return Sums(np.zeros(0), np.concatenate([first.items, second.items, [os.getpid()]]))


def test_workers_merge_and_parts_can_be_written_to() -> None:
    with closing(Processes(2)) as engine:
        found = engine.run(met, range(5), who_merges)
        assert len(found.items) == 4
        assert os.getpid() not in found.items
        found.items[0] = 0  # no file, which others may map too, is read-only behind it
        assert engine.run(met, range(1), who_merges).total.size == 0


def test_a_killed_worker_loses_nothing(tmp_path: Path, cluster: object) -> None:
    for name, engine in (
        ("processes", Processes(2)),
        ("dask", Cluster(cluster)),
        ("far", FarCluster(cluster)),
    ):
        folder = tmp_path / name
        folder.mkdir()
        whole = Here().run(partial(summed, str(folder), -1), range(5), merged)
        found = engine.run(partial(summed, str(folder), 2), range(5), merged)
        assert (folder / "killed").exists()
        assert found.items.tolist() == list(range(5))
        assert found.total.tobytes() == whole.total.tobytes()


def test_the_client_of_an_address_is_closed_and_that_of_the_user_stays(cluster: Any) -> None:
    own = engine_of(client=cluster.scheduler.address)
    assert isinstance(own, Cluster)
    assert own.run(met, range(3), merged).items.size == 0
    own.close()
    assert own.client.status == "closed"
    engine_of(client=cluster).close()
    assert cluster.status == "running"


class Noted:
    """A client that only notes what is asked of it."""

    def __init__(self) -> None:
        self.asked = list[str]()

    def submit(self, task: Callable[..., object], *rest: object, **options: object) -> str:
        self.asked.append(task.__name__)
        return f"future {len(self.asked)}"


@pytest.mark.parametrize("n_items", [1, 2, 18, 75, 1000])
def test_workers_end_together_since_branches_grow_smaller(n_items: int) -> None:
    pieces = branches(range(n_items), 2)
    assert [item for _, piece in pieces for item in piece] == list(range(n_items))
    sizes = [len(piece) for _, piece in pieces]
    assert max(sizes) <= max(n_items // 8, 1)
    assert set(sizes[-8:]) == {1}
    assert all(piece[0] == place << level for (level, place), piece in pieces)


def test_a_cluster_merges_two_parts_before_it_counts_on() -> None:
    client = Noted()
    leaves, _ = Cluster(client)._tree_of("job", 5, [((0, item), [item]) for item in range(5)])
    assert len(leaves) == 5
    assert client.asked == ["_done", "_done", "_both", "_done", "_done", "_both", "_both", "_done", "_both"]


def killed_once(mark: str, first: Sums, second: Sums) -> Sums:
    """A merge that takes its process with it when both halves of the tree are whole."""
    if len(first.items) + len(second.items) == 5 and not Path(mark).exists():
        Path(mark).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return merged(first, second)


def test_what_was_merged_outlives_the_worker_that_merged_it(tmp_path: Path, cluster: object) -> None:
    task, mark = partial(summed, str(tmp_path), -1), tmp_path / "mark"
    found = Cluster(cluster).run(task, range(5), partial(killed_once, str(mark)))
    assert mark.exists()
    assert found.total.tobytes() == Here().run(task, range(5), merged).total.tobytes()


def test_a_stopped_job_goes_on(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger", "sums")
    task = partial(summed, str(tmp_path), -1)

    def dies(item: int) -> Sums:
        if item == 3:
            raise KeyboardInterrupt
        return task(item)

    with pytest.raises(KeyboardInterrupt):
        Here().run(ledger.keeping(dies, Sums, range(5)), range(5), merged)
    next(ledger.folder.iterdir()).write_bytes(b"damaged")
    found = Here().run(ledger.keeping(task, Sums, range(5)), range(5), merged)
    assert (
        found.total.tobytes()
        == Here().run(partial(summed, str(tmp_path), -1), range(5), merged).total.tobytes()
    )
    calls = [len((tmp_path / f"{item}.calls").read_text()) for item in range(5)]
    assert sorted(calls[:3]) == [2, 2, 3]  # one for the comparison above, one more where the file was damaged
    assert calls[3:] == [2, 2]
    with pytest.warns(UserWarning, match="ledger: 5 parts of other corpora or settings are not used"):
        other = Ledger(ledger.folder, "others").keeping(task, Sums, range(5))
    assert not other.ledger.file_of(1).exists()
    ledger.close()
    assert not ledger.folder.exists()


def test_wrong_engines_are_told() -> None:
    with pytest.raises(ValueError, match="workers=0 must be at least 1"):
        engine_of(0)
    with pytest.raises(ValueError, match="at least one shard"):
        Here().run(len, [], merged)  # type: ignore[arg-type]
    began = time.perf_counter()
    with pytest.raises(InputError, match="no Dask scheduler answers there"):
        engine_of(client="bad address")
    assert time.perf_counter() - began < 5.0
