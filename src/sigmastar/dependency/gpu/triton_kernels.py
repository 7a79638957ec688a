"""The kernels of `fused` in Triton; imported where there is a GPU alone.

A program does whole sentences, one after the other, in a room of its own that stays near the chip. An item is
known by its width and its lowest position, whichever way it looks: number[table, width, low]. All items of a
width are sums over narrower ones on the way up, and over wider ones on the way back, so that one barrier per
width is enough. Every item gathers what it is made of; nothing is added to from two sides.
"""

# mypy: ignore-errors

from __future__ import annotations

import triton
import triton.language as tl

# Numbers: halves to the right and to the left, pairs of halves, automata that end; then the slopes of log Z
# by halves and pairs, and by the half under the first modifier of a head.
RIGHT, LEFT, PAIR, RIGHT_END, LEFT_END = (tl.constexpr(table) for table in range(5))
RIGHT_SLOPE, LEFT_SLOPE, PAIR_SLOPE, RIGHT_FIRST, LEFT_FIRST = (tl.constexpr(table) for table in range(5, 10))
# Vectors: states just after a modifier; then the slopes by states just before it.
RIGHT_STATE, LEFT_STATE, RIGHT_LIFT, LEFT_LIFT = (tl.constexpr(table) for table in range(4))


@triton.jit
def spot(table, size, width, low):
    return (size * table + width) * size + low


@triton.jit
def number(numbers, table, size, width, low, there):
    return tl.load(numbers + spot(table, size, width, low), mask=there, other=0.0)


@triton.jit
def vector(vectors, place, there, pitch: tl.constexpr, m: tl.constexpr):
    x = tl.arange(0, m)
    mask = there[:, None] & (x < pitch)[None, :]
    return tl.load(vectors + place[:, None] * pitch + x[None, :], mask=mask, other=0.0)


@triton.jit
def put(vectors, place, values, there, pitch: tl.constexpr, m: tl.constexpr):
    x = tl.arange(0, m)
    mask = there[:, None] & (x < pitch)[None, :]
    tl.store(vectors + place[:, None] * pitch + x[None, :], values, mask=mask)


@triton.jit
def arc(words, factors, head, end, there, n_symbols, way: tl.constexpr):
    """Sorts of heads, numbers of the operators of their modifiers, and factors; nothing for the root."""
    sort = tl.minimum(2 * tl.load(words + head, mask=there, other=0) + way, 2 * n_symbols)
    is_word = there & (end > 0)
    word = tl.load(words + end, mask=is_word, other=0)
    return sort, sort * n_symbols + word, tl.load(factors + word, mask=is_word, other=0.0)


@triton.jit
def forth(operators, place, before, there, states: tl.constexpr, pitch: tl.constexpr, m: tl.constexpr):
    """before @ operator, of every item."""
    x, after = tl.arange(0, m), before * 0.0
    for state in range(states):
        one = tl.sum(tl.where(x[None, :] == state, before, 0.0), 1)
        after += one[:, None] * vector(operators, place * states + state, there, pitch, m)
    return after


@triton.jit
def back(operators, place, after, there, states: tl.constexpr, pitch: tl.constexpr, m: tl.constexpr):
    """operator @ after, of every item."""
    x, before = tl.arange(0, m), after * 0.0
    for state in range(states):
        one = tl.sum(after * vector(operators, place * states + state, there, pitch, m), 1)
        before = tl.where(x[None, :] == state, one[:, None], before)
    return before


@triton.jit
def fill(
    words, factors, initial, final, operators, vectors, numbers, size, n_symbols, width, start,
    states: tl.constexpr, pitch: tl.constexpr, m: tl.constexpr, block: tl.constexpr,
):  # fmt: skip
    """The items of a width, from those of smaller widths."""
    low = start + tl.arange(0, block)
    high, fits = low + width, low < size - width
    sort, place, factor = arc(words, factors, low, high, fits, n_symbols, 1)
    left_sort, left_place, left_factor = arc(words, factors, high, low, fits, n_symbols, 0)
    above = number(numbers, LEFT, size, width - 1, low + 1, fits)
    under = number(numbers, RIGHT, size, width - 1, low, fits)
    state, left_state = vector(initial, sort, fits, pitch, m), vector(initial, left_sort, fits, pitch, m)
    state, left_state = state * above[:, None], left_state * under[:, None]
    pairs = number(numbers, RIGHT, size, 0, low, fits) * above
    half, left_half = pairs * 0.0, pairs * 0.0
    for a in range(1, width):
        rest = width - a
        other = number(numbers, LEFT, size, rest - 1, low + a + 1, fits)
        pairs += other * number(numbers, RIGHT, size, a, low, fits)
        one = vector(vectors, spot(RIGHT_STATE, size, a, low), fits, pitch, m)
        state += one * number(numbers, PAIR, size, rest, low + a, fits)[:, None]
        one = vector(vectors, spot(LEFT_STATE, size, a, low + rest), fits, pitch, m)
        left_state += one * number(numbers, PAIR, size, rest, low, fits)[:, None]
        other = number(numbers, RIGHT, size, rest, low + a, fits)
        half += other * number(numbers, RIGHT_END, size, a, low, fits)
        other = number(numbers, LEFT, size, rest, low, fits)
        left_half += other * number(numbers, LEFT_END, size, a, low + rest, fits)
    state = forth(operators, place, state, fits, states, pitch, m) * factor[:, None]
    left_state = forth(operators, left_place, left_state, fits, states, pitch, m) * left_factor[:, None]
    put(vectors, spot(RIGHT_STATE, size, width, low), state, fits, pitch, m)
    put(vectors, spot(LEFT_STATE, size, width, low), left_state, fits, pitch, m)
    end = tl.sum(state * vector(final, sort, fits, pitch, m), 1)
    left_end = tl.sum(left_state * vector(final, left_sort, fits, pitch, m), 1)
    half += end * number(numbers, RIGHT, size, 0, high, fits)
    left_half += left_end * number(numbers, LEFT, size, 0, low, fits)
    cell = numbers + width * size + low
    tl.store(cell + size * size * RIGHT, half, mask=fits)
    tl.store(cell + size * size * LEFT, left_half, mask=fits)
    tl.store(cell + size * size * PAIR, pairs, mask=fits)
    tl.store(cell + size * size * RIGHT_END, end, mask=fits)
    tl.store(cell + size * size * LEFT_END, left_end, mask=fits)


@triton.jit
def spread(
    words, factors, initial, final, operators, vectors, numbers, arcs, size, n_symbols, width, start,
    states: tl.constexpr, pitch: tl.constexpr, m: tl.constexpr, block: tl.constexpr,
):  # fmt: skip
    """The slopes by the items of a width, from those by wider ones, and the posteriors of its arcs."""
    low = start + tl.arange(0, block)
    high, fits = low + width, low < size - width
    z = tl.load(numbers + spot(RIGHT, size, size - 1, 0))
    seed = tl.where(z > 0, 1.0 / tl.where(z > 0, z, 1.0), 0.0)
    half = tl.where(width + low * size == size - 1, seed, 0.0)  # the item of the whole sentence
    half += number(numbers, LEFT_FIRST, size, width + 1, low, fits & (high + 1 < size))
    left_half = number(numbers, RIGHT_FIRST, size, width + 1, low - 1, fits & (low > 0))
    sort, place, factor = arc(words, factors, low, high, fits, n_symbols, 1)
    left_sort, left_place, left_factor = arc(words, factors, high, low, fits, n_symbols, 0)
    end, left_end = half * 0.0, half * 0.0
    state = vector(initial, sort, fits, pitch, m) * 0.0
    left_state, pairs = state, state
    for k in range(1, size - width):
        wide, far = width + k, low - k
        fore, rear = fits & (high + k < size), fits & (far >= 0)
        one = vector(vectors, spot(RIGHT_LIFT, size, wide, low), fore, pitch, m)
        state += one * number(numbers, PAIR, size, k, high, fore)[:, None]
        one = vector(vectors, spot(LEFT_LIFT, size, wide, low), fore, pitch, m)
        pairs += one * vector(vectors, spot(LEFT_STATE, size, k, high), fore, pitch, m)
        one = vector(vectors, spot(LEFT_LIFT, size, wide, far), rear, pitch, m)
        left_state += one * number(numbers, PAIR, size, k, far, rear)[:, None]
        one = vector(vectors, spot(RIGHT_LIFT, size, wide, far), rear, pitch, m)
        pairs += one * vector(vectors, spot(RIGHT_STATE, size, k, far), rear, pitch, m)
        slope = number(numbers, RIGHT_SLOPE, size, wide, low, fore)
        end += slope * number(numbers, RIGHT, size, k, high, fore)
        slope = number(numbers, LEFT_SLOPE, size, wide, far, rear)
        left_end += slope * number(numbers, LEFT, size, k, far, rear)
        slope = number(numbers, PAIR_SLOPE, size, wide, low, fore)
        half += slope * number(numbers, LEFT, size, k - 1, high + 1, fore)
        slope = number(numbers, RIGHT_SLOPE, size, wide, far, rear)
        half += slope * number(numbers, RIGHT_END, size, k, far, rear)
        slope = number(numbers, PAIR_SLOPE, size, wide, far, rear)
        left_half += slope * number(numbers, RIGHT, size, k - 1, far, rear)
        slope = number(numbers, LEFT_SLOPE, size, wide, low, fore)
        left_half += slope * number(numbers, LEFT_END, size, k, high, fore)
    end += half * number(numbers, RIGHT, size, 0, high, fits)
    left_end += left_half * number(numbers, LEFT, size, 0, low, fits)
    state += end[:, None] * vector(final, sort, fits, pitch, m)
    left_state += left_end[:, None] * vector(final, left_sort, fits, pitch, m)
    one = state * vector(vectors, spot(RIGHT_STATE, size, width, low), fits, pitch, m)
    tl.store(arcs + low * size + high, tl.sum(one, 1), mask=fits)
    one = left_state * vector(vectors, spot(LEFT_STATE, size, width, low), fits, pitch, m)
    tl.store(arcs + high * size + low, tl.sum(one, 1), mask=fits)
    lift = back(operators, place, state, fits, states, pitch, m) * factor[:, None]
    left_lift = back(operators, left_place, left_state, fits, states, pitch, m) * left_factor[:, None]
    put(vectors, spot(RIGHT_LIFT, size, width, low), lift, fits, pitch, m)
    put(vectors, spot(LEFT_LIFT, size, width, low), left_lift, fits, pitch, m)
    first = tl.sum(lift * vector(initial, sort, fits, pitch, m), 1)
    left_first = tl.sum(left_lift * vector(initial, left_sort, fits, pitch, m), 1)
    cell = numbers + width * size + low
    tl.store(cell + size * size * RIGHT_SLOPE, half, mask=fits)
    tl.store(cell + size * size * LEFT_SLOPE, left_half, mask=fits)
    tl.store(cell + size * size * PAIR_SLOPE, tl.sum(pairs, 1), mask=fits)
    tl.store(cell + size * size * RIGHT_FIRST, first, mask=fits)
    tl.store(cell + size * size * LEFT_FIRST, left_first, mask=fits)


@triton.jit
def alone(
    words, initial, final, numbers, size, n_symbols, start,
    pitch: tl.constexpr, m: tl.constexpr, block: tl.constexpr,
):  # fmt: skip
    """The halves of words without modifiers; nothing stands to the left of the root."""
    low = start + tl.arange(0, block)
    fits = low < size
    sort = 2 * tl.load(words + low, mask=fits, other=0)
    right, left = tl.minimum(sort + 1, 2 * n_symbols), fits & (low > 0)
    half = tl.sum(vector(initial, right, fits, pitch, m) * vector(final, right, fits, pitch, m), 1)
    left_half = tl.sum(vector(initial, sort, left, pitch, m) * vector(final, sort, left, pitch, m), 1)
    tl.store(numbers + size * size * RIGHT + low, half, mask=fits)
    tl.store(numbers + size * size * LEFT + low, left_half, mask=fits)


@triton.jit(do_not_specialize=["n_rows", "size", "n_symbols"])
def walk(
    words, factors, initial, final, operators, vectors, numbers, totals, arcs, n_rows, size, n_symbols,
    is_back: tl.constexpr, states: tl.constexpr, pitch: tl.constexpr, m: tl.constexpr, block: tl.constexpr,
):  # fmt: skip
    """Z of sentences and, on the way back, the posteriors of their arcs."""
    program, cells = tl.program_id(0), tl.cast(size, tl.int64) * size
    vectors += program * cells * ((4 if is_back else 2) * pitch)
    numbers += program * cells * (10 if is_back else 5)
    for row in range(program, n_rows, tl.num_programs(0)):
        here = words + row * tl.cast(size, tl.int64)
        for start in range(0, size, block):
            alone(here, initial, final, numbers, size, n_symbols, start, pitch, m, block)
        tl.debug_barrier()  # what a width reads, other threads of the program have written
        for width in range(1, size):
            for start in range(0, size - width, block):
                fill(
                    here, factors, initial, final, operators, vectors, numbers, size, n_symbols, width, start,
                    states, pitch, m, block,
                )  # fmt: skip
            tl.debug_barrier()
        tl.store(totals + row, tl.load(numbers + spot(RIGHT, size, size - 1, 0)))
        if is_back:
            for down in range(1, size):
                for start in range(0, down, block):
                    spread(
                        here, factors, initial, final, operators, vectors, numbers, arcs + row * cells,
                        size, n_symbols, size - down, start, states, pitch, m, block,
                    )  # fmt: skip
                tl.debug_barrier()
