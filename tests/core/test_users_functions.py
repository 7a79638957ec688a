"""Functions that users compile with numba beside our kernels: numba is to them what it was."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import pytest
from numba.core import codegen
from numba.core.runtime import context

from sigmastar.core.jit import kernel, part
from sigmastar.core.kernel_library import Library

pytestmark = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled")


def _library(compiled: Any) -> object:
    (found,) = compiled.overloads.values()
    return found.library


@part
def _checked(values: np.ndarray, least: int) -> float:
    if len(values) < least:
        raise ValueError("too few values")
    return values[0]


@kernel
def _ours(values: np.ndarray, least: int) -> float:
    return _checked(values, least) + values.reshape((least, -1))[least - 1, 0]


def _theirs(values: np.ndarray, least: int) -> float:
    if len(values) < least:
        raise ValueError(f"fewer than {least} values")
    return values[0] + values.reshape((least, -1))[least - 1, 0]


def test_both_are_right_and_raise() -> None:
    theirs, values = numba.njit(_theirs), np.array([3.0, 1.0, 2.0, 4.0])
    for function in (_ours, theirs):
        assert function(values, 2) == 5.0
        with pytest.raises(ValueError, match=r"too few|fewer than 9"):
            function(values, 9)
        with pytest.raises(ValueError, match="size of new array"):
            function(values, 3)
    assert type(_library(theirs)) is codegen.JITCodeLibrary


def test_kernels_are_compiled_our_way() -> None:
    ours: Any = _ours
    called = ours.called  # by other kernels: it comes from no cache
    called.compile((numba.float64[::1], numba.int64))
    assert isinstance(_library(called), Library)


def test_numba_is_as_it_was() -> None:
    changed = [codegen.JITCPUCodegen.set_env, context.NRTContext.get_meminfos]
    assert [function.__module__ for function in changed] == [
        "numba.core.codegen",
        "numba.core.runtime.context",
    ]
    assert codegen.JITCPUCodegen._library_class is codegen.JITCodeLibrary


def test_their_functions_may_call_ours() -> None:
    @numba.njit
    def twice(values: np.ndarray, least: int) -> float:
        return 2.0 * _ours(values, least)

    assert twice(np.array([3.0, 1.0]), 2) == 8.0
    with pytest.raises(ValueError, match="too few values"):
        twice(np.array([3.0, 1.0]), 3)
