"""Charts for rules of any length, with unary and lexical rules: the insides of all spans of a string.

Right sides are read from left to right along a trie (`pcfg.data.rule_trie`). For a span (i, j):

    prefix(i, j, u.B) = sum over k of prefix(i, k, u) inside(k, j, B)       prefix(i, j, B) = inside(i, j, B)
    inside(i, j, A)   = sum over rules A -> u of p(A -> u) prefix(i, j, u)  + unary and lexical rules

Values of a span are kept times 2 ** -exponent, the largest in [1, 2), so that strings of any length stay
finite. With `best` sums become maxima. Only nodes and symbols that occur in a span are visited, and only
nodes that the next word can continue are kept for longer spans.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sigmastar.core.arrays import Array, Flags, Floats, Int32s, Int64s
from sigmastar.core.jit import kernel, part
from sigmastar.core.scaling import cell_by_end, exponent_of, grown, power_of_two
from sigmastar.pcfg.data.unary_loops import close_loop

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
