"""Compiled kernels on disk: one file per kernel and types of its arguments.

    entry      <module>.<name>-<digest of the sources>-<digest of the argument types>.nbc

An entry is looked for in, and written to the first that takes it of: the folder NUMBA_CACHE_DIR alone where
that is set; `__pycache__` beside the source; the user's folder of caches. An entry that cannot be read is
compiled anew; where none can be written work goes on without, and `cache_problem` gives the reason.
Entries that were not used for long are swept.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import re
import sys
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import groupby
from typing import Any, NamedTuple, TypeVar

import numba
from numba.core import compiler, event, serialize
from numba.core.runtime import nrt
from numba.misc import appdirs

from sigmastar.core.kernel_key import digest, environment, facts_of, signature_facts

_config: Any = numba.config
_event: Any = event
_CompileResult: Any = compiler.CompileResult
_llvm: Any = sys.modules["llvmlite.binding"]  # numba has imported it
_runtime: Any = nrt.rtsys
_serialize: Any = serialize
_user_cache_dir: Any = appdirs.user_cache_dir

Function = TypeVar("Function", bound=Callable[..., object])


def cache_problem() -> str | None:
    """Why kernels that this process has compiled will be compiled again by the next one.

    Returns
    -------
    str or None
        A line that names the folders that were tried and what to do; None where all is well.
    """
    return _stranded[0] if _stranded else None


_refused: dict[str, str] = {}  # folders that took no entry, and why
_stranded: list[str] = []  # messages about kernels that could not be kept


class _Entry(NamedTuple):
    """The name of a file of the cache, without its folder."""

    function: str
    sources: str
    types: str

    @property
    def file(self) -> str:
        return f"{self.function}-{self.sources}-{self.types}.nbc"


class KernelCache:
    """Where a kernel's dispatcher looks before it compiles, and stores after."""

    def __init__(self, dispatcher: Any) -> None:
        self._dispatcher = dispatcher

    @property
    def cache_path(self) -> str | None:
        return next(iter(self._folders()), None)

    def _folders(self) -> list[str]:
        return _folders(self._dispatcher.py_func.__code__.co_filename)

    def _entry(self, signature: Any, codegen: Any) -> _Entry:
        function = self._dispatcher.py_func
        name = re.sub(r"[^\w.]", "", f"{function.__module__}.{function.__qualname__}")[-120:]
        sources = (environment(codegen), facts_of(self._dispatcher, (), {}))
        return _Entry(name, digest(sources), digest(signature_facts(signature)))

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return self._load(sig, target_context)
        except Exception:  # whatever is wrong with an entry: compiling it again mends it
            return None

    def _load(self, signature: Any, target_context: Any) -> Any:
        entry = self._entry(signature, target_context.codegen())
        content = _first(_read(folder, entry) for folder in self._folders())
        if content is None:
            return None
        externals, parts = pickle.loads(content)
        _provide(externals, target_context)
        result = _CompileResult._rebuild(target_context, *parts)
        arguments = getattr(signature, "args", signature)
        return result if tuple(result.signature.args) == tuple(arguments) else None

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            if any(not lifted.can_cache for lifted in data.lifted) or data.library.has_dynamic_globals:
                raise ValueError("large global arrays and pointers are not kept")
            content = _serialize.dumps((_externals(data.library), data._reduce()))
            entry = self._entry(sig, data.codegen)
        except Exception as problem:  # a kernel that cannot be kept can still be run
            _stranded.append(f"compiled kernel {self._dispatcher.__name__} cannot be kept: {problem}")
            return
        _keep(self._folders(), entry, content)

    def flush(self) -> None:
        """Numba calls it; entries are never stale."""


def _externals(library: Any) -> list[str]:
    """The names that compiled code takes from the process it runs in."""
    module = library._final_module
    declared = [item.name for item in (*module.functions, *module.global_variables) if item.is_declaration]
    return [name for name in declared if _llvm.address_of_symbol(name)]


def _provide(externals: Iterable[str], target_context: Any) -> None:
    """Make the names known that code from the cache takes; LLVM ends the process where one is not.

    Numba makes all of its library known first, which takes 0.3 s and is needed to compile, seldom to run.
    """
    _runtime.initialize(target_context)
    if not all(map(_llvm.address_of_symbol, externals)):
        target_context.refresh()


def _first(contents: Iterable[bytes | None]) -> bytes | None:
    return next((content for content in contents if content is not None), None)


def _folders(source: str) -> list[str]:
    """Where kernels of the file `source` may lie, the best place first."""
    if _config.CACHE_DIR:
        return [os.path.join(_config.CACHE_DIR, "sigmastar")]
    beside, shared = os.path.dirname(source), _user_cache_dir("sigmastar", appauthor=False)
    places = [os.path.join(beside, "__pycache__")] if os.path.isdir(beside) else []
    # Without a home the user's folder is no path from the root, and would be made wherever we stand.
    return [place for place in (*places, os.path.join(shared, "kernels")) if os.path.isabs(place)]


_DAY = 24 * 60 * 60.0


def _read(folder: str, entry: _Entry) -> bytes | None:
    """The content of an entry; None where there is none or it is not what was written under this name."""
    path = os.path.join(folder, entry.file)
    try:
        with open(path, "rb") as file:
            seal, content, used = file.read(32), file.read(), os.fstat(file.fileno()).st_mtime
    except OSError:
        return None
    if seal != _seal(entry, content):
        return None
    if time.time() - used > _DAY / 4:
        with suppress(OSError):
            os.utime(path)  # the sweep goes by the last use
    return content


def _seal(entry: _Entry, content: bytes) -> bytes:
    return hashlib.sha256(entry.file.encode() + content).digest()


def _keep(folders: Iterable[str], entry: _Entry, content: bytes) -> None:
    """Write an entry into the first folder that takes it; a folder that once refused is not asked again."""
    tried = [folder for folder in folders if folder not in _refused]
    for folder in tried:
        try:
            _write(folder, entry, _seal(entry, content) + content)
            return
        except OSError as problem:
            _refused[folder] = problem.strerror or str(problem)
    if not _stranded:
        places = "; ".join(f"{folder}: {reason}" for folder, reason in _refused.items())
        _stranded.append(
            f"compiled kernels cannot be kept ({places or 'there is no folder for them'}); "
            "set NUMBA_CACHE_DIR to a folder that can be written and has room"
        )


def _write(folder: str, entry: _Entry, content: bytes) -> None:
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, entry.file)
    temporary = f"{path}.{uuid.uuid4().hex[:16]}.tmp"
    try:
        with open(temporary, "wb") as file:
            file.write(content)
        os.replace(temporary, path)
    except OSError:
        with suppress(OSError):
            os.unlink(temporary)
        if not os.path.exists(path):  # Windows: another process has written it and reads it now
            raise
    _sweep(folder)


# What is not used any more.

_KEPT = 4  # versions of a kernel: checkouts and flags that take turns
_FORGOTTEN = 90 * _DAY
_FILE = re.compile(r"(?P<function>.+)-(?P<sources>[0-9a-f]{16})-(?P<types>[0-9a-f]{16})\.nbc(\.\w+\.tmp)?")
_swept: set[str] = set()


class _Version(NamedTuple):
    """The files of one kernel that were made from the same sources."""

    function: str
    used: float
    paths: list[str]


def _sweep(folder: str) -> None:
    """Once per process, remove versions of kernels that were replaced, or not used for long.

    Processes keep what they have read, and compile what they do not find: a file may go at any time. None
    goes within a day of its last use, so that those that take turns do not compile for each other.
    """
    if folder in _swept:
        return
    _swept.add(folder)
    with suppress(OSError):
        for path in _useless(_versions(folder), time.time()):
            with suppress(OSError):
                os.unlink(path)


def _versions(folder: str) -> list[_Version]:
    found: dict[tuple[str, str], list[os.DirEntry[str]]] = {}
    with os.scandir(folder) as files:
        for file in files:
            if parts := _FILE.fullmatch(file.name):
                found.setdefault((parts["function"], parts["sources"]), []).append(file)
    return [
        _Version(function, max(file.stat().st_mtime for file in files), [file.path for file in files])
        for (function, _), files in found.items()
    ]


def _useless(versions: Iterable[_Version], now: float) -> Iterator[str]:
    newest_first = sorted(versions, key=lambda version: (version.function, -version.used))
    for _, group in groupby(newest_first, key=lambda version: version.function):
        for rank, version in enumerate(group):
            if now - version.used > (_DAY if rank >= _KEPT else _FORGOTTEN):
                yield from version.paths
