"""The papers that can be reproduced, and what a module of one must offer.

A paper joins by one line in `PAPERS`. Its module is imported when it is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

from sigmastar.core.demo import Progress, silent
from sigmastar.core.errors import InputError
from sigmastar.reproduce.result import Reproduction

__all__ = ["PAPERS", "Paper", "Progress", "paper", "require_files", "silent"]

PAPERS: Mapping[str, str] = {
    "balle2014": "sigmastar.reproduce.balle2014.run",
    "luque2012": "sigmastar.reproduce.luque2012.run",
    "cohen2012": "sigmastar.reproduce.cohen2012.run",
    "cohensmith2012": "sigmastar.reproduce.cohensmith2012.run",
    "bailly2013": "sigmastar.reproduce.bailly2013.run",
    "madhyastha2014": "sigmastar.reproduce.madhyastha2014.run",
}


class Paper(Protocol):
    """A module that makes the tables and figures of a paper again."""

    def run(
        self, data_folder: Path, out: Path, quick: bool = False, seed: int = 0, progress: Progress = silent
    ) -> Reproduction:
        """Read from `data_folder`, write pictures, figures and a page into `out`."""
        ...


def paper(name: str) -> Paper:
    """The module of a paper."""
    if name not in PAPERS:
        raise ValueError(f"there is no paper {name!r} to reproduce; there are {', '.join(PAPERS)}")
    return cast(Paper, import_module(PAPERS[name]))


def require_files(folder: Path, names: Sequence[str], paper: str) -> None:
    """Refuse a data folder that lacks a file, and say what it should hold."""
    missing = [name for name in names if not (folder / name).is_file()]
    if missing:
        raise InputError(
            f"has no {' and no '.join(missing)}; to reproduce {paper}, let SIGMASTAR_DATA or --data name "
            "the folder that does",
            file=str(folder),
        )
