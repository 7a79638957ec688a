"""What is left out of the compilation of kernels changes nothing that they give."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numba
import numpy as np
import pytest
from numba.core import compiler

from sigmastar.core.arrays import Floats
from sigmastar.core.jit import kernel, part
from sigmastar.core.kernel_compiler import shorten

pytestmark = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled")


class Room(NamedTuple):
    """Arrays that travel together."""

    first: Floats
    second: Floats


def carried(room: Room, n: int) -> float:
    """`last` is what `now` was a round before."""
    total, last, now = 0.0, 0.0, 1.0
    for i in range(n):
        now = room.first[i] + now
        total += last
        last = now
    return total


def swapped(room: Room, n: int) -> float:
    one, two = room.first[0], room.second[0]
    for _ in range(n):
        one, two = two, one
    return one - two


def refilled(room: Room, n: int) -> float:
    """A copy of a variable that is assigned again keeps the value that it was given."""
    kept = room
    if n > 2:
        room = Room(room.second, room.first)
    return kept.first[0] - 10 * room.first[0] + kept.first[1] * room.second[1]


def on_two_ways(room: Room, n: int) -> float:
    """A field that was read on one way only is read again."""
    total = room.first[0] if n > 2 else room.second[0]
    return total + room.first[1] + room.second[1]


@part
def _doubled(room: Room, at: int) -> float:
    at += 1
    return 2.0 * room.first[at - 1]


@part
def _both(room: Room, at: int) -> float:
    turned = Room(room.second, room.first)
    return _doubled(room, at) + _doubled(turned, at)


def through_parts(room: Room, n: int) -> float:
    total = 0.0
    for i in range(n):
        total += _both(room, i) - _both(Room(room.first, room.first), i)
    return total


@kernel
def _summed(values: Floats, n: int) -> float:
    total = 0.0
    for i in range(n):
        total += values[i]
    return total


def through_kernels(room: Room, n: int) -> float:
    return _summed(room.first, n) - _summed(room.second[1:], n - 1)


@pytest.mark.parametrize(
    "function", [carried, swapped, refilled, on_two_ways, through_parts, through_kernels]
)
@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_kernels_give_what_python_gives(function: Callable[..., float], n: int) -> None:
    room = Room(np.array([2.0, 3.0, 5.0, 7.0]), np.array([11.0, 13.0, 17.0, 19.0]))
    assert kernel(function)(room, n) == pytest.approx(_plain(function)(room, n), abs=1e-12)


def _plain(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with parts and kernels that are not compiled."""
    names = {name: getattr(value, "py_func", value) for name, value in function.__globals__.items()}
    for name, value in names.items():
        if value is not function.__globals__[name]:
            names[name] = type(function)(value.__code__, names)
    return type(function)(function.__code__, names)


def test_copies_and_fields_that_are_read_twice_are_one_variable() -> None:
    run_frontend: Any = compiler.run_frontend
    written = run_frontend(_copying)
    n_before = _n_assignments(written)
    shorten(written)
    assert n_before - _n_assignments(written) >= 3
    fields = [one for block in written.blocks.values() for one in block.find_exprs("getattr")]
    assert sorted(one.attr for one in fields) == ["first", "second"]


def _copying(room: Room) -> float:
    here = room
    there = here
    return there.first[0] + here.first[1] + room.second[0]


def _n_assignments(written: Any) -> int:
    return sum(len(list(block.find_insts(numba.core.ir.Assign))) for block in written.blocks.values())


def test_kernels_that_kernels_call_have_no_entry_from_python_until_it_calls_them() -> None:
    @kernel
    def inner(x: float) -> float:
        return x + 1

    @kernel
    def outer(x: float) -> float:
        return 2 * inner(x)

    assert outer(3.0) == 8.0
    assert not inner.signatures  # type: ignore[attr-defined]
    assert inner(3.0) == 4.0
    assert outer(4.0) == 10.0


def test_errors_and_arrays_pass_through_kernels_that_kernels_call() -> None:
    @kernel
    def made(n: int) -> Room:
        if n < 0:
            raise ValueError("n must not be negative")
        return Room(np.arange(n) * 1.0, np.ones(n))

    @kernel
    def outer(n: int) -> Room:
        room = made(n)
        return Room(room.second, room.first)

    assert outer(3).second.tolist() == [0.0, 1.0, 2.0]
    with pytest.raises(ValueError, match="must not be negative"):
        outer(-1)
