"""The manifest of a corpus: what its folder holds, and the checksums by which damage is found.

DIR/manifest.json         written last: a folder without it is unfinished
DIR/vocabulary.tsv        word, tab, count; the code of a word is its line, counted from 0
DIR/00000.tokens          codes of the words of shard 0, uint16 or int32, little-endian
DIR/00000.offsets         where each of its strings begins, int64, with the end added
"""

from __future__ import annotations

import hashlib
import json
import os
import shlex
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sigmastar.core.atomic import atomic_write_bytes
from sigmastar.core.errors import InputError

KIND, VERSION = "sigmastar corpus", 1
MANIFEST, VOCABULARY = "manifest.json", "vocabulary.tsv"
_SMALL = 1 << 16


@dataclass(frozen=True)
class ShardEntry:
    """One shard: how much it holds, and the checksums of its two files."""

    name: str
    n_strings: int
    n_tokens: int
    tokens_sha256: str
    offsets_sha256: str


@dataclass(frozen=True)
class Manifest:
    """What a corpus is."""

    token_type: str
    n_words: int
    vocabulary_sha256: str
    shards: tuple[ShardEntry, ...]
    settings: dict[str, Any]
    sources: tuple[dict[str, Any], ...]
    found: dict[str, Any]

    @property
    def n_strings(self) -> int:
        return sum(shard.n_strings for shard in self.shards)

    @property
    def n_tokens(self) -> int:
        return sum(shard.n_tokens for shard in self.shards)

    @property
    def digest(self) -> str:
        """Tells corpora apart: the checksums of all their files."""
        sums = [self.vocabulary_sha256, *(s.tokens_sha256 + s.offsets_sha256 for s in self.shards)]
        return hashlib.sha256("\n".join(sums).encode()).hexdigest()

    def write(self, folder: Path) -> None:
        """Write it into the folder of the corpus."""
        content = {"kind": KIND, "version": VERSION, **asdict(self)}
        atomic_write_bytes(folder / MANIFEST, json.dumps(content, indent=1).encode() + b"\n")

    @classmethod
    def read(cls, folder: Path) -> Manifest:
        """Read it; what is no manifest of this version is refused."""
        file = folder / MANIFEST
        try:
            found = json.loads(file.read_text(encoding="utf-8"))
            kind, version = found.pop("kind"), found.pop("version")
            if kind != KIND or version != VERSION:
                raise InputError(
                    f"is of kind {kind!r}, version {version}, not {KIND!r} {VERSION}", file=str(file)
                )
            shards = tuple(ShardEntry(**shard) for shard in found.pop("shards"))
            return cls(shards=shards, sources=tuple(found.pop("sources")), **found)._checked(str(file))
        except (FileNotFoundError, NotADirectoryError):
            raise InputError(_why_no_corpus(folder), file=str(folder)) from None
        except (ValueError, KeyError, TypeError, AttributeError) as problem:
            if isinstance(problem, InputError):
                raise
            raise InputError("is damaged; build the corpus again", file=str(file)) from None

    def _checked(self, file: str) -> Manifest:
        """Names that would lead out of the folder or name no file, and types that are none, are refused."""
        names = [shard.name for shard in self.shards]
        are_names = all(
            name and Path(name).name == name and name.isascii() and name.isprintable() for name in names
        )
        if self.token_type not in ("<u2", "<i4") or not are_names:
            raise InputError("is damaged; build the corpus again", file=file)
        return self


def is_corpus(path: str | os.PathLike[str]) -> bool:
    """Whether a folder holds a corpus, finished or not."""
    return os.path.isdir(path) and (
        os.path.isfile(os.path.join(path, MANIFEST)) or os.path.isdir(os.path.join(path, BUILD))
    )


BUILD = "build.unfinished"
"""The folder inside that of a corpus where it is made."""


def token_type(n_words: int) -> str:
    """The type of codes: two bytes where they are enough."""
    return "<u2" if n_words <= _SMALL else "<i4"


def file_sum(path: Path) -> str:
    """SHA-256 of a file."""
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def little(array: Any, kind: str) -> memoryview:
    """The bytes of an array of a type."""
    whole = np.ascontiguousarray(array, np.dtype(kind))
    return whole.data.cast("B") if whole.size else memoryview(b"")


def _why_no_corpus(folder: Path) -> str:
    if not folder.exists():
        return "there is no such folder; make it with sigmastar corpus build"
    if folder.name in (MANIFEST, VOCABULARY) and (folder.parent / MANIFEST).is_file():
        return f"is a file of a corpus; give its folder, {folder.parent}"
    if not folder.is_dir():
        make = f"sigmastar corpus build {shlex.quote(str(folder))} -o DIR"
        return f"is a file, and the folder of a corpus is expected; {make} makes one of text"
    if (folder / BUILD).is_dir():
        return "the corpus is unfinished; run the same sigmastar corpus build again, which goes on with it"
    return "is no corpus: it has no manifest.json; make one with sigmastar corpus build"
