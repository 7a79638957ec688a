"""Parts of a reproduction that was stopped."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from sigmastar.reproduce.result import NAME, Unfinished


class Row(NamedTuple):
    name: str
    value: float


def never() -> list[Row]:
    raise AssertionError("this part is known")


def test_a_part_is_made_once(tmp_path: Path) -> None:
    made = [Row("a", 1.5), Row("b", float("inf"))]
    assert Unfinished(tmp_path, "run").rows("one", Row, lambda: made) == made
    again = Unfinished(tmp_path, "run")
    assert again.rows("one", Row, never) == made
    assert again.rows("two", Row, lambda: made[:1]) == made[:1]
    assert Unfinished(tmp_path, "run").rows("two", Row, never) == made[:1]
    again.finish()
    assert not (tmp_path / NAME).exists()


def test_parts_of_another_run_are_not_taken(tmp_path: Path) -> None:
    Unfinished(tmp_path, "seed 0").rows("one", Row, lambda: [Row("a", 1.0)])
    with pytest.raises(AssertionError, match="known"):
        Unfinished(tmp_path, "seed 1").rows("one", Row, never)


def test_a_line_cut_short_is_made_again(tmp_path: Path) -> None:
    kept = Unfinished(tmp_path, "run")
    for key in ("one", "two"):
        kept.rows(key, Row, lambda: [Row("a", 1.0)])
    file = tmp_path / NAME
    file.write_text(file.read_text()[:-9])
    again = Unfinished(tmp_path, "run")
    assert again.rows("one", Row, never) == [Row("a", 1.0)]
    assert again.rows("two", Row, lambda: [Row("b", 2.0)]) == [Row("b", 2.0)]
    assert Unfinished(tmp_path, "run").rows("two", Row, never) == [Row("b", 2.0)]


def test_without_a_folder_nothing_is_kept() -> None:
    kept = Unfinished()
    assert kept.rows("one", Row, lambda: [Row("a", 1.0)]) == [Row("a", 1.0)]
    kept.finish()
