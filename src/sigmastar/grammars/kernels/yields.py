"""Drawing from probabilistic grammars in binary form: strings with the spans of their derivations."""

from __future__ import annotations

import numpy as np

from sigmastar.core.arrays import Floats, Int32s, Int64s
from sigmastar.core.jit import kernel, part
from sigmastar.core.scaling import grown

Drawn = tuple[Int32s, Int64s, Int64s, Int64s, Int64s]

_DEEPEST = 1_000_000  # states that wait to be rewritten


def draw_yields(
    n_strings: int,
    initial: Floats,
    rules: Floats,
    n_symbols: int,
    rng: np.random.Generator,
    max_length: int,
) -> Drawn:
    """Codes, offsets, begins, ends and span offsets of strings drawn by cumulated probabilities.

    A row of `rules` holds first the words and then the pairs of states that a state rewrites to. A string is
    cut when it has `max_length` symbols; its spans are left out then.
    """
    drawn = _draw(n_strings, initial, rules, n_symbols, rng, max_length, _DEEPEST)
    if not drawn[-1]:
        raise ValueError(
            f"a derivation had more than {_DEEPEST} states waiting: the grammar's derivations need not end; "
            "give more probability to words"
        )
    return drawn[:-1]


@part
def _pick(cumulated: Floats, rng: np.random.Generator) -> int:
    return min(
        int(np.searchsorted(cumulated, rng.random() * cumulated[-1], side="right")), len(cumulated) - 1
    )


@part
def _close(waiting: Int64s, ends: Int64s, length: int) -> bool:
    """End the spans that are still open; whether no state was left to rewrite."""
    finished = True
    for entry in waiting:
        if entry < 0:
            ends[-1 - entry] = length
        else:
            finished = False
    return finished


@kernel
def _draw(
    n_strings: int,
    initial: Floats,
    rules: Floats,
    n_symbols: int,
    rng: np.random.Generator,
    max_length: int,
    deepest: int,
) -> tuple[Int32s, Int64s, Int64s, Int64s, Int64s, bool]:
    n = len(initial)
    codes, begins, ends = np.empty(1024, np.int32), np.empty(1024, np.int64), np.empty(1024, np.int64)
    offsets, span_offsets = np.zeros(n_strings + 1, np.int64), np.zeros(n_strings + 1, np.int64)
    stack = np.empty(1024, np.int64)  # states to rewrite, and -1 - s where span s ends
    for string in range(n_strings):
        first, length, n_spans, depth = offsets[string], 0, span_offsets[string], 1
        stack[0] = _pick(initial, rng)
        while depth and length < max_length:
            depth -= 1
            top = stack[depth]
            if top < 0:
                ends[-1 - top] = length
                continue
            rule = _pick(rules[top], rng)
            if rule < n_symbols:
                codes = grown(codes, first + length + 1)
                codes[first + length] = rule
                length += 1
                continue
            begins, ends = grown(begins, n_spans + 1), grown(ends, n_spans + 1)
            if depth + 3 > deepest:
                return codes, offsets, begins, ends, span_offsets, False
            stack = grown(stack, depth + 3)
            begins[n_spans] = length
            left, right = divmod(rule - n_symbols, n)
            stack[depth], stack[depth + 1], stack[depth + 2] = -1 - n_spans, right, left
            depth, n_spans = depth + 3, n_spans + 1
        finished = _close(stack[:depth], ends, length)
        offsets[string + 1] = first + length
        span_offsets[string + 1] = n_spans if finished else span_offsets[string]
    n_spans = span_offsets[-1]
    return codes[: offsets[-1]], offsets, begins[:n_spans], ends[:n_spans], span_offsets, True
