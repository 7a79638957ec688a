"""How many words a second does the reader of treebanks read, beside a plain loop over brackets, and nltk?

Words are counted with traces, from the file on disk to trees in memory. nltk is measured where it is
installed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks.corpora import require_folder
from benchmarks.harness import Finding, Question, Row, Settings, Target, timed
from sigmastar.trees import read_brackets

N_RUNS = 7
OWN, LOOP, NLTK = "read_brackets", "brackets in a Python loop", "nltk"


def units(settings: Settings) -> list[str]:
    require_folder(settings, "ptb_sample")
    return ["wsj"]


def measure(unit: str, settings: Settings) -> Iterator[Row]:
    (path,) = files(unit, settings)
    trees = read_brackets(path)
    n_words = sum(1 for tree in trees for _ in tree.words())
    readers: dict[str, Callable[[Path], Any]] = {OWN: read_brackets, LOOP: by_loop}
    if find_spec("nltk"):
        readers[NLTK] = by_nltk
    for method, reader in readers.items():
        held: list[Any] = []  # all that was read: taking trees apart again is not reading
        n_runs = 1 if settings.quick else N_RUNS
        _, timing = timed(lambda reader=reader, held=held: held.append(reader(path)), n_runs)  # type: ignore[misc]
        if len(held[-1]) != len(trees):
            raise ValueError(f"{method} read {len(held[-1])} of {len(trees)} trees")
        yield {
            "method": method,
            "words": n_words,
            "seconds": timing.seconds,
            "cpu_seconds": timing.cpu_seconds,
            "words a second": n_words / timing.cpu_seconds,
        }


def by_loop(path: Path) -> list[Any]:
    """Nested lists, as anybody would write it."""
    trees: list[Any] = []
    stack: list[Any] = [trees]
    for token in re.findall(r"\(|\)|[^\s()]+", path.read_text(encoding="utf-8")):
        if token == "(":
            stack.append([])
        elif token == ")":
            done = stack.pop()
            stack[-1].append(done)
        else:
            stack[-1].append(token)
    return trees


def by_nltk(path: Path) -> list[Any]:
    from nltk.corpus.reader import BracketParseCorpusReader  # type: ignore[import-not-found, import-untyped, unused-ignore]

    return list(BracketParseCorpusReader(str(path.parent), [path.name]).parsed_sents())


def conclude(rows: list[Row]) -> list[Finding]:
    speed = {row["method"]: row["words a second"] for row in rows}
    found = [Finding(f"{OWN}: words a second", speed[OWN], Target(">=", 1e6))]
    return found + [
        Finding(f"{OWN} against {name}: times as fast", speed[OWN] / value)
        for name, value in speed.items()
        if name != OWN
    ]


def files(unit: str, settings: Settings) -> list[Path]:
    return [require_folder(settings, "ptb_sample") / "wsj-train.mrg"]


QUESTION = Question(
    name="brackets",
    title="Treebanks in brackets: words a second",
    units=units,
    measure=measure,
    conclude=conclude,
    columns=("method", "words", "seconds", "cpu_seconds", "words a second"),
    files=files,
)
