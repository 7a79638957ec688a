"""Limits of memory: sizes in words, refusals in time, and errors instead of a killed process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from cli.calls import fail
from sigmastar.core.errors import InputError
from sigmastar.core.memory import free_memory, limited, parsed_size, require_memory, written_size


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
        "from sigmastar.core.memory import limited\n"
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
