"""The folder of a build: new, or with what the same build left when it was stopped."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sigmastar.core.atomic import atomic_write_bytes
from sigmastar.core.errors import InputError
from sigmastar.corpus.manifest import MANIFEST


def begin_or_resume(folder: Path, build: Path, job: Mapping[str, Any]) -> bool:
    """Make the folder, or find in it what the same build left.

    Parameters
    ----------
    folder, build : Path
        Where the corpus is to be, and the folder in it that holds parts until all is done.
    job : mapping
        All that the corpus depends on.

    Returns
    -------
    bool
        Whether what is there is the whole corpus.
    """
    known, file = json.dumps(job, sort_keys=True), build / "job.json"
    same = file.exists() and file.read_text() == known and "standard input" not in known
    if (folder / MANIFEST).exists():
        shutil.rmtree(build, ignore_errors=True)  # it was stopped between its last file and this
        if same:
            return True
        raise InputError("holds a corpus already; remove it, or choose another folder", file=str(folder))
    if not file.exists() and any(path != build for path in folder.glob("*")):
        raise InputError("is not empty; choose another folder", file=str(folder))
    if file.exists() and not same:
        shutil.rmtree(build)  # other files or settings: nothing of it can be used
    try:
        build.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise InputError(f"cannot be made: {problem.strerror}", file=str(folder)) from None
    atomic_write_bytes(file, known.encode())
    return False
