"""What the README shows runs when it is pasted: its Python, its commands, and those in its tables."""

from __future__ import annotations

import gzip
import os
import re
import shlex
from pathlib import Path
from types import SimpleNamespace

import pytest

from cli.calls import succeed
from sigmastar.core.toy_english import sentences

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "README.md").read_text(encoding="utf-8")
PYTHON = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
SHELL = [line.split("#")[0].strip() for line in re.findall(r"^    (\S.*)$", PAGE, re.MULTILINE)]
IN_TABLES = [line for code in re.findall(r"`(sigmastar \w[^`]* [^`]*)`", PAGE) for line in code.split("; ")]
NETWORK = """
import numpy as np

class Network:
    alphabet = "ab"

    def next_distributions(self, prefixes):
        ends = [list(prefix)[-1:] == ["a"] for prefix in prefixes]
        return np.array([[.2, .3, .5] if end else [.4, .1, .5] for end in ends])

network = Network()
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files that the page names."""
    monkeypatch.chdir(tmp_path)
    lines = [" ".join(leaf.word for leaf in sentence.leaves()) for sentence in sentences(80)]
    assert any("the dog" in line for line in lines)
    Path("train.txt").write_text("\n".join(lines) + "\n")
    Path("test.txt").write_text("\n".join(lines[:20]) + "\n")
    Path("prefixes.txt").write_text("\nthe\n")
    Path("news1.gz").write_bytes(gzip.compress(Path("train.txt").read_bytes()))
    Path("network.py").write_text(NETWORK)
    return tmp_path


def words_of(line: str) -> list[str]:
    """The words of a command behind its name, patterns of files as a shell expands them."""
    words = shlex.split(line)
    assert words[0] == "sigmastar", line
    found = [sorted(map(str, Path().glob(word))) if "*" in word else [word] for word in words[1:]]
    return [word for expanded in found for word in expanded]


def test_its_python_runs(folder: Path) -> None:
    assert PYTHON
    for block in PYTHON:
        exec(compile(block, "README.md", "exec"), {"__name__": "readme"})


def test_its_commands_run_in_order(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    explore = pytest.importorskip("sigmastar.cli.explore")
    monkeypatch.setattr(explore, "need_packages", lambda: None)
    server = SimpleNamespace(address="address", run=lambda: None, stop=lambda: None)
    monkeypatch.setattr(explore, "serve", lambda *_: server)
    monkeypatch.setattr(explore, "_stay", lambda *_: None)  # `--watch` shows a model until it is interrupted
    monkeypatch.setattr(explore.webbrowser, "open", lambda _: None)
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    commands = [line for line in SHELL if line.startswith("sigmastar ")]
    assert len(commands) >= 5
    for line in SHELL:
        if line.startswith("make "):
            assert line.split()[1] in targets
    lines = [*commands, *IN_TABLES]
    downloads = [line for line in lines if line.startswith("sigmastar data get")]
    has_data = bool(os.environ.get("SIGMASTAR_DATA"))
    for line in lines if has_data else [line for line in lines if line not in downloads]:
        succeed(*words_of(line))
    if not has_data:
        pytest.skip(f"SIGMASTAR_DATA is not set: not run were {', '.join(downloads)}; all others did well")
