"""A few inputs for every reader, parser and the server; `make fuzz` takes its time."""

from __future__ import annotations

import random
import time
import tracemalloc
from pathlib import Path

import pytest

from fuzz.mutating import MOST, SEEDS, mutated
from fuzz.questions import arguments, patterns, requests
from fuzz.readers import FIELDS, READERS, corpora, reader
from fuzz.trials import Target, fuzz
from sigmastar.core.family import load
from sigmastar.core.skipping import reading

SECONDS = 1.0


def assert_nothing_found(target: Target, n_inputs: int) -> None:
    n_tried, findings = fuzz(target, n_inputs, 1, time.monotonic() + SECONDS)
    assert n_tried > 0
    assert not findings, str(findings[0])


@pytest.fixture(scope="module")
def seeds(folder: Path) -> dict[str, bytes]:
    return {**SEEDS, "models": (folder / "ngram.model").read_bytes()}


@pytest.mark.parametrize("name", READERS)
def test_seeds_are_read(name: str, seeds: dict[str, bytes], tmp_path: Path) -> None:
    of, where, more = READERS[name]
    (tmp_path / "seed").write_bytes(seeds[of])
    with reading(fields=FIELDS.get(name)):
        load(where)(str(tmp_path / "seed"), **more)


@pytest.mark.parametrize("name", READERS)
def test_readers(name: str, seeds: dict[str, bytes], tmp_path: Path) -> None:
    assert_nothing_found(reader(name, tmp_path, seeds), 200)


class _Repeating(random.Random):
    """Three changes, each of which repeats all that there is fifty-fold."""

    def __init__(self) -> None:
        super().__init__(0)
        self.draws = iter([0.34, *(0.0, 0.9999, 0.5, 0.9) * 3])

    def random(self) -> float:
        return next(self.draws)


def test_an_input_is_short_while_it_is_made_too() -> None:
    tracemalloc.start()
    try:
        assert len(mutated(bytes(100), _Repeating())) == MOST
        assert tracemalloc.get_traced_memory()[1] < 200 * MOST
    finally:
        tracemalloc.stop()


def test_corpora(tmp_path: Path) -> None:
    assert_nothing_found(corpora(tmp_path), 300)


def test_arguments() -> None:
    assert_nothing_found(arguments(), 500)


def test_patterns() -> None:
    assert_nothing_found(patterns(), 300)


def test_requests(folder: Path, tmp_path: Path) -> None:
    data = tmp_path / "strings"
    data.write_text("a b\nb a\n")
    assert_nothing_found(requests([folder / "ngram.model"], data), 300)
