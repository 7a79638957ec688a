"""Compiled kernels: with `kernel_store` and `register_products` the one place that imports numba.

Kernels release the interpreter lock, so that threads may run them side by side, and what was compiled is kept
on disk (`kernel_store`). Kernels and parts may call each other, and share constants, across modules: an entry
is named by a digest of all that its code was made from. One rule is left: a kernel calls
kernels, parts and what numba knows, and nothing else.

A helper that one place calls is a `part`: compiled by itself it would pass through the optimizer twice, there
and again inside its caller, and get an entry from Python that nothing uses.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from functools import cached_property, lru_cache, partial
from typing import Any, TypeVar, cast

import numba
from numba.core import compiler, event, registry, serialize, types
from numba.cpython.unsafe.numbers import trailing_zeros

from sigmastar.core.kernel_store import KernelCache, cache_problem
from sigmastar.core.progress import compilation

_Dispatcher: Any = registry.CPUDispatcher
_CompilerBase: Any = compiler.CompilerBase
_config: Any = numba.config

if _config.DISABLE_JIT:
    from sigmastar.core.plain_kernels import add_products, multiply, vector_width
else:
    from sigmastar.core.register_products import add_products, multiply, vector_width

_event: Any = event
_serialize: Any = serialize
_plain: Any = types.unliteral

Function = TypeVar("Function", bound=Callable[..., object])

__all__ = [
    "add_products",
    "cache_problem",
    "fast_kernel",
    "kernel",
    "lowest_bit",
    "multiply",
    "part",
    "vector_width",
]

# A compiled function that returns a named tuple calls this one and takes no exception from it: Ctrl-C in that
# moment would be a segmentation fault. Signals are heard where Python code begins: a remembered one has none.
_serialize._numba_unpickle = lru_cache(maxsize=None)(_serialize._numba_unpickle)

_ANY_ORDER = frozenset({"reassoc", "nsz", "contract", "arcp"})


def kernel(function: Function) -> Function:
    """Compile `function` at its first call, with a cache on disk where one can be written."""
    return _compiled(function, frozenset())


def fast_kernel(function: Function) -> Function:
    """A kernel whose sums may be taken in any order, so that they fill the vector registers."""
    return _compiled(function, _ANY_ORDER)


def part(function: Function) -> Function:
    """A helper that is written into the kernels that call it; their freedoms are then its own."""
    return cast(Function, numba.njit(nogil=True, error_model="numpy", inline="always")(function))


class _Kernel(_Dispatcher):  # type: ignore[misc]
    """A kernel as Python calls it; `called` is what other kernels call: it has no entry from Python."""

    @cached_property
    def called(self) -> Any:
        options = self.targetoptions | {"no_cpython_wrapper": True, "pipeline_class": _Compiler}
        called: Any = numba.jit(**options)(self.py_func)
        called.get_call_template = partial(_by_types, called.get_call_template)
        return called

    def get_call_template(self, args: Any, kws: Any) -> Any:
        return _by_types(super().get_call_template, args, kws)

    @property
    def _numba_type_(self) -> Any:
        return super()._numba_type_ if self.is_compiling else self.called._numba_type_


class _Compiler(_CompilerBase):  # type: ignore[misc]
    def define_pipelines(self) -> list[Any]:
        from sigmastar.core.kernel_compiler import passes  # where all kernels are kept it is not needed

        return passes(self.state)


def _compiled(function: Function, freedoms: frozenset[str]) -> Function:
    fastmath = set(freedoms) if freedoms else False
    options: dict[str, Any] = {"fastmath": fastmath, "no_cfunc_wrapper": True, "pipeline_class": _Compiler}
    compiled: Any = numba.njit(nogil=True, error_model="numpy", **options)(function)
    if compiled is not function:  # it is where NUMBA_DISABLE_JIT is set
        compiled._cache = KernelCache(compiled)
        compiled.__class__ = _Kernel
    return cast(Function, compiled)


def _by_types(template: Any, args: Any, kws: Any) -> Any:
    """A call from another kernel: a constant among its arguments is a number of its type, or each constant
    would have the kernel compiled once more.
    """
    return template(tuple(map(_plain, args)), {name: _plain(kind) for name, kind in kws.items()})


def _lowest_bit(bits: Any) -> Any:
    """What `trailing_zeros` compiles to, of the type of `bits`; the width where no bit is set."""
    value, width = int(bits), 8 * getattr(bits, "itemsize", 8)
    return type(bits)((value & -value).bit_length() - 1 if value else width)


lowest_bit = cast(Callable[[int], int], _lowest_bit if _config.DISABLE_JIT else trailing_zeros)
"""In kernels: the number of the lowest bit that is set."""


class _Compilation(event.Listener):
    """Tells when kernels are compiled, which takes seconds where learning may take less.

    A compiler makes many objects and few cycles of them: looking for cycles as often as Python does would be
    a sixth of its time. Numba compiles under a lock, so that what is set here is set once.
    """

    def __init__(self) -> None:
        self._usual: list[tuple[int, int, int]] = []  # of each compilation that is under way

    def on_start(self, _: object) -> None:
        self._usual.append(gc.get_threshold())
        young, *older = self._usual[-1]
        gc.set_threshold(max(young, _OBJECTS_BETWEEN_COLLECTIONS) if young else 0, *older)
        compilation.begin()

    def on_end(self, _: object) -> None:
        compilation.end()
        gc.set_threshold(*self._usual.pop())


_OBJECTS_BETWEEN_COLLECTIONS = 50_000
_event.register("numba:compile", _Compilation())
