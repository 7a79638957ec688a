"""Papers whose tables and figures are made again: one package per paper, which offers `run`.

A paper joins by its name in `PAPERS`. Its package is imported when it is asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

from sigmastar.core.errors import InputError
from sigmastar.core.progress import Progress, silent
from sigmastar.reproduce.result import Reproduction

PAPERS = ("balle2014", "luque2012", "cohen2012", "cohensmith2012", "bailly2013", "madhyastha2014", "taysir")


class Paper(Protocol):
    """A package that makes the tables and figures of a paper again."""

    def run(
        self, data_folder: Path, out: Path, quick: bool = False, seed: int = 0, progress: Progress = silent
    ) -> Reproduction:
        """Read from `data_folder`, write pictures, figures and a page into `out`."""
        ...


def paper(name: str) -> Paper:
    """The package of a paper."""
    if name not in PAPERS:
        raise ValueError(f"there is no paper {name!r} to reproduce; there are {', '.join(PAPERS)}")
    return cast(Paper, import_module(f"{__name__}.{name}"))


def require_files(folder: Path, names: Sequence[str], paper: str) -> None:
    """Refuse a data folder that lacks one of the files, with their names."""
    missing = [name for name in names if not (folder / name).is_file()]
    if missing:
        raise InputError(
            f"has no {' and no '.join(missing)}, which {paper} needs; set SIGMASTAR_DATA or --data to the "
            "folder that has; sigmastar data list tells which sets there are and how to get them",
            file=str(folder),
        )
