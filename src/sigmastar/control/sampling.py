"""Strings of a model under a constraint, drawn exactly: a walk over the states of both, with values ahead.

    P(stop | q, d, p)      ~ final[q] accepting[d]
    P(a, q' | q, d, p)     ~ A_a[q, q'] v_p+1[q', m(d, a)]

v are the values of `control.lookahead`. All strings of a batch grow by one symbol at a time, so that they
share them.
"""

from __future__ import annotations

import numpy as np

from sigmastar.automata.data.strings import Strings
from sigmastar.control.chains import draw
from sigmastar.control.lookahead import Level, Lookahead
from sigmastar.core.arrays import Floats, Indices, Int32s, Int64s

_BATCH, _CELLS = 4096, 1 << 22  # strings, and weights of next symbols, at a time


def draw_strings(ahead: Lookahead, start: int, n_strings: int, rng: np.random.Generator) -> Strings:
    """Strings of the model that meet the constraint; `start` is the first state of the constraint."""
    if n_strings < 0:
        raise ValueError(f"n_strings={n_strings} must not be negative")
    alphabet = ahead.chain.alphabet
    size = max(1, min(_BATCH, _CELLS // (ahead.chain.n_weights + 1)))
    batches = [_batch(ahead, start, min(size, n_strings - at), rng) for at in range(0, n_strings, size)]
    lengths = np.concatenate([np.zeros(1, np.int64), *(lengths for lengths, _ in batches)])
    codes = np.concatenate([np.empty(0, np.int32), *(codes for _, codes in batches)])
    return Strings(alphabet, codes, np.cumsum(lengths))


def _batch(ahead: Lookahead, start: int, size: int, rng: np.random.Generator) -> tuple[Int64s, Int32s]:
    chain, host = ahead.chain, ahead.chain.backend.host
    moves = chain.groups.moves
    first = host(chain.initial) * host(ahead.level(0).values)[start]
    states, targets = draw(np.tile(first, (size, 1)), rng), np.full(size, start)
    alive, owners, drawn, position = np.arange(size), [np.empty(0, np.intp)], [np.empty(0, np.intp)], 0
    while len(alive) and ahead.may_go_on(position):
        level, ends = ahead.level(position + 1), ahead.ends(position) & ahead.accepting[targets]
        ways = moves[targets]
        places, states = chain.walk(
            states, level.ahead, host(level.values), ways, _scales(level, ways, ends), rng
        )
        going = np.flatnonzero(places >= 0)
        alive, states, places = alive[going], states[going], places[going]
        targets = ways[going, chain.groups.of_places[places]]
        owners.append(alive)
        drawn.append(chain.groups.order[places])
        position += 1
    owner, symbol = np.concatenate(owners), np.concatenate(drawn)
    order = np.argsort(owner, kind="stable")  # steps are in order already
    return np.bincount(owner, minlength=size), symbol[order].astype(np.int32)


def _scales(level: Level, ways: Indices, ends: Indices) -> Floats:
    """Powers of two that the weights of each group, and of the end, are multiplied by: the largest is one."""
    exponents = np.column_stack([level.exponents[ways], np.where(ends, 0, level.exponents[-1])])
    tops = exponents.max(axis=1, keepdims=True)
    scales = np.ldexp(1.0, np.clip(exponents - tops, -2000, 0))
    scales[~ends.astype(bool), -1] = 0.0
    return np.asarray(scales)
