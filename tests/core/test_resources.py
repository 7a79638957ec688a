"""Threads that share work; limits of memory: sizes in words, refusals in time, errors in place of a kill."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from cli.calls import fail
from sigmastar.core.errors import InputError
from sigmastar.core.resources import (
    free_memory,
    limited,
    limited_threads,
    one_blas_thread,
    parsed_size,
    require_memory,
    thread_map,
    written_size,
)


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


@pytest.mark.parametrize(
    ("text", "size"), [("2G", 2 << 30), ("500 MB", 500 << 20), ("0.5gib", 1 << 29), ("1T", 1 << 40)]
)
def test_sizes_have_units(text: str, size: int) -> None:
    assert parsed_size(text) == size


@pytest.mark.parametrize("text", ["", "much", "-1G", "2X", "1K"])
def test_other_texts_are_no_sizes(text: str) -> None:
    with pytest.raises(ValueError, match=r"size|too little"):
        parsed_size(text)


def test_sizes_are_written_for_people() -> None:
    assert [written_size(n) for n in (10, 3 << 20, 13.7e9)] == ["10 B", "3 MB", "13 GB"]


def test_work_that_does_not_fit_is_refused_with_its_remedy() -> None:
    require_memory(1000, "a thousand bytes", "use none")
    with pytest.raises(InputError, match=r"^the table needs about 9.1 TB, .* are free; use fewer --states"):
        require_memory(1e13, "the table", "use fewer --states")


def test_a_limit_holds_inside_its_block_alone() -> None:
    program = (
        "import numpy as np\n"
        "from sigmastar.core.resources import limited\n"
        "with limited(1 << 30):\n"
        "    try:\n"
        "        np.ones(1 << 28)\n"
        "    except MemoryError:\n"
        "        print('refused')\n"
        "print(len(np.empty(1 << 28)))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["refused", str(1 << 28)]


def test_the_limit_is_what_may_be_taken() -> None:
    before = free_memory()
    with limited(before // 2):
        assert free_memory() <= before // 2
    assert free_memory() > before // 2


@pytest.mark.parametrize("size", ["much", "1K"])
def test_a_wrong_size_is_a_wrong_call(tmp_path: Path, size: str) -> None:
    (tmp_path / "s.txt").write_text("a b\n")
    message = fail(
        "learn", "automaton", tmp_path / "s.txt", "-o", tmp_path / "m", "--max-memory", size, status=2
    )
    assert "--max-memory" in message
