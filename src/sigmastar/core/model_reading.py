"""Reading model files: kind, header, arrays, the model itself. `core.model_format` has what they hold.

Loading runs no code from the file, and every class holds the arrays against what it declares of them
(`core.stored_parts`) before anything compiled sees them. Of a file that was changed nothing is read. Files of
version 1, with the checksum inside the JSON and whatever order of arrays, are read too.

A command asks for the kind, the model and how it was learned, one after the other: headers of the files that
were opened last are kept, and parsed once as long as the file is the same.
"""

from __future__ import annotations

import io
import json
import os
import stat
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from sigmastar.core.alphabet import Alphabet
from sigmastar.core.errors import ModelFileError
from sigmastar.core.family import Kind, find_kind, foreign_kind, kinds
from sigmastar.core.family import load as load_place
from sigmastar.core.model_format import (
    FIELDS,
    KEY,
    SIGNATURE,
    SUM,
    VERSION,
    Arrays,
    Container,
    Header,
    KeyPath,
    NotAContainer,
    StoredModel,
    above,
    below,
    digest_of,
    family_of,
    has_nan,
    model_bytes,
    read_data,
    read_head,
    save_model,
    sealed,
    to_json,
    views,
)

__all__ = ["SIGNATURE", "SUM", "VERSION", "Arrays", "Header", "StoredModel", "above", "below", "family_of"]
__all__ += ["is_model_file", "kind_of", "load_model", "model_bytes", "of_json", "read_arrays", "read_header"]
__all__ += ["save_model", "sealed", "to_json"]

VERIFYING_KEY: ContextVar[KeyPath | None] = ContextVar("verifying", default=None)
"""The key of the command that runs, see `core.signing`."""


def of_json(text: str) -> Any:
    """The value of a text; anything but the canonical text of a value is a `ValueError`."""
    try:
        value = json.loads(text, object_hook=_decoded)
        canonical = to_json(value)
    except (RecursionError, TypeError, AttributeError) as problem:
        raise ValueError(f"not a text of this library: {problem}") from None
    if canonical != text:
        raise ValueError("not in canonical form")
    return value


def _decoded(mapping: dict[str, Any]) -> Any:
    if len(mapping) == 1:
        ((key, content),) = mapping.items()
        if key == "$tuple":
            return tuple(content)
        if key == "$alphabet":
            return Alphabet(content)
        if key == "$float":
            return float(content)
    return mapping


@dataclass(frozen=True, eq=False)
class OpenedModel:
    """The header of a file, parsed and checked but for the checksum."""

    name: str
    container: Container
    header: Header
    state: tuple[int, ...]  # of the file when it was read; a file that was changed is read anew
    data: NDArray[np.uint8] | None  # of a pipe, which cannot be read twice

    @property
    def summed_text(self) -> str:
        """The part of the header that the checksum is of."""
        if self.header["version"] == 1:
            return to_json({key: self.header[key] for key in FIELDS})
        return self.container.metadata[KEY]


def was_opened(name: str) -> bool:
    """Whether a pipe was read as a model file before."""
    return name in _recent


_recent: dict[str, OpenedModel] = {}
_N_RECENT = 4


def opened_model(name: str, with_data: bool) -> tuple[OpenedModel, NDArray[np.uint8]]:
    """The header of a file, and with data the bytes of its arrays."""
    try:
        known = _recent.get(name)
        if known is not None and known.data is not None and not stat.S_ISREG(os.stat(name).st_mode):
            return known, known.data
        with open(name, "rb") as stream:
            opened = _read(stream, name)
            if opened.data is not None or not with_data:
                return opened, np.empty(0, np.uint8) if opened.data is None else opened.data
            stream.seek(len(opened.container.head), io.SEEK_SET)
            return opened, read_data(stream, opened.container.n_bytes)
    except OSError as problem:
        raise ModelFileError(_cannot_read(problem, name), file=name) from None
    except NotAContainer as problem:
        raise ModelFileError(str(problem), file=name) from None
    except ModelFileError:
        raise
    except ValueError as problem:
        raise damaged(str(problem), name) from None


def _read(stream: BinaryIO, name: str) -> OpenedModel:
    """The header of a stream, parsed once as long as the file is the same."""
    status = os.fstat(stream.fileno())
    state = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
    known, is_file = _recent.get(name), stat.S_ISREG(status.st_mode)
    if known is not None and is_file and known.state == state:
        return known
    container = read_head(stream)
    data = None if is_file else read_data(stream, container.n_bytes)
    _recent[name] = OpenedModel(name, container, _header(container, name), state, data)
    while len(_recent) > _N_RECENT:
        del _recent[next(iter(_recent))]
    return _recent[name]


def _header(container: Container, name: str) -> Header:
    """Our own header, checked but for its checksum."""
    metadata = container.metadata
    if KEY not in metadata or not set(metadata) <= {KEY, SUM, SIGNATURE}:
        raise ModelFileError(
            "is a safetensors file, but not a model of sigmastar; use a file that sigmastar wrote", file=name
        )
    try:
        header = of_json(metadata[KEY])
    except ValueError as problem:
        raise damaged(f"its header cannot be read: {problem}", name) from None
    version = _version(header, name)
    if version > 1:
        header |= {key: text for key, text in metadata.items() if key != KEY}
    fields = set(header) - ({SIGNATURE} if version > 1 else set())
    texts = [header.get(key, "") for key in ("family", "sigmastar", SUM, SIGNATURE)]
    if fields != FIELDS | {SUM} or not all(isinstance(text, str) for text in texts):
        raise damaged("its header lacks fields", name)
    if not isinstance(header["learned"], dict) or not isinstance(header["model"], dict):
        raise damaged("its header does not describe a model", name)
    if version > 1 and not container.is_canonical:
        raise damaged("its header is not as it was written", name)
    return header  # type: ignore[no-any-return]


def _version(header: object, name: str) -> int:
    version = header.get("version") if isinstance(header, dict) else None
    if type(version) is not int or version < 1:
        raise damaged("its header lacks a version", name)
    if version > VERSION:
        raise ModelFileError(
            f"is of format version {version}, this sigmastar reads up to {VERSION}; use a newer sigmastar",
            file=name,
        )
    return version


def damaged(what: str, name: str) -> ModelFileError:
    return ModelFileError(f"is damaged: {what}; get or write the model again", file=name)


def _cannot_read(problem: OSError, name: str) -> str:
    if isinstance(problem, FileNotFoundError) and name == "-":
        return "is for data; a model is a file, or /dev/stdin where it comes from a pipe"
    if isinstance(problem, FileNotFoundError):
        return "there is no such file; check the name, or learn a model first"
    if isinstance(problem, IsADirectoryError):
        return "is a folder; give a model file inside it"
    return f"cannot be read: {problem.strerror or problem}"


def load_model(path: str | os.PathLike[str], family: str | None = None) -> Any:
    """Read a model; with `family`, one of another family is refused.

    Parameters
    ----------
    path : str or path
        A file that `save_model` wrote, or one of another tool that a family knows by its ending.
    family : str, optional
        The kind of model that is expected; any if none is given.

    Returns
    -------
    object
        The model, of the class that its kind names.
    """
    name = os.fspath(path)
    if (foreign := foreign_kind(name)) is not None:
        _require_kind(foreign[0], family, name)
        return load_place(foreign[1])(name)
    opened, arrays = read_arrays(name)
    kind = opened.header["family"]
    _require_kind(kind, family, name)
    return _built(load_place(_known(kind, name).model), arrays, opened.header["model"], name)


def _require_kind(kind: str, wanted: str | None, name: str) -> None:
    if wanted is not None and kind != wanted:
        raise ModelFileError(f"holds a model of family {kind!r}, not {wanted!r}", file=name)


def read_arrays(name: str) -> tuple[OpenedModel, Arrays]:
    """A file as it lies there: its header, and its arrays if their checksum and signature are right."""
    opened, data = opened_model(name, with_data=True)
    _require_signature(opened)
    try:
        arrays = views(opened.container, data)
    except ValueError as problem:
        raise damaged(f"{problem}", name) from None
    if digest_of(opened.summed_text, arrays) != opened.header[SUM]:
        raise damaged("its checksum does not fit", name)
    return opened, arrays


def read_header(path: str | os.PathLike[str]) -> Header:
    """The header of a model file, and the type and shape of its `arrays`; these are not read.

    The checksum is not verified: that needs the arrays, see `load_model`.
    """
    if (foreign := foreign_kind(os.fspath(path))) is not None:
        if VERIFYING_KEY.get() is not None:
            raise ModelFileError("is a file of another tool, which has no signature", file=os.fspath(path))
        return {"family": foreign[0], "learned": {}, "model": {}, "arrays": {}}
    opened, _ = opened_model(os.fspath(path), with_data=False)
    _require_signature(opened)
    entries = sorted(opened.container.entries.items())
    return {**opened.header, "arrays": {key: {"type": e.type, "shape": e.shape} for key, e in entries}}


def kind_of(path: str | os.PathLike[str]) -> str:
    """The kind of model that a file holds; a kind that no family knows is refused."""
    kind = str(read_header(path)["family"])
    _known(kind, os.fspath(path))
    return kind


def is_model_file(path: str | os.PathLike[str]) -> bool:
    """Whether a file begins as model files do: with the length of a JSON header and a brace."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return was_opened(os.fspath(path))
        with open(path, "rb") as stream:
            return stream.read(9)[8:] == b"{"
    except OSError:
        return True  # the reader of models raises the error


def _require_signature(opened: OpenedModel) -> None:
    """Refuse a file where a key is asked for and its owner did not sign the file."""
    key = VERIFYING_KEY.get()
    if key is None:
        return
    from sigmastar.core.signing import is_signed_by

    found = opened.header.get(SIGNATURE)
    if found is None:
        raise ModelFileError("is not signed, and --verify-key asks for a signature", file=opened.name)
    if not is_signed_by(opened.header[SUM], found, key):
        raise ModelFileError(f"was not signed by the owner of the key {os.fspath(key)}", file=opened.name)


def _known(kind: str, name: str) -> Kind:
    found = find_kind(kind)
    if found is None:
        raise ModelFileError(
            f"holds a model of the unknown kind {kind!r}; known are {', '.join(kinds())}; "
            "a newer sigmastar may read it",
            file=name,
        )
    return found


def _built(family: type[StoredModel], arrays: Arrays, description: Header, name: str) -> Any:
    for key, array in arrays.items():
        if has_nan(array):
            raise ModelFileError(f"the array {key!r} holds NaN weights; learn the model again", file=name)
    try:
        return family.from_parts(arrays, description)
    except KeyError as missing:
        raise ModelFileError(
            f"lacks {missing.args[0]!r}, which its family needs; write the model again", file=name
        ) from None
    except (ValueError, TypeError, AttributeError, IndexError, OverflowError, RecursionError) as problem:
        raise ModelFileError(
            f"does not hold a model of its family: {problem}; write the model again", file=name
        ) from None
