"""The key of a compiled kernel: a digest of all that its code is made from.

    sources    the bytecode of the kernel and of every kernel and part that it calls, to any depth;
               the globals, closures and defaults that they read, and their options;
               numba's flags, the versions, the processor

So a change in one file is noticed by the kernels of all other files, and by those alone that use it. The
digest is of what this process has loaded, not of files: a source that is edited while a process runs spoils
nothing.
"""

from __future__ import annotations

import builtins
import hashlib
import sys
from collections.abc import Callable, Iterator
from types import CodeType, ModuleType
from typing import Any, TypeVar

import numba
import numpy as np
from numba.core import compiler, event, serialize
from numba.core.runtime import nrt
from numba.misc import appdirs

_config: Any = numba.config
_event: Any = event
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
    code = getattr(getattr(value, "_defn", value), "__code__", None)  # _defn: an intrinsic of numba
    named = hasattr(value, "__qualname__") or code is not None
    return (_name(type(value)), _name(value) if named else repr(value), code and _code_facts(code, seen))


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
