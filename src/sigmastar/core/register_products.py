"""Products of narrow matrices whose sums stay in the vector registers.

    multiply        product[r, c]  = sum over k of rows[r, k] matrix[k, c]
    add_products    sums[r, c]    += sum over k of left[k, r] right[k, c]

A block of 4 rows and 64 bytes of columns is one loop over k: a row of the right side is loaded, times each of
the 4 numbers of the left side, and added to registers. Matrices of 16 columns, or of few rows, so take a half
to a third of the time of BLAS, which spends the rest on preparations that pay for large ones. Widths that no
vectors fill, and wide matrices of many rows, are left to BLAS. The loop is written in LLVM's language: none
of its optimizers puts the vectors along the columns by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import llvmlite.ir as llvm  # type: ignore[import-untyped]
import numba
import numpy as np
from numba.core import cgutils, types
from numba.extending import intrinsic

from sigmastar.core.arrays import Array

_ROWS, _NARROW, _WIDE = 4, 32, 64  # rows of a block, bytes of its columns
_WIDEST = 384  # bytes of a row, from where on BLAS is level
_FEW = 32  # rows, up to which it is not, whatever the width
_SETS = 256  # bytes between rows that share the places of a cache

Function = TypeVar("Function", bound=Callable[..., object])
_tools: Any = cgutils
_types: Any = types
_ir: Any = llvm


def vector_width(n_columns: int, itemsize: int, few_rows: bool = False) -> int:
    """The least width, of so many columns or more, for which products take the shortest time."""
    lanes = _NARROW // itemsize
    width = -(-n_columns // lanes) * lanes
    if few_rows:
        return width if width * itemsize % _SETS else width + lanes
    return width if width * itemsize <= _WIDEST else n_columns


def _block_product(n_rows: int, n_bytes: int, is_sum: bool) -> Callable[..., None]:
    """A block of a product, from (row, column) of the output on; `is_sum` for `add_products`."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        left, right, out, first, column, n_terms = arguments
        kinds, size = signature.args, signature.args[0].dtype.bitwidth // 8
        lanes = n_bytes // size
        vector = _ir.VectorType(context.get_data_type(kinds[0].dtype), lanes)
        nothing, zeros = (_ir.Constant(vector, content) for content in (_ir.Undefined, None))
        index = _ir.IntType(32)
        everywhere = _ir.Constant(_ir.VectorType(index, lanes), [0] * lanes)
        free: Any = {"flags": ("contract",)}  # one instruction may multiply and add

        def address(which: int, array: Any, *at: Any) -> Any:
            view = context.make_array(kinds[which])(context, builder, array)
            return _tools.get_item_pointer(context, builder, kinds[which], view, list(at))

        def as_vector(which: int, array: Any, *at: Any) -> Any:
            return builder.bitcast(address(which, array, *at), vector.as_pointer())

        def repeated(number: Any) -> Any:
            alone = builder.insert_element(nothing, number, _ir.Constant(index, 0))
            return builder.shuffle_vector(alone, nothing, everywhere)

        rows = [builder.add(first, _ir.Constant(first.type, row)) for row in range(n_rows)]
        sums = [_tools.alloca_once_value(builder, zeros) for _ in rows]
        with _tools.for_range(builder, n_terms) as loop:
            along = builder.load(as_vector(1, right, loop.index, column), align=size)
            for row, total in zip(rows, sums, strict=True):
                at = (loop.index, row) if is_sum else (row, loop.index)
                term = builder.fmul(repeated(builder.load(address(0, left, *at))), along, **free)
                builder.store(builder.fadd(builder.load(total), term, **free), total)
        for row, total in zip(rows, sums, strict=True):
            place, value = as_vector(2, out, row, column), builder.load(total)
            if is_sum:
                value = builder.fadd(value, builder.load(place, align=size))
            builder.store(value, place, align=size)
        return context.get_dummy_value()

    def block(typing: Any, left: Any, right: Any, out: Any, row: Any, column: Any, n_terms: Any) -> Any:
        if right.layout != "C" or out.layout != "C" or not left.dtype == right.dtype == out.dtype:
            return None  # numba then names the types that do not fit
        return _types.void(left, right, out, *[_types.intp] * 3), generate

    made: Callable[..., None] = intrinsic(block)
    return made


_rows_wide = _block_product(_ROWS, _WIDE, False)
_rows_narrow = _block_product(_ROWS, _NARROW, False)
_row_wide = _block_product(1, _WIDE, False)
_row_narrow = _block_product(1, _NARROW, False)
_sums_wide = _block_product(_ROWS, _WIDE, True)
_sums_narrow = _block_product(_ROWS, _NARROW, True)


def _compiled(function: Function) -> Function:
    """For calls from kernels, which keep what it is compiled to."""
    return cast(Function, numba.njit(nogil=True, error_model="numpy")(function))


@_compiled
def multiply(rows: Array, matrix: Array, product: Array) -> None:
    """product = rows @ matrix."""
    n_rows, n_terms, width = len(rows), matrix.shape[0], matrix.shape[1]
    narrow, wide = _NARROW // matrix.itemsize, _WIDE // matrix.itemsize
    if width % narrow or (width * matrix.itemsize > _WIDEST and n_rows > _FEW):
        np.dot(rows, matrix, product)
        return
    for column in range(0, width - wide + 1, wide):
        if n_rows < _ROWS:
            for row in range(n_rows):
                _row_wide(rows, matrix, product, row, column, n_terms)
        else:
            for row in range(0, n_rows, _ROWS):  # the last block may begin among the rows of the one before
                _rows_wide(rows, matrix, product, min(row, n_rows - _ROWS), column, n_terms)
    if width % wide:
        if n_rows < _ROWS:
            for row in range(n_rows):
                _row_narrow(rows, matrix, product, row, width - narrow, n_terms)
        else:
            for row in range(0, n_rows, _ROWS):
                _rows_narrow(rows, matrix, product, min(row, n_rows - _ROWS), width - narrow, n_terms)


@_compiled
def add_products(left: Array, right: Array, sums: Array) -> None:
    """sums += left.T @ right, for matrices of one width."""
    n_terms, width = left.shape
    narrow, wide = _NARROW // left.itemsize, _WIDE // left.itemsize
    if width % narrow or width * left.itemsize > _WIDEST:
        sums += np.dot(left.T, right)
        return
    for row in range(0, width, _ROWS):
        for column in range(0, width - wide + 1, wide):
            _sums_wide(left, right, sums, row, column, n_terms)
        if width % wide:
            _sums_narrow(left, right, sums, row, width - narrow, n_terms)
