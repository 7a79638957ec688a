"""Model files: safetensors with one metadata key, `sigmastar`, that holds canonical JSON.

    family     which class the model is of; the records of families name its place
    version    of this format
    sigmastar  the release that wrote the file
    model      what describes the model beside its arrays (alphabets, options)
    learned    how it was learned
    sha256     of all of the above and of the name, type, shape and bytes of every array

Loading runs no code from the file. The same model gives the same bytes: one metadata key only, since
the order of several is left open by safetensors.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from typing import Any, BinaryIO, Protocol

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save

from sigmastar import __version__
from sigmastar.core.atomic import atomic_write_bytes
from sigmastar.core.canonical_json import of_json, to_json
from sigmastar.core.errors import ModelFileError
from sigmastar.core.family import kinds
from sigmastar.core.family import load as load_place

Arrays = dict[str, NDArray[Any]]
Header = dict[str, Any]

VERSION = 1
KEY = "sigmastar"
_FIELDS = {"family", "version", "sigmastar", "model", "learned", "sha256"}
_LARGEST_HEADER = 100_000_000  # safetensors reads no larger one


class StoredModel(Protocol):
    """A model that can be taken apart into arrays and a description, and put together again."""

    def to_parts(self) -> tuple[Arrays, Header]: ...

    @classmethod
    def from_parts(cls, arrays: Arrays, header: Header) -> Any: ...


def save_model(
    model: StoredModel, path: str | os.PathLike[str], learned: Mapping[str, Any] | None = None
) -> None:
    """Write a model, all of the file or nothing; `learned` holds how it came about.

    Parameters
    ----------
    model : StoredModel
        Of any family.
    path : str or path
        Where to write it.
    learned : mapping, optional
        How it was learned, in what JSON can hold.
    """
    atomic_write_bytes(path, model_bytes(model, learned))


def model_bytes(model: StoredModel, learned: Mapping[str, Any] | None = None) -> bytes:
    """The content of a model file."""
    parts, description = model.to_parts()
    arrays = {name: np.ascontiguousarray(array) for name, array in parts.items()}  # others are stored garbled
    for name, array in arrays.items():
        if _has_nan(array):
            raise ValueError(f"the array {name!r} of the model holds NaN: it is not worth keeping")
    header: Header = {
        "family": family_of(model),
        "version": VERSION,
        "sigmastar": __version__,
        "model": description,
        "learned": dict(learned or {}),
    }
    header["sha256"] = _digest(header, arrays)
    content: bytes = save(arrays, metadata={KEY: to_json(header)})
    if int.from_bytes(content[:8], "little") > _LARGEST_HEADER:
        raise ValueError("the alphabet and the description take more than 100 MB; make the alphabet smaller")
    return content


def load_model(path: str | os.PathLike[str], family: str | None = None) -> Any:
    """Read a model; with `family`, one of another family is refused.

    Parameters
    ----------
    path : str or path
        A file that `save_model` wrote.
    family : str, optional
        The kind of model that is expected; any if none is given.

    Returns
    -------
    object
        The model, of the class that its kind names.
    """
    name = os.fspath(path)
    content = _read(name)
    header = _header(content, len(content), name)
    if family is not None and header["family"] != family:
        raise ModelFileError(f"holds a model of family {header['family']!r}, not {family!r}", file=name)
    arrays = _arrays(content, name)
    if _digest(header, arrays) != header["sha256"]:
        raise _damaged("its checksum does not fit", name)
    _require_known(header["family"], name)
    return _built(load_place(kinds()[header["family"]].model), arrays, header["model"], name)


def read_header(path: str | os.PathLike[str]) -> Header:
    """The header of a model file, and the type and shape of its `arrays`; these are not read.

    The checksum is not verified: that needs the arrays, see `load_model`.
    """
    name = os.fspath(path)
    try:
        with open(path, "rb") as stream:
            size = os.fstat(stream.fileno()).st_size
            content = _head(stream)
    except OSError as problem:
        raise ModelFileError(_cannot_read(problem), file=name) from None
    return {**_header(content, size, name), "arrays": _shapes(_container(content, size, name), name)}


def kind_of(path: str | os.PathLike[str]) -> str:
    """The kind of model that a file holds; a kind that no family knows is refused."""
    kind = str(read_header(path)["family"])
    _require_known(kind, os.fspath(path))
    return kind


def above(prefix: str, arrays: Arrays) -> Arrays:
    """The arrays of a part of a model under names that begin with `prefix`."""
    return {prefix + name: array for name, array in arrays.items()}


def below(prefix: str, arrays: Arrays) -> Arrays:
    """The arrays of a part of a model: those whose names begin with `prefix`, without it."""
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


def is_model_file(path: str | os.PathLike[str]) -> bool:
    """Whether a file begins as model files do: with the length of a JSON header and a brace."""
    try:
        with open(path, "rb") as stream:
            return stream.read(9)[8:] == b"{"
    except OSError:
        return True  # the reader of models raises the error


def family_of(model: object) -> str:
    """The name under which models of this class are stored."""
    place = f"{type(model).__module__}:{type(model).__qualname__}"
    for name, kind in kinds().items():
        if kind.model == place:
            return name
    raise ValueError(
        f"models of class {type(model).__name__} cannot be stored; kinds of models are {', '.join(kinds())}"
    )


def _require_known(kind: str, name: str) -> None:
    known = kinds()
    if kind not in known:
        raise ModelFileError(
            f"holds a model of the unknown kind {kind!r}; known are {', '.join(known)}; "
            "a newer sigmastar may read it",
            file=name,
        )


def _built(family: type[StoredModel], arrays: Arrays, description: Header, name: str) -> Any:
    for key, array in arrays.items():
        if _has_nan(array):
            raise ModelFileError(f"the array {key!r} holds NaN weights; learn the model again", file=name)
    try:
        return family.from_parts(arrays, description)
    except KeyError as missing:
        raise ModelFileError(
            f"lacks {missing.args[0]!r}, which its family needs; write the model again", file=name
        ) from None
    except (ValueError, TypeError, AttributeError, IndexError) as problem:
        raise ModelFileError(
            f"does not hold a model of its family: {problem}; write the model again", file=name
        ) from None


def _read(name: str) -> bytes:
    try:
        with open(name, "rb") as stream:
            return stream.read()
    except OSError as problem:
        raise ModelFileError(_cannot_read(problem), file=name) from None


def _head(stream: BinaryIO) -> bytes:
    length = stream.read(8)
    return length + stream.read(min(int.from_bytes(length, "little"), _LARGEST_HEADER))


def _header(content: bytes, size: int, name: str) -> Header:
    """Our own header, checked but for its checksum."""
    metadata = _container(content, size, name).get("__metadata__")
    if not isinstance(metadata, dict) or set(metadata) != {KEY} or not isinstance(metadata[KEY], str):
        raise ModelFileError(
            "is a safetensors file, but not a model of sigmastar; use a file that sigmastar wrote", file=name
        )
    try:
        header = of_json(metadata[KEY])
    except ValueError as problem:
        raise _damaged(f"its header is {problem}", name) from None
    _require_version(header, name)
    if set(header) != _FIELDS or not all(isinstance(header[key], str) for key in ("family", "sha256")):
        raise _damaged("its header lacks fields", name)
    return header  # type: ignore[no-any-return]


def _require_version(header: object, name: str) -> None:
    version = header.get("version") if isinstance(header, dict) else None
    if type(version) is not int:
        raise _damaged("its header lacks a version", name)
    if version > VERSION:
        raise ModelFileError(
            f"is of format version {version}, this sigmastar reads up to {VERSION}; use a newer sigmastar",
            file=name,
        )


def _container(content: bytes, size: int, name: str) -> Header:
    """The header of the safetensors container: where each array lies, and the metadata."""
    if not size:
        raise ModelFileError("the file is empty; learn and write the model again", file=name)
    length = int.from_bytes(content[:8], "little")
    if size < 8 or content[8:9] != b"{" or length > _LARGEST_HEADER:
        raise ModelFileError("is not a model file (safetensors); use a file that sigmastar wrote", file=name)
    if 8 + length > size:
        raise _damaged("it was cut short", name)
    try:
        entries = json.loads(content[8 : 8 + length])
    except (ValueError, RecursionError):
        raise _damaged("its header cannot be read", name) from None
    if not isinstance(entries, dict):
        raise _damaged("its header cannot be read", name)
    return entries


def _shapes(entries: Header, name: str) -> Header:
    try:
        return {
            key: {"type": entry["dtype"], "shape": tuple(entry["shape"])}
            for key, entry in sorted(entries.items())
            if key != "__metadata__"
        }
    except (KeyError, TypeError):
        raise _damaged("its header cannot be read", name) from None


def _arrays(content: bytes, name: str) -> Arrays:
    try:
        arrays = load(content)
    except SafetensorError as problem:
        raise _damaged(f"the arrays cannot be read, {problem}", name) from None
    except Exception as problem:  # a damaged header can name any type and shape
        raise _damaged(f"the arrays cannot be read, {type(problem).__name__}", name) from None
    return {key: np.array(array) for key, array in sorted(arrays.items())}  # own and writable memory


def _digest(header: Header, arrays: Arrays) -> str:
    digest = hashlib.sha256(to_json({key: header[key] for key in header if key != "sha256"}).encode())
    for name, array in sorted(arrays.items()):
        digest.update(f"\n{name}\n{array.dtype.str}\n{array.shape}\n".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def _has_nan(array: NDArray[Any]) -> bool:
    return array.dtype.kind in "fc" and bool(np.isnan(array).any())


def _damaged(what: str, name: str) -> ModelFileError:
    return ModelFileError(f"is damaged: {what}; get or write the model again", file=name)


def _cannot_read(problem: OSError) -> str:
    if isinstance(problem, FileNotFoundError):
        return "there is no such file; check the name, or learn a model first"
    if isinstance(problem, IsADirectoryError):
        return "is a folder; give a model file inside it"
    return f"cannot be read: {problem.strerror or problem}"
