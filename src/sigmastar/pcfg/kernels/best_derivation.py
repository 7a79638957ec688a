"""The best derivation of a string, read off a chart of maxima (`inside_chart`)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sigmastar.core.jit import kernel, part

Array = NDArray[np.float64]
Integers = NDArray[Any]


@part
def _cell(i: int, j: int) -> int:
    return j * (j - 1) // 2 + i


@kernel
def best_events(codes: Integers, rules: Any, weights: Array, chart: Any) -> NDArray[np.int32]:
    """Events from the top, leftmost first; nothing where there is no derivation."""
    inside, exponents, _, _, bounds, pool_node, pool_value = chart
    n = len(codes)
    events, used = np.empty(64, np.int32), 0
    if n == 0 or inside[_cell(0, n), rules.start] == 0.0:
        return events[:0]
    n_nonterminals = 1 + max(rules.start, _largest(rules.lexical_left), _largest(rules.unary_left))
    n_nonterminals = max(n_nonterminals, 1 + _largest(rules.complete_left))
    stack, height = np.empty((64, 3), np.int64), 1
    stack[0, 0], stack[0, 1], stack[0, 2] = 0, n, rules.start
    while height:
        height -= 1
        i, j, symbol = stack[height, 0], stack[height, 1], stack[height, 2]
        if symbol >= n_nonterminals:  # a word inside a longer rule
            continue
        cell = _cell(i, j)
        event, node, child, best = -1, -1, -1, -1.0
        if j == i + 1:
            for at in range(rules.lexical_start[codes[i]], rules.lexical_start[codes[i] + 1]):
                value = weights[rules.lexical_event[at]] * np.ldexp(1.0, -exponents[cell])
                if rules.lexical_left[at] == symbol and value > best:
                    best, event, node, child = value, rules.lexical_event[at], -1, -1
        for at in range(len(rules.unary_left)):
            if rules.unary_left[at] == symbol:
                value = weights[rules.unary_event[at]] * inside[cell, rules.unary_child[at]]
                if value > best and inside[cell, rules.unary_child[at]] > 0.0:
                    best, event, node, child = value, rules.unary_event[at], -1, rules.unary_child[at]
        for place in range(bounds[cell, 0], bounds[cell, 2]):
            for at in range(
                rules.complete_start[pool_node[place]], rules.complete_start[pool_node[place] + 1]
            ):
                value = weights[rules.complete_event[at]] * pool_value[place]
                if rules.complete_left[at] == symbol and value > best:
                    best, event, node, child = value, rules.complete_event[at], pool_node[place], -1
        if used == len(events):
            longer = np.empty(2 * used, np.int32)
            for at in range(used):
                longer[at] = events[at]
            events = longer
        events[used] = event
        used += 1
        if height + n + 2 > len(stack):
            higher = np.empty((2 * (height + n + 2), 3), np.int64)
            for at in range(height):
                for place in range(3):
                    higher[at, place] = stack[at, place]
            stack = higher
        if child >= 0:
            stack[height, 0], stack[height, 1], stack[height, 2] = i, j, child
            height += 1
        end = j
        while node >= 0:  # the last symbol of the right side first: it is to be taken from the stack last
            begin = i
            if rules.node_parent[node] >= 0:
                begin = _split(i, end, node, rules, chart)
            stack[height, 0], stack[height, 1], stack[height, 2] = begin, end, rules.node_symbol[node]
            height += 1
            end, node = begin, rules.node_parent[node]
    return events[:used]


@kernel
def _largest(numbers: Integers) -> int:
    largest = -1
    for number in numbers:
        largest = max(largest, number)
    return largest


@part
def _split(i: int, j: int, node: int, rules: Any, chart: Any) -> int:
    """Where the last symbol of the best sequence `node` on a span begins."""
    inside, exponents, _, _, bounds, pool_node, pool_value = chart
    best, chosen = -np.inf, -1
    for k in range(i + 1, j):
        left, right = _cell(i, k), _cell(k, j)
        if inside[right, rules.node_symbol[node]] > 0.0:
            for place in range(bounds[left, 0], bounds[left, 1]):
                if pool_node[place] == rules.node_parent[node]:
                    value = np.log(pool_value[place] * inside[right, rules.node_symbol[node]])
                    value += (exponents[left] + exponents[right]) * np.log(2.0)
                    if value > best:
                        best, chosen = value, k
    return chosen
