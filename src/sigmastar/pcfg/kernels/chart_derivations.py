"""The derivations of a string, from its chart: expected events, by outsides, and the best one.

From the longest span down, outsides being divided by the probability of the string,

    outside(k, j, B) += prefix(i, k, u) outside(i, j, u.B)
    outside(i, k, u) += inside(k, j, B) outside(i, j, u.B)
    count(A -> u)    += p(A -> u) prefix(i, j, u) outside(i, j, A)

Outsides are kept times 2 ** exponent of their span, so that outside x inside is a posterior.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sigmastar.core.arrays import Array, Floats, Int32s
from sigmastar.core.jit import kernel, part
from sigmastar.core.scaling import cell_by_end, grown, power_of_two
from sigmastar.pcfg.data.unary_loops import open_loop
from sigmastar.pcfg.kernels.chart import Chart, Rules, Scratch


@part
def _rewrite_outside(
    first_unary: int, rules: Rules, weights: Floats, values: Floats, outer: Floats, counts: Floats
) -> None:
    """Unary rules of a span, top down."""
    unary, loop = rules.unary, len(rules.unary.loop_before) - 1
    for at in range(len(unary.left), first_unary - 1, -1):
        if at < len(unary.left) and outer[unary.left[at]] > 0.0:
            share = weights[unary.event[at]] * outer[unary.left[at]]
            outer[unary.child[at]] += share
            counts[unary.event[at]] += share * values[unary.child[at]]
        while loop >= 0 and unary.loop_before[loop] == at:
            open_loop(loop, unary, weights, values, outer, 0, 1, counts)
            loop -= 1


@part
def _count_words(
    code: int, scale: float, rules: Rules, weights: Floats, outer: Floats, counts: Floats
) -> None:
    for at in range(rules.lexical_start[code], rules.lexical_start[code + 1]):
        event = rules.lexical_event[at]
        counts[event] += scale * weights[event] * outer[rules.lexical_left[at]]


@part
def _uncomplete(
    cell: int, chart: Any, rules: Rules, weights: Floats, outer: Floats, outside: Floats, counts: Floats
) -> bool:
    """Add what left sides give to the outsides of whole right sides; whether any node has one."""
    live = False
    for place in range(chart.bounds[cell, 0], chart.bounds[cell, 2]):
        node = chart.pool_node[place]
        for at in range(rules.complete_start[node], rules.complete_start[node + 1]):
            above = outer[rules.complete_left[at]]
            if above > 0.0:
                share = weights[rules.complete_event[at]] * above
                outside[place] += share
                counts[rules.complete_event[at]] += share * chart.pool_value[place]
        live = live or outside[place] > 0.0
    return live


@part
def _split_outside(
    i: int, j: int, rules: Rules, chart: Any, outside: Floats, pool_outside: Floats, scratch: Any
) -> None:
    """Hand the outsides of the nodes of a span down to both sides of its splits."""
    inside, bounds, n_active = chart.inside, chart.bounds, chart.n_active
    above, stamp, cell = scratch.values, scratch.stamp, cell_by_end(i, j)
    for place in range(bounds[cell, 0], bounds[cell, 2]):
        above[chart.pool_node[place]], stamp[chart.pool_node[place]] = pool_outside[place], cell
    for k in range(i + 1, j):
        left, right = cell_by_end(i, k), cell_by_end(k, j)
        if n_active[right] == 0 or bounds[left, 0] == bounds[left, 1]:
            continue
        factor = power_of_two(chart.exponents[left] + chart.exponents[right] - chart.exponents[cell])
        for place in range(bounds[left, 0], bounds[left, 1]):
            node, gathered = chart.pool_node[place], 0.0
            begin, end = rules.edge_start[node], rules.edge_start[node + 1]
            by_edges = end - begin <= n_active[right]
            for at in range(end - begin if by_edges else n_active[right]):
                symbol = rules.edge_symbol[begin + at] if by_edges else chart.active[right, at]
                target = rules.goto[node, symbol]
                if target >= 0 and stamp[target] == cell and inside[right, symbol] > 0.0:
                    share = above[target] * factor
                    gathered += share * inside[right, symbol]
                    outside[right, symbol] += share * chart.pool_value[place]
            pool_outside[place] += gathered


@kernel
def add_chart_counts(
    codes: Array, rules: Rules, weights: Floats, chart: Chart, multiplicity: float, counts: Floats
) -> None:
    """Add the expected events of one string, which has a derivation, to `counts`."""
    n, n_nodes = len(codes), len(rules.goto)
    outside, pool_outside = np.zeros_like(chart.inside), np.zeros(chart.bounds[:, 2].max())
    scratch = Scratch(np.zeros(n_nodes), np.full(n_nodes, -1, np.int64), np.empty(0, np.int32))
    outside[cell_by_end(0, n), rules.start] = multiplicity / chart.inside[cell_by_end(0, n), rules.start]
    for j in range(n, 0, -1):
        for i in range(j):
            cell = cell_by_end(i, j)
            outer = outside[cell]
            for place in range(chart.bounds[cell, 0], chart.bounds[cell, 1]):
                if rules.node_parent[chart.pool_node[place]] < 0:
                    outer[rules.node_symbol[chart.pool_node[place]]] += pool_outside[place]
            first_unary = 0 if j == i + 1 else rules.n_lexical_unary
            _rewrite_outside(first_unary, rules, weights, chart.inside[cell], outer, counts)
            if j == i + 1:  # the weights of words were added before the values were scaled
                _count_words(codes[i], power_of_two(-chart.exponents[cell]), rules, weights, outer, counts)
            elif _uncomplete(cell, chart, rules, weights, outer, pool_outside, counts):
                _split_outside(i, j, rules, chart, outside, pool_outside, scratch)


@part
def _best_rule(
    i: int, j: int, symbol: int, codes: Array, rules: Rules, weights: Floats, chart: Any
) -> tuple[int, int, int]:
    """The best rule of a symbol on a span: its event, and the node or the only child on its right side."""
    cell = cell_by_end(i, j)
    event, node, child, best = -1, -1, -1, -1.0
    if j == i + 1:
        scale = power_of_two(-chart.exponents[cell])
        for at in range(rules.lexical_start[codes[i]], rules.lexical_start[codes[i] + 1]):
            value = weights[rules.lexical_event[at]] * scale
            if rules.lexical_left[at] == symbol and value > best:
                best, event = value, rules.lexical_event[at]
    unary = rules.unary
    for lefts, children, events in (
        (unary.left, unary.child, unary.event),
        (unary.inner_left, unary.inner_child, unary.inner_event),
    ):
        for at in range(len(lefts)):
            below = chart.inside[cell, children[at]]
            if lefts[at] == symbol and below > 0.0 and weights[events[at]] * below > best:
                best, event, child = weights[events[at]] * below, events[at], children[at]
    for place in range(chart.bounds[cell, 0], chart.bounds[cell, 2]):
        whole = chart.pool_node[place]
        for at in range(rules.complete_start[whole], rules.complete_start[whole + 1]):
            value = weights[rules.complete_event[at]] * chart.pool_value[place]
            if rules.complete_left[at] == symbol and value > best:
                best, event, node, child = value, rules.complete_event[at], whole, -1
    return event, node, child


@part
def _split(i: int, j: int, node: int, rules: Rules, chart: Any) -> int:
    """Where the last symbol of the best sequence `node` on a span begins."""
    best, chosen = -np.inf, -1
    for k in range(i + 1, j):
        left, right = cell_by_end(i, k), cell_by_end(k, j)
        below = chart.inside[right, rules.node_symbol[node]]
        if below > 0.0:
            for place in range(chart.bounds[left, 0], chart.bounds[left, 1]):
                if chart.pool_node[place] == rules.node_parent[node]:
                    value = np.log(chart.pool_value[place] * below)
                    value += (chart.exponents[left] + chart.exponents[right]) * np.log(2.0)
                    if value > best:
                        best, chosen = value, k
    return chosen


@kernel
def best_events(codes: Array, rules: Rules, weights: Floats, chart: Chart) -> Int32s:
    """Events of the best derivation, of a chart of maxima: from the top, leftmost first; none without one."""
    n, used, height = len(codes), 0, 1
    events, stack = np.empty(64, np.int32), np.empty((3, 64), np.int64)  # spans and their symbols
    if n == 0 or chart.inside[cell_by_end(0, n), rules.start] == 0.0:
        return events[:0]
    stack[0, 0], stack[1, 0], stack[2, 0] = 0, n, rules.start
    while height:
        height -= 1
        i, j, symbol = stack[0, height], stack[1, height], stack[2, height]
        if symbol >= rules.n_nonterminals:  # a word inside a longer rule
            continue
        event, node, child = _best_rule(i, j, symbol, codes, rules, weights, chart)
        events = grown(events, used + 1)
        events[used] = event
        used += 1
        if height + n + 2 > stack.shape[1]:
            higher = np.empty((3, 2 * (height + n + 2)), np.int64)
            for place in range(height):
                for row in range(3):
                    higher[row, place] = stack[row, place]
            stack = higher
        if child >= 0:
            stack[0, height], stack[1, height], stack[2, height] = i, j, child
            height += 1
        end = j
        while node >= 0:  # the last symbol of the right side first: it is to be taken from the stack last
            begin = _split(i, end, node, rules, chart) if rules.node_parent[node] >= 0 else i
            stack[0, height], stack[1, height], stack[2, height] = begin, end, rules.node_symbol[node]
            height += 1
            end, node = begin, rules.node_parent[node]
    return events[:used]
