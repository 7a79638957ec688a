"""Compiled kernels: the one place that knows numba.

Kernels release the interpreter lock, so that threads may run them side by side, and are cached on
disk; where no folder is writable the cache is left out instead of failing at import. Kernels that
call each other must live in one module: numba's cache does not notice changes in other files.

A helper that one place calls is a `part`: compiled by itself it would pass through the optimiser twice, there
and again inside its caller, and get an entry from Python that nobody uses.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

from numba import njit
from numba.cpython.unsafe.numbers import trailing_zeros

Function = TypeVar("Function", bound=Callable[..., object])

lowest_bit = cast(Callable[[int], int], trailing_zeros)
"""In kernels: the number of the lowest bit that is set."""


_ANY_ORDER = frozenset({"reassoc", "nsz", "contract", "arcp"})


def kernel(function: Function) -> Function:
    """Compile `function` at its first call, with a cache on disk where one can be written."""
    return _compiled(function, frozenset())


def fast_kernel(function: Function) -> Function:
    """A kernel whose sums may be taken in any order, so that they fill the vector registers."""
    return _compiled(function, _ANY_ORDER)


def part(function: Function) -> Function:
    """A helper that is written into the kernels that call it; their freedoms are then its own."""
    return cast(Function, njit(nogil=True, error_model="numpy", inline="always")(function))


def _compiled(function: Function, freedoms: frozenset[str]) -> Function:
    fastmath = set(freedoms) if freedoms else False
    try:
        return cast(Function, njit(nogil=True, cache=True, error_model="numpy", fastmath=fastmath)(function))
    except RuntimeError:  # numba: "cannot cache function: no locator available"
        return cast(Function, njit(nogil=True, error_model="numpy", fastmath=fastmath)(function))
