"""Parts of a job in files: those that wait for each other, and those that outlive the job (a ledger)."""

from __future__ import annotations

import hashlib
import mmap
import os
import pickle
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar
from warnings import warn

import numpy as np

from sigmastar.core.atomic import atomic_write_pieces
from sigmastar.core.model_format import read_data, read_head, views, written

Part = TypeVar("Part")
_ALIGNED = 64


class Filed(NamedTuple):
    """A part whose arrays lie in a file."""

    file: str
    rest: bytes
    ends: tuple[int, ...]  # where each array ends

    @classmethod
    def of(cls, file: str, part: Any) -> Filed:
        buffers, ends = list[pickle.PickleBuffer](), list[int]()
        rest = pickle.dumps(part, 5, buffer_callback=buffers.append)
        with open(file, "wb") as stream:
            for buffer in buffers:
                stream.write(bytes(-stream.tell() % _ALIGNED))
                stream.write(buffer.raw())
                ends.append(stream.tell())
        return cls(file, rest, tuple(ends))

    def taken(self) -> Any:
        """The part, mapped; who writes to its arrays writes to a copy."""
        if not self.ends or not self.ends[-1]:
            return pickle.loads(self.rest, buffers=[bytearray() for _ in self.ends])
        with open(self.file, "rb") as stream:
            whole = memoryview(mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_COPY))
        begins = [end + -end % _ALIGNED for end in (0, *self.ends[:-1])]
        return pickle.loads(
            self.rest, buffers=[whole[begin:end] for begin, end in zip(begins, self.ends, strict=True)]
        )


@dataclass(frozen=True)
class Ledger:
    """What finished tasks found, one file each, so that a job that was stopped goes on.

    Parameters
    ----------
    folder : path
        Where the files lie; workers on other machines must see it too.
    job : str
        What the job is: parts of another one are not taken for its own.
    """

    folder: Path
    job: str

    def keeping(
        self, task: Callable[[Any], Part], kind: Callable[..., Part], items: Iterable[Any]
    ) -> Kept[Part]:
        """The task with a memory; `kind` is the named tuple of arrays that it gives for each of the items."""
        self.folder.mkdir(parents=True, exist_ok=True)
        own = {self.file_of(item).name for item in items}
        n_others = sum(file.name not in own for file in self.folder.glob("*.part"))
        if n_others:
            warn(f"{self.folder}: {n_others} parts of other corpora or settings are not used", stacklevel=2)
        return Kept(self, task, kind)

    def file_of(self, item: Any) -> Path:
        """Where the part of an item is kept."""
        digest = hashlib.sha256(f"{self.job}\n{item!r}".encode()).hexdigest()
        return self.folder / f"{digest[:32]}.part"

    def close(self) -> None:
        """Forget all parts: the job is done."""
        shutil.rmtree(self.folder, ignore_errors=True)


@dataclass(frozen=True)
class Kept(Generic[Part]):
    """A task that looks into the ledger first."""

    ledger: Ledger
    task: Callable[[Any], Part]
    kind: Callable[..., Part]

    def __call__(self, item: Any) -> Part:
        file = self.ledger.file_of(item)
        if (known := _read_part(file)) is not None:
            return self.kind(**known)
        part: Any = self.task(item)
        arrays = {name: np.asarray(value) for name, value in part._asdict().items()}
        atomic_write_pieces(file, written(arrays, {}))
        return part  # type: ignore[no-any-return]


def _read_part(file: Path) -> dict[str, Any] | None:
    if not os.path.exists(file):
        return None
    try:
        with open(file, "rb") as stream:
            head = read_head(stream)
            return views(head, read_data(stream, head.n_bytes))
    except ValueError:
        return None  # damaged: the task runs again
