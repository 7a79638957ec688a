"""A command goes through few files, each of which does something.

The limits are what is reached, so that no way grows longer. The aims are 30 files to learn an automaton, 25
to learn a treebank parser and 18 to transduce, where one file tells beforehand how long that will take.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from cli.calls import succeed

VISITS = Path(__file__).parents[1] / "visits.py"
ARCHITECTURE = Path(__file__).parents[2] / "docs" / "architecture.md"


def visited(*words: str | Path) -> list[str]:
    """The files of the package that a command runs through, kernels included."""
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    run = subprocess.run(
        [sys.executable, str(VISITS), *map(str, words)], capture_output=True, text=True, env=environment
    )
    assert run.returncode == 0, run.stderr
    return [line for line in run.stderr.splitlines() if line.endswith(".py")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place, rng = tmp_path_factory.mktemp("visits"), np.random.default_rng(0)
    strings = [" ".join(rng.choice(list("abc"), rng.integers(1, 7))) for _ in range(60)]
    (place / "strings.txt").write_text("\n".join(strings) + "\n")
    tree = "(S (NP (D the) (N {})) (VP (V {}) (NP (D a) (N {}))))\n"
    words = ("dog", "cat", "bird")
    trees = [
        tree.format(*rng.choice(words, 1), *rng.choice(("sees", "likes"), 1), *rng.choice(words, 1))
        for _ in range(30)
    ]
    (place / "trees.mrg").write_text("".join(trees))
    pairs = ["".join(rng.choice(list("ab"), rng.integers(2, 5))) for _ in range(40)]
    (place / "pairs.tsv").write_text("".join(f"{word}\t{' '.join(word.upper())}\n" for word in pairs))
    succeed("learn", "transducer", place / "pairs.tsv", "-o", place / "transducer.sigma", "-q")
    return place


def test_few_files_learn_an_automaton(folder: Path) -> None:
    files = visited("learn", "automaton", folder / "strings.txt", "-o", folder / "a.sigma", "-q")
    assert len(files) <= 30, files
    text = (
        ARCHITECTURE.read_text().partition("`sigmastar learn automaton")[2].partition("`sigmastar predict")[0]
    )
    assert {f"{name}.py" for name in re.findall(r"`(\w+/[\w/]+)`", text)} == set(files)


def test_few_files_learn_a_treebank_parser(folder: Path) -> None:
    files = visited("learn", "treebank", folder / "trees.mrg", "-o", folder / "t.sigma", "-q")
    assert len(files) <= 31, files


def test_few_files_transduce(folder: Path) -> None:
    (folder / "words.txt").write_text("ab\nba\n")
    files = visited(
        "predict", folder / "transducer.sigma", folder / "words.txt", "-q", "-o", folder / "out.txt"
    )
    assert len(files) <= 24, files
