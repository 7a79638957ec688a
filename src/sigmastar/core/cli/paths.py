"""Files that commands read and write: what a model says of them, and whether one can be written."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from sigmastar.core.errors import InputError


def described_file(path: str) -> dict[str, str]:
    """The name of a file and its hash."""
    if not os.path.isfile(path):
        return {"name": "standard input" if path == "-" else Path(path).name}
    with open(path, "rb") as stream:
        return {"name": Path(path).name, "sha256": hashlib.file_digest(stream, "sha256").hexdigest()}


def require_folder(output: str) -> None:
    """Tell of a bad place before the work, not after it."""
    folder = os.path.dirname(output) or "."
    if output != "-" and not os.path.isdir(folder):
        raise InputError(f"the folder {folder} does not exist; make it first", file=output)
