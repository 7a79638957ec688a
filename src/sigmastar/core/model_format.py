"""The format of model files, and writing them: named arrays behind a JSON header, as safetensors has it.

    8 bytes            length of the header
    header             {"__metadata__": {..}, name: {"dtype", "shape", "data_offsets"}, ..}, padded to 8 bytes
    arrays             one after the other, without gaps; wide numbers first, so that all are aligned

The metadata hold

    sigmastar   canonical JSON:
        family     which class the model is of; the records of families name its place
        version    of this format
        sigmastar  the release that wrote the file
        model      what describes the model beside its arrays (alphabets, options)
        learned    how it was learned
    sha256      of the above and of the name, type, shape and bytes of every array
    signature   of the checksum (`core.signing`), where the writer had a key

The same model gives the same bytes, and no other bytes are that model. Canonical JSON is one text for one
value: keys sorted, no blanks, ASCII. Tuples, alphabets and floats that are not finite carry a tag:
{"$tuple": [...]}, {"$alphabet": [...]}, {"$float": "inf"}.

Files that others wrote are read too. Everything that the header claims is held against the size of the file
before memory is taken, and arrays are views of one buffer: nothing is copied. A file is not mapped into
memory: it could change under a model whose indices were found right. What data a model was learned from is
told by a hash of its arrays.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import stat
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from typing import Any, BinaryIO, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sigmastar import __version__
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.atomic import atomic_write_pieces
from sigmastar.core.family import kinds

Arrays = dict[str, NDArray[Any]]

METADATA = "__metadata__"
LARGEST_HEADER = 100_000_000  # that other readers of the format take
_CHUNK = 1 << 20
_TYPES = {
    "F64": "<f8",
    "F32": "<f4",
    "F16": "<f2",
    "I64": "<i8",
    "I32": "<i4",
    "I16": "<i2",
    "I8": "|i1",
    "U64": "<u8",
    "U32": "<u4",
    "U16": "<u2",
    "U8": "|u1",
    "BOOL": "|b1",
}
_NAMES = {text: name for name, text in _TYPES.items()}

Header = dict[str, Any]

VERSION = 2
KEY, SUM, SIGNATURE = "sigmastar", "sha256", "signature"
FIELDS = {"family", "version", "sigmastar", "model", "learned"}


def to_json(value: object) -> str:
    """The canonical text of a value; a value of another type is a `TypeError` that names it."""
    return json.dumps(_encoded(value), sort_keys=True, separators=(",", ":"), allow_nan=False)


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


class NotAContainer(ValueError):
    """The file is of another format."""


class Entry(NamedTuple):
    """Where an array lies behind the header, and what it is."""

    type: str
    shape: tuple[int, ...]
    begin: int
    end: int


class Container(NamedTuple):
    """The header of a file: its bytes, what it holds beside the arrays, and where these lie."""

    head: bytes
    metadata: dict[str, str]
    entries: dict[str, Entry]

    @property
    def n_bytes(self) -> int:
        """The size of all arrays."""
        return max((entry.end for entry in self.entries.values()), default=0)

    @property
    def is_canonical(self) -> bool:
        """Whether the header is, byte for byte, what `written` gives."""
        kinds = {name: (_TYPES[entry.type], entry.shape) for name, entry in self.entries.items()}
        return self.head == _head(kinds, self.metadata)


def written(arrays: Mapping[str, NDArray[Any]], metadata: Mapping[str, str]) -> Iterator[bytes | memoryview]:
    """The content of a file, piece by piece; the same arrays and words give the same bytes."""
    whole = {name: _little(array) for name, array in arrays.items()}
    head = _head({name: (array.dtype.str, array.shape) for name, array in whole.items()}, metadata)
    if len(head) > LARGEST_HEADER:
        raise ValueError("the alphabet and the description take more than 100 MB; make the alphabet smaller")
    yield head
    for name in _order({name: array.dtype.str for name, array in whole.items()}):
        if whole[name].size:
            yield whole[name].data.cast("B")


def _little(array: NDArray[Any]) -> NDArray[Any]:
    whole = np.ascontiguousarray(array)
    found = whole.astype(whole.dtype.newbyteorder("<"), copy=False)
    if found.dtype.str not in _NAMES:
        raise TypeError(f"arrays of type {array.dtype} cannot be stored")
    return found.reshape(array.shape)  # arrays without dimensions came back with one


def _order(types: Mapping[str, str]) -> list[str]:
    return sorted(types, key=lambda name: (-np.dtype(types[name]).itemsize, name))


def _head(kinds: Mapping[str, tuple[str, tuple[int, ...]]], metadata: Mapping[str, str]) -> bytes:
    entries: dict[str, Any] = {METADATA: dict(sorted(metadata.items()))}
    at = 0
    for name in _order({name: text for name, (text, _) in kinds.items()}):
        text, shape = kinds[name]
        end = at + np.dtype(text).itemsize * math.prod(shape)
        entries[name] = {"dtype": _NAMES[text], "shape": list(shape), "data_offsets": [at, end]}
        at = end
    content = json.dumps(entries, separators=(",", ":")).encode()
    content += b" " * (-len(content) % 8)
    return len(content).to_bytes(8, "little") + content


def read_head(stream: BinaryIO) -> Container:
    """The header at the begin of a stream; ValueError with the reason where there is none."""
    size = file_size(stream)
    start = stream.read(9)
    if not start:
        raise NotAContainer("the file is empty; learn and write the model again")
    length = int.from_bytes(start[:8], "little")
    if start[8:] != b"{" or length > LARGEST_HEADER:
        raise NotAContainer("is not a model file (safetensors); use a file that sigmastar wrote")
    rest = stream.read(length - 1) if size is None or 8 + length <= size else b""
    if len(rest) != length - 1:
        raise ValueError("it was cut short")
    container = _parsed(start + rest)
    if size is not None and 8 + length + container.n_bytes != size:
        fault = "it was cut short" if 8 + length + container.n_bytes > size else "it is longer than it says"
        raise ValueError(fault)
    return container


def file_size(stream: BinaryIO) -> int | None:
    """The size of a regular file; None for what may end anywhere, as pipes do."""
    status = os.fstat(stream.fileno())
    return status.st_size if stat.S_ISREG(status.st_mode) else None


def _parsed(head: bytes) -> Container:
    try:
        found = json.loads(head[8:])
        metadata = found.pop(METADATA, {})
        entries = {name: _entry(entry) for name, entry in found.items()}
        plain = isinstance(metadata, dict) and all(isinstance(text, str) for text in metadata.values())
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise ValueError("its header cannot be read") from None
    if not plain:
        raise ValueError("its header cannot be read")
    at = 0
    for entry in sorted(entries.values(), key=lambda entry: (entry.begin, entry.end)):
        if entry.begin != at or entry.end - at != np.dtype(_TYPES[entry.type]).itemsize * math.prod(
            entry.shape
        ):
            raise ValueError("its arrays do not lie one after the other")
        at = entry.end
    return Container(head, metadata, entries)


def _entry(entry: dict[str, Any]) -> Entry:
    shape, (begin, end) = entry["shape"], entry["data_offsets"]
    if set(entry) != {"dtype", "shape", "data_offsets"} or entry["dtype"] not in _TYPES:
        raise ValueError("no array")
    if not all(type(number) is int and number >= 0 for number in (*shape, begin, end)) or len(shape) > 16:
        raise ValueError("no shape")
    return Entry(entry["dtype"], tuple(shape), begin, end)


def read_data(stream: BinaryIO, n_bytes: int) -> NDArray[np.uint8]:
    """The bytes behind the header, in one buffer; of a pipe no more than comes is kept."""
    buffer = np.empty(n_bytes if file_size(stream) is not None else min(n_bytes, _CHUNK), dtype=np.uint8)
    done = 0
    while done < n_bytes:
        if done == len(buffer):
            buffer = np.concatenate([buffer, np.empty(min(len(buffer), n_bytes - done), dtype=np.uint8)])
        n_read = stream.readinto(buffer.data[done:])  # type: ignore[attr-defined]
        if not n_read:
            raise ValueError("it was cut short")
        done += n_read
    if stream.read(1):
        raise ValueError("it is longer than it says")
    return buffer


def views(container: Container, buffer: NDArray[np.uint8]) -> Arrays:
    """The arrays of a file: views of the buffer, but for those that do not lie as machines need them."""
    arrays = {}
    for name, entry in sorted(container.entries.items()):
        raw = buffer[entry.begin : entry.end]
        kind = np.dtype(_TYPES[entry.type])
        if entry.type == "BOOL" and raw.max(initial=0) > 1:
            raise ValueError(f"the truth values of the array {name!r} are neither 0 nor 1")
        if entry.begin % kind.itemsize:
            raw = raw.copy()
        try:
            arrays[name] = raw.view(kind).reshape(entry.shape)
        except ValueError:
            raise ValueError(f"the array {name!r} has no possible shape") from None
    return arrays


def above(prefix: str, arrays: Arrays) -> Arrays:
    """The arrays of a part of a model under names that begin with `prefix`."""
    return {prefix + name: array for name, array in arrays.items()}


def below(prefix: str, arrays: Arrays) -> Arrays:
    """The arrays of a part of a model: those whose names begin with `prefix`, without it."""
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


def digest_of(text: str, arrays: Arrays) -> str:
    """SHA-256 of a text and of the name, type, shape and bytes of every array."""
    digest = hashlib.sha256(text.encode())
    for name, array in sorted(arrays.items()):
        digest.update(f"\n{name}\n{array.dtype.str}\n{array.shape}\n".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


class Coded(Protocol):
    """A corpus as codes, and where each of its members begins."""

    @property
    def codes(self) -> NDArray[Any]: ...

    @property
    def offsets(self) -> NDArray[Any]: ...


def hash_arrays(*arrays: ArrayLike) -> str:
    """SHA-256 of arrays: their types, shapes and contents, in order."""
    digest = hashlib.sha256()
    for given in arrays:
        array = np.ascontiguousarray(given)
        digest.update(f"{array.dtype.str}{array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def hash_strings(*corpora: Coded) -> str:
    """SHA-256 of corpora: their codes and where strings end."""
    return hash_arrays(*(array for corpus in corpora for array in (corpus.codes, corpus.offsets)))


KeyPath = str | os.PathLike[str]

SIGNING_KEY: ContextVar[KeyPath | None] = ContextVar("signing", default=None)
"""The key of the command that runs, see `core.signing`."""


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

    Notes
    -----
    A fitted estimator is written as its own `save` does it.
    """
    if not hasattr(model, "to_parts") and hasattr(model, "save"):
        model.save(path)
        return
    atomic_write_pieces(path, _pieces(model, learned))


def model_bytes(model: StoredModel, learned: Mapping[str, Any] | None = None) -> bytes:
    """The content of a model file."""
    return b"".join(_pieces(model, learned))


def _pieces(model: StoredModel, learned: Mapping[str, Any] | None) -> Iterator[bytes | memoryview]:
    arrays, description = model.to_parts()
    for name, array in arrays.items():
        if has_nan(array):
            raise ValueError(f"the array {name!r} of the model holds NaN: it is not worth keeping")
    header = {
        "family": family_of(model),
        "version": VERSION,
        "sigmastar": __version__,
        "model": description,
        "learned": dict(learned or {}),
    }
    return sealed(header, arrays, SIGNING_KEY.get())


def sealed(header: Header, arrays: Arrays, key: KeyPath | None) -> Iterator[bytes | memoryview]:
    """A file of the current version with its checksum, and with a signature where there is a private key."""
    text = to_json(header)
    metadata = {KEY: text, SUM: digest_of(text, arrays)}
    if key is not None:
        from sigmastar.core.signing import signature  # needs a package more

        metadata[SIGNATURE] = signature(metadata[SUM], key)
    return written(arrays, metadata)


def family_of(model: object) -> str:
    """The name under which models of this class are stored."""
    place = f"{type(model).__module__}:{type(model).__qualname__}"
    for name, kind in kinds().items():
        if kind.model == place:
            return name
    raise ValueError(
        f"models of class {type(model).__name__} cannot be stored; kinds of models are {', '.join(kinds())}"
    )


def has_nan(array: NDArray[Any]) -> bool:
    return array.dtype.kind in "fc" and bool(np.isnan(array).any())
