"""Sampling from any left-to-right model: all strings grow by one symbol at a time, together."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from sigmastar.automata.data.strings import Strings
from sigmastar.core.alphabet import Alphabet

Array = NDArray[np.float64]
Rows = NDArray[np.intp]
States = TypeVar("States")

_BATCH, _CELLS = 4096, 1 << 23  # strings, and next-symbol probabilities, at a time: they bound the memory


def sample_lockstep(
    alphabet: Alphabet,
    n_strings: int,
    rng: np.random.Generator,
    max_length: int,
    start: Callable[[int], States],
    distributions: Callable[[States], Array],
    advance: Callable[[States, Rows, Rows], States],
) -> Strings:
    """Draw strings from a model given as a state machine over batches.

    `start(n)` gives n states, `distributions(states)` their rows over the symbols and the end, and
    `advance(states, rows, symbols)` the states that follow in the chosen rows.
    """
    if n_strings < 0 or max_length < 0:
        raise ValueError(f"n_strings={n_strings} and max_length={max_length} must not be negative")
    batch = min(_BATCH, max(1, _CELLS // (len(alphabet) + 1)))
    pieces = [
        _sample_batch(
            min(batch, n_strings - done), len(alphabet), rng, max_length, start, distributions, advance
        )
        for done in range(0, n_strings, batch)
    ]
    lengths = np.concatenate([np.zeros(1, np.int64), *(lengths for lengths, _ in pieces)])
    codes = np.concatenate([np.empty(0, np.int32), *(codes for _, codes in pieces)])
    return Strings(alphabet, codes, np.cumsum(lengths))


def _sample_batch(
    size: int,
    end: int,
    rng: np.random.Generator,
    max_length: int,
    start: Callable[[int], States],
    distributions: Callable[[States], Array],
    advance: Callable[[States, Rows, Rows], States],
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    alive, states = np.arange(size), start(size)
    owners, drawn = [np.empty(0, np.intp)], [np.empty(0, np.intp)]
    for _ in range(max_length):
        symbols = _draw(distributions(states), rng)
        going = np.flatnonzero(symbols < end)
        if not len(going):
            break
        alive, symbols = alive[going], symbols[going]
        owners.append(alive)
        drawn.append(symbols)
        states = advance(states, going, symbols)
    owner, symbol = np.concatenate(owners), np.concatenate(drawn)
    order = np.argsort(owner, kind="stable")  # steps are in order already
    return np.bincount(owner, minlength=size), symbol[order].astype(np.int32)


def _draw(distributions: Array, rng: np.random.Generator) -> Rows:
    cumulative = np.cumsum(distributions, axis=1)
    aims = rng.random(len(cumulative)) * cumulative[:, -1]
    drawn: Rows = (cumulative <= aims[:, None]).sum(axis=1)
    return np.asarray(np.minimum(drawn, distributions.shape[1] - 1))
