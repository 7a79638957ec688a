"""Drawing from probabilistic grammars in binary form: strings with the spans of their derivations."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sigmastar.core.jit import kernel, part

Array = NDArray[np.float64]
Integers = NDArray[np.int64]
Drawn = tuple[NDArray[np.int32], Integers, Integers, Integers, Integers]

_DEEPEST = 1_000_000  # states that wait to be rewritten


def draw_yields(
    n_strings: int,
    initial: Array,
    rules: Array,
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


@kernel
def _grown(array: NDArray[Any]) -> NDArray[Any]:
    larger = np.empty(2 * len(array), dtype=array.dtype)
    for at in range(len(array)):
        larger[at] = array[at]
    return larger


@part
def _pick(cumulated: Array, rng: np.random.Generator) -> int:
    return min(
        int(np.searchsorted(cumulated, rng.random() * cumulated[-1], side="right")), len(cumulated) - 1
    )


@kernel
def _draw(
    n_strings: int,
    initial: Array,
    rules: Array,
    n_symbols: int,
    rng: np.random.Generator,
    max_length: int,
    deepest: int,
) -> tuple[NDArray[np.int32], Integers, Integers, Integers, Integers, bool]:
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
                if first + length == len(codes):
                    codes = _grown(codes)
                codes[first + length] = rule
                length += 1
                continue
            if n_spans == len(begins):
                begins, ends = _grown(begins), _grown(ends)
            if depth + 3 >= len(stack):
                if len(stack) > deepest:
                    return codes, offsets, begins, ends, span_offsets, False
                stack = _grown(stack)
            begins[n_spans] = length
            pair = rule - n_symbols
            stack[depth], stack[depth + 1], stack[depth + 2] = -1 - n_spans, pair % n, pair // n
            depth += 3
            n_spans += 1
        waiting = False
        while depth:
            depth -= 1
            if stack[depth] < 0:
                ends[-1 - stack[depth]] = length
            else:
                waiting = True
        offsets[string + 1] = first + length
        span_offsets[string + 1] = span_offsets[string] if waiting else n_spans
    total, n_spans = offsets[n_strings], span_offsets[n_strings]
    return codes[:total].copy(), offsets, begins[:n_spans].copy(), ends[:n_spans].copy(), span_offsets, True
