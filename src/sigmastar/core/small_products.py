"""Products of small matrices inside kernels, without what a call of BLAS costs.

    product(left, right, out)                      out   = left @ right
    product_of_rows(left, rows, right, out)        out   = left[rows] @ right
    add_product_of_rows(left, rows, right, sums)   sums += left[rows].T @ right

BLAS takes some 60 ns to begin, in which it could multiply six rows with a matrix of 16 x 16; kernels on tries
multiply a few rows at a time. Here the code of the product is written into the kernel that asks for it:
blocks of four rows and of the columns that fill a vector register, whose sums stay in registers,

    block[r, c] += left[i + r, k] right[k, j + c]        one load of right, one broadcast per row

which is as fast as BLAS on matrices that fit the cache. Loops would not do: numba turns no more than one loop
into vectors. Widths fall by halves to one, so that every number of columns is taken.

Rows that lie elsewhere are multiplied where they lie. Matrices are C-contiguous and of one kind of float;
sizes are not checked, as in all kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from numba.core import cgutils, errors, types
from numba.extending import intrinsic

_llvm: Any = __import__("llvmlite.ir").ir  # numba has imported it
_numba_parts: Any = cgutils
_INDEX = _llvm.IntType(64)
_BYTES = 64  # of the widest register
_ROWS = (4, 1)
_ANY = ("contract",)


class _Operands(NamedTuple):
    """Where the entries lie, and how many there are."""

    left: Any
    rows: Any  # which rows of `left`; None: as they lie
    width: Any  # of a row of `left`
    is_turned: bool  # left.T is multiplied, and the product is added
    right: Any
    out: Any
    n_rows: Any
    n_inner: Any
    n_columns: Any

    def left_row(self, builder: Any, number: Any) -> Any:
        """Where a row of `left` begins."""
        if self.rows is not None:
            number = builder.sext(builder.load(builder.gep(self.rows, [number])), _INDEX)
        return builder.gep(self.left, [builder.mul(number, self.width)])


def _number(value: int) -> Any:
    return _llvm.Constant(_INDEX, value)


@contextmanager
def _as_long_as(builder: Any, holds: Callable[[], Any]) -> Iterator[None]:
    head, body, end = (builder.append_basic_block() for _ in range(3))
    builder.branch(head)
    builder.position_at_end(head)
    builder.cbranch(holds(), body, end)
    builder.position_at_end(body)
    yield
    builder.branch(head)
    builder.position_at_end(end)


@contextmanager
def _steps(builder: Any, at: Any, step: int, end: Any) -> Iterator[Any]:
    """A loop over the places from where `at` stands, as long as whole steps fit; `at` ends behind them."""
    with _as_long_as(
        builder, lambda: builder.icmp_signed("<=", builder.add(builder.load(at), _number(step)), end)
    ):
        here = builder.load(at)
        yield here
        builder.store(builder.add(here, _number(step)), at)


def _sum_block(builder: Any, given: _Operands, shape: tuple[int, int], corner: tuple[Any, Any]) -> None:
    """The sums of one block of the result, kept in registers over the inner dimension."""
    (n_rows, lanes), (first, column) = shape, corner
    scalar = given.out.type.pointee
    vector, align = _llvm.VectorType(scalar, lanes), 4 if scalar == _llvm.FloatType() else 8
    nothing, lane_0 = _llvm.Constant(vector, _llvm.Undefined), _llvm.Constant(_llvm.IntType(32), 0)
    everywhere = _llvm.Constant(_llvm.VectorType(_llvm.IntType(32), lanes), [0] * lanes)

    def place(of: Any, row: Any) -> Any:
        at = builder.gep(of, [builder.add(builder.mul(row, given.n_columns), column)])
        return builder.bitcast(at, vector.as_pointer())

    rows = [builder.add(first, _number(row)) for row in range(n_rows)]
    begins = [] if given.is_turned else [given.left_row(builder, row) for row in rows]
    places = [place(given.out, row) for row in rows]
    sums = [_numba_parts.alloca_once(builder, vector) for _ in rows]
    for one, here in zip(sums, places, strict=True):
        zero = _llvm.Constant(vector, [0.0] * lanes)
        builder.store(builder.load(here, align=align) if given.is_turned else zero, one)
    with _numba_parts.for_range(builder, given.n_inner) as loop:
        right = builder.load(place(given.right, loop.index), align=align)
        along = given.left_row(builder, loop.index) if given.is_turned else None
        for number, one in enumerate(sums):
            entry = (along, rows[number]) if given.is_turned else (begins[number], loop.index)
            weight = builder.load(builder.gep(entry[0], [entry[1]]))
            spread = builder.shuffle_vector(
                builder.insert_element(nothing, weight, lane_0), nothing, everywhere
            )
            term = builder.fmul(spread, right, flags=_ANY)
            builder.store(builder.fadd(builder.load(one), term, flags=_ANY), one)
    for one, here in zip(sums, places, strict=True):
        builder.store(builder.load(one), here, align=align)


def _write(builder: Any, given: _Operands) -> None:
    """All blocks: columns in widths that fall by halves, rows in fours and ones."""
    column, row = (_numba_parts.alloca_once(builder, _INDEX) for _ in range(2))
    builder.store(_number(0), column)
    lanes = _BYTES // (4 if given.out.type.pointee == _llvm.FloatType() else 8)
    while lanes:
        with _steps(builder, column, lanes, given.n_columns) as at_column:
            builder.store(_number(0), row)
            for n_rows in _ROWS:
                with _steps(builder, row, n_rows, given.n_rows) as at_row:
                    _sum_block(builder, given, (n_rows, lanes), (at_row, at_column))
        lanes //= 2


def _refuse_others(*arrays: Any) -> None:
    for one in arrays:
        if not (isinstance(one, types.Array) and one.ndim == 2 and one.layout == "C"):
            raise errors.TypingError("small products take C-contiguous arrays of two dimensions")
        if one.dtype != arrays[0].dtype or one.dtype not in (types.float32, types.float64):
            raise errors.TypingError("small products take arrays of one kind of float")


def _refuse_other_rows(rows: Any) -> None:
    if not (
        isinstance(rows, types.Array) and rows.ndim == 1 and rows.layout == "C" and rows.dtype == types.int32
    ):
        raise errors.TypingError("small products take numbers of rows as a C-contiguous array of int32")


def _opened(context: Any, builder: Any, kind: Any, value: Any) -> tuple[Any, list[Any]]:
    """The data of an array, and its shape."""
    made = context.make_array(kind)(context, builder, value)
    return made.data, _numba_parts.unpack_tuple(builder, made.shape, kind.ndim)


@intrinsic
def product(context: Any, left: Any, right: Any, out: Any) -> Any:
    """In kernels: out = left @ right."""
    _refuse_others(left, right, out)

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        opened = [_opened(context, builder, *one) for one in zip(signature.args, values, strict=True)]
        (one, (n_rows, width)), (other, (_, n_columns)), (result, _) = opened
        _write(builder, _Operands(one, None, width, False, other, result, n_rows, width, n_columns))
        return context.get_dummy_value()

    return types.void(left, right, out), code


@intrinsic
def product_of_rows(context: Any, left: Any, rows: Any, right: Any, out: Any) -> Any:
    """In kernels: out = left[rows] @ right."""
    _refuse_others(left, right, out)
    _refuse_other_rows(rows)

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        opened = [_opened(context, builder, *one) for one in zip(signature.args, values, strict=True)]
        (one, (_, width)), (chosen, (n_rows,)), (other, (_, n_columns)), (result, _) = opened
        _write(builder, _Operands(one, chosen, width, False, other, result, n_rows, width, n_columns))
        return context.get_dummy_value()

    return types.void(left, rows, right, out), code


@intrinsic
def add_product_of_rows(context: Any, left: Any, rows: Any, right: Any, sums: Any) -> Any:
    """In kernels: sums += left[rows].T @ right."""
    _refuse_others(left, right, sums)
    _refuse_other_rows(rows)

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        opened = [_opened(context, builder, *one) for one in zip(signature.args, values, strict=True)]
        (one, (_, width)), (chosen, (n_inner,)), (other, (_, n_columns)), (result, _) = opened
        _write(builder, _Operands(one, chosen, width, True, other, result, width, n_inner, n_columns))
        return context.get_dummy_value()

    return types.void(left, rows, right, sums), code
