"""The header of a model file: canonical JSON, and what it must hold.

Text, integers, floats, booleans, None, lists and mappings from text are JSON already. Tuples, alphabets
and floats that are not finite carry a tag: {"$tuple": [...]}, {"$alphabet": [...]}, {"$float": "inf"}.
Canonical means one text for one value: keys sorted, no blanks, ASCII.

A command asks for the kind, the model and how it was learned, one after the other: headers of the files that
were opened last are kept, and parsed once as long as the file is the same.
"""

from __future__ import annotations

import io
import json
import math
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from sigmastar.core.alphabet import Alphabet
from sigmastar.core.container import Container, NotAContainer, read_data, read_head
from sigmastar.core.errors import ModelFileError

Header = dict[str, Any]

VERSION = 2
KEY, SUM, SIGNATURE = "sigmastar", "sha256", "signature"
_FIELDS = {"family", "version", "sigmastar", "model", "learned"}


def to_json(value: object) -> str:
    """The canonical text of a value; a value of another type is a `TypeError` that names it."""
    return json.dumps(_encoded(value), sort_keys=True, separators=(",", ":"), allow_nan=False)


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


def _encoded(value: object) -> object:
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"$float": repr(value)}
    if isinstance(value, Alphabet):
        return {"$alphabet": [_symbol(symbol) for symbol in value]}
    if type(value) is tuple:
        return {"$tuple": [_encoded(item) for item in value]}
    if isinstance(value, list):
        return [_encoded(item) for item in value]
    if isinstance(value, Mapping):
        return {_key(key): _encoded(item) for key, item in value.items()}
    raise TypeError(
        f"{value!r} of type {type(value).__name__} cannot be stored; use text, numbers, booleans, None "
        "or tuples of them"
    )


def _symbol(symbol: object) -> object:
    try:
        return _encoded(symbol)
    except TypeError as problem:
        raise TypeError(f"the symbol {problem}") from None


def _key(key: object) -> str:
    if not isinstance(key, str) or key.startswith("$"):
        raise TypeError(
            f"the key {key!r} of type {type(key).__name__} cannot be stored; use text without a leading $"
        )
    return key


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
            return to_json({key: self.header[key] for key in _FIELDS})
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
        raise ModelFileError(_cannot_read(problem), file=name) from None
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
        raise damaged(f"its header is {problem}", name) from None
    version = _version(header, name)
    if version > 1:
        header |= {key: text for key, text in metadata.items() if key != KEY}
    fields = set(header) - ({SIGNATURE} if version > 1 else set())
    texts = [header.get(key, "") for key in ("family", "sigmastar", SUM, SIGNATURE)]
    if fields != _FIELDS | {SUM} or not all(isinstance(text, str) for text in texts):
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


def _cannot_read(problem: OSError) -> str:
    if isinstance(problem, FileNotFoundError):
        return "there is no such file; check the name, or learn a model first"
    if isinstance(problem, IsADirectoryError):
        return "is a folder; give a model file inside it"
    return f"cannot be read: {problem.strerror or problem}"
