"""The kernels of `fused` in Triton; imported where there is a GPU alone.

A program does a tile of cells and one symbol or rule. Tables are [symbol or rule, cell, state or component];
`order` and `starts` name the rules of each symbol. Tables of rules may have more than 2^31 numbers.
Counts are not specialized: nearly every width would compile anew.
"""

# mypy: ignore-errors

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit(do_not_specialize=["n_cells", "n_all", "n_kept", "at", "to"])
def project(
    vectors, symbols, factors, result, n_cells, n_all, n_kept, at, to,
    m: tl.constexpr, k: tl.constexpr, tile: tl.constexpr, precision: tl.constexpr,
):  # fmt: skip
    """result[rule, to + cell] = vectors[symbol of the rule, at + cell] @ factors[rule]."""
    cell, rule = tl.program_id(0) * tile + tl.arange(0, tile), tl.program_id(1)
    x, c, fits = tl.arange(0, m), tl.arange(0, k), (cell < n_cells)[:, None]
    symbol = tl.load(symbols + rule).to(tl.int64)
    matrix = tl.load(factors + rule * m * k + x[:, None] * k + c[None, :])
    vector = tl.load(vectors + (symbol * n_all + at + cell)[:, None] * m + x[None, :], mask=fits, other=0.0)
    parts = tl.dot(vector.to(matrix.dtype), matrix, input_precision=precision)
    place = (rule.to(tl.int64) * n_kept + to + cell)[:, None] * k + c[None, :]
    tl.store(result + place, parts.to(matrix.dtype), mask=fits)


@triton.jit(do_not_specialize=["n_cells", "n_all", "n_beside", "n_result", "at", "beside_at", "to"])
def corners(
    vectors, symbols, into, beside, back, factors, order, starts, result,
    n_cells, n_all, n_beside, n_result, at, beside_at, to,
    m: tl.constexpr, k: tl.constexpr, tile: tl.constexpr, precision: tl.constexpr,
):  # fmt: skip
    """Add rules with a word beside the vectors: ((vectors @ into) * beside * factor) @ back."""
    cell, owner = tl.program_id(0) * tile + tl.arange(0, tile), tl.program_id(1)
    x, c, fits = tl.arange(0, m), tl.arange(0, k), (cell < n_cells)[:, None]
    place = (owner.to(tl.int64) * n_result + to + cell)[:, None] * m + x[None, :]
    total = tl.load(result + place, mask=fits, other=0.0)
    factor = tl.load(factors + cell, mask=cell < n_cells, other=0.0)[:, None]
    for index in range(tl.load(starts + owner), tl.load(starts + owner + 1)):
        rule = tl.load(order + index).to(tl.int64)
        symbol = tl.load(symbols + rule).to(tl.int64)
        matrix = tl.load(into + rule * m * k + x[:, None] * k + c[None, :])
        vector = tl.load(
            vectors + (symbol * n_all + at + cell)[:, None] * m + x[None, :], mask=fits, other=0.0
        )
        parts = tl.dot(vector.to(matrix.dtype), matrix, input_precision=precision)
        other = tl.load(
            beside + (rule * n_beside + beside_at + cell)[:, None] * k + c[None, :], mask=fits, other=0.0
        )
        parts = parts * other.to(tl.float32) * factor
        turned = tl.load(back + rule * m * k + x[None, :] * k + c[:, None])
        total += tl.dot(parts.to(turned.dtype), turned, input_precision=precision)
    tl.store(result + place, total, mask=fits)


@triton.jit
def before(width, size):
    """Cells above words that are narrower than a width, per sentence."""
    return (width - 2) * (size + 1) - (width - 1) * width // 2 + 1


@triton.jit(do_not_specialize=["n_cells", "n_all", "n_rows", "size", "width", "to"])
def split_sums(
    first, second, back, factors, order, starts, result,
    n_cells, n_all, n_rows, size, width, to,
    way: tl.constexpr, m: tl.constexpr, k: tl.constexpr, tile: tl.constexpr, precision: tl.constexpr,
):  # fmt: skip
    """Add rules of two phrases: (sum over splits of first * second * factor) @ back.

    Way 0: cells are parents, first and second their children. Way 1: cells are left children, first their
    parents, second what stands beside them. Way 2: cells are right children.
    """
    cell, owner = tl.program_id(0) * tile + tl.arange(0, tile), tl.program_id(1)
    x, c, fits = tl.arange(0, m), tl.arange(0, k), cell < n_cells
    place = (owner.to(tl.int64) * n_all + to + cell)[:, None] * m + x[None, :]
    total = tl.load(result + place, mask=fits[:, None], other=0.0)
    last = width - 2
    if way == 1:
        last = size - width - (tl.program_id(0) * tile) // n_rows
    if way == 2:
        last = tl.minimum(size - width, (tl.program_id(0) * tile + tile - 1) // n_rows)
    for index in range(tl.load(starts + owner), tl.load(starts + owner + 1)):
        rule = tl.load(order + index).to(tl.int64)
        sums = tl.zeros((tile, k), tl.float32)
        for split in range(2, last + 1):
            one, one_row, two, two_row = split, cell, width - split, cell + split * n_rows
            if way == 1:
                one, two, two_row = width + split, split, cell + width * n_rows
            if way == 2:
                one, one_row, two, two_row = (
                    width + split,
                    cell - split * n_rows,
                    split,
                    cell - split * n_rows,
                )
            valid = fits & (one_row >= 0) & (one_row < (size - one + 1) * n_rows)
            factor = tl.load(factors + (split - 1) * n_cells + cell, mask=valid, other=0.0)
            one_at = rule * n_all + before(one, size) * n_rows + one_row
            two_at = rule * n_all + before(two, size) * n_rows + two_row
            left = tl.load(first + one_at[:, None] * k + c[None, :], mask=valid[:, None], other=0.0)
            right = tl.load(second + two_at[:, None] * k + c[None, :], mask=valid[:, None], other=0.0)
            sums += left.to(tl.float32) * right.to(tl.float32) * factor[:, None]
        turned = tl.load(back + rule * m * k + x[None, :] * k + c[:, None])
        total += tl.dot(sums.to(turned.dtype), turned, input_precision=precision)
    tl.store(result + place, total, mask=fits[:, None])


@triton.jit(do_not_specialize=["n_cells", "n_all", "n_rows", "size"])
def word_sums(
    outer, inner, parents, others, into, beside, back, factors, order, starts, result,
    n_cells, n_all, n_rows, size,
    way: tl.constexpr, m: tl.constexpr, k: tl.constexpr, tile: tl.constexpr, precision: tl.constexpr,
):  # fmt: skip
    """Add to words what flows to them from rules with a phrase: way 1 at their right, way 2 at their left."""
    cell, owner = tl.program_id(0) * tile + tl.arange(0, tile), tl.program_id(1)
    x, c, fits = tl.arange(0, m), tl.arange(0, k), cell < n_cells
    place = (owner.to(tl.int64) * n_cells + cell)[:, None] * m + x[None, :]
    total = tl.load(result + place, mask=fits[:, None], other=0.0)
    last = size - 1 - (tl.program_id(0) * tile) // n_rows
    if way == 2:
        last = tl.minimum(size - 1, (tl.program_id(0) * tile + tile - 1) // n_rows)
    for index in range(tl.load(starts + owner), tl.load(starts + owner + 1)):
        rule = tl.load(order + index).to(tl.int64)
        parent, other = tl.load(parents + rule).to(tl.int64), tl.load(others + rule).to(tl.int64)
        down = tl.load(into + rule * m * k + x[:, None] * k + c[None, :])
        side = tl.load(beside + rule * m * k + x[:, None] * k + c[None, :])
        sums = tl.zeros((tile, k), tl.float32)
        for width in range(2, last + 1):
            row, near = cell, cell + n_rows
            if way == 2:
                row, near = cell - width * n_rows, cell - width * n_rows
            valid = fits & (row >= 0) & (row < (size - width) * n_rows)
            factor = tl.load(factors + (width - 1) * n_cells + cell, mask=valid, other=0.0)
            above = parent * n_all + before(width + 1, size) * n_rows + row
            below = other * n_all + before(width, size) * n_rows + near
            top = tl.load(outer + above[:, None] * m + x[None, :], mask=valid[:, None], other=0.0)
            far = tl.load(inner + below[:, None] * m + x[None, :], mask=valid[:, None], other=0.0)
            parts = tl.dot(top.to(down.dtype), down, input_precision=precision)
            sums += parts * tl.dot(far.to(side.dtype), side, input_precision=precision) * factor[:, None]
        turned = tl.load(back + rule * m * k + x[None, :] * k + c[:, None])
        total += tl.dot(sums.to(turned.dtype), turned, input_precision=precision)
    tl.store(result + place, total, mask=fits[:, None])


@triton.jit
def node_inside(
    nodes, left, right, rule, tensors, inner, scales, m: tl.constexpr, block: tl.constexpr
):  # fmt: skip
    """A node of a tree: inner[x] = sum of T[y, z, x] l[y] r[z], scaled to sum 1."""
    node = tl.load(nodes + tl.program_id(0))
    to_left, to_right = inner + tl.load(left + node) * m, inner + tl.load(right + node) * m
    state = tl.arange(0, block)
    z, x, inside = state[:, None], state[None, :], (state < m)[:, None] & (state < m)[None, :]
    tile = tensors + tl.load(rule + node) * m * m * m + z * m + x
    sums = tl.zeros((block, block), inner.dtype.element_ty)
    for y in tl.range(0, m, loop_unroll_factor=4):
        sums += tl.load(to_left + y) * tl.load(tile + y * m * m, mask=inside, other=0.0)
    values = tl.sum(sums * tl.load(to_right + state, mask=state < m, other=0.0)[:, None], axis=0)
    total = tl.sum(tl.abs(values), axis=0)
    tl.store(scales + node, total)
    tl.store(inner + node * m + state, values / tl.where(total > 0, total, 1.0), mask=state < m)


@triton.jit
def node_outside(
    nodes, left, right, rule, tensors, inner, outer, scales, weights, m: tl.constexpr, block: tl.constexpr
):  # fmt: skip
    """From the outer vector of a node, which is scaled to sum 1, to those of its children."""
    node = tl.load(nodes + tl.program_id(0))
    at_left, at_right = tl.load(left + node) * m, tl.load(right + node) * m
    state = tl.arange(0, block)
    z, x, fits = state[:, None], state[None, :], state < m
    out = tl.load(outer + node * m + state, mask=fits, other=0.0)
    norm = tl.sum(tl.abs(out), axis=0)
    out = out / tl.where(norm > 0, norm, 1.0)
    tl.store(outer + node * m + state, out, mask=fits)
    value = tl.sum(tl.load(inner + node * m + state, mask=fits, other=0.0) * out, axis=0)
    used = tl.where(value > 0, 1.0, 0.0).to(out.dtype)
    tl.store(weights + node, used / tl.where(value > 0, value * tl.load(scales + node), 1.0))
    of_right = tl.load(inner + at_right + state, mask=fits, other=0.0) * used
    pairs, inside = of_right[:, None] * out[None, :], fits[:, None] & fits[None, :]
    tile = tensors + tl.load(rule + node) * m * m * m + z * m + x
    sums = tl.zeros((block, block), out.dtype)
    for y in tl.range(0, m, loop_unroll_factor=2):
        values = tl.load(tile + y * m * m, mask=inside, other=0.0)
        sums += tl.load(inner + at_left + y) * used * values
        tl.store(outer + at_left + y, tl.sum(tl.sum(values * pairs, axis=1), axis=0))
    tl.store(outer + at_right + state, tl.sum(sums * out[None, :], axis=1), mask=fits)
