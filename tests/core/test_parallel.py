from __future__ import annotations

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from sigmastar.core.parallel import limited_threads, one_blas_thread, thread_map


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
