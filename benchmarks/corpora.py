"""Where the data lie: the folder that SIGMASTAR_DATA names, or nowhere."""

from __future__ import annotations

import csv
import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from benchmarks.harness import Settings, Skip
from sigmastar.automata.data.pautomac import read_pautomac, read_solution
from sigmastar.automata.data.spice import SpiceTargets, read_spice, read_spice_targets
from sigmastar.automata.data.strings import Strings
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.automata.model.pautomac_machine import read_pautomac_model
from sigmastar.core.text_files import open_text


def data_folder() -> Path | None:
    """The folder of real data, if there is one."""
    name = os.environ.get("SIGMASTAR_DATA")
    return Path(name) if name and Path(name).is_dir() else None


def require_folder(settings: Settings, name: str) -> Path:
    if settings.data is None:
        raise Skip("needs real data: set SIGMASTAR_DATA to the folder that holds it")
    folder = settings.data / name
    if not folder.is_dir():
        raise Skip(f"needs the folder {name} in SIGMASTAR_DATA={settings.data}")
    return folder


@dataclass(frozen=True)
class PautomacProblem:
    """A competition problem: what to learn from, the test set with its solution, the machine behind it."""

    number: str
    folder: Path

    @property
    def files(self) -> list[Path]:
        names = ("pautomac.train.gz", "pautomac.test", "pautomac_solution.txt", "pautomac_model.txt")
        return [self.folder / f"{self.number}.{name}" for name in names]

    @cached_property
    def train(self) -> Strings:
        return read_pautomac(self.files[0])

    @cached_property
    def test(self) -> Strings:
        return read_pautomac(self.files[1])

    @cached_property
    def solution(self) -> np.ndarray:
        return read_solution(self.files[2])

    @cached_property
    def machine(self) -> WeightedAutomaton:
        return read_pautomac_model(self.files[3], len(self.train.alphabet))


def pautomac_problem(number: str, settings: Settings) -> PautomacProblem:
    return PautomacProblem(number, require_folder(settings, "pautomac"))


def pautomac_numbers(settings: Settings) -> list[str]:
    """The problems that have a train set, in order."""
    folder = require_folder(settings, "pautomac")
    return sorted((path.name.split(".")[0] for path in folder.glob("*.pautomac.train.gz")), key=int)


def largest_pautomac(settings: Settings) -> str:
    """The problem with the most symbols to learn from, by the index of the set."""
    with (require_folder(settings, "pautomac") / "INDEX.tsv").open(encoding="utf-8") as stream:
        rows = [row for row in csv.DictReader(stream, delimiter="\t") if row["train_symbols"] != "-"]
    return max(rows, key=lambda row: int(row["train_symbols"]))["problem"]


@dataclass(frozen=True)
class SpiceProblem:
    """A SPiCe problem with its public test set."""

    number: str
    folder: Path

    @property
    def files(self) -> list[Path]:
        return [
            self.folder / f"{self.number}.spice.{name}.gz"
            for name in ("train", "prefix.public", "target.public")
        ]

    @cached_property
    def train(self) -> Strings:
        return read_spice(self.files[0])

    @cached_property
    def prefixes(self) -> Strings:
        return read_spice(self.files[1])

    @cached_property
    def targets(self) -> SpiceTargets:
        return read_spice_targets(self.files[2])


def spice_problem(number: str, settings: Settings) -> SpiceProblem:
    return SpiceProblem(number, require_folder(settings, "spice"))


def spice_numbers(settings: Settings) -> list[str]:
    folder = require_folder(settings, "spice")
    return sorted((path.name.split(".")[0] for path in folder.glob("*.spice.target.public.gz")), key=int)


def ewt_file(settings: Settings) -> Path:
    return require_folder(settings, "ud") / "en_ewt-train.conllu.gz"


def upos_sequences(path: Path) -> Strings:
    """The universal tags of a CoNLL-U file; multiword tokens (3-4) and empty nodes (8.1) are skipped."""
    sentences: list[list[str]] = [[]]
    for line in open_text(path):
        if not line.strip():
            sentences.append([])
        elif not line.startswith("#"):
            number, _, _, upos = line.split("\t", 4)[:4]
            if number.isdecimal():
                sentences[-1].append(upos)
    return Strings.of([sentence for sentence in sentences if sentence])
