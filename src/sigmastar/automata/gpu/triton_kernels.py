"""The kernels of `fused` and `rows` in Triton; imported where there is a GPU alone.

Arguments are tensors, numbers, and constants that a kernel is compiled for.
"""

# mypy: ignore-errors

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def forward(
    symbols,
    initial,
    by_symbol,
    transition,
    stop,
    emitted,
    logs,
    n_lanes,
    n_steps,
    n: tl.constexpr,
    lanes: tl.constexpr,
    precision: tl.constexpr,
):
    row = tl.program_id(0) * lanes + tl.arange(0, lanes)
    state, inside = tl.arange(0, n), row < n_lanes
    moves = tl.load(transition + state[:, None] * n + state[None, :])
    vector = tl.zeros((lanes, n), tl.float32) + tl.load(initial + state)[None, :]
    total = tl.zeros((lanes,), tl.float32)
    symbol = tl.load(symbols + row, mask=inside, other=0)
    emission = tl.load(by_symbol + symbol[:, None] * n + state[None, :])
    symbol = tl.load(symbols + tl.minimum(1, n_steps - 1) * n_lanes + row, mask=inside, other=0)
    for step in range(n_steps):  # what the next steps read is on its way while this one multiplies
        vector = vector * emission.to(tl.float32)
        emission = tl.load(by_symbol + symbol[:, None] * n + state[None, :])
        later = tl.minimum(step + 2, n_steps - 1)
        symbol = tl.load(symbols + later * n_lanes + row, mask=inside, other=0)
        place = (step * n_lanes + row).to(tl.int64)[:, None] * n + state[None, :]
        tl.store(emitted + place, vector.to(moves.dtype), mask=inside[:, None])
        vector = tl.dot(vector.to(moves.dtype), moves, input_precision=precision)
        mass = tl.sum(vector, axis=1)
        vector = vector / tl.maximum(mass, 1e-30)[:, None]
        total += tl.log(mass)
    ending = vector * tl.load(stop + state)[None, :]
    share = tl.sum(ending, axis=1)
    tl.store(logs + row, total + tl.log(share), mask=inside)


@triton.jit
def backward(
    symbols,
    initial,
    by_symbol,
    transition,
    stop,
    emitted,
    logs,
    log_total,
    starts,
    pairs,
    emissions,
    stops,
    n_lanes,
    n_steps,
    n: tl.constexpr,
    lanes: tl.constexpr,
    precision: tl.constexpr,
):
    row = tl.program_id(0) * lanes + tl.arange(0, lanes)
    state, inside = tl.arange(0, n), row < n_lanes
    moves = tl.load(transition + state[:, None] * n + state[None, :])
    back = tl.trans(moves)
    log = tl.load(logs + row, mask=inside, other=float("-inf"))
    tl.atomic_add(log_total, tl.sum(tl.where(inside, log, 0.0).to(tl.float64), axis=0))
    possible = (log > float("-inf")).to(tl.float32)
    final = tl.load(stop + state)
    behind = tl.zeros((lanes, n), tl.float32) + final[None, :]
    counted = tl.zeros((n, n), tl.float32)
    symbol = tl.load(symbols + (n_steps - 1) * n_lanes + row, mask=inside, other=0)
    place = ((n_steps - 1) * n_lanes + row).to(tl.int64)[:, None] * n + state[None, :]
    vector = tl.load(emitted + place, mask=inside[:, None], other=0.0)
    ending = tl.dot(vector, moves, input_precision=precision) * final[None, :]  # once more, for the stops
    share = possible / tl.maximum(tl.sum(ending, axis=1), 1e-30)
    tl.atomic_add(stops + state, tl.sum(ending * share[:, None], axis=0))
    emission = tl.load(by_symbol + symbol[:, None] * n + state[None, :])
    ahead = tl.load(symbols + tl.maximum(n_steps - 2, 0) * n_lanes + row, mask=inside, other=0)
    for backward in range(n_steps):  # what the next steps read is on its way while this one multiplies
        step = tl.maximum(n_steps - 2 - backward, 0)
        place = (step * n_lanes + row).to(tl.int64)[:, None] * n + state[None, :]
        next_vector = tl.load(emitted + place, mask=inside[:, None], other=0.0)
        next_emission = tl.load(by_symbol + ahead[:, None] * n + state[None, :])
        next_ahead = tl.load(symbols + tl.maximum(step - 1, 0) * n_lanes + row, mask=inside, other=0)
        after = behind.to(moves.dtype)
        before = tl.dot(after, back, input_precision=precision)
        posterior = vector.to(tl.float32) * before
        scale = possible / tl.maximum(tl.sum(posterior, axis=1), 1e-30)
        spot = emissions + symbol[:, None] * n + state[None, :]
        tl.atomic_add(spot, posterior * scale[:, None], mask=inside[:, None])
        scaled = (behind * scale[:, None]).to(moves.dtype)
        counted += tl.dot(tl.trans(vector), scaled, input_precision=precision)
        behind = before * scale[:, None] * emission.to(tl.float32)
        vector, emission, symbol, ahead = next_vector, next_emission, ahead, next_ahead
    first = tl.load(initial + state)[None, :] * behind
    first = first * (possible / tl.maximum(tl.sum(first, axis=1), 1e-30))[:, None]
    tl.atomic_add(starts + state, tl.sum(first, axis=0))
    tl.atomic_add(pairs + state[:, None] * n + state[None, :], counted)


@triton.jit
def there_and_back(
    symbols, initial, by_symbol, transition, stop, emitted, logs, log_total,
    starts, pairs, emissions, stops, n_lanes, n_steps,
    n: tl.constexpr, lanes: tl.constexpr, precision: tl.constexpr,
):  # fmt: skip
    """Both in one launch: a program reads back what it has written."""
    forward(
        symbols, initial, by_symbol, transition, stop, emitted, logs,
        n_lanes, n_steps, n, lanes, precision,
    )  # fmt: skip
    tl.debug_barrier()
    backward(
        symbols, initial, by_symbol, transition, stop, emitted, logs, log_total,
        starts, pairs, emissions, stops, n_lanes, n_steps, n, lanes, precision,
    )  # fmt: skip


@triton.jit
def go_on(product, symbols, by_symbol, emitted, states, logs, masses, n_going, n, block: tl.constexpr):
    """Rows below `n_going` emit their next symbol; the others have ended, and their state is kept."""
    row = tl.program_id(0).to(tl.int64)
    state = tl.arange(0, block)
    inside = state < n
    symbol = tl.load(symbols + row)  # all reads before the sum, which waits for one of them
    vector = tl.load(product + row * n + state, mask=inside, other=0.0)
    emission = tl.load(by_symbol + symbol * n + state, mask=inside, other=0.0)
    log, vector = tl.load(logs + row), vector.to(tl.float32)
    mass = tl.sum(vector, axis=0)
    tl.store(masses + row, mass)
    tl.store(logs + row, log + tl.log(mass))
    vector = vector / tl.maximum(mass, 1e-30)
    if row < n_going:
        tl.store(emitted + row * n + state, vector * emission.to(tl.float32), mask=inside)
    else:
        tl.store(states + row * n + state, vector, mask=inside)


@triton.jit
def go_back(
    before, emitted, order, symbols, by_symbol, masses, possible, after, counts, n_rows, n,
    block: tl.constexpr, run: tl.constexpr,
):  # fmt: skip
    """Posteriors of a step into the counts, and the vectors behind T of the step before.

    Rows come in the order of their symbols, so that a program adds up those of one symbol before it counts.
    """
    state = tl.arange(0, block)
    inside = state < n
    first = tl.program_id(0) * run
    end = tl.minimum(first + run, n_rows)
    row = tl.load(order + first)
    symbol = tl.load(symbols + row)
    here = tl.load(before + row * n + state, mask=inside, other=0.0)
    vector = tl.load(emitted + row * n + state, mask=inside, other=0.0)
    emission = tl.load(by_symbol + symbol * n + state, mask=inside, other=0.0)
    found = tl.zeros((block,), tl.float32)
    for place in range(first, end):  # the next row is on its way while this one is added up
        next_row = tl.load(order + tl.minimum(place + 1, end - 1))
        next_symbol = tl.load(symbols + next_row)
        goes_on = inside & (state < (end - 1 - place) * n)
        next_here = tl.load(before + next_row * n + state, mask=goes_on, other=0.0)
        next_vector = tl.load(emitted + next_row * n + state, mask=goes_on, other=0.0)
        next_emission = tl.load(by_symbol + next_symbol * n + state, mask=goes_on, other=0.0)
        share, mass = tl.load(possible + row), tl.maximum(tl.load(masses + row), 1e-30)
        wide = here.to(tl.float32)
        posterior = wide * vector.to(tl.float32)
        scale = share / tl.maximum(tl.sum(posterior, axis=0), 1e-30)
        found += posterior * scale
        tl.store(after + row * n + state, wide * emission.to(tl.float32) * (scale / mass), mask=inside)
        if next_symbol != symbol:
            tl.atomic_add(counts + symbol * n + state, found, mask=inside)
            found = tl.zeros((block,), tl.float32)
        row, symbol = next_row, next_symbol
        here, vector, emission = next_here, next_vector, next_emission
    tl.atomic_add(counts + symbol * n + state, found, mask=inside)
