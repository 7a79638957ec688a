"""What the README shows runs when it is pasted: its Python, its commands, and those in its tables."""

from __future__ import annotations

import gzip
import json
import os
import re
import shlex
from pathlib import Path
from types import SimpleNamespace
from typing import Any

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


def measured_rows(question: str) -> str:
    """The rows of the table of measurements that name a question."""
    table = PAGE.partition("## Measured")[2]
    return "\n".join(row for row in table.split("\n") if row.startswith("|") and f"`{question}`" in row)


FINDINGS = {
    "pautomac": {
        "fast: geometric mean of R": ".4f",
        "auto: geometric mean of R": ".4f",
        "em: geometric mean of R": ".4f",
        "fast: median KL": ".3f",
        "convex: median KL": ".3f",
        "auto: median KL": ".3f",
        "em: median KL": ".3f",
    },
    "splearn": {"geometric mean of splearn's R": ".4f", "median gain in processor time of a fit": ".0f"},
    "spice": {"auto: mean NDCG@5": ".3f", "fast: mean NDCG@5": ".3f", "em: mean NDCG@5": ".3f"},
    "one_string": {
        f"{name}: nats per symbol below EM of the right size, worst": ".3f"
        for name in ("fast", "convex", "auto")
    },
    "em_iteration": {
        "ours, hmm, float64: times faster than hmmlearn": ".0f",
        "ours, hmm, float32: times faster than hmmlearn": ".0f",
    },
    "serving": {
        "next symbols: p99, milliseconds": ".0f",
        "next symbols: processor, milliseconds per request": ".1f",
    },
    "explorer": {
        "first paint, milliseconds, the slowest family": ".0f",
        "answer to a key, 95% within milliseconds, the slowest family": ".0f",
    },
    "scale": {
        "M tokens per s, from shards, 300 classes": ".0f",
        "M tokens per s, from text": ".1f",
        "largest peak, MB": ".0f",
        "efficiency, two processes": "p.2f",
        "efficiency, Dask, two workers": "p.2f",
        "efficiency, two processes, 1e9 tokens": "p.2f",
        "efficiency, Dask, two workers, 1e9 tokens": "p.2f",
        "singular vectors of 50,000 x 50,000, s": ".1f",
    },
    "words": {
        "spectral start, stream, alone, mean of 3": ".1f",
        "spectral start, stream, perplexity, mean of 3": ".1f",
        "random start, stream, alone, mean of 3": ".1f",
        "KN-5, lines, perplexity": ".1f",
    },
    "regression": {
        "hankel: accuracy in %, mean of the networks": "%.3f",
        "two fast automata: accuracy in %, mean of the networks": "%.3f",
    },
    "distillation": {
        "distil, words: over fast, geometric mean": "p.3f",
        "distil-own, own: over fast, geometric mean": "p.2f",
    },
    "bilexical": {"attachment: test accuracy": ".1f"},
    "continuous": {"digits: held-out log-density per row, ours less hmmlearn": "p.3f"},
}
"""Findings that the table cites, and how: p without the zero before the point, % as a share."""

ROWS = [
    ("tagging", {"unit": "ewt", "method": "refined"}, "accuracy", 1),
    ("tagging", {"unit": "ewt", "method": "hankel-margin"}, "accuracy", 1),
    ("tagging", {"unit": "words", "method": "refined"}, "F1", 1),
    ("tagging", {"unit": "chunk", "method": "refined"}, "F1", 1),
    ("tagging", {"unit": "chunk", "method": "crfsuite"}, "F1", 1),
    ("next_tags", {"unit": "ptb", "method": "fast"}, "error", 1),
    ("next_tags", {"unit": "ewt", "method": "fast"}, "error", 1),
    ("next_tags", {"unit": "ewt", "method": "em-60"}, "error", 1),
    ("dependency", {"unit": "en_ewt", "method": "lexical"}, "UAS", 1),
    ("dependency", {"unit": "wsj", "method": "spectral+em"}, "UAS", 1),
    ("dependency", {"unit": "en_ewt/8", "method": "lexical"}, "LAS", 1),
    ("treebank", {"unit": "test", "method": "best"}, "F1 words", 1),
    ("treebank", {"unit": "test", "method": "spectral+em"}, "F1 tags", 1),
    ("treebank", {"unit": "test", "method": "best, whole trees"}, "exact words", 1),
    ("treebank", {"unit": "ko_gsd", "method": "best"}, "F1 words", 1),
]
"""Rows of records that the table cites in percent."""


def record(question: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((ROOT / "benchmarks" / "results" / f"{question}.json").read_text())
    return found


@pytest.mark.parametrize(
    ("question", "label"), [(question, label) for question, labels in FINDINGS.items() for label in labels]
)
def test_what_it_says_was_measured_is_the_finding_of_the_record(question: str, label: str) -> None:
    how = FINDINGS[question][label]
    value = next(entry["value"] for entry in record(question)["findings"] if entry["label"] == label)
    text = format(value / 100 if how[0] == "%" else value, how.lstrip("p%"))
    shown = re.escape(text.lstrip("0") if how[0] in "p%" else text)
    assert re.search(rf"(?<![\d.]){shown}(?!\d)", measured_rows(question)), text


@pytest.mark.parametrize(("question", "which", "column", "digits"), ROWS)
def test_what_it_says_was_measured_is_in_the_rows_of_the_record(
    question: str, which: dict[str, str], column: str, digits: int
) -> None:
    row = next(row for row in record(question)["rows"] if which.items() <= row.items())
    text = f"{100 * row[column]:.{digits}f}"
    assert re.search(rf"(?<![\d.]){re.escape(text)}(?!\d)", measured_rows(question)), text
