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
    for step in range(n_steps):
        symbol = tl.load(symbols + step * n_lanes + row, mask=inside, other=0)
        emission = tl.load(by_symbol + symbol[:, None] * n + state[None, :]).to(tl.float32)
        vector = vector * emission
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
    possible = (log > float("-inf")).to(tl.float32)
    final = tl.load(stop + state)
    behind = tl.zeros((lanes, n), tl.float32) + final[None, :]
    counted = tl.zeros((n, n), tl.float32)
    for backward in range(n_steps):
        step = n_steps - 1 - backward
        symbol = tl.load(symbols + step * n_lanes + row, mask=inside, other=0)
        place = (step * n_lanes + row).to(tl.int64)[:, None] * n + state[None, :]
        vector = tl.load(emitted + place, mask=inside[:, None], other=0.0)
        if backward == 0:  # the last vector once more, for the stops
            ending = tl.dot(vector, moves, input_precision=precision) * final[None, :]
            share = possible / tl.maximum(tl.sum(ending, axis=1), 1e-30)
            tl.atomic_add(stops + state, tl.sum(ending * share[:, None], axis=0))
        after = behind.to(moves.dtype)
        before = tl.dot(after, back, input_precision=precision)
        posterior = vector.to(tl.float32) * before
        scale = possible / tl.maximum(tl.sum(posterior, axis=1), 1e-30)
        spot = emissions + symbol[:, None] * n + state[None, :]
        tl.atomic_add(spot, posterior * scale[:, None], mask=inside[:, None])
        scaled = (behind * scale[:, None]).to(moves.dtype)
        counted += tl.dot(tl.trans(vector), scaled, input_precision=precision)
        emission = tl.load(by_symbol + symbol[:, None] * n + state[None, :]).to(tl.float32)
        behind = before * scale[:, None] * emission
    first = tl.load(initial + state)[None, :] * behind
    first = first * (possible / tl.maximum(tl.sum(first, axis=1), 1e-30))[:, None]
    tl.atomic_add(starts + state, tl.sum(first, axis=0))
    tl.atomic_add(pairs + state[:, None] * n + state[None, :], counted)


@triton.jit
def go_on(product, symbols, by_symbol, emitted, states, logs, masses, n_going, n, block: tl.constexpr):
    """Rows below `n_going` emit their next symbol; the others have ended, and their state is kept."""
    row = tl.program_id(0).to(tl.int64)
    state = tl.arange(0, block)
    inside = state < n
    vector = tl.load(product + row * n + state, mask=inside, other=0.0).to(tl.float32)
    mass = tl.sum(vector, axis=0)
    tl.store(masses + row, mass)
    tl.store(logs + row, tl.load(logs + row) + tl.log(mass))
    vector = vector / tl.maximum(mass, 1e-30)
    if row < n_going:
        symbol = tl.load(symbols + row)
        emission = tl.load(by_symbol + symbol * n + state, mask=inside, other=0.0).to(tl.float32)
        tl.store(emitted + row * n + state, vector * emission, mask=inside)
    else:
        tl.store(states + row * n + state, vector, mask=inside)


@triton.jit
def go_back(before, emitted, symbols, by_symbol, masses, possible, after, counts, n, block: tl.constexpr):
    """Posteriors of a step into the counts, and the vectors behind T of the step before."""
    row = tl.program_id(0).to(tl.int64)
    state = tl.arange(0, block)
    inside = state < n
    here = tl.load(before + row * n + state, mask=inside, other=0.0).to(tl.float32)
    vector = tl.load(emitted + row * n + state, mask=inside, other=0.0).to(tl.float32)
    symbol = tl.load(symbols + row)
    posterior = here * vector
    scale = tl.load(possible + row) / tl.maximum(tl.sum(posterior, axis=0), 1e-30)
    tl.atomic_add(counts + symbol * n + state, posterior * scale, mask=inside)
    emission = tl.load(by_symbol + symbol * n + state, mask=inside, other=0.0).to(tl.float32)
    mass = tl.maximum(tl.load(masses + row), 1e-30)
    tl.store(after + row * n + state, here * emission * (scale / mass), mask=inside)
