"""The commands that faults are tried on: files and folders, one process and several."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import sigmastar.report
from cli.calls import succeed
from faults.faults import Job, job
from sigmastar.core.demo import DemoResult
from toy_family import CoinDemo


class SlowCoins(CoinDemo):
    """Coins that take a while, so that signals meet them."""

    name = "slow coins"

    def run(self, seed: int, progress: Any) -> DemoResult:
        for step in range(20):
            time.sleep(0.01)
            progress("throwing", step / 20)
        return super().run(seed, progress)


class Places:
    """Data, models and one folder per job."""

    def __init__(self, place: Path) -> None:
        self.place = place
        contents = {
            "lines": "a b a\nb\na a b\n" * 20,
            "tags": "the D\ndog N\n\na D\ncat N\n\n" * 10,
            "pairs": "ab\tA B\nba\tB A\naab\tA A B\n" * 8,
            "trees": "(S (NP (D the) (N dog)) (VP (V barks)))\n(S (NP (N dogs)) (VP (V bark)))\n" * 8,
            "numbers": "ab\t1\nb\t0\naab\t2\nbba\t1\n" * 5,
        }
        self.files = {name: str(place / f"{name}.txt") for name in contents}
        for name, content in contents.items():
            Path(self.files[name]).write_text(content)
        self.model = str(place / "automaton.model")
        succeed("learn", "automaton", self.files["lines"], "--method", "auto", "-o", self.model, "-q")

    def into_file(self, *words: str) -> Job:
        folder = self._folder()
        return job([*words, "-o", str(folder / "out")], folder)

    def into_folder(self, *words: str, option: str = "--out", **more: Any) -> Job:
        folder = self._folder()
        return job([*words, option, str(folder), "-q"], folder, **more)

    def _folder(self) -> Path:
        return self.place / f"job-{len(list(self.place.glob('job-*')))}"


def small_jobs(places: Places) -> list[Job]:
    """A model, figures, text, a corpus and a page of several processes."""
    return [
        places.into_file("learn", "automaton", places.files["lines"], "--method", "ngram", "-q"),
        places.into_file("score", places.model, places.files["lines"]),
        places.into_file("sample", places.model, "-n", "50"),
        places.into_folder("corpus", "build", places.files["lines"], option="-o", old=None, resumes=True),
        demo(places, 2),
    ]


def all_jobs(places: Places) -> list[Job]:
    """Commands of all sorts; reproductions where there is data."""
    files, found = places.files, small_jobs(places)
    learned = (
        ("automaton", "lines"),
        ("automaton", "lines", "--method", "em", "--states", "2"),
        ("tagger", "tags", "--method", "bigram"),
        ("transducer", "pairs", "--method", "ngram"),
        ("treebank", "trees", "--method", "pcfg"),
        ("pcfg", "trees"),
        ("trees", "trees", "--states", "2", "--height", "2"),
        ("regression", "numbers", "--characters"),
    )
    found += [places.into_file("learn", name, files[of], *more, "-q") for name, of, *more in learned]
    found += [
        places.into_file("convert", places.model, "--to", "att"),
        places.into_file("convert", places.model, "--to", "dot"),
        places.into_file("minimize", places.model, "-q"),
        places.into_file("show", places.model, "--html"),
        places.into_folder(
            *("corpus", "build", files["lines"], files["pairs"], "--workers", "2"),
            option="-o",
            old=None,
            resumes=True,
        ),
        demo(places, 1),
    ]
    if os.environ.get("SIGMASTAR_DATA"):
        paper = ("reproduce", "cohensmith2012", "--quick")
        found.append(places.into_folder(*paper, old="report.html", exact=False, resumes=True))
    return found


def demo(places: Places, n_processes: int) -> Job:
    """The demo, with two families in place of all."""
    sigmastar.report.demos = lambda: (CoinDemo(), SlowCoins())  # type: ignore[assignment,return-value]
    return places.into_folder("demo", "--processes", str(n_processes), old="report.html", exact=False)
