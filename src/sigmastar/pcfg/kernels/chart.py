"""Charts for rules of any length, with unary and lexical rules: the insides of all spans of a string.

Right sides are read from left to right along a trie (`pcfg.data.rule_trie`). For a span (i, j):

    prefix(i, j, u.B) = sum over k of prefix(i, k, u) inside(k, j, B)       prefix(i, j, B) = inside(i, j, B)
    inside(i, j, A)   = sum over rules A -> u of p(A -> u) prefix(i, j, u)  + unary and lexical rules

Values of a span are kept times 2 ** -exponent, the largest in [1, 2), so that strings of any length stay
finite. With `best` sums become maxima. Only nodes and symbols that occur in a span are visited, and only
nodes that the next word can continue are kept for longer spans.

The derivations of a string, from its chart: expected events, by outsides, and the best one.

From the longest span down, outsides being divided by the probability of the string,

    outside(k, j, B) += prefix(i, k, u) outside(i, j, u.B)
    outside(i, k, u) += inside(k, j, B) outside(i, j, u.B)
    count(A -> u)    += p(A -> u) prefix(i, j, u) outside(i, j, A)

Outsides are kept times 2 ** exponent of their span, so that outside x inside is a posterior.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sigmastar.core.arrays import Array, Flags, Floats, Int32s, Int64s
from sigmastar.core.jit import kernel, part
from sigmastar.core.scaling import cell_by_end, exponent_of, grown, power_of_two
from sigmastar.pcfg.data.unary_loops import close_loop, open_loop

Rules = Any  # pcfg.data.rule_trie.ChartRules: numba knows named tuples by their fields


class Chart(NamedTuple):
    """The spans of a string: symbols, and the pool of trie nodes that cover them."""

    inside: Floats  # [cell, symbol]
    exponents: Int64s
    active: Int32s  # [cell, number]: the symbols that have a value
    n_active: Int32s
    bounds: Int64s  # nodes from [cell, 0] to [cell, 1] go on, those from there to [cell, 2] only complete
    pool_node: Int32s
    pool_value: Floats


class Scratch(NamedTuple):
    """Values by node for one span; a node without the stamp of the span has none."""

    values: Floats
    stamp: Int64s
    touched: Int32s  # the nodes that have the stamp


@part
def _add_corner(symbol: int, rules: Rules, found: Flags) -> None:
    """Which symbols a first symbol can begin."""
    for above in range(len(found)):
        found[above] = found[above] or rules.left_corner[above, symbol]


@part
def _startable(codes: Array, rules: Rules) -> Flags:
    """Which symbols the word after each position can begin; none after the last."""
    found = np.zeros((len(codes) + 1, len(rules.first)), np.bool_)
    for i in range(len(codes)):
        if codes[i] >= 0:
            if rules.word_symbol[codes[i]] >= 0:
                _add_corner(rules.word_symbol[codes[i]], rules, found[i])
            for at in range(rules.lexical_start[codes[i]], rules.lexical_start[codes[i] + 1]):
                _add_corner(rules.lexical_left[at], rules, found[i])
    return found


@kernel
def _goes_on(node: int, startable: Flags, rules: Rules) -> bool:
    """Whether a symbol that may follow a node can begin at the next word."""
    for at in range(rules.edge_start[node], rules.edge_start[node + 1]):
        if startable[rules.edge_symbol[at]]:
            return True
    return False


@part
def _joined(old: float, new: float, best: bool) -> float:
    return max(old, new) if best else old + new


@part
def _top_exponent(i: int, j: int, chart: Any) -> int:
    """The exponent of the largest product over the splits of a span."""
    exponent = 0 if j == i + 1 else -(2**40)
    for k in range(i + 1, j):
        left, right = cell_by_end(i, k), cell_by_end(k, j)
        if chart.n_active[right] and chart.bounds[left, 0] < chart.bounds[left, 1]:
            exponent = max(exponent, chart.exponents[left] + chart.exponents[right])
    return exponent


@part
def _combine(i: int, j: int, exponent: int, rules: Rules, best: bool, chart: Any, scratch: Any) -> int:
    """Prefixes of a span from its splits; how many nodes were touched."""
    inside, bounds, n_active = chart.inside, chart.bounds, chart.n_active
    cell, n_touched = cell_by_end(i, j), 0
    for k in range(i + 1, j):
        left, right = cell_by_end(i, k), cell_by_end(k, j)
        if n_active[right] == 0 or bounds[left, 0] == bounds[left, 1]:
            continue
        factor = power_of_two(chart.exponents[left] + chart.exponents[right] - exponent)
        for place in range(bounds[left, 0], bounds[left, 1]):
            node, value = chart.pool_node[place], chart.pool_value[place] * factor
            begin, end = rules.edge_start[node], rules.edge_start[node + 1]
            by_edges = end - begin <= n_active[right]
            for at in range(end - begin if by_edges else n_active[right]):
                symbol = rules.edge_symbol[begin + at] if by_edges else chart.active[right, at]
                target = rules.goto[node, symbol]
                product = value * inside[right, symbol] if target >= 0 else 0.0
                if product > 0.0:
                    if scratch.stamp[target] != cell:
                        scratch.stamp[target] = cell
                        scratch.values[target] = 0.0
                        scratch.touched[n_touched] = target
                        n_touched += 1
                    scratch.values[target] = _joined(scratch.values[target], product, best)
    return n_touched


@part
def _add_word(code: int, rules: Rules, weights: Floats, values: Floats) -> None:
    """The symbols of a single word."""
    if code >= 0:
        if rules.word_symbol[code] >= 0:
            values[rules.word_symbol[code]] = 1.0
        for at in range(rules.lexical_start[code], rules.lexical_start[code + 1]):
            values[rules.lexical_left[at]] += weights[rules.lexical_event[at]]


@part
def _complete(
    touched: Array,
    prefixes: Floats,
    first_unary: int,
    rules: Rules,
    weights: Floats,
    best: bool,
    values: Floats,
) -> None:
    """The symbols that whole right sides make, then those of unary rules."""
    for node in touched:
        for at in range(rules.complete_start[node], rules.complete_start[node + 1]):
            value, left = weights[rules.complete_event[at]] * prefixes[node], rules.complete_left[at]
            values[left] = _joined(values[left], value, best)
    unary, begin = rules.unary, first_unary
    for loop in range(len(unary.loop_before) + 1):
        end = unary.loop_before[loop] if loop < len(unary.loop_before) else len(unary.left)
        for at in range(begin, end):
            value, left = weights[unary.event[at]] * values[unary.child[at]], unary.left[at]
            values[left] = _joined(values[left], value, best)
        begin = end
        if loop < len(unary.loop_before):
            close_loop(loop, unary, values, 0, 1, best)


@part
def _scale(touched: Array, prefixes: Floats, values: Floats, active: Array) -> tuple[int, int]:
    """List the symbols that occur and bring the largest value into [1, 2); their number and the exponent."""
    largest, count = 0.0, 0
    for symbol in range(len(values)):
        if values[symbol] > 0.0:
            active[count] = symbol
            count += 1
            largest = max(largest, values[symbol])
    for node in touched:
        largest = max(largest, prefixes[node])
    shift = exponent_of(largest)
    factor = power_of_two(-shift)
    for symbol in range(len(values)):
        values[symbol] *= factor
    for node in touched:
        prefixes[node] *= factor
    return count, shift


@part
def _store(
    touched: Array, prefixes: Floats, active: Array, values: Floats, rules: Rules, startable: Flags, pool: Any
) -> tuple[int, int]:
    """Write the nodes that go on, then those that only complete; how many of the first, and of both."""
    pool_node, pool_value = pool
    used = 0
    for symbol in active:
        node = rules.first[symbol]
        if node >= 0 and _goes_on(node, startable, rules):
            pool_node[used], pool_value[used] = node, values[symbol]
            used += 1
    going = used
    for wanted in (True, False):
        for node in touched:
            if _goes_on(node, startable, rules) == wanted:
                pool_node[used], pool_value[used] = node, prefixes[node]
                used += 1
        going = used if wanted else going
    return going, used


@kernel
def inside_chart(codes: Array, rules: Rules, weights: Floats, best: bool) -> Chart:
    """The insides of all spans of a string."""
    n, n_symbols, n_nodes = len(codes), len(rules.first), len(rules.goto)
    n_cells, used = n * (n + 1) // 2, 0
    inside, exponents = np.zeros((n_cells, n_symbols)), np.zeros(n_cells, np.int64)
    active, n_active = np.empty((n_cells, n_symbols), np.int32), np.zeros(n_cells, np.int32)
    bounds = np.zeros((n_cells, 3), np.int64)
    pool_node, pool_value = np.empty(64 * n_cells + 64, np.int32), np.empty(64 * n_cells + 64)
    scratch = Scratch(np.zeros(n_nodes), np.full(n_nodes, -1, np.int64), np.empty(n_nodes, np.int32))
    startable, prefixes = _startable(codes, rules), scratch.values
    for j in range(1, n + 1):
        for i in range(j - 1, -1, -1):
            cell, values = cell_by_end(i, j), inside[cell_by_end(i, j)]
            chart = Chart(inside, exponents, active, n_active, bounds, pool_node, pool_value)
            exponent = _top_exponent(i, j, chart)
            touched = scratch.touched[: _combine(i, j, exponent, rules, best, chart, scratch)]
            if j == i + 1:
                _add_word(codes[i], rules, weights, values)
            first_unary = 0 if j == i + 1 else rules.n_lexical_unary
            _complete(touched, prefixes, first_unary, rules, weights, best, values)
            n_active[cell], shift = _scale(touched, prefixes, values, active[cell])
            exponents[cell] = exponent + shift
            pool_node = grown(pool_node, used + len(touched) + n_symbols)
            pool_value = grown(pool_value, used + len(touched) + n_symbols)
            here, pool = active[cell, : n_active[cell]], (pool_node[used:], pool_value[used:])
            going, stored = _store(touched, prefixes, here, values, rules, startable[j], pool)
            bounds[cell, 0], bounds[cell, 1], bounds[cell, 2] = used, used + going, used + stored
            used += stored
    return Chart(inside, exponents, active, n_active, bounds, pool_node, pool_value)


@kernel
def log_total(chart: Chart, n_words: int, start: int) -> float:
    """The log-probability of the string of a chart."""
    top = cell_by_end(0, n_words)
    return float(np.log(chart.inside[top, start]) + chart.exponents[top] * np.log(2.0))


@kernel
def log_insides(codes: Array, offsets: Int64s, rules: Rules, weights: Floats, best: bool) -> Floats:
    """The log-probability of each string, or that of its best derivation."""
    logs = np.full(len(offsets) - 1, -np.inf)
    for s in range(len(logs)):
        string = codes[offsets[s] : offsets[s + 1]]
        if len(string):
            logs[s] = log_total(inside_chart(string, rules, weights, best), len(string), rules.start)
    return logs


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
