"""Kernels as the Python functions that they are written as: slower, but nothing is imported or compiled.

`install` lets this module stand where `core.jit` is looked for, so that models can be read and asked in a
process that has NumPy alone (`sigmastar.runtime`). Functions are the same either way, and so are their
answers. It has to come before the first kernel is defined; a process that has compiled kernels keeps them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TypeVar

import numpy as np

from sigmastar.core.arrays import Array

Function = TypeVar("Function", bound=Callable[..., object])

COMPILED = "sigmastar.core.jit"
NOT_TO_LEARN_IN = (
    "sigmastar.runtime has read a model in this process, whose kernels are not compiled since; learn in "
    "another process, or import an estimator before"
)
"""What `fit` raises, since it would take hours without a word."""


def install() -> bool:
    """Have kernels run as they are from now on; whether they do."""
    sys.modules.setdefault(COMPILED, sys.modules[__name__])
    return is_installed()


def is_installed() -> bool:
    """Whether kernels are Python functions in this process."""
    return sys.modules.get(COMPILED) is sys.modules[__name__]


def kernel(function: Function) -> Function:
    """The function itself."""
    return function


fast_kernel = part = kernel


def lowest_bit(bits: int) -> int:
    """The number of the lowest bit that is set; the width where none is."""
    value, width = int(bits), 8 * getattr(bits, "itemsize", 8)
    return (value & -value).bit_length() - 1 if value else width


def vector_width(n_columns: int, itemsize: int, few_rows: bool = False) -> int:
    """No width is better than another."""
    return n_columns


def multiply(rows: Array, matrix: Array, product: Array) -> None:
    """product = rows @ matrix."""
    np.dot(rows, matrix, product)


def add_products(left: Array, right: Array, sums: Array) -> None:
    """sums += left.T @ right."""
    sums += left.T @ right


def cache_problem() -> None:
    """Nothing is compiled, so nothing is kept."""
