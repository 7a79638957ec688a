"""How many tokens a second do the readers read, beside a plain loop over lines in Python?

Corpora are written to a temporary folder first; the files are then in the cache of the system.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.corpora import largest_pautomac, pautomac_problem
from benchmarks.harness import Finding, Question, Row, Settings, timed
from sigmastar.automata.data.formats import read_lines, write_lines
from sigmastar.automata.data.pautomac import read_pautomac, write_pautomac
from sigmastar.automata.data.strings import Strings
from sigmastar.automata.model.generators import make_automaton
from sigmastar.core.alphabet import Alphabet

N_STRINGS, N_STRINGS_QUICK, N_RUNS = 100_000, 5_000, 5
Reader = Callable[[Path], Strings]


def units(settings: Settings) -> list[str]:
    return ["made"] if settings.data is None or settings.quick else ["made", "pautomac"]


def measure(unit: str, settings: Settings) -> Iterator[Row]:
    corpus = _corpus(unit, settings)
    with TemporaryDirectory() as folder:
        for method, path, reader in _trials(corpus, Path(folder)):
            found, timing = timed(lambda reader=reader, path=path: reader(path), N_RUNS)
            if found.n_symbols != corpus.n_symbols or len(found) != len(corpus):
                raise ValueError(f"{method} read {found.n_symbols} of {corpus.n_symbols} symbols")
            yield {
                "method": method,
                "tokens": corpus.n_symbols,
                "cpu_seconds": timing.cpu_seconds,
                "tokens a second": corpus.n_symbols / timing.cpu_seconds,
                "megabytes a second": path.stat().st_size / timing.cpu_seconds / 1e6,
            }


def _corpus(unit: str, settings: Settings) -> Strings:
    if unit == "pautomac":
        return pautomac_problem(largest_pautomac(settings), settings).train
    return _made(settings.seed, N_STRINGS_QUICK if settings.quick else N_STRINGS)


@cache
def _made(seed: int, n_strings: int) -> Strings:
    rng = np.random.default_rng(seed)
    return make_automaton(20, 20, rng).sample(n_strings, rng)


def _trials(corpus: Strings, folder: Path) -> list[tuple[str, Path, Reader]]:
    lines, numbers, packed = folder / "lines.txt", folder / "numbers.txt", folder / "numbers.txt.gz"
    with lines.open("w", encoding="utf-8") as stream:
        write_lines(corpus, stream)
    with numbers.open("w", encoding="utf-8") as stream:
        write_pautomac(corpus, stream)
    packed.write_bytes(gzip.compress(numbers.read_bytes(), 6))
    return [
        ("read_lines", lines, read_lines),
        ("read_pautomac", numbers, read_pautomac),
        ("read_pautomac, gzip", packed, read_pautomac),
        ("lines in a Python loop", lines, _plain_lines),
        ("pautomac in a Python loop", numbers, _plain_pautomac),
    ]


def _plain_lines(path: Path) -> Strings:
    with path.open(encoding="utf-8") as stream:
        return Strings.of([line.split() for line in stream])


def _plain_pautomac(path: Path) -> Strings:
    with path.open(encoding="utf-8") as stream:
        size = int(stream.readline().split()[1])
        return Strings.of(
            [[int(word) for word in line.split()[1:]] for line in stream], alphabet=Alphabet(range(size))
        )


def conclude(rows: list[Row]) -> list[Finding]:
    return [
        Finding(f"{row['method']}, {row['unit']}: million tokens a second", row["tokens a second"] / 1e6)
        for row in rows
    ]


def files(unit: str, settings: Settings) -> list[Path]:
    if unit != "pautomac":
        return []
    return pautomac_problem(largest_pautomac(settings), settings).files[:1]


QUESTION = Question(
    name="readers",
    title="Readers: tokens a second",
    units=units,
    measure=measure,
    conclude=conclude,
    columns=("method", "tokens", "cpu_seconds", "tokens a second", "megabytes a second"),
    files=files,
)
