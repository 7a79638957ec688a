"""The SPiCe formats: prefixes and what may follow them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sigmastar.automata.data.spice import END_OF_STRING, read_spice, read_spice_targets
from sigmastar.core.errors import InputError

TARGETS = "0.9 3 0.7 -1 0.3\n1.0 2 1.0\n"


def written(tmp_path: Path, content: str) -> Path:
    (tmp_path / "data.txt").write_text(content)
    return tmp_path / "data.txt"


def test_prefixes_end_in_a_blank(tmp_path: Path) -> None:
    assert list(read_spice(written(tmp_path, "3 4\n2 3 1 \n0  \n1 0 \n"))) == [(3, 1), (), (0,)]


def test_targets(tmp_path: Path) -> None:
    targets = read_spice_targets(written(tmp_path, TARGETS))
    assert targets.denominators.tolist() == [0.9, 1.0]
    assert targets.symbols.tolist() == [3, END_OF_STRING, 2]
    assert targets.probabilities.tolist() == [0.7, 0.3, 1.0]
    assert targets.offsets.tolist() == [0, 2, 3]
    assert targets.symbols.dtype == np.int32


def test_the_first_targets(tmp_path: Path) -> None:
    targets = read_spice_targets(written(tmp_path, TARGETS))
    first = targets.first(1)
    assert (len(first), first.symbols.tolist(), first.offsets.tolist()) == (1, [3, -1], [0, 2])
    with pytest.raises(InputError, match="3 prefixes need 3 target lines, there are 2"):
        targets.first(3)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("1.0 3", "an odd number of words, found 2"),
        ("1.0", "an odd number of words, found 1"),
        ("x 3 1.0", "'x' is not a number"),
        ("0.0 3 1.0", "denominator 0.0 is not positive"),
        ("nan 3 1.0", "denominator nan is not positive"),
        ("1.0 a 1.0", "'a' is not a symbol"),
        ("1.0 -2 1.0", "'-2' is not a symbol"),
        ("1.0 3 1.5", "outside 0..1"),
        ("1.0 3 nan", "outside 0..1"),
        ("1.0 3 0.5 3 0.5", "given twice"),
    ],
)
def test_wrong_targets_are_told_by_line(line: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=words) as caught:
        read_spice_targets(written(tmp_path, TARGETS + line + "\n"))
    assert caught.value.line == 3


def test_an_empty_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the file is empty"):
        read_spice_targets(written(tmp_path, ""))


@pytest.mark.parametrize(
    ("problem", "n_prefixes", "n_targets"), [(0, 1000, 1000), (4, 748, 749), (6, 5000, 5000)]
)
def test_real_problems(problem: int, n_prefixes: int, n_targets: int, data_folder: Path) -> None:
    place = data_folder / "spice"
    prefixes = read_spice(place / f"{problem}.spice.prefix.public.gz")
    targets = read_spice_targets(place / f"{problem}.spice.target.public.gz")
    assert (len(prefixes), len(targets)) == (n_prefixes, n_targets)
    assert len(targets.first(len(prefixes))) == n_prefixes
