"""Compiled kernels on disk: one file per kernel and types of its arguments.

    entry      <module>.<name>-<digest of the sources>-<digest of the argument types>.nbc
    sources    the bytecode of the kernel and of every kernel and part that it calls, to any depth;
               the globals, closures and defaults that they read, and their options;
               numba's flags, the versions, the processor

So a change in one file is noticed by the kernels of all other files, and by those alone that use it. The
digest is of what this process has loaded, not of files: a source that is edited while a process runs spoils
nothing.

An entry is looked for in, and written to the first that takes it of: the folder NUMBA_CACHE_DIR alone where
that is set; `__pycache__` beside the source; the user's folder of caches. An entry that cannot be read is
compiled anew; where none can be written work goes on without, and `cache_problem` gives the reason.
Entries that were not used for long are swept.
"""

from __future__ import annotations

import builtins
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
from types import CodeType, ModuleType
from typing import Any, NamedTuple, TypeVar

import numba
import numpy as np
from numba.core import compiler, serialize
from numba.core.runtime import nrt
from numba.misc import appdirs

_config: Any = numba.config
_CompileResult: Any = compiler.CompileResult
_llvm: Any = sys.modules["llvmlite.binding"]  # numba has imported it
_runtime: Any = nrt.rtsys
_serialize: Any = serialize
_user_cache_dir: Any = appdirs.user_cache_dir

Function = TypeVar("Function", bound=Callable[..., object])


# Flags that change the code; the processor and its features are in the key of the code generator.
_FLAGS = (
    *("BOUNDSCHECK", "OPT", "LOOP_VECTORIZE", "SLP_VECTORIZE", "USING_SVML", "DISABLE_INTEL_SVML"),
    *("DEBUGINFO_DEFAULT", "EXTEND_VARIABLE_LIFETIMES", "DEBUG_NRT", "DEBUG_ARRAY_OPT_RUNTIME"),
    *("LLVM_REFPRUNE_PASS", "LLVM_REFPRUNE_FLAGS", "ENABLE_PROFILING", "JIT_COVERAGE"),
)
_VERSIONS = ("2", sys.version, numba.__version__, sys.modules["llvmlite"].__version__, np.__version__)
_KNOWN_BY_VERSION = ("builtins", "cmath", "math", "numba", "numpy", "operator")


def digest(facts: object) -> str:
    return hashlib.sha256(repr(facts).encode()).hexdigest()[:16]


def environment(codegen: Any) -> tuple[object, ...]:
    return (_VERSIONS, codegen.magic_tuple(), [str(getattr(_config, flag, None)) for flag in _FLAGS])


def facts_of(value: Any, names: tuple[str, ...], seen: dict[object, int]) -> object:
    """All that numba may take from a value that kernels see; its repr is the same in every process."""
    if isinstance(value, ModuleType):
        return _once((id(value), names), seen, lambda: _module_facts(value, names, seen))
    if hasattr(value, "py_func"):
        return _once(id(value), seen, lambda: _function_facts(value, seen))
    if isinstance(value, CodeType):
        return _code_facts(value, seen)
    if isinstance(value, tuple | list | set | frozenset | dict):
        return (_name(type(value)), _items(value, names, seen))
    if isinstance(value, np.ndarray):
        return (str(value.dtype), value.shape, value.tobytes())
    return _class_facts(value) if isinstance(value, type) else _plain_facts(value, seen)


def _items(values: Any, names: tuple[str, ...], seen: dict[object, int]) -> list[object]:
    items = values.items() if isinstance(values, dict) else values
    facts = [facts_of(item, names, seen) for item in items]
    return facts if isinstance(values, tuple | list) else sorted(facts, key=repr)


def _plain_facts(value: Any, seen: dict[object, int]) -> object:
    """Numbers and the like are what they show; functions that numba knows have names, and some have code."""
    function = getattr(value, "_defn", value)  # _defn: an intrinsic, whose code writes the code of kernels
    has_code = hasattr(function, "__code__")
    named = hasattr(value, "__qualname__") or has_code
    code = _definition_facts(function, seen) if has_code else None
    return (_name(type(value)), _name(value) if named else repr(value), code)


def _definition_facts(function: Any, seen: dict[object, int]) -> object:
    """The code of a Python function, and what it was closed over, functions included."""
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    return (_code_facts(function.__code__, seen), [facts_of(cell, (), seen) for cell in cells])


def _once(key: object, seen: dict[object, int], facts: Callable[[], object]) -> object:
    """Facts of what may come round again, as kernels do that call themselves."""
    if key in seen:
        return ("again", seen[key])
    seen[key] = len(seen)
    return facts()


def _function_facts(compiled: Any, seen: dict[object, int]) -> object:
    function = compiled.py_func
    names = tuple(dict.fromkeys(_names(function.__code__)))
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    visible = [function.__globals__.get(name, _BUILTINS.get(name)) for name in names]
    options = getattr(compiled, "targetoptions", None)
    own = [function.__code__, function.__defaults__, function.__kwdefaults__, options]
    return (_name(function), [facts_of(value, names, seen) for value in (*own, *cells, *visible)])


_BUILTINS = vars(builtins)


def _names(code: CodeType) -> Iterator[str]:
    """The globals, and the attributes of modules, that a function and the functions within it read."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _module_facts(module: ModuleType, names: tuple[str, ...], seen: dict[object, int]) -> object:
    known = module.__name__.partition(".")[0] in _KNOWN_BY_VERSION
    members = {} if known else vars(module)  # not getattr, which may import or warn
    return (module.__name__, [facts_of(members[name], names, seen) for name in names if name in members])


def _code_facts(code: CodeType, seen: dict[object, int]) -> object:
    """Code without its place: a comment above a kernel, or another checkout, makes no other kernel of it."""
    # Not co_flags: numba overwrites them where a profiler looks on. The rest holds all that they do.
    counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount)
    names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    constants = [facts_of(constant, (), seen) for constant in code.co_consts]
    return (code.co_code, code.co_exceptiontable, counts, names, constants)


def _class_facts(value: type) -> object:
    """Of named tuples and enumerations numba knows the members; of other classes the name alone."""
    members = getattr(value, "__members__", {})
    return (_name(value), getattr(value, "_fields", ()), repr(list(members.items())))


def _name(value: Any) -> str:
    return f"{value.__module__}.{getattr(value, '__qualname__', value.__name__)}"


def _type_facts(kind: Any) -> object:
    """An argument's type; the name of a named tuple does not tell the order of its fields."""
    inner = [_type_facts(item) for item in getattr(kind, "types", ())]
    return (str(kind), getattr(kind, "fields", ()), inner)


def signature_facts(signature: Any) -> object:
    arguments = getattr(signature, "args", signature)
    return (str(getattr(signature, "return_type", None)), [_type_facts(kind) for kind in arguments])


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
