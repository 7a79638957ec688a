"""A few inputs for every reader and parser of arguments; `make fuzz` takes its time."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from fuzz.readers import READERS, SEEDS, fuzz_arguments, fuzz_reader
from sigmastar.core.family import load

SECONDS = 1.0


@pytest.fixture(scope="module")
def seeds(folder: Path) -> dict[str, bytes]:
    return {**SEEDS, "models": (folder / "ngram.model").read_bytes()}


@pytest.mark.parametrize("name", READERS)
def test_seeds_are_read(name: str, seeds: dict[str, bytes], tmp_path: Path) -> None:
    of, where, more = READERS[name]
    (tmp_path / "seed").write_bytes(seeds[of])
    load(where)(str(tmp_path / "seed"), **more)


@pytest.mark.parametrize("name", READERS)
def test_readers(name: str, seeds: dict[str, bytes], tmp_path: Path) -> None:
    n_inputs, findings = fuzz_reader(name, tmp_path, seeds, 200, 1, time.monotonic() + SECONDS)
    assert n_inputs > 0
    assert not findings, findings[:3]


def test_arguments() -> None:
    n_inputs, findings = fuzz_arguments(500, 1, time.monotonic() + 2 * SECONDS)
    assert n_inputs > 0
    assert not findings, findings[:3]
