"""The kernels of `fused` and `lanes` in Triton; imported where there is a GPU alone.

Arguments are tensors, numbers, and constants that a kernel is compiled for.
"""

# mypy: ignore-errors

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def _prefixes(
    program, symbols, initial, by_symbol, transition, emitted, n_lanes, n_steps,
    n: tl.constexpr, lanes: tl.constexpr, precision: tl.constexpr, keep: tl.constexpr,
):  # fmt: skip
    """The states of some lanes behind their last symbol, and logarithms of what was divided by."""
    row = program * lanes + tl.arange(0, lanes)
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
        if keep:
            place = (step * n_lanes + row).to(tl.int64)[:, None] * n + state[None, :]
            tl.store(emitted + place, vector.to(moves.dtype), mask=inside[:, None])
        vector = tl.dot(vector.to(moves.dtype), moves, input_precision=precision)
        mass = tl.sum(vector, axis=1)
        vector = vector * (1.0 / tl.maximum(mass, 1e-30))[:, None]
        total += tl.log(mass)
    return vector, total


@triton.jit
def _suffixes(
    program, symbols, by_symbol, transition, stop, before, after, n_lanes, n_steps,
    n: tl.constexpr, lanes: tl.constexpr, precision: tl.constexpr, keep: tl.constexpr,
):  # fmt: skip
    """The vectors before T and, with `keep`, behind it, of some lanes from their last symbol on."""
    row = program * lanes + tl.arange(0, lanes)
    state, inside = tl.arange(0, n), row < n_lanes
    back = tl.load(transition + state[None, :] * n + state[:, None])
    behind = tl.zeros((lanes, n), tl.float32) + tl.load(stop + state)[None, :]
    symbol = tl.load(symbols + (n_steps - 1) * n_lanes + row, mask=inside, other=0)
    emission = tl.load(by_symbol + symbol[:, None] * n + state[None, :])
    symbol = tl.load(symbols + tl.maximum(n_steps - 2, 0) * n_lanes + row, mask=inside, other=0)
    for backward in range(n_steps):
        place = ((n_steps - 1 - backward) * n_lanes + row).to(tl.int64)[:, None] * n + state[None, :]
        turned = behind.to(back.dtype)
        if keep:
            tl.store(after + place, turned, mask=inside[:, None])
        here = tl.dot(turned, back, input_precision=precision)
        tl.store(before + place, here.to(back.dtype), mask=inside[:, None])
        behind = here * emission.to(tl.float32)
        emission = tl.load(by_symbol + symbol[:, None] * n + state[None, :])
        earlier = tl.maximum(n_steps - 3 - backward, 0)
        symbol = tl.load(symbols + earlier * n_lanes + row, mask=inside, other=0)
        behind = behind * (1.0 / tl.maximum(tl.sum(behind, axis=1), 1e-30))[:, None]


@triton.jit
def forward(
    symbols, initial, by_symbol, transition, stop, logs, n_lanes, n_steps,
    n: tl.constexpr, lanes: tl.constexpr, precision: tl.constexpr,
):  # fmt: skip
    """Log-probabilities of strings."""
    vector, total = _prefixes(
        tl.program_id(0), symbols, initial, by_symbol, transition, logs, n_lanes, n_steps,
        n, lanes, precision, False,
    )  # fmt: skip
    row = tl.program_id(0) * lanes + tl.arange(0, lanes)
    share = tl.sum(vector * tl.load(stop + tl.arange(0, n))[None, :], axis=1)
    tl.store(logs + row, total + tl.log(share), mask=row < n_lanes)


@triton.jit
def both_ways(
    symbols, initial, by_symbol, transition, stop, emitted, before, after, logs, log_total, stops,
    n_lanes, n_steps, n_programs,
    n: tl.constexpr, lanes: tl.constexpr, precision: tl.constexpr, counts: tl.constexpr,
):  # fmt: skip
    """Prefixes in one half of the programs and suffixes in the other, side by side."""
    program = tl.program_id(0)
    if program < n_programs:
        vector, total = _prefixes(
            program, symbols, initial, by_symbol, transition, emitted, n_lanes, n_steps,
            n, lanes, precision, True,
        )  # fmt: skip
        row, state = program * lanes + tl.arange(0, lanes), tl.arange(0, n)
        inside = row < n_lanes
        ending = vector * tl.load(stop + state)[None, :]
        share = tl.sum(ending, axis=1)
        log = total + tl.log(share)
        tl.store(logs + row, log, mask=inside)
        if counts:
            tl.atomic_add(log_total, tl.sum(tl.where(inside, log, 0.0).to(tl.float64), axis=0))
            scale = tl.where(inside & (log > float("-inf")), 1.0 / tl.maximum(share, 1e-30), 0.0)
            tl.atomic_add(stops + state, tl.sum(ending * scale[:, None], axis=0))
    else:
        _suffixes(
            program - n_programs, symbols, by_symbol, transition, stop, before, after, n_lanes, n_steps,
            n, lanes, precision, counts,
        )  # fmt: skip


@triton.jit
def count_cells(
    symbols, emitted, before, after, starts, pairs, emissions, n_lanes, n_cells, n_rounds,
    n: tl.constexpr, rows: tl.constexpr, precision: tl.constexpr,
):  # fmt: skip
    """Posteriors of some cells into the counts of symbols, of first states and of moves."""
    state = tl.arange(0, n)
    counted = tl.zeros((n, n), tl.float32)
    for number in range(n_rounds):
        cell = (tl.program_id(0) * n_rounds + number) * rows + tl.arange(0, rows)
        inside = cell < n_cells
        place = cell.to(tl.int64)[:, None] * n + state[None, :]
        vector = tl.load(emitted + place, mask=inside[:, None], other=0.0)
        here = tl.load(before + place, mask=inside[:, None], other=0.0)
        behind = tl.load(after + place, mask=inside[:, None], other=0.0)
        symbol = tl.load(symbols + cell, mask=inside, other=0)
        posterior = vector.to(tl.float32) * here.to(tl.float32)
        mass = tl.sum(posterior, axis=1)
        scale = tl.where(mass > 1e-37, 1.0 / mass, 0.0)  # nothing where the string is impossible
        posterior = posterior * scale[:, None]
        spot = emissions + symbol[:, None] * n + state[None, :]
        tl.atomic_add(spot, posterior, mask=inside[:, None], sem="relaxed")
        scaled = (behind.to(tl.float32) * scale[:, None]).to(vector.dtype)
        counted += tl.dot(tl.trans(vector), scaled, input_precision=precision)
        if (tl.program_id(0) * n_rounds + number) * rows < n_lanes:
            first = tl.where((cell < n_lanes)[:, None], posterior, 0.0)
            tl.atomic_add(starts + state, tl.sum(first, axis=0))
    tl.atomic_add(pairs + state[:, None] * n + state[None, :], counted, sem="relaxed")


@triton.jit
def posteriors_of(emitted, before, found, n_cells, n: tl.constexpr, rows: tl.constexpr):
    """Of states at some cells; zero where the string is impossible."""
    cell, state = tl.program_id(0) * rows + tl.arange(0, rows), tl.arange(0, n)
    place, inside = cell.to(tl.int64)[:, None] * n + state[None, :], (cell < n_cells)[:, None]
    vector = tl.load(emitted + place, mask=inside, other=0.0).to(tl.float32)
    posterior = vector * tl.load(before + place, mask=inside, other=0.0).to(tl.float32)
    mass = tl.sum(posterior, axis=1)
    scale = tl.where(mass > 1e-37, 1.0 / mass, 0.0)
    tl.store(found + place, posterior * scale[:, None], mask=inside)


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
