from __future__ import annotations

import operator
import os
import signal
from collections import Counter
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from sigmastar.core.parallel import limited_threads, map_reduce, one_blas_thread, thread_map


class Flaky:
    """Fails the first `n_failures` times that it meets each shard in `bad`."""

    def __init__(self, bad: set[int], n_failures: int) -> None:
        self.bad, self.n_failures, self.calls = bad, n_failures, Counter[int]()

    def __call__(self, shard: int) -> list[int]:
        self.calls[shard] += 1
        if shard in self.bad and self.calls[shard] <= self.n_failures:
            raise OSError(f"lost {shard}")
        return [shard]


class Backwards:
    """Runs everything that was submitted when the first result is asked for, last task first."""

    def __init__(self) -> None:
        self.waiting: list[tuple[object, object, Future[object]]] = []

    def submit(self, function, argument):
        future = _Pulled(self)
        self.waiting.append((function, argument, future))
        return future

    def run(self) -> None:
        while self.waiting:
            function, argument, future = self.waiting.pop()
            try:
                future.set_result(function(argument))
            except Exception as error:
                future.set_exception(error)


class _Pulled(Future):
    def __init__(self, owner: Backwards) -> None:
        super().__init__()
        self.owner = owner

    def result(self, timeout=None):
        self.owner.run()
        return super().result(timeout)


def square(shard: int) -> int:
    return shard * shard


def die_once(argument: tuple[Path, int]) -> int:
    """Kill the worker at the first call that sees shard 2."""
    folder, shard = argument
    if shard == 2 and not (folder / "died").exists():
        (folder / "died").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return shard


def spawned_pool() -> ProcessPoolExecutor:
    return ProcessPoolExecutor(1, mp_context=get_context("spawn"))


@pytest.mark.parametrize("kind", ["serial", "threads", "backwards"])
def test_parts_are_merged_in_the_order_of_the_shards(kind: str) -> None:
    def run(executor: object) -> list[int]:
        return map_reduce(lambda shard: [shard], range(20), operator.add, executor)

    if kind == "threads":
        with ThreadPoolExecutor(4) as pool:
            assert run(pool) == list(range(20))
    else:
        assert run(None if kind == "serial" else Backwards()) == list(range(20))


def test_merge_is_given_the_earlier_part_first() -> None:
    assert map_reduce(str, "abc", lambda before, part: f"({before}{part})", Backwards()) == "((ab)c)"


def test_one_shard_needs_no_merge() -> None:
    assert map_reduce(square, [3], lambda a, b: pytest.fail("nothing to merge")) == 9


def test_no_shards_is_an_error() -> None:
    with pytest.raises(ValueError, match="at least one shard"):
        map_reduce(square, [], operator.add)


@pytest.mark.parametrize("executor", [None, Backwards()])
def test_failed_shards_run_again_and_finished_ones_do_not(executor: object) -> None:
    task = Flaky({1, 4}, n_failures=2)
    assert map_reduce(task, range(6), operator.add, executor, retries=2) == list(range(6))
    assert task.calls == {0: 1, 1: 3, 2: 1, 3: 1, 4: 3, 5: 1}


def test_a_broken_task_raises_its_last_error_with_the_number_of_the_first_failed_shard() -> None:
    task = Flaky({2, 5}, n_failures=100)
    with pytest.raises(OSError, match="lost 2") as raised:
        map_reduce(task, range(6), operator.add, Backwards(), retries=1)
    assert raised.value.__notes__ == ["in shard 2 of 6 (from 0), tried 2 times"]
    assert task.calls[2] == task.calls[5] == 2
    assert task.calls[0] == 1


def test_without_retries_one_failure_is_enough() -> None:
    task = Flaky({0}, n_failures=1)
    with pytest.raises(OSError, match="lost 0"):
        map_reduce(task, [0], operator.add, retries=0)
    assert task.calls == {0: 1}


def test_an_interrupt_is_not_retried() -> None:
    calls = []

    def interrupted(shard: int) -> int:
        calls.append(shard)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        map_reduce(interrupted, range(3), operator.add)
    assert calls == [0]


def test_a_pool_broken_by_a_killed_worker_is_replaced(tmp_path: Path) -> None:
    shards = [(tmp_path, shard) for shard in range(4)]
    pools: list[ProcessPoolExecutor] = []

    def fresh_pool() -> ProcessPoolExecutor:
        pools.append(spawned_pool())
        return pools[-1]

    assert map_reduce(die_once, shards, operator.add, fresh_pool) == 6
    assert len(pools) == 2
    for pool in pools:
        pool.shutdown()


def test_a_broken_pool_that_is_not_replaced_is_an_error(tmp_path: Path) -> None:
    shards = [(tmp_path, shard) for shard in range(4)]
    with spawned_pool() as pool, pytest.raises(BrokenExecutor):
        map_reduce(die_once, shards, operator.add, pool)


def test_one_blas_thread_holds_inside_and_ends_outside() -> None:
    np.ones((2, 2)) @ np.ones((2, 2))

    def threads() -> list[int]:
        return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]

    before = threads()
    with one_blas_thread():
        assert set(threads()) == {1}
    assert threads() == before


def test_a_shard_that_fails_stops_the_others() -> None:
    seen: list[int] = []

    def task(shard: int) -> int:
        seen.append(shard)
        if shard == 1:
            raise ValueError("shard 1 is broken")
        return shard

    with limited_threads(2), pytest.raises(ValueError, match="shard 1 is broken"):
        thread_map(task, range(10_000))
    assert len(seen) < 10_000
