"""The kernel of `torch_sparse` in Triton; imported where there is a GPU alone."""

# mypy: ignore-errors

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def pieces_times(
    begins, owners, wholes, columns, values, dense, result, width, block: tl.constexpr, chunk: tl.constexpr
):  # fmt: skip
    """A piece of a row of a sparse matrix times columns; pieces of long rows are added up."""
    piece = tl.program_id(0)
    begin, end, row = tl.load(begins + piece), tl.load(begins + piece + 1), tl.load(owners + piece)
    column = tl.arange(0, block)
    inside = column < width
    total = tl.zeros((block,), tl.float64)
    for at in range(begin, end, chunk):
        place = at + tl.arange(0, chunk)
        known = place < end
        source = tl.load(columns + place, mask=known, other=0).to(tl.int64)
        weight = tl.load(values + place, mask=known, other=0.0)
        fits = known[:, None] & inside[None, :]
        rows = tl.load(dense + source[:, None] * width + column[None, :], mask=fits, other=0.0)
        total += tl.sum(weight[:, None] * rows, axis=0)
    target = result + row.to(tl.int64) * width + column
    if tl.load(wholes + piece) > 0:
        tl.store(target, total, mask=inside)
    else:
        tl.atomic_add(target, total, mask=inside)


@triton.jit
def lower_root(gram, inverse, trouble, taken, steep, width: tl.constexpr, block: tl.constexpr):
    """The inverse of Cholesky's root of a small matrix; steep pivots, or small ones, are trouble."""
    place = tl.arange(0, block)
    r, c = place[:, None], place[None, :]
    inside, one = (r < width) & (c < width), tl.where(r == c, 1.0, 0.0).to(tl.float64)
    rest = tl.load(gram + r * width + c, mask=inside, other=0.0)
    turned = one
    low, high = tl.sum(tl.where(place == 0, 1e300, 0.0).to(tl.float64)), tl.load(taken)
    for j in range(width):
        column = tl.sum(tl.where(c == j, rest, 0.0), axis=1)
        square = tl.sum(tl.where(place == j, column, 0.0), axis=0)
        pivot = tl.where(square > 0.0, tl.sqrt(tl.where(square > 0.0, square, 1.0)), 0.0)
        low, high = tl.minimum(low, pivot), tl.maximum(high, pivot)
        pivot = tl.maximum(pivot, 1e-300)
        column = tl.where(place >= j, column / pivot, 0.0)
        rest -= column[:, None] * column[None, :]
        row = tl.sum(tl.where(r == j, turned, 0.0), axis=0) / pivot
        below = tl.where(place > j, column, 0.0)
        turned = tl.where(r == j, row[None, :], turned - below[:, None] * row[None, :])
    tl.store(inverse + r * width + c, turned, mask=inside)
    if low <= steep * high:
        tl.store(trouble, 1)
